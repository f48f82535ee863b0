// Loads what a page needs and nothing else: the board, the curves, the compare page, the search.
"use strict";
(function () {
  document.documentElement.classList.replace("no-js", "js");
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const home = new URL("../../", here).href;
  const load = (name) =>
    new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = here + name;
      script.onload = done;
      script.onerror = () => fail(new Error(name));
      document.head.append(script);
    });
  window.speedrun = { home, here, load };

  // Light and dark: the theme's form without the theme's script. What was chosen is kept where the
  // theme's inline script looks for it before the page is painted.
  const palettes = [...document.querySelectorAll("[data-md-component=palette] input")];
  function paint(index, keep) {
    const data = palettes[index].dataset;
    const color = {
      media: data.mdColorMedia,
      scheme: data.mdColorScheme,
      primary: data.mdColorPrimary,
      accent: data.mdColorAccent,
    };
    for (const [key, value] of Object.entries(color))
      document.body.setAttribute("data-md-color-" + key, value);
    palettes.forEach((input, n) => (input.nextElementSibling.hidden = n !== index));
    palettes[index].checked = true;
    if (keep) window.__md_set("__palette", { index, color });
  }
  if (palettes.length) {
    const kept = window.__md_get("__palette");
    const fits = palettes.findIndex((i) => matchMedia(i.dataset.mdColorMedia).matches);
    paint(palettes[kept?.index] ? kept.index : Math.max(0, fits), false);
    palettes.forEach((input, n) => input.addEventListener("change", () => paint(n, true)));
  }
  // The head of a table that is wider than its box: it scrolls sideways with the box, and down with
  // the page. A narrower one sticks by style alone.
  const header = document.querySelector(".md-header");
  function stick(box) {
    const table = box.querySelector("table");
    function place() {
      const wide = table.offsetWidth > box.clientWidth + 1;
      box.classList.toggle("sideways", wide);
      if (!wide) return;
      const head = table.tHead;
      const most = table.offsetHeight - head.offsetTop - head.offsetHeight;
      const at = table.getBoundingClientRect().top + head.offsetTop;
      const down = header.getBoundingClientRect().bottom - at;
      box.style.setProperty("--down", `${Math.max(0, Math.min(down, most))}px`);
    }
    new ResizeObserver(place).observe(table);
    addEventListener("scroll", place, { passive: true });
    addEventListener("resize", place, { passive: true });
  }
  window.speedrun.stick = stick;
  for (const box of document.querySelectorAll(".scroll.tall")) stick(box);
  // Code that is wider than its box scrolls by the keyboard too.
  for (const code of document.querySelectorAll("pre > code"))
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;

  const canvases = [...document.querySelectorAll(".sr .canvas:has(svg.chart)")];
  const answering = canvases.length ? load("points.js") : Promise.resolve();
  answering.then(() => {
    for (const canvas of canvases)
      if (!canvas.closest("#chart")) window.speedrun.points.on(canvas);
  });
  if (document.querySelector(".reuse, [data-copy]")) load("reuse.js");
  if (document.querySelector(".sr.track .tools"))
    Promise.all([answering, load("format.js")])
      .then(() => Promise.all([load("chart.js"), load("cells.js")]))
      .then(() => load("board.js"));
  if (document.querySelector(".sr.compare"))
    load("format.js")
      .then(() => load("curves.js"))
      .then(() => load("compare.js"));
  const curves = document.querySelector(".sr .curves[data-curves]");
  if (curves) {
    const nav = curves.querySelector(".axes");
    nav.hidden = false;
    nav.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button)
        load("format.js")
          .then(() => load("curves.js"))
          .then(() => window.speedrun.entryCurves(curves, button));
    });
  }

  // The search of the whole site. Its data are fetched when somebody starts to use it.
  const bar = document.querySelector(".md-header__inner");
  if (!bar) return;
  const box = document.createElement("form");
  box.className = "sr-search";
  box.setAttribute("role", "search");
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search";
  field.autocomplete = "off";
  field.setAttribute("aria-label", "Search entries, people, techniques, rules and documents");
  const list = document.createElement("ol");
  list.hidden = true;
  box.append(field, list);
  bar.append(box);
  let data = null;
  const fetchData = () =>
    data ||
    (data = fetch(here + "search.json")
      .then((r) => r.json())
      .then(flat));
  function flat(raw) {
    const rows = raw.pages.map(([title, url, kind, text]) => [
      `${title} ${text}`.toLowerCase(),
      title,
      url,
      kind,
      title.toLowerCase(),
    ]);
    const titles = new Map(raw.pages.map(([title, url]) => [url, title]));
    for (const [track, entries] of Object.entries(raw.entries)) {
      const board = titles.get(`tracks/${track}/`) || track;
      for (const [slug, title, number] of entries) {
        const folder = slug.replaceAll(".", "/");
        const name = (number ? `#${number} ` : "") + (title || folder);
        rows.push([
          `${name} ${folder} ${track}`.toLowerCase(),
          name,
          `entries/${track}/${slug}/`,
          title ? `${board}: ${folder}` : board,
          name.toLowerCase(),
        ]);
      }
    }
    return rows;
  }
  field.addEventListener("focus", fetchData);
  field.addEventListener("input", async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = words.length ? await fetchData() : [];
    // What has the words in its name comes before what has them in its text.
    const named = [],
      told = [];
    for (const row of rows) {
      if (!words.every((w) => row[0].includes(w))) continue;
      (words.every((w) => row[4].includes(w)) ? named : told).push(row);
      if (named.length >= 40) break;
    }
    const hits = [...named, ...told].slice(0, 40);
    list.replaceChildren(
      ...hits.map(([, title, url, where]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = home + url;
        link.textContent = title;
        if (where) {
          const small = document.createElement("small");
          small.textContent = where;
          link.append(small);
        }
        item.append(link);
        return item;
      }),
    );
    if (words.length && !hits.length) {
      const none = document.createElement("li");
      none.textContent = "Nothing found";
      list.replaceChildren(none);
    }
    list.hidden = !words.length;
  });
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = list.querySelector("a");
    if (first) location.href = first.href;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      list.hidden = true;
      field.focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [field, ...list.querySelectorAll("a")];
    const next = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    if (stops[next]) {
      event.preventDefault();
      stops[next].focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!box.contains(event.target)) list.hidden = true;
  });
})();
