// Loss curves of entries with uPlot, fetched only when somebody asks for them.
"use strict";
(function () {
  const { home, here, load, make } = window.speedrun;
  let ready = null;
  function library() {
    if (!ready) {
      document.head.append(
        make("link", { rel: "stylesheet", href: here + "vendor/uPlot.min.css" }),
      );
      ready = load("vendor/uPlot.iife.min.js");
    }
    return ready;
  }
  const cache = new Map();
  function entry(id) {
    if (!cache.has(id))
      cache.set(
        id,
        fetch(`${home}api/v1/entries/${id}.json`).then((r) => (r.ok ? r.json() : null)),
      );
    return cache.get(id);
  }
  const NAMES = ["steps", "tokens", "time in seconds"];
  function points(data, run, axis) {
    const out = [];
    for (const [step, loss, time] of run.val || []) {
      const x =
        axis === 0
          ? step
          : axis === 1
            ? data.tokens_per_step
              ? step * data.tokens_per_step
              : null
            : time;
      if (x !== null && x !== undefined && loss !== null) out.push([x, loss]);
    }
    return out;
  }
  function colours() {
    const style = getComputedStyle(document.querySelector(".sr"));
    const get = (n) => style.getPropertyValue(n).trim();
    return {
      lines: [0, 1, 2, 3, 4, 5, 6].map((i) => get(`--c${i}`)),
      ink: get("--sr-soft"),
      grid: get("--sr-grid"),
      red: get("--sr-red"),
    };
  }
  async function draw(place, entries, axis, log) {
    await library();
    const series = [];
    entries.forEach((data, index) => {
      const runs = data.verdict.runs
        .filter((r) => (r.arm || "candidate") === "candidate")
        .slice(0, 6);
      runs.forEach((run, n) => {
        const p = points(data, run, axis);
        if (p.length > 1)
          series.push({ label: n ? `${data.name} (${n + 1})` : data.name, p, index, n });
      });
    });
    if (!series.length) {
      place.replaceChildren(
        make(
          "p",
          { class: "empty" },
          `These entries have no validation points against ${NAMES[axis]}.`,
        ),
      );
      return null;
    }
    const start = 0.1 * Math.max(...series.map((s) => s.p[s.p.length - 1][0]));
    if (!log)
      for (const s of series) {
        const late = s.p.filter((q) => q[0] >= start);
        if (late.length > 2) s.p = late;
      }
    const xs = [...new Set(series.flatMap((s) => s.p.map((q) => q[0])))].sort((a, b) => a - b);
    const columns = series.map((s) => {
      const m = new Map(s.p);
      return xs.map((x) => (m.has(x) ? m.get(x) : null));
    });
    // The target as a line of its own, where all share one.
    const targets = new Set(entries.map((d) => d.target));
    const target = targets.size === 1 ? [...targets][0] : null;
    const goal = target
      ? [{ label: `target ${target}`, class: "goal", dash: [4, 4], points: { show: false } }]
      : [];
    const c = colours();
    const axisStyle = {
      stroke: c.ink,
      grid: { stroke: c.grid, width: 1 },
      ticks: { stroke: c.grid },
    };
    const short = (v) =>
      v === null
        ? ""
        : Math.abs(v) >= 1e5
          ? v.toExponential(v % 1 ? 1 : 0).replace("e+", "e")
          : String(v);
    place.replaceChildren();
    const plot = new window.uPlot(
      {
        width: place.clientWidth,
        height: Math.min(420, Math.max(260, place.clientWidth * 0.5)),
        scales: { x: { time: false, distr: log ? 3 : 1 }, y: { distr: log ? 3 : 1 } },
        axes: [
          { ...axisStyle, space: 90, label: NAMES[axis], values: (u, vals) => vals.map(short) },
          { ...axisStyle, label: "validation loss", size: 62 },
        ],
        series: [
          { label: NAMES[axis] },
          ...series.map((s) => ({
            label: s.label,
            class: s.n ? "again" : "first",
            stroke: c.lines[s.index % 7],
            width: s.n ? 1 : 2,
            alpha: s.n ? 0.5 : 1,
            spanGaps: true,
            points: { show: false },
            value: (u, v) => (v === null ? "–" : v.toFixed(4)),
          })),
          ...goal.map((g) => ({ ...g, stroke: c.red, width: 1, value: () => String(target) })),
        ],
      },
      [xs, ...columns, ...goal.map(() => xs.map(() => target))],
      place,
    );
    const redraw = () => {
      if (place.isConnected) draw(place, entries, axis, log);
    };
    new MutationObserver((_, o) => {
      o.disconnect();
      redraw();
    }).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    return plot;
  }
  async function entryCurves(figure, button) {
    const ids = figure.dataset.curves.split(" ");
    const entries = (await Promise.all(ids.map(entry))).filter(Boolean);
    for (const b of figure.querySelectorAll(".axes button"))
      b.setAttribute("aria-pressed", String(b === button));
    const place = figure.querySelector(".canvas");
    place.setAttribute("role", "img");
    place.setAttribute(
      "aria-label",
      `Validation loss against ${NAMES[Number(button.dataset.axis)]}; the numbers are in the table of runs and in the JSON`,
    );
    await draw(place, entries, Number(button.dataset.axis), false);
  }
  Object.assign(window.speedrun, { drawCurves: draw, entry, entryCurves });
})();
