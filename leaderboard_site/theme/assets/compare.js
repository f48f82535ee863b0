// The compare page: entries from the address, numbers side by side, Welch's test, curves.
"use strict";
(function () {
  const { entry, drawCurves, stick, formatOf, cell, change, probability, fixed, make, home, DASH } = window.speedrun;
  const root = document.querySelector(".sr.compare");
  const form = root.querySelector("form");
  const COLUMNS = [
    "hardware_flops",
    "model_flops",
    "training_time_s",
    "steps",
    "tokens",
    "parameters",
    "mfu",
    "chip_hours",
    "cost_usd",
  ];
  const CLOCKS = {
    own: "its own runs",
    paired: "ratio on one machine",
    official: "official timing",
  };
  const LABELS = {
    hardware_flops: "Hardware FLOPs",
    model_flops: "Model FLOPs",
    training_time_s: "Training time",
    steps: "Steps",
    tokens: "Tokens",
    parameters: "Parameters",
    mfu: "MFU",
    chip_hours: "Chip hours",
    cost_usd: "Cost at stated rates",
  };
  const read = () => {
    const p = new URLSearchParams(location.search);
    return {
      e: (p.get("e") || "")
        .split(",")
        .filter((x) => /^[\w.-]+\/[\w.-]+$/.test(x))
        .slice(0, 6),
      axis: Number(p.get("axis")) || 0,
      log: p.get("log") === "1",
    };
  };
  let state = read(),
    names = null;
  function write() {
    const p = new URLSearchParams();
    if (state.e.length) p.set("e", state.e.join(","));
    if (state.axis) p.set("axis", state.axis);
    if (state.log) p.set("log", "1");
    const text = p.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
    history.pushState(null, "", location.pathname + (text ? "?" + text : ""));
  }

  // ---- Welch's test, one number each: the same formula as bot.significance.welch --------------
  function lnGamma(x) {
    const c = [
      76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155,
      0.1208650973866179e-2, -0.5395239384953e-5,
    ];
    let y = x,
      t = x + 5.5,
      sum = 1.000000000190015;
    t -= (x + 0.5) * Math.log(t);
    for (const k of c) sum += k / ++y;
    return -t + Math.log((2.5066282746310005 * sum) / x);
  }
  function fraction(a, b, x) {
    // Lentz's continued fraction of the incomplete beta function.
    const tiny = 1e-300;
    let c = 1,
      d = 1 - ((a + b) * x) / (a + 1);
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    let h = d;
    for (let m = 1; m < 300; m++) {
      for (const k of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 + k * d;
        d = 1 / (Math.abs(d) < tiny ? tiny : d);
        c = 1 + k / c;
        c = Math.abs(c) < tiny ? tiny : c;
        h *= d * c;
      }
      if (Math.abs(d * c - 1) < 1e-14) break;
    }
    return h;
  }
  function beta(a, b, x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const front = Math.exp(
      lnGamma(a + b) - lnGamma(a) - lnGamma(b) + a * Math.log(x) + b * Math.log(1 - x),
    );
    return x < (a + 1) / (a + b + 2)
      ? (front * fraction(a, b, x)) / a
      : 1 - (front * fraction(b, a, 1 - x)) / b;
  }
  function welch(a, b) {
    if (!a || !b || !(a.n > 1) || !(b.n > 1) || a.sd === null || b.sd === null) return null;
    const va = a.sd ** 2 / a.n,
      vb = b.sd ** 2 / b.n;
    if (va + vb === 0) return null;
    const t = (a.mean - b.mean) / Math.sqrt(va + vb);
    const df = (va + vb) ** 2 / (va ** 2 / (a.n - 1) + vb ** 2 / (b.n - 1));
    return { t, df, p: beta(df / 2, 0.5, df / (df + t * t)) };
  }
  window.speedrun.welch = welch;

  // ---- The page -------------------------------------------------------------------------------
  const pIs = (p) => `p = ${probability(p)}`.replace("= <", "<");
  const best = (d) => d.places[0] || null;
  const stats = (d) => (d.verdict.points[0] && d.verdict.points[0].statistics) || null;
  function numbers(entries) {
    const head = make(
      "tr",
      {},
      make("th", { scope: "col" }, ""),
      ...entries.map((d) =>
        make(
          "th",
          { scope: "col" },
          make("a", { href: d.url.replace(/^.*?\/entries\//, home + "entries/") }, d.name),
        ),
      ),
    );
    const rows = [];
    const add = (label, values, cls = "num") => {
      if (values.every((v) => v === DASH)) return;
      rows.push(
        make(
          "tr",
          {},
          make("th", { scope: "row" }, ...[label].flat()),
          ...values.map((v) => make("td", { class: cls }, v)),
        ),
      );
    };
    add(
      "State",
      entries.map((d) => [d.state, d.community].filter(Boolean).join(", ")),
      "",
    );
    add(
      "Evidence",
      entries.map((d) => d.verdict.evidence),
      "",
    );
    add(
      "By",
      entries.map((d) => d.people),
      "",
    );
    add(
      "Date",
      entries.map((d) => (d.verdict.date || DASH).slice(0, 10)),
      "",
    );
    add(
      "Builds on",
      entries.map((d) =>
        d.builds_on ? make("a", { href: home + d.builds_on.url }, d.builds_on.name) : DASH,
      ),
      "",
    );
    add(
      "Beat the record",
      entries.map((d) => d.beat || DASH),
      "",
    );
    add(
      "Place",
      entries.map((d) => (best(d) ? best(d).place + (best(d).tied ? "=" : "") : DASH)),
    );
    const quality = entries[0].quality_metric,
      cost = entries[0].cost_metric,
      labels = entries[0].labels;
    // Each number, and in the columns after the first how far it is from the first.
    const compared = (label, metric, pick) => {
      const values = entries.map((d) => (best(d) ? (pick(d) ?? null) : null));
      const [form, unit] = formatOf(metric, values, ...(entries[0].forms[metric] || []));
      add(
        unit ? [`${label} `, make("small", {}, unit)] : label,
        values.map((v, i) => {
          const shown = cell(form, v);
          if (!i || v === null || !values[0]) return shown;
          const share = (v - values[0]) / Math.abs(values[0]);
          return share ? `${shown} (${change(share)})` : `${shown} (equal)`;
        }),
      );
    };
    compared(labels[quality], quality, (d) => best(d).quality);
    const clocks = entries.map((d) => best(d)?.clock).filter(Boolean);
    const timed = clocks.some((c) => c !== "own");
    if (cost !== quality)
      compared(`${labels[cost]}${timed ? ", by the clock that decides" : ""}`, cost, (d) => best(d).cost);
    if (timed)
      add(
        "Decided by",
        entries.map((d) => (best(d) ? CLOCKS[best(d).clock] : DASH)),
        "",
      );
    for (const key of new Set([...Object.keys(labels), ...COLUMNS]))
      if (key !== quality && (key !== cost || timed))
        compared(key === cost ? "Its own runs" : labels[key] || LABELS[key], key, (d) => best(d).values[key]);
    add(
      "n",
      entries.map((d) => (stats(d) ? String(stats(d).n) : DASH)),
    );
    add(
      "sd of quality",
      entries.map((d) => (stats(d) && stats(d).sd !== null ? stats(d).sd.toFixed(5) : DASH)),
    );
    add(
      "p against the target",
      entries.map((d) => (stats(d) && stats(d).p !== null ? probability(stats(d).p) : DASH)),
    );
    const test = (label, pick) =>
      add(
        label,
        entries.map((d, i) => {
          if (!i) return DASH;
          const w = welch(pick(entries[0]), pick(d));
          return w
            ? `${pIs(w.p)} (t = ${fixed(w.t, 2)}, df ${w.df.toFixed(1)})`
            : DASH;
        }),
      );
    if (entries.length > 1) {
      test("Quality against the first, Welch, two-sided", (d) => stats(d));
      test(
        timed
          ? "Times of their own machines against the first, Welch, two-sided"
          : "Cost against the first, Welch, two-sided",
        (d) => stats(d) && stats(d).cost,
      );
    }
    const table = make(
      "table",
      { class: entries.length < 4 ? "plain labelled" : "plain" },
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
    const scroll = make("section", { class: "scroll tall", tabIndex: 0 }, table);
    scroll.setAttribute("aria-label", "Numbers side by side");
    return [make("h2", {}, "Numbers"), scroll];
  }
  async function show() {
    const found = await Promise.all(state.e.map(entry));
    const entries = found.filter(Boolean);
    const lost = state.e.filter((_, i) => !found[i]);
    const words = entries.length
      ? `${entries.length} of at most six.`
      : "Nothing chosen yet: add entries by name, or tick them on a board.";
    root.querySelector(".count").textContent =
      words + (lost.length ? ` Not found: ${lost.join(", ")}.` : "");
    root.querySelector(".chosen").replaceChildren(
      ...state.e.map((id) => {
        const at = state.e.indexOf(id);
        const name = found[at] ? found[at].name : id;
        const button = make("button", { type: "button" }, `${name} ✕`);
        button.setAttribute("aria-label", `Remove ${name}`);
        button.addEventListener("click", () => {
          state.e = state.e.filter((x) => x !== id);
          write();
          show();
        });
        return button;
      }),
    );
    const curves = root.querySelector(".curves");
    curves.hidden = !entries.length;
    root.querySelector(".numbers").replaceChildren(...(entries.length ? numbers(entries) : []));
    for (const box of root.querySelectorAll(".numbers .tall")) stick(box);
    for (const b of curves.querySelectorAll("[data-axis]"))
      b.setAttribute("aria-pressed", String(Number(b.dataset.axis) === state.axis));
    for (const b of curves.querySelectorAll("[data-log]"))
      b.setAttribute("aria-pressed", String((b.dataset.log === "1") === state.log));
    if (entries.length)
      await drawCurves(curves.querySelector(".canvas"), entries, state.axis, state.log);
    root.dataset.ready = "1";
  }
  root.querySelector(".curves .axes").addEventListener("click", (event) => {
    const b = event.target.closest("button");
    if (!b) return;
    if (b.dataset.axis) state.axis = Number(b.dataset.axis);
    else state.log = b.dataset.log === "1";
    write();
    show();
  });
  async function offer() {
    if (!names)
      names = await fetch(window.speedrun.here + "search.json")
        .then((r) => r.json())
        .then((d) => d.entries);
    const list = (names[form.elements.track.value] || []).map((e) => e[0]);
    const word = form.elements.add.value.toLowerCase();
    root.querySelector("#entry-names").replaceChildren(
      ...list
        .filter((n) => n.includes(word))
        .slice(0, 50)
        .map((n) => make("option", { value: n })),
    );
    return list;
  }
  form.hidden = false;
  for (const option of form.elements.track.options)
    if (state.e.length && state.e[0].startsWith(option.value + "/")) option.selected = true;
  form.elements.add.addEventListener("input", offer);
  form.elements.track.addEventListener("change", offer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const list = await offer(),
      word = form.elements.add.value.trim().replaceAll("/", ".");
    const slug = list.find((n) => n === word) || list.find((n) => word && n.includes(word));
    if (!slug) {
      root.querySelector(".count").textContent =
        `No entry of this track has "${word}" in its name.`;
      return;
    }
    const id = `${form.elements.track.value}/${slug}`;
    if (!state.e.includes(id)) state.e = [...state.e, id].slice(-6);
    form.elements.add.value = "";
    write();
    show();
  });
  window.addEventListener("popstate", () => {
    state = read();
    show();
  });
  show();
})();
