// node journeys.mjs URL TRACK: what a reader does, each step asserted. Prints one JSON line a step.
import { launch } from "./launch.mjs";

const [url, track] = process.argv.slice(2);
const browser = await launch();
let failed = 0;
async function step(name, work) {
  const began = Date.now();
  try {
    const note = await work();
    console.log(JSON.stringify({ step: name, ok: true, ms: Date.now() - began, note }));
  } catch (error) {
    failed++;
    console.log(
      JSON.stringify({
        step: name,
        ok: false,
        error: String(error.message || error).slice(0, 400),
      }),
    );
  }
}
const must = (truth, words) => {
  if (!truth) throw new Error(words);
};
const board = `${url}tracks/${track}/`;
const ready = (page) => page.waitForSelector(".sr.track[data-ready]");
const names = (page) =>
  page.$$eval("table.board tbody .name a", (all) => all.map((a) => a.textContent));
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const page = await context.newPage();
const cdp = await context.newCDPSession(page);

await step("first load is small", async () => {
  let bytes = 0;
  await cdp.send("Network.enable");
  cdp.on("Network.loadingFinished", (e) => {
    bytes += e.encodedDataLength;
  });
  await page.goto(board, { waitUntil: "networkidle" });
  await ready(page);
  const rows = await page.evaluate(async () => (await (await fetch("board.json")).json()).q.length);
  const limit = rows > 1000 ? 270_000 : 130_000;
  must(bytes <= limit, `${bytes} bytes for ${rows} rows, at most ${limit}`);
  return { bytes, rows };
});
await step("filter and sort are quick", async () => {
  const time = (selector, act) =>
    page.evaluate(
      async ([s, a]) => {
        const node = document.querySelector(s),
          times = [];
        for (let i = 0; i < 5; i++) {
          const began = performance.now();
          if (a === "type") {
            node.value = ["a", "mu", "wide", "2025", ""][i];
            node.dispatchEvent(new Event("input", { bubbles: true }));
          } else node.click();
          await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
          times.push(performance.now() - began);
        }
        // The best of five: on a busy machine the others time the machine.
        return Math.min(...times);
      },
      [selector, act],
    );
  const filter = await time("input[name=q]", "type");
  const sort = await time("th.who button", "click");
  // They take a tenth of it on an idle machine; what is slow by its design takes seconds.
  must(filter < 400 && sort < 400, `filter ${filter.toFixed(0)} ms, sort ${sort.toFixed(0)} ms`);
  return { filter: Math.round(filter), sort: Math.round(sort) };
});
await step("every choice survives a reload and a shared address", async () => {
  await page.goto(board);
  await ready(page);
  const word = (await names(page))[3].slice(0, 4);
  await page.fill("input[name=q]", word);
  await page.selectOption("select[name=status]", { index: 1 });
  await page.click("th.date button");
  await page.click("th.date button");
  await page.click(".cols summary");
  await page.click(".cols input[value=evidence]");
  const axes = await page.$$("#chart .axes a[data-x]");
  if (axes[1]) await axes[1].click();
  await page.waitForTimeout(400);
  const before = await names(page),
    address = page.url();
  const chart = await page.$eval("#chart .canvas svg", (s) => s.getAttribute("aria-label"));
  const other = await context.newPage();
  await other.goto(address);
  await ready(other);
  await other.waitForTimeout(600);
  must(
    JSON.stringify(await names(other)) === JSON.stringify(before),
    "rows differ in the shared address",
  );
  must((await other.inputValue("input[name=q]")) === word, "the search field is empty");
  must(
    (await other.$eval("#chart .canvas svg", (s) => s.getAttribute("aria-label"))) === chart,
    "the axis differs",
  );
  must(!(await other.isVisible("th.evidence")), "the column is back");
  must((await other.getAttribute("th.date", "aria-sort")) === "descending", "the order differs");
  await other.close();
  return address.slice(address.indexOf("?"));
});
await step("back and forward undo and redo", async () => {
  await page.goto(board);
  await ready(page);
  const start = await names(page);
  await page.click("th.who button");
  await page.waitForTimeout(100);
  const sorted = await names(page);
  must(JSON.stringify(sorted) !== JSON.stringify(start), "sorting changed nothing");
  await page.goBack();
  await page.waitForTimeout(200);
  must(JSON.stringify(await names(page)) === JSON.stringify(start), "back did not undo");
  await page.goForward();
  await page.waitForTimeout(200);
  must(JSON.stringify(await names(page)) === JSON.stringify(sorted), "forward did not redo");
});
await step("the keyboard alone reaches search, filters, sort, points and rows", async () => {
  await page.goto(board);
  await ready(page);
  const seen = new Set();
  for (let i = 0; i < 420; i++) {
    await page.keyboard.press("Tab");
    const kind = await page.evaluate(() => {
      const e = document.activeElement;
      if (e.closest("svg")) return "point";
      if (e.matches("input[name=q]")) return "search";
      if (e.matches("select[name=status]")) return "filter";
      if (e.matches("th button")) return "sort";
      if (e.matches("tbody .name a")) return "row";
      if (e.matches("#chart .axes a")) return "axis";
      if (e.matches(".sr-search input")) return "site search";
      return "";
    });
    if (kind) seen.add(kind);
    if (seen.size === 7) break;
  }
  must(seen.size === 7, `reached only ${[...seen].join(", ")}`);
  await page.focus("th.who button");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(400);
  must((await page.getAttribute("th.who", "aria-sort")) === "ascending", "Enter does not sort");
});
for (const [width, what] of [
  [1440, "desktop"],
  [390, "phone"],
])
  await step(`the table's head and the compare bar stay on the page (${what})`, async () => {
    const reader = await browser.newContext({ viewport: { width, height: 700 } });
    const far = await reader.newPage();
    await far.goto(board);
    await ready(far);
    await far.evaluate(() => document.querySelector("input.pick").click());
    // The middle of the table at the middle of the screen, as a reader scrolls the page.
    await far.evaluate(() => {
      const box = document.querySelector("table.board").getBoundingClientRect();
      scrollBy(0, box.top + box.height / 2 - innerHeight / 2);
    });
    await far.waitForTimeout(200);
    const at = await far.evaluate(() => {
      const top = (s) => document.querySelector(s).getBoundingClientRect();
      const [head, bar, compare] = ["table.board thead th.name", ".md-header", ".comparebar"].map(top);
      const first = document.querySelector("table.board tbody tr").getBoundingClientRect();
      const box = document.querySelector(".scroll.tall:has(table.board)");
      return {
        head: Math.round(head.top - bar.bottom),
        passed: first.top < bar.bottom,
        compare: Math.round(compare.bottom - innerHeight),
        inner: box.scrollHeight - box.clientHeight,
      };
    });
    if (at.passed) must(Math.abs(at.head) <= 1, `the head is ${at.head} px below the bar`);
    must(at.compare <= 0, `the compare bar ends ${at.compare} px below the screen`);
    must(at.inner <= 1, `the table scrolls in a box of its own, ${at.inner} px`);
    await reader.close();
    return at;
  });
