// A track's board: filter, sort, columns, axes, tooltips, and all of it in the address.
// It places nothing: places, ties and the frontier come with the data.
"use strict";
(function () {
  const { day, make, home, group } = window.speedrun;
  const root = document.querySelector(".sr.track");
  const form = root.querySelector(".tools");
  const table = root.querySelector("table.board");
  const body = table.tBodies[0];
  const count = root.querySelector(".count");
  const more = root.querySelector(".more");
  const heads = [...table.tHead.rows[0].cells];
  const track = root.dataset.track;
  const defaults = new Map(
    [...form.elements].filter((e) => e.name === "col").map((e) => [e.value, e.checked]),
  );
  const FIELDS = ["q", "status", "evidence", "band", "max", "tech", "rel"];
  let data = null,
    extra = null,
    rows = [],
    shown = 50;

  // ---- Data -----------------------------------------------------------------------------------
  const file = (name) =>
    fetch(`${home}tracks/${track}/${name}`).then((r) => {
      if (!r.ok) throw new Error(name);
      return r.json();
    });
  const needsExtra = (key) =>
    ![
      "place",
      "name",
      "who",
      "date",
      "evidence",
      "status",
      "p",
      "ratio",
      "n",
      root.dataset.cost,
      root.dataset.quality,
    ].includes(key);
  let asked = null;
  async function withExtra() {
    extra = await (asked || (asked = file("more.json")));
  }
  function value(key, i) {
    switch (key) {
      case "place":
        return i;
      case "name":
        return name(i);
      case "who":
        return data.words.who[data.who[i]];
      case "date":
        return data.day[i];
      case "evidence":
        return data.words.evidence[data.evidence[i]];
      case "status":
        return data.words.status[data.status[i]];
      case "p":
        return data.p ? data.p[i] : null;
      case "ratio":
        return data.ratio ? data.ratio[i] : null;
      case "device":
        return extra ? extra.devices[extra.device[i]] : null;
      case data.quality:
        return data.q[i];
      case data.cost:
        return data.c[i];
      default:
        return extra && extra.values[key] ? extra.values[key][i] : null;
    }
  }
  const folder = (i) => data.label[i] || data.slug[i].replaceAll(".", "/");
  const name = (i) => {
    const [number, title] = (data.title && data.title[i]) || [0, folder(i)];
    const point = data.point[i] ? " · " + data.point[i] : "";
    return (number ? `#${number} ` : "") + title + point;
  };

  // ---- State ----------------------------------------------------------------------------------
  function read() {
    const p = new URLSearchParams(location.search);
    const cols = p.get("cols");
    return {
      q: p.get("q") || "",
      status: p.get("status") || "",
      evidence: p.get("evidence") || "",
      band: p.get("band") || "",
      max: p.get("max") || "",
      tech: p.get("tech") || "",
      rel: p.get("rel") || "",
      front: p.get("front") === "1",
      sort: p.get("sort") || "place",
      desc: p.get("desc") === "1",
      cols: cols === null ? null : cols.split(","),
      x: p.get("x") || root.dataset.x,
      y: p.get("y") || "abs",
      pick: (p.get("pick") || "").split(",").filter(Boolean),
    };
  }
  let state = read();
  function write(push) {
    const p = new URLSearchParams();
    for (const key of FIELDS)
      if (state[key]) p.set(key, state[key]);
    if (state.front) p.set("front", "1");
    if (state.sort !== "place") p.set("sort", state.sort);
    if (state.desc) p.set("desc", "1");
    if (state.cols) p.set("cols", state.cols.join(","));
    if (state.x !== root.dataset.x) p.set("x", state.x);
    if (state.y !== "abs") p.set("y", state.y);
    if (state.pick.length) p.set("pick", state.pick.join(","));
    const text = p.toString();
    const url = location.pathname + (text ? "?" + text : "") + location.hash;
    if (url === location.pathname + location.search + location.hash) return;
    history[push ? "pushState" : "replaceState"](null, "", url);
  }
  function fill() {
    for (const key of FIELDS)
      if (form.elements[key]) form.elements[key].value = state[key];
    if (form.elements.front) form.elements.front.checked = state.front;
    for (const box of form.querySelectorAll("[name=col]"))
      box.checked = state.cols ? state.cols.includes(box.value) : defaults.get(box.value);
  }
  const visible = (key) => {
    if (!defaults.has(key)) return true;
    return state.cols ? state.cols.includes(key) : defaults.get(key);
  };

  // ---- Filter and sort ------------------------------------------------------------------------
  function select() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const status = state.status ? data.words.status.indexOf(state.status) : -1;
    const evidence = state.evidence ? data.words.evidence.indexOf(state.evidence) : -1;
    const max = Number(state.max.replaceAll(/[\s,]/g, "")) || Infinity;
    const band = state.band ? Number(state.band) : null;
    const low = data.goals[0] === "min";
    const out = [];
    for (let i = 0; i < data.q.length; i++) {
      if (state.status && data.status[i] !== status) continue;
      if (state.evidence && data.evidence[i] !== evidence) continue;
      if (band !== null && (low ? data.q[i] > band : data.q[i] < band)) continue;
      if (data.c[i] > max) continue;
      if (state.front && data.flag[i] !== "f") continue;
      if (state.tech && !data.tech?.[state.tech]?.includes(i)) continue;
      if (words.length) {
        const text = haystack(i);
        if (!words.every((w) => text.includes(w))) continue;
      }
      out.push(i);
    }
    const key = state.sort;
    if (key !== "place" || state.desc) {
      const values = out.map((i) => value(key, i));
      const order = out.map((_, n) => n);
      const sign = state.desc ? -1 : 1;
      order.sort((a, b) => {
        const u = values[a],
          v = values[b];
        if (u === v) return out[a] - out[b];
        if (u === null || u === undefined) return 1;
        if (v === null || v === undefined) return -1;
        return (u < v ? -1 : 1) * sign;
      });
      return order.map((n) => out[n]);
    }
    return out;
  }
  const texts = [];
  const haystack = (i) =>
    texts[i] ||
    (texts[i] =
      `${name(i)} ${folder(i)} ${value("who", i)} ${day(data.day[i] === null ? null : data.day0 + data.day[i])}`.toLowerCase());

  // ---- Rows -----------------------------------------------------------------------------------
  let cell = null;
  function rowOf(i) {
    return make(
      "tr",
      {},
      ...heads.map((head) => {
        const key = head.dataset.key;
        const td = make(key === "name" ? "th" : "td", { class: head.className.replace(" off", "") });
        if (key === "name") td.setAttribute("scope", "row");
        if (!visible(key)) td.classList.add("off");
        else td.append(...cell(key, i));
        return td;
      }),
    );
  }
  function paint() {
    rows = select();
    for (const head of heads) {
      head.classList.toggle("off", !visible(head.dataset.key));
      const on = head.dataset.key === state.sort;
      if (on) head.setAttribute("aria-sort", state.desc ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    body.replaceChildren(...rows.slice(0, shown).map(rowOf));
    const total = data.q.length;
    const some =
      rows.length === total
        ? `${group(total)} entries`
        : `${group(rows.length)} of ${group(total)} entries`;
    count.textContent = rows.length
      ? some + (rows.length > shown ? `, the first ${shown} shown.` : ".")
      : "No entry meets these conditions. Reset shows all of them again.";
    rest();
    overlay();
    picks();
  }
  function rest() {
    const left = rows.length - shown;
    more.hidden = left <= 0;
    more.querySelector(".next").textContent = left > 200 ? "Show 200 more" : `Show ${left} more`;
    more.querySelector(".all").hidden = left <= 200;
  }
  function picks() {
    const link = root.querySelector("a.compare");
    root.querySelector(".comparebar").hidden = state.pick.length < 1;
    link.href = `${home}compare/?e=${state.pick.join(",")}`;
    link.textContent =
      state.pick.length === 1
        ? "Compare the ticked one"
        : `Compare the ${state.pick.length} ticked ones`;
    for (const box of body.querySelectorAll(".pick")) box.checked = state.pick.includes(box.value);
  }

  // ---- The chart ------------------------------------------------------------------------------
  const shared = {
    root,
    track,
    value,
    name,
    folder,
    unit: (key) =>
      heads.find((h) => h.dataset.key === key)?.querySelector("small")?.textContent || "",
    withExtra,
    get extra() {
      return extra;
    },
    get data() {
      return data;
    },
    get rows() {
      return rows;
    },
    get state() {
      return state;
    },
  };
  const axes = root.querySelector("#chart .axes");
  const { draw, overlay } = axes ? window.speedrun.chart(shared) : { draw() {}, overlay() {} };

  // ---- Events ---------------------------------------------------------------------------------
  async function change(push) {
    shown = 50;
    write(push);
    if (
      needsExtra(state.sort) ||
      heads.some((h) => visible(h.dataset.key) && needsExtra(h.dataset.key))
    )
      await withExtra();
    paint();
  }
  form.addEventListener("input", (event) => {
    const { name: key, value: v, checked, type } = event.target;
    if (key === "col")
      state.cols = [...form.querySelectorAll("[name=col]:checked")].map((e) => e.value);
    else if (key === "front") state.front = checked;
    else state[key] = v;
    change(type !== "search" && type !== "text");
  });
  form.querySelector("button.reset").addEventListener("click", () => {
    Object.assign(state, {
      q: "",
      status: "",
      evidence: "",
      band: "",
      max: "",
      tech: "",
      rel: "",
      front: false,
      sort: "place",
      desc: false,
      cols: null,
    });
    fill();
    change(true);
  });
  axes?.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.x) state.x = link.dataset.x;
    else state.y = link.dataset.y;
    write(true);
    draw();
  });
  body.addEventListener("change", (event) => {
    if (!event.target.classList.contains("pick")) return;
    const id = event.target.value;
    state.pick = state.pick.filter((e) => e !== id);
    if (event.target.checked) state.pick.push(id);
    if (state.pick.length > 6) state.pick.shift();
    write(false);
    picks();
  });
  root.querySelector(".untick").addEventListener("click", () => {
    state.pick = [];
    write(false);
    picks();
  });
  more.querySelector(".next").addEventListener("click", () => {
    shown += 200;
    paint();
  });
  more.querySelector(".all").addEventListener("click", () => {
    shown = rows.length;
    paint();
  });
  const save = root.querySelector("button.csv");
  save.addEventListener("click", async () => {
    // The file beside the board holds every column exactly, one line a row in the board's order.
    const answer = await fetch(`${home}api/v1/${track}.csv`).catch(() => null);
    if (!answer || !answer.ok) {
      count.textContent += " (The file with the exact numbers could not be loaded; try again.)";
      return;
    }
    const lines = (await answer.text()).split("\n");
    const text = [lines[0], ...rows.map((i) => lines[i + 1])].join("\n") + "\n";
    const link = make("a", {
      href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
      download: `${track}.csv`,
    });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  // Whoever comes near the table will filter or sort: have its hidden columns by then.
  for (const kind of ["pointerenter", "focusin"])
    root.querySelector("#board").addEventListener(kind, () => data && withExtra(), { once: true });
  window.addEventListener("popstate", () => {
    state = read();
    fill();
    change(false);
    draw();
  });

  for (const head of heads) {
    const words = [...head.childNodes];
    const button = make("button", { type: "button" }, ...words);
    head.append(button);
    button.addEventListener("click", () => {
      const key = head.dataset.key;
      const again = state.sort === key;
      state.desc = again ? !state.desc : false;
      state.sort = key;
      change(true);
    });
  }

  file("board.json")
    .then(async (loaded) => {
      data = loaded;
      cell = window.speedrun.cells(shared);
      for (const [key, words] of [
        ["status", data.words.status],
        ["evidence", data.words.evidence],
      ])
        form.elements[key].append(
          ...words.map((w) => make("option", { value: w }, data.names[w] || w)),
        );
      form.hidden = false;
      save.hidden = false;
      fill();
      for (const box of body.querySelectorAll(".pick")) {
        box.hidden = false;
        box.checked = state.pick.includes(box.value);
      }
      const plain = !location.search;
      if (plain) {
        // The page holds these rows already: leave them, so that nothing moves under the reader.
        rows = select();
        rest();
        picks();
      } else await change(false);
      if (state.x !== root.dataset.x || state.y !== "abs") draw();
      root.dataset.ready = "1";
    })
    .catch(() => {
      count.textContent += " (The other rows could not be loaded; the files below hold them.)";
    });
})();
