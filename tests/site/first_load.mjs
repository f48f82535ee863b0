// node first_load.mjs URL PATH...   bytes as transferred, and when the board answers, in new windows.
import { launch } from "./launch.mjs";

const [url, ...paths] = process.argv.slice(2);
const browser = await launch();
for (const path of paths) {
  const times = [];
  let bytes = 0;
  for (let i = 0; i < 7; i++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    bytes = 0;
    client.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
    await page.goto(url + path);
    await page.waitForSelector(".sr.track[data-ready]");
    times.push(await page.evaluate(() => performance.now()));
    await page.waitForLoadState("networkidle");
    await context.close();
  }
  times.sort((a, b) => a - b);
  console.log(
    `${path}: ${(bytes / 1000).toFixed(0)} KB, answers after ${times[3].toFixed(0)} ms (best ${times[0].toFixed(0)})`,
  );
}
await browser.close();