await step("rows on screen copy as text, more rows come on demand", async () => {
  await page.goto(board);
  await ready(page);
  const first = (await names(page)).length;
  if (await page.isVisible(".more .next")) {
    await page.click(".more .next");
    must((await names(page)).length > first, "no more rows");
  }
  return first;
});
await step("compare: ticked entries, curves, numbers, and the address holds them", async () => {
  await page.goto(board);
  await ready(page);
  const picks = await page.$$("input.pick");
  await picks[0].click();
  await picks[1].click();
  await page.click("a.compare");
  await page.waitForSelector(".sr.compare[data-ready]");
  must((await page.$$eval(".numbers thead th a", (a) => a.length)) === 2, "not two columns");
  must((await page.$(".canvas canvas")) || (await page.$(".canvas .empty")), "no curves");
  await page.click("[data-axis='2']");
  await page.waitForTimeout(300);
  const address = page.url();
  await page.reload();
  await page.waitForSelector(".sr.compare[data-ready]");
  must(
    page.url() === address &&
      (await page.getAttribute("[data-axis='2']", "aria-pressed")) === "true",
    "the axis is lost",
  );
});
await step("Welch's test of the compare page is right", async () => {
  const p = await page.evaluate(() =>
    window.speedrun.welch({ n: 5, mean: 88.47, sd: 0.0892 }, { n: 7, mean: 88.61, sd: 0.121 }),
  );
  // scipy.stats.ttest_ind_from_stats(88.47, 0.0892, 5, 88.61, 0.121, 7, equal_var=False)
  must(
    Math.abs(p.t - -2.3069230371) < 1e-9 && Math.abs(p.p - 0.0438408747) < 1e-9,
    JSON.stringify(p),
  );
});
await step("the search of the whole site finds an entry and a rule", async () => {
  await page.goto(url);
  await page.fill(".sr-search input", "mfu impossible");
  await page.waitForSelector(".sr-search li a");
  must((await page.textContent(".sr-search li")).includes("mfu-impossible"), "rule not found");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/rules\/mfu-impossible/);
});
await step("dark mode is kept", async () => {
  await page.goto(board);
  await page.click("label[for=__palette_1]");
  must((await page.getAttribute("body", "data-md-color-scheme")) === "slate", "not dark");
  await page.reload();
  must((await page.getAttribute("body", "data-md-color-scheme")) === "slate", "not kept");
});
await step("without JavaScript: chart, best rows, entry pages", async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const quiet = await plain.newPage();
  await quiet.goto(board);
  const rows = await names(quiet);
  must(rows.length >= 2, "no rows");
  must(await quiet.isVisible(".canvas svg.wide circle"), "no chart");
  await quiet.click("table.board tbody .name a >> nth=0");
  must(await quiet.isVisible(".sr.entry h1"), "no entry page");
  must(
    (await quiet.isVisible(".sr.entry .curves svg")) || !(await quiet.$(".sr.entry .curves")),
    "no curves",
  );
  await plain.close();
  return rows.length;
});
await step("every page has its policy and no inline handler", async () => {
  for (const path of ["", `tracks/${track}/`, "compare/", "rules/", "accounting/"]) {
    const html = await (await page.request.get(url + path)).text();
    must(html.includes("default-src 'none'"), `${path}: no policy`);
    must(
      !/ on[a-z]+=/i.test(html.replace(/<script[^]*?<\/script>/g, "").replace(/>[^<]*</g, "><")),
      `${path}: inline handler`,
    );
  }
});
await browser.close();
console.log(JSON.stringify({ failed }));
process.exitCode = failed ? 1 : 0;
