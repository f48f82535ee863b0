// Numbers as the pages print them: `cell` is leaderboard_site/formats.py, the rest text.py.
"use strict";
(function () {
  const DASH = "–",
    MINUS = "\u2212",
    THIN = "\u202f";
  const group = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  const power = (v, digits = 3) => v.toExponential(digits - 1).replace("e+", "e");
  function fixed(v, digits) {
    const text = Math.abs(v).toFixed(digits);
    const [whole, rest] = text.split(".");
    const sign = v < 0 && Number(text) !== 0 ? MINUS : "";
    return sign + group(whole) + (rest ? "." + rest : "");
  }
  // A cell of a column whose format is [divisor, digits, 1 for a power].
  function cell(format, v) {
    if (v === null || v === undefined || !Number.isFinite(v)) return DASH;
    const [divisor, digits, asPower] = format;
    if (!asPower) return fixed(v / divisor, digits);
    if (v === 0) return "0";
    const text = Math.abs(v).toExponential(digits).replace("e+", "e");
    return (v < 0 ? MINUS : "") + text;
  }
  function duration(s) {
    if (s < 600) return s < 100 ? s.toFixed(2) + " s" : s.toFixed(1) + " s";
    if (s < 7200) return (s / 60).toFixed(2) + " min";
    if (s < 360000) return (s / 3600).toFixed(2) + " h";
    return (s / 86400).toFixed(1) + " d";
  }
  function magnitude(v) {
    for (const [bound, letter] of [
      [1e12, "T"],
      [1e9, "B"],
      [1e6, "M"],
      [1e3, "k"],
    ])
      if (Math.abs(v) >= bound) return short(v / bound) + " " + letter;
    return short(v);
  }
  function short(v, digits = 3) {
    // Python's :.3g for numbers of this size.
    return String(Number(v.toPrecision(digits)));
  }
  function money(v) {
    return v < 10 ? "$" + v.toFixed(2) : "$" + group(Math.round(v));
  }
  function quantity(metric, v) {
    if (v === null || v === undefined || !Number.isFinite(v)) return DASH;
    if (metric === "tokens" || metric === "parameters") return magnitude(v);
    if (metric.endsWith("flops")) return power(v);
    if (metric.endsWith("_s")) return duration(v);
    if (metric === "mfu") return (100 * v).toFixed(1) + " %";
    if (metric === "cost_usd") return money(v);
    if (metric === "ratio" || metric.includes("loss") || metric === "bpb") return v.toFixed(4);
    if (Number.isInteger(v)) return group(v);
    return short(v, 4);
  }
  function probability(p) {
    if (p === null || p === undefined) return DASH;
    if (p < 1e-4) return p.toExponential(0);
    return String(Number(p.toPrecision(2)));
  }
  function day(ordinal) {
    // Python's date ordinal: day 719163 is 1970-01-01.
    if (ordinal === null || ordinal === undefined) return DASH;
    return new Date((ordinal - 719163) * 86400000).toISOString().slice(0, 10);
  }
  function make(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) {
      if (key === "class") node.className = value;
      else if (key in node) node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }
  // A name that a line may break after a slash or underscore and before a capital.
  const breakable = (name) =>
    name
      .split(/(?<=[/_])|(?<=[a-z])(?=[A-Z])/)
      .flatMap((part, n) => (n ? [make("wbr"), part] : [part]));
  Object.assign(window.speedrun, {
    quantity,
    probability,
    cell,
    fixed,
    day,
    make,
    magnitude,
    breakable,
    DASH,
    group,
  });
})();
