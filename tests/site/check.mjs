// node check.mjs URL [PATH...]: what only a browser can tell. Prints JSON lines {page, what, ...} of
// faults, and ends with a line {pages, faults}. Each page: light, dark, 390 and 320 px; requests off the
// origin, console errors, policy reports, axe (WCAG 2.2 A and AA), sideways scrolling.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { launch } from "./launch.mjs";

const [url, ...paths] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const browser = await launch();
let faults = 0;
const report = (fault) => {
  faults++;
  console.log(JSON.stringify(fault));
};

for (const [width, scheme] of [
  [1440, "light"],
  [1440, "dark"],
  [390, "light"],
  [320, "light"],
]) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    bypassCSP: false,
  });
  for (const path of paths) {
    const page = await context.newPage();
    const at = { page: path || "/", width, scheme };
    page.on("console", (m) => {
      if (m.type() === "error") report({ ...at, what: "console", text: m.text().slice(0, 300) });
    });
    page.on("pageerror", (e) =>
      report({ ...at, what: "exception", text: e.message.slice(0, 300) }),
    );
    page.on("request", (r) => {
      const to = r.url();
      if (!to.startsWith(url) && !/^(data|blob|about):/.test(to))
        report({ ...at, what: "off-origin", text: to.slice(0, 200) });
    });
    await page.addInitScript(() =>
      document.addEventListener("securitypolicyviolation", (e) =>
        console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`),
      ),
    );
    await page.goto(url + path, { waitUntil: "networkidle" });
    if (await page.evaluate(() => "pwned" in window))
      report({ ...at, what: "script of a stranger ran" });
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (wide > 1) report({ ...at, what: "scrolls sideways", text: `${wide} px` });
    // The page's policy allows no script of ours: axe runs in a copy that is loaded without it.
    const open = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      bypassCSP: true,
    });
    const copy = await open.newPage();
    await copy.goto(url + path, { waitUntil: "networkidle" });
    await copy.evaluate(axe);
    const found = await copy.evaluate(
      (tags) => window.axe.run(document, { runOnly: { type: "tag", values: tags } }),
      TAGS,
    );
    await open.close();
    for (const v of found.violations)
      report({
        ...at,
        what: "axe",
        rule: v.id,
        nodes: v.nodes.length,
        text:
          v.nodes[0].html.slice(0, 200) +
          " | " +
          (v.nodes[0].any[0]?.message || v.help).slice(0, 160),
      });
    await page.close();
  }
  await context.close();
}
await browser.close();
console.log(JSON.stringify({ pages: paths.length, faults }));
process.exitCode = faults ? 1 : 0;
