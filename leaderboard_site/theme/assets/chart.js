// The chart of a board: its axes, the rows that a filter keeps, and what lies under the pointer.
"use strict";
(function () {
  const { quantity, home, points } = window.speedrun;
  const NS = "http://www.w3.org/2000/svg";
  window.speedrun.chart = function (board) {
    const figure = board.root.querySelector("#chart");
    const canvas = figure.querySelector(".canvas");
    const note = figure.querySelector(".chartnote");
    const links = [...figure.querySelectorAll(".axes a")];
    const axes = links.map((a) => a.dataset.x).filter(Boolean);
    const own = board.root.dataset.x;
    const titles = new Map(links.map((a) => [a.dataset.x || a.dataset.y, a.textContent]));
    const charts = new Map();
    let shown = { x: own, y: "abs" };
    charts.set(`${own}.abs`, [...canvas.querySelectorAll("svg.chart")]);
    const relative = () => shown.y === "rel";

    async function drawing(x, y) {
      const key = `${x}.${y}`;
      if (!charts.has(key)) {
        const part = y === "rel" ? `${x}.rel` : x;
        const files = ["wide", "narrow"].map(async (size) => {
          const answer = await fetch(`${home}tracks/${board.track}/charts/${part}.${size}.svg`);
          if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
          const text = await answer.text();
          const node = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
          if (node.localName !== "svg") throw new Error("the file is not a chart");
          node.querySelector("style")?.remove();
          return document.importNode(node, true);
        });
        charts.set(key, await Promise.all(files));
      }
      if (x !== board.root.dataset.cost) await board.withExtra();
      return charts.get(key);
    }
    async function draw() {
      const { x, y } = board.state;
      const known = axes.includes(x) && (y === "abs" || titles.has(y));
      if (!known) {
        const what = axes.includes(x) ? y : x;
        note.textContent = `This board has no axis “${what}”; the chart shows ${titles.get(shown.x)}.`;
        return;
      }
      try {
        canvas.replaceChildren(...(await drawing(x, y)));
      } catch (error) {
        const why = error instanceof TypeError ? "the network gave no answer" : error.message;
        note.textContent =
          `The chart against ${titles.get(x)} could not be loaded (${why}). ` +
          `What you see is still against ${titles.get(shown.x)}; choose the axis again to retry.`;
        return;
      }
      note.textContent = "";
      shown = { x, y };
      const part = y === "rel" ? `${x}.rel` : x;
      for (const link of figure.querySelectorAll(".reuse a[download]")) {
        const end = link.dataset.svg === undefined ? ".csv" : ".wide.svg";
        link.href = `charts/${part}${end}`;
        link.download = `${board.track}-${part}${end.replace(".wide", "")}`;
      }
      gaps = null;
      for (const link of links) {
        const on = link.dataset.x ? link.dataset.x === x : link.dataset.y === y;
        if (on) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      tips.renew();
      overlay();
    }
    const xOf = (i) => (shown.x === board.data.cost ? board.data.c[i] : board.value(shown.x, i));
    // How far each quality is from the best that costs no more, as charts.py draws it.
    let gaps = null;
    function gapOf(i) {
      if (!gaps) {
        const sign = board.data.goals[0] === "min" ? 1 : -1;
        const q = board.data.q;
        const order = q.map((_, n) => n).filter((n) => xOf(n) > 0);
        order.sort((a, b) => xOf(a) - xOf(b) || sign * (q[a] - q[b]));
        gaps = new Map();
        let best = null;
        for (const n of order) {
          if (best === null || sign * (q[n] - best) < 0) best = q[n];
          gaps.set(n, sign * (q[n] - best));
        }
      }
      return gaps.get(i);
    }
    const yOf = (i) => (relative() ? gapOf(i) : board.data.q[i]);
    function overlay() {
      if (!board.data || !charts.size) return;
      const filtered = board.rows.length < board.data.q.length && board.rows.length <= 1500;
      for (const svg of canvas.querySelectorAll("svg.chart")) {
        const at = points.scaleOf(svg);
        const layer = svg.querySelector(".overlay");
        if (!at || !layer) continue;
        layer.replaceChildren(
          ...(filtered ? board.rows : [])
            .filter((i) => xOf(i) > 0)
            .map((i) => {
              const dot = document.createElementNS(NS, "circle");
              dot.setAttribute("cx", at.x(xOf(i)).toFixed(1));
              dot.setAttribute("cy", at.y(yOf(i)).toFixed(1));
              dot.setAttribute("r", "3");
              return dot;
            }),
        );
      }
    }
    function listed(svg) {
      const at = points.scaleOf(svg);
      if (!board.data || !at) return null;
      if (shown.x !== board.data.cost && !board.extra) return null;
      const said = (key, v) => quantity(key, v, [board.data.formats[key], board.unit(key)]);
      const out = [];
      for (let i = 0; i < board.data.q.length; i++) {
        const x = xOf(i);
        if (!(x > 0)) continue;
        out.push({
          x: at.x(x),
          y: at.y(yOf(i)),
          href: `${home}entries/${board.track}/${board.data.slug[i]}/`,
          words: () =>
            `${board.name(i)}: ${said(board.data.quality, board.data.q[i])} at ` +
            `${said(shown.x, x)}, ${board.value("who", i)}`,
        });
      }
      return out;
    }
    const tips = points.on(canvas, listed);
    return { draw, overlay };
  };
})();
