// node first_load.mjs URL PATH[=KB]...   bytes as transferred by a first visit, and when the page
// answers, in new windows; fails if a page weighs more than its limit.
import { launch } from "./launch.mjs";

const [url, ...asked] = process.argv.slice(2);
const browser = await launch();
let heavy = 0;
for (const one of asked) {
  const [path, limit] = one.split("=");
  const times = [];
  let bytes = 0;
  for (let i = 0; i < 3; i++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    bytes = 0;
    client.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
    await page.goto(url + path);
    if (await page.$(".sr.track .tools")) await page.waitForSelector(".sr.track[data-ready]");
    times.push(await page.evaluate(() => performance.now()));
    await page.waitForLoadState("networkidle");
    await context.close();
  }
  times.sort((a, b) => a - b);
  const over = limit && bytes > 1000 * Number(limit);
  heavy += over ? 1 : 0;
  console.log(
    `${over ? "FAIL " : ""}${path || "/"}: ${(bytes / 1000).toFixed(0)} KB` +
      `${limit ? ` of ${limit}` : ""}, answers after ${times[1].toFixed(0)} ms (best ${times[0].toFixed(0)})`,
  );
}
await browser.close();
process.exitCode = heavy ? 1 : 0;
