// node overview.mjs OUT LEFT RIGHT   two pages side by side as one picture 1600 px wide.
import { launch } from "./launch.mjs";

const [out, left, right] = process.argv.slice(2);
const [width, height, gap, edge, top] = [1600, 1000, 28, 28, 74];
const pane = (width - gap - 2 * edge) / 2;
const tall = height - top - edge;
const browser = await launch();

async function shot(url, ratio) {
  // Without scripts, so that the picture never depends on how fast they were.
  const page = await browser.newPage({
    viewport: { width: Math.round(pane / ratio), height: Math.round(tall / ratio) },
    deviceScaleFactor: ratio,
    javaScriptEnabled: false,
  });
  await page.goto(url, { waitUntil: "networkidle" });
  const data = await page.screenshot();
  await page.close();
  return `data:image/png;base64,${data.toString("base64")}`;
}

const panes = [
  ["On the pull request, within minutes", await shot(left, 1.42)],
  ["On the board, recomputed from evidence", await shot(right, 0.97)],
];
const page = await browser.newPage({ viewport: { width, height } });
await page.setContent(`<!doctype html><style>
body { margin: 0; background: #eef1f4; width: ${width}px; height: ${height}px; position: relative;
  font: 600 25px "Noto Sans", system-ui, sans-serif; color: #12304f; }
figure { position: absolute; top: 0; margin: 0; width: ${pane}px; }
figcaption { height: ${top}px; line-height: ${top}px; }
img { width: ${pane}px; height: ${tall}px; display: block; background: #fff;
  border-radius: 8px; box-shadow: 0 1px 5px rgba(20, 30, 45, .25); }
</style>${panes
  .map(
    ([words, data], i) =>
      `<figure style="left:${edge + i * (pane + gap)}px"><figcaption>${words}</figcaption>` +
      `<img src="${data}" alt=""></figure>`,
  )
  .join("")}`);
await page.screenshot({ path: out });
await browser.close();
