// node cells.mjs URL TRACK...   every cell that a board's page serves against the same cell redrawn
// by the script, with every column switched on. Prints JSON lines of differences, ends with a count.
import { launch } from "./launch.mjs";

const [url, ...tracks] = process.argv.slice(2);
const browser = await launch();
let faults = 0,
  compared = 0;
const read = () =>
  [...document.querySelectorAll("table.board tbody tr")].map((row) =>
    [...row.cells].map((cell) => [
      cell.tagName,
      cell.textContent.replace(/\s+/g, " ").trim(),
      [...cell.querySelectorAll("a")].map((a) => a.href).join(" "),
      [...cell.querySelectorAll("span")].map((s) => s.className).join(" "),
    ]),
  );
for (const track of tracks) {
  const page = await browser.newPage();
  await page.goto(`${url}tracks/${track}/`);
  await page.waitForSelector(".sr.track[data-ready]");
  const served = await page.evaluate(read);
  const keys = await page.$$eval("table.board thead th", (heads) => heads.map((h) => h.dataset.key));
  // Every column on, so that hidden ones are drawn too; the order of the rows stays.
  await page.goto(`${url}tracks/${track}/?cols=${keys.join(",")}`);
  await page.waitForSelector(".sr.track[data-ready]");
  const drawn = await page.evaluate(read);
  for (const [n, row] of served.entries())
    for (const [c, cell] of row.entries()) {
      compared++;
      const other = drawn[n]?.[c];
      if (JSON.stringify(cell) === JSON.stringify(other)) continue;
      faults++;
      if (faults < 40)
        console.log(
          JSON.stringify({ what: "cell", track, row: n, column: keys[c], served: cell, drawn: other }),
        );
    }
  await page.close();
}
await browser.close();
console.log(JSON.stringify({ compared, faults }));
process.exitCode = faults || !compared ? 1 : 0;
