// node questions.mjs URL   ten questions of a reader, answered by clicking: what was read, in how
// many acts (a click, a choice, something typed), and how long the pages took.
import { launch } from "./launch.mjs";

const [url] = process.argv.slice(2);
const MOST_ACTS = 6;
const MOST_MS = 60_000;
const browser = await launch();
let failed = 0;

async function question(words, answer, pattern) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  let acts = 0;
  const reader = {
    page,
    click: async (what) => (acts++, page.locator(what).filter({ visible: true }).first().click()),
    type: async (what, text) => (acts++, page.fill(what, text)),
    board: async (name) => {
      await reader.click(`.card a:text-is("${name}")`);
      await page.waitForSelector(".sr.track[data-ready]");
    },
    read: async (what) => (await page.locator(what).first().innerText()).replace(/\s+/g, " "),
  };
  const began = Date.now();
  let found;
  try {
    await page.goto(url);
    found = await answer(reader);
  } catch (error) {
    found = `ERROR ${error.message.split("\n")[0]}`;
  }
  const took = Date.now() - began;
  const good = pattern.test(found) && acts <= MOST_ACTS && took < MOST_MS;
  failed += good ? 0 : 1;
  console.log(`${good ? "ok  " : "FAIL"} ${words}\n     ${found.slice(0, 220)}`);
  console.log(`     ${acts} acts, ${(took / 1000).toFixed(1)} s`);
  await context.close();
}

const SMALL = "NanoGPT small: time to 3.28";
const PARETO = "FineWeb-Edu: quality against compute";

await question(
  "which run under 1e19 FLOPs has the best quality, and who made it?",
  async (r) => {
    await r.board(PARETO);
    await r.type('[name="max"]', "1e19");
    await r.click('th[data-key="bpb"] button');
    return r.read("table.board tbody tr");
  },
  /1\.\d{4} .*e18 .*[A-Z][a-z]+ [A-Z]/,
);
await question(
  "who holds the record of nanogpt-small, since when, with what p?",
  (r) => r.read(`.card:has(a:text-is("${SMALL}"))`),
  / s .* by \S+ .*p = 0\.\d+.*20\d\d-\d\d-\d\d/,
);
await question(
  "how much did the record improve, in all and over a year?",
  async (r) => {
    await r.board(SMALL);
    return r.read('figcaption:has(h2:text-is("The record over time")) p');
  },
  /From .* times less\. In its last twelve months: from .* %/,
);
await question(
  "is an entry believable, and if not, why?",
  async (r) => {
    await r.board(SMALL);
    await r.click("table.board tbody tr a");
    return `${await r.read(".verdict")} ${await r.read(".findings, h2:text-is('Findings') + p")}`;
  },
  /erified.*(warning|note|No rule)/,
);
await question(
  "how do I submit?",
  async (r) => {
    await r.click('a:text-is("How to submit, with every detail")');
    return r.read("article");
  },
  /speedrun new TRACK\/NAME/,
);
await question(
  "what would the record cost me in money?",
  async (r) => {
    await r.click(`.card:has(a:text-is("${SMALL}")) .who a`);
    return r.read('.figures div:has(dt:text-is("Cost at stated rates"))');
  },
  /\$\d/,
);
await question(
  "which entries do not rank, and why?",
  async (r) => {
    await r.board(SMALL);
    await r.click("summary:has-text('on file that')");
    return r.read('section:has(> h2:text-is("Not ranked")) tbody');
  },
  /is missing|misses the target|rejected|could not be/,
);
await question(
  "how do two entries' loss curves compare?",
  async (r) => {
    await r.board(SMALL);
    await r.click("table.board tbody tr:nth-child(1) .pick");
    await r.click("table.board tbody tr:nth-child(2) .pick");
    await r.click("a.compare");
    await r.page.waitForSelector(".curves canvas");
    return r.read(".numbers table");
  },
  /Validation loss \d\.\d+ \d\.\d+/,
);
await question(
  "what changed in the rules of a track?",
  async (r) => {
    await r.board(SMALL);
    return r.read(".history");
  },
  /20\d\d-\d\d-\d\d \S+/,
);
await question(
  "where are the raw data?",
  async (r) => {
    await r.board(SMALL);
    const link = await r.page.locator('#board a:text-is("CSV")').first().getAttribute("href");
    const got = await r.page.request.get(new URL(link, r.page.url()).href);
    return `${link}: ${(await got.text()).slice(0, 80)}`;
  },
  /track,submission,point,place/,
);
await browser.close();
process.exit(failed ? 1 : 0);
