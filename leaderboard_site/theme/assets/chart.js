// The chart of a board: its axes, the rows that a filter keeps, and what lies under the pointer.
"use strict";
(function () {
  const { quantity, make, home } = window.speedrun;
  window.speedrun.chart = function (board) {
    const canvas = board.root.querySelector("#chart .canvas");
    const charts = new Map();
    let tip = null;
    const figure = board.root.querySelector("#chart");
    charts.set(`${board.root.dataset.cost}.abs`, [...canvas.querySelectorAll("svg.chart")]);
    async function draw() {
      const key = `${board.state.x}.${board.state.y}`;
      if (!charts.has(key)) {
        const part = board.state.y === "rel" ? `${board.state.x}.rel` : board.state.x;
        const loaded = await Promise.all(
          ["wide", "narrow"].map(async (size) => {
            const text = await (
              await fetch(`${home}tracks/${board.track}/charts/${part}.${size}.svg`)
            ).text();
            const node = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
            node.querySelector("style")?.remove();
            return document.importNode(node, true);
          }),
        ).catch(() => null);
        if (!loaded) return;
        charts.set(key, loaded);
      }
      if (board.state.x !== board.root.dataset.cost) await board.withExtra();
      canvas.replaceChildren(...charts.get(key), ...(tip ? [tip] : []));
      leave();
      for (const link of figure.querySelectorAll(".axes a")) {
        const on = link.dataset.x
          ? link.dataset.x === board.state.x
          : link.dataset.y === board.state.y;
        if (on) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      overlay();
    }
    const NS = "http://www.w3.org/2000/svg";
    function scaleOf(svg) {
      const layer = svg.querySelector(".overlay");
      if (!layer) return null;
      const pack = JSON.parse(layer.dataset.scale);
      const map = ([low, high, start, end, log]) =>
        log
          ? (v) => start + (Math.log(v / low) / Math.log(high / low)) * (end - start)
          : (v) => start + ((v - low) / (high - low)) * (end - start);
      return { layer, x: map(pack.x), y: map(pack.y) };
    }
    const xOf = (i) =>
      board.state.x === board.data.cost ? board.data.c[i] : board.value(board.state.x, i);
    function overlay() {
      if (!board.data || board.state.y === "rel") return;
      const filtered = board.rows.length < board.data.q.length && board.rows.length <= 1500;
      for (const svg of canvas.querySelectorAll("svg.chart")) {
        const at = scaleOf(svg);
        if (!at) continue;
        at.layer.replaceChildren(
          ...(filtered ? board.rows : [])
            .filter((i) => xOf(i) > 0)
            .map((i) => {
              const dot = document.createElementNS(NS, "circle");
              dot.setAttribute("cx", at.x(xOf(i)).toFixed(1));
              dot.setAttribute("cy", at.y(board.data.q[i]).toFixed(1));
              dot.setAttribute("r", "3");
              return dot;
            }),
        );
      }
    }
    function hover(event) {
      if (!board.data || board.state.y === "rel") return;
      const svg = event.target.closest && event.target.closest("svg.chart");
      const at = svg && scaleOf(svg);
      if (!at) return leave();
      const box = svg.getBoundingClientRect();
      const ratio = svg.viewBox.baseVal.width / box.width;
      const px = (event.clientX - box.left) * ratio,
        py = (event.clientY - box.top) * ratio;
      let best = null,
        reach = 18 * 18;
      for (let i = 0; i < board.data.q.length; i++) {
        const x = xOf(i);
        if (!(x > 0)) continue;
        const dx = at.x(x) - px;
        if (dx > 18 || dx < -18) continue;
        const dy = at.y(board.data.q[i]) - py;
        const far = dx * dx + dy * dy;
        if (far < reach) {
          reach = far;
          best = i;
        }
      }
      if (best === null) return leave();
      if (!tip) {
        tip = make("div", { class: "tip" });
        canvas.append(tip);
      }
      const quality = quantity(board.data.quality, board.data.q[best]);
      const cost = quantity(board.state.x, xOf(best));
      tip.textContent = `${board.name(best)}: ${quality} at ${cost}, ${board.value("who", best)}`;
      tip.hidden = false;
      const left = at.x(xOf(best)) / ratio;
      tip.style.left = Math.max(0, Math.min(left + 12, box.width - 200)) + "px";
      tip.style.top = at.y(board.data.q[best]) / ratio + 12 + "px";
      tip.dataset.row = best;
    }
    function leave() {
      if (tip) tip.hidden = true;
    }
    canvas.addEventListener("pointermove", hover);
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("click", (event) => {
      if (event.target.closest("a") || !tip || tip.hidden) return;
      location.href = `${home}entries/${board.track}/${board.data.slug[Number(tip.dataset.row)]}/`;
    });

    return { draw, overlay };
  };
})();
