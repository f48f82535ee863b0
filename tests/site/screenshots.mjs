// node screenshots.mjs URL OUT PATH...   each page at 1440 and 390 px, light and dark.
import { launch } from "./launch.mjs";

const [url, out, ...paths] = process.argv.slice(2);
const browser = await launch();
for (const width of (process.env.WIDTHS || "1440,390").split(",").map(Number))
  for (const scheme of (process.env.SCHEMES || "light,dark").split(",")) {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
    });
    const page = await context.newPage();
    page.on("console", (m) => {
      if (["error", "warning"].includes(m.type())) console.log(m.text());
    });
    page.on("pageerror", (e) => console.log("ERROR", e.message));
    for (const path of paths) {
      await page.goto(url + path, { waitUntil: "networkidle" });
      const name = (path.split("?")[0].replace(/[^a-z0-9.-]+/gi, "_") || "home").replace(/_$/, "");
      await page.screenshot({
        path: `${out}/${name}-${width}-${scheme}.png`,
        fullPage: process.env.FULL !== "0",
      });
    }
    await context.close();
  }
await browser.close();
