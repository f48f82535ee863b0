// Numbers as the pages print them: leaderboard_site/formats.py in this language.
"use strict";
(function () {
  const DASH = "–",
    MINUS = "\u2212",
    THIN = "\u202f";
  const group = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  const missing = (v) => v === null || v === undefined || !Number.isFinite(v);
  function fixed(v, digits) {
    const text = Math.abs(v).toFixed(digits);
    const [whole, rest] = text.split(".");
    const sign = v < 0 && Number(text) !== 0 ? MINUS : "";
    return sign + group(whole) + (rest ? "." + rest : "");
  }
  // A cell of a column whose format is [divisor, digits, kind]: kind 1 is a power of ten, 2 a
  // p-value with spaces behind it that keep the points in one line.
  function cell([divisor, digits, kind], v) {
    if (missing(v)) return DASH;
    if (kind === 2) return filled(probability(v), digits);
    if (kind === 0) return fixed(v / divisor, digits);
    if (v === 0) return "0";
    const text = Math.abs(v).toExponential(digits).replace("e+", "e");
    return (v < 0 ? MINUS : "") + text;
  }
  function filled(shown, digits) {
    if (!digits || !/^\d/.test(shown)) return shown;
    const [, decimals] = shown.split(".");
    const pad = "\u2007".repeat(digits - (decimals || "").length);
    return shown + (decimals === undefined ? "\u2008" : "") + pad;
  }
  // Two digits, one below 0.001. Python rounds an exact half to the even digit.
  function probability(p) {
    if (missing(p)) return DASH;
    if (p < 1e-6) return "< 0.000001";
    if (p >= 1) return "1";
    const places = (p >= 1e-3 ? 1 : 0) - Math.floor(Math.log10(p));
    const scaled = p * 10 ** places;
    const half = Number.isInteger(p * 2 ** (places + 1)) && scaled % 1 === 0.5;
    const even = half && Math.floor(scaled) % 2 === 0;
    const text = even ? (Math.floor(scaled) / 10 ** places).toFixed(places) : p.toFixed(places);
    return text.replace(/\.?0+$/, "");
  }
  // The format that suits values of a metric and its unit, as [[divisor, digits, kind], unit].
  const TIMES = [
    [86400, "d", 259200],
    [3600, "h", 7200],
    [60, "min", 600],
  ];
  const MAGNITUDES = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  const decimals = (v) => (v >= 100 ? 0 : v >= 10 ? 1 : v >= 0.1 ? 2 : 4);
  function formatOf(metric, values, unit = "", digits = null) {
    if (digits !== null) return [[1, digits, 0], unit];
    const seen = values.filter((v) => !missing(v)).map(Math.abs);
    seen.sort((a, b) => a - b);
    const middle = seen.length ? seen[Math.floor(seen.length / 2)] : 0;
    if (metric.endsWith("_s")) {
      const found = TIMES.find(([, , least]) => middle >= least);
      if (found) return [[found[0], 2, 0], found[1]];
      return [[1, middle >= 0.1 || !middle ? 2 : 5, 0], "s"];
    }
    if (metric === "mfu") return [[0.01, 1, 0], "%"];
    if (metric === "cost_usd") return [[1, 2, 0], "$"];
    if (metric === "tokens" || metric === "parameters") {
      const least = seen[0] || 0;
      const [divisor, letter] = MAGNITUDES.find(([d]) => least >= d) || [1, ""];
      return [[divisor, decimals(least / divisor), 0], letter];
    }
    if (metric.includes("loss") || ["bpb", "ratio", "cost_ratio"].includes(metric))
      return [[1, 4, 0], unit];
    if (middle >= 1e9) return [[1, 2, 1], unit];
    return [[1, seen.every(Number.isInteger) ? 0 : decimals(middle), 0], unit];
  }
  // A value inside a sentence; a whole time has no decimals.
  function words([form, unit], v) {
    const shown = cell(form, v);
    if (shown === DASH) return shown;
    if (unit === "$") return shown.replace(/^(\u2212?)/, "$1$$");
    const whole = ["s", "min", "h", "d"].includes(unit) ? shown.replace(/\.0+$/, "") : shown;
    return unit ? `${whole} ${unit}` : whole;
  }
  // The same of a board's column: times and counts have the unit that suits each value.
  function quantity(metric, v, column) {
    const each = metric.endsWith("_s") || metric === "tokens" || metric === "parameters";
    return words(each || !column ? formatOf(metric, [v]) : column, v);
  }
  const change = (share) => {
    const text = fixed(100 * share, 2);
    return `${share > 0 && Number(text.replaceAll(THIN, "")) ? "+" : ""}${text} %`;
  };
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
    change,
    quantity,
    formatOf,
    words,
    probability,
    cell,
    fixed,
    day,
    make,
    breakable,
    DASH,
    group,
  });
})();
