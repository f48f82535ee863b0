// node points.mjs URL PATH...   every point of every chart of a page: the pointer at its centre says
// what it is, a click there leads to its entry, and the arrow keys reach all of them. Then what a
// chart says of an axis that is unknown (PATH?x=nonsense) and of a file that cannot be had.
import { launch } from "./launch.mjs";

const [url, ...paths] = process.argv.slice(2);
const browser = await launch();
let faults = 0,
  points = 0;
const fault = (what) => (faults++, faults < 40 && console.log(JSON.stringify(what)));

async function hover(page, path, width) {
  const charts = await page.$$(".sr .canvas svg.chart");
  for (const chart of charts) {
    if (!(await chart.isVisible())) continue;
    await chart.scrollIntoViewIfNeeded();
    const found = await chart.$$eval("a", (links) =>
      links.map((a) => {
        const box = a.querySelector("circle").getBoundingClientRect();
        return {
          words: a.dataset.words,
          href: a.href.baseVal ?? a.href,
          x: box.x + box.width / 2,
          y: box.y + box.height / 2,
        };
      }),
    );
    for (const point of found) {
      points++;
      await page.mouse.move(point.x, point.y);
      const said = await page.$$eval(".sr .tip:not([hidden]) span", (s) =>
        s.map((x) => x.textContent),
      );
      const name = point.words.split(/[:,(]/)[0].trim();
      if (!said.some((s) => s.startsWith(name)) && !said.some((s) => s.includes(" more here")))
        fault({ what: "point is silent", path, width, wanted: point.words, said });
    }
  }
}

async function keys(page, path) {
  for (const chart of await page.$$(".sr .canvas svg.chart")) {
    if (!(await chart.isVisible())) continue;
    const total = await chart.$$eval("a", (links) => links.length);
    if (!total) continue;
    await chart.$eval("a", (a) => a.focus());
    await page.keyboard.press("Home");
    const seen = new Set();
    for (let i = 0; i < total; i++) await page.keyboard.press("ArrowLeft");
    for (let i = 0; i < total; i++) {
      seen.add(
        await page.evaluate(() => {
          const c = document.activeElement.querySelector?.("circle");
          return c ? `${document.activeElement.getAttribute("href")} ${c.getAttribute("cx")}` : "";
        }),
      );
      await page.keyboard.press("ArrowRight");
    }
    const tabs = await chart.$$eval("a", (links) => links.filter((a) => a.tabIndex === 0).length);
    const all = new Set(
      await chart.$$eval("a", (links) =>
        links.map(
          (a) => `${a.getAttribute("href")} ${a.querySelector("circle").getAttribute("cx")}`,
        ),
      ),
    );
    if (seen.size !== all.size) fault({ what: "keys miss points", path, seen: seen.size, of: all.size });
    if (tabs !== 1) fault({ what: "tab stops of a chart", path, tabs });
  }
}

async function tap(page, path) {
  for (const one of await page.$$(".sr .canvas svg.chart:has(a)")) {
    if (!(await one.isVisible())) continue;
    const box = await one.$eval("a circle", (c) => {
      c.scrollIntoView({ block: "center", behavior: "instant" });
      const b = c.getBoundingClientRect();
      return { x: b.x + b.width / 2, y: b.y + b.height / 2 };
    });
    await page.touchscreen.tap(box.x, box.y);
    if (!(await page.$(".sr .tip:not([hidden])"))) fault({ what: "a tap says nothing", path });
    // The page may be gone before the tap is answered: wait for either, and not for ever.
    let left = false;
    page.on("request", (r) => (left ||= r.isNavigationRequest()));
    await Promise.race([page.touchscreen.tap(box.x, box.y), page.waitForTimeout(2000)]);
    if (!left) await page.waitForTimeout(500);
    if (!left) fault({ what: "a second tap leads nowhere", path });
    return;
  }
}

for (const width of [1440, 390])
  for (const path of paths) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, hasTouch: width < 500 });
    await context.route(/^(?!http:\/\/(127\.0\.0\.1|localhost))/, (r) => r.abort());
    const page = await context.newPage();
    await page.goto(url + path, { waitUntil: "networkidle" });
    await hover(page, path, width);
    await keys(page, path);
    if (width < 500) {
      // The last key may have begun a smooth scroll, which would carry the point away from the finger.
      await page.reload({ waitUntil: "networkidle" });
      await tap(page, path);
    }
    await context.close();
  }

const board = paths.find((p) => p.startsWith("tracks/"));
if (board) {
  const page = await browser.newPage();
  await page.goto(`${url}${board}?x=nonsense`, { waitUntil: "networkidle" });
  const told = await page.textContent("#chart .chartnote");
  if (!told.includes("nonsense") || !(await page.$("#chart svg.chart")))
    fault({ what: "unknown axis", told });
  for (const status of [404, 503]) {
    const other = await browser.newPage();
    await other.route("**/charts/*.svg", (r) => r.fulfill({ status, body: "<html>no</html>" }));
    await other.goto(url + board, { waitUntil: "networkidle" });
    await other.locator("#chart .axes a[data-x]:not([aria-current])").first().click();
    await other.waitForTimeout(300);
    const words = await other.textContent("#chart .chartnote");
    const kept = await other.$$eval("#chart svg.chart", (s) => s.length);
    if (!words.includes(String(status)) || kept < 2) fault({ what: "lost chart", status, words, kept });
    await other.close();
  }
}
await browser.close();
console.log(JSON.stringify({ points, faults }));
process.exitCode = faults || !points ? 1 : 0;
