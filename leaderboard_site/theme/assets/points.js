// Every point of a chart answers: the pointer, a finger and the arrow keys find the nearest one,
// say what it is, and lead to it.
"use strict";
(function () {
  const REACH = 18;
  const make = (tag, name) => Object.assign(document.createElement(tag), { className: name });
  // The scales that a chart carries: from data to pixels of its drawing.
  function scaleOf(svg) {
    const layer = svg.querySelector("[data-scale]");
    if (!layer) return null;
    const pack = JSON.parse(layer.dataset.scale);
    const map = ([low, high, start, end, log]) =>
      log
        ? (v) => start + (Math.log(v / low) / Math.log(high / low)) * (end - start)
        : (v) => start + ((v - low) / (high - low)) * (end - start);
    return { x: map(pack.x), y: map(pack.y) };
  }
  // The points that are drawn as links. The words of a narrow drawing stand in the wide one.
  function drawn(svg) {
    const links = [...svg.querySelectorAll("a")];
    const wide = [...svg.parentNode.querySelectorAll("svg.chart.wide a")];
    return links.map((link, n) => {
      const dot = link.querySelector("circle");
      const title = link.querySelector("title");
      if (!link.dataset.words) {
        const twin = wide[n];
        link.dataset.words =
          title?.textContent || twin?.dataset.words || twin?.querySelector("title")?.textContent || "";
        link.setAttribute("aria-label", link.dataset.words);
        // The browser's own tooltip would come a second time, and late.
        title?.remove();
      }
      return {
        x: Number(dot.getAttribute("cx")),
        y: Number(dot.getAttribute("cy")),
        href: link.getAttribute("href"),
        words: () => link.dataset.words,
        link,
      };
    });
  }
  function on(canvas, listed = () => null) {
    const tip = make("div", "tip");
    tip.hidden = true;
    const cache = new Map();
    let now = null;
    const all = (svg) => {
      const links = drawn(svg);
      const rows = listed(svg);
      if (!rows) return links;
      if (!cache.has(svg)) cache.set(svg, rows);
      return cache.get(svg);
    };
    function show(svg, found) {
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const words = found.slice(0, 4).map((p) => p.words());
      if (found.length > 4) words.push(`and ${found.length - 4} more here`);
      tip.replaceChildren(...words.map((w) => Object.assign(make("span", ""), { textContent: w })));
      canvas.append(tip);
      tip.hidden = false;
      const left = box.left - canvas.getBoundingClientRect().left + found[0].x * scale;
      const room = canvas.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(left + 12, room)) + "px";
      const top = box.top - canvas.getBoundingClientRect().top + found[0].y * scale;
      tip.style.top = top + 14 + "px";
      now = { svg, found, key: `${found[0].x},${found[0].y}` };
    }
    function hide() {
      tip.hidden = true;
      now = null;
    }
    function under(event) {
      const svg = event.target.closest && event.target.closest("svg.chart");
      if (!svg) return null;
      const box = svg.getBoundingClientRect();
      const ratio = svg.viewBox.baseVal.width / box.width;
      const px = (event.clientX - box.left) * ratio,
        py = (event.clientY - box.top) * ratio;
      let best = [],
        least = REACH * REACH * Math.max(1, ratio * ratio);
      for (const point of all(svg)) {
        const dx = point.x - px,
          dy = point.y - py;
        const far = dx * dx + dy * dy;
        if (far < least - 0.01) {
          least = far;
          best = [point];
        } else if (best.length && Math.abs(far - least) <= 0.01) best.push(point);
      }
      return best.length ? { svg, found: best } : null;
    }
    function move(event) {
      const hit = under(event);
      if (hit) show(hit.svg, hit.found);
      else hide();
    }
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") move(event);
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") hide();
    });
    canvas.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      // Enter on a focused point comes as a click without a place: the link itself answers.
      if (event.detail === 0) return;
      const hit = under(event);
      if (!hit) return hide();
      event.preventDefault();
      const key = `${hit.found[0].x},${hit.found[0].y}`;
      const again = now && now.key === key && now.svg === hit.svg;
      // A finger has no hover: the first tap says what the point is, the second goes there.
      const touch = event.pointerType === "touch";
      if (touch && !(again && tip.dataset.tapped === key)) {
        show(hit.svg, hit.found);
        tip.dataset.tapped = key;
        return;
      }
      location.href = hit.found[0].href;
    });
    canvas.addEventListener("focusin", (event) => {
      const link = event.target.closest("svg.chart a");
      if (!link) return;
      const point = drawn(link.ownerSVGElement).find((p) => p.link === link);
      if (point) show(link.ownerSVGElement, [point]);
    });
    canvas.addEventListener("focusout", hide);
    canvas.addEventListener("keydown", (event) => {
      const link = event.target.closest("svg.chart a");
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!link || !step) return;
      const order = drawn(link.ownerSVGElement).sort((a, b) => a.x - b.x || a.y - b.y);
      const next = order[order.findIndex((p) => p.link === link) + step];
      if (!next) return;
      event.preventDefault();
      link.tabIndex = -1;
      next.link.tabIndex = 0;
      next.link.focus();
    });
    // One stop of the Tab key a chart; arrow keys go from point to point.
    function renew() {
      cache.clear();
      hide();
      for (const svg of canvas.querySelectorAll("svg.chart"))
        drawn(svg).forEach((point, n) => (point.link.tabIndex = n ? -1 : 0));
    }
    renew();
    return { renew };
  }
  window.speedrun.points = { on, scaleOf };
})();
