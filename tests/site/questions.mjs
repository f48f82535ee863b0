// node questions.mjs URL [WIDTH]   what readers ask, answered as they would: at most two clicks and
// ten seconds each (typing is no click). The answers wanted are facts of the official tables and of
// the logs on file, not what the site says.
import { launch } from "./launch.mjs";

const [url, width = "1440"] = process.argv.slice(2);
const MOST_CLICKS = 2;
const MOST_MS = 10_000;
const browser = await launch();
let failed = 0,
  asked = 0;

async function question(words, answer, pattern) {
  const context = await browser.newContext({ viewport: { width: Number(width), height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  let clicks = 0;
  const reader = {
    page,
    click: async (what) => (
      clicks++, page.locator(what).filter({ visible: true }).first().click()
    ),
    type: async (what, text) => page.fill(what, text),
    // Into the search box at the top, and Enter: the first answer.
    search: async (text) => {
      await page.fill(".sr-search input", text);
      await page.waitForSelector(".sr-search li a");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    },
    board: async (name) => {
      await reader.click(`.card a:text-is("${name}")`);
      await page.waitForSelector(".sr.track[data-ready]");
    },
    read: async (what) => (await page.locator(what).first().innerText()).replace(/\s+/g, " "),
    get: async (what) => {
      const link = await page.locator(what).first().getAttribute("href");
      return (await page.request.get(new URL(link, page.url()).href)).text();
    },
  };
  let found = "",
    took = 0;
  try {
    await page.goto(url);
    const began = Date.now();
    found = await answer(reader);
    took = Date.now() - began;
  } catch (error) {
    found = `ERROR ${error.message.split("\n")[0]}`;
  }
  const good = pattern.test(found) && clicks <= MOST_CLICKS && took < MOST_MS;
  asked++;
  failed += good ? 0 : 1;
  console.log(`${good ? "ok  " : "FAIL"} ${words}\n     ${found.slice(0, 220)}`);
  console.log(`     ${clicks} clicks, ${(took / 1000).toFixed(1)} s`);
  await context.close();
}

const SMALL = "NanoGPT small: time to 3.28";
const MEDIUM = "NanoGPT medium: time to 2.92";
const PARETO = "FineWeb-Edu: quality against compute";
const card = (name) => `.card:has(a:text-is("${name}"))`;
const holder = (r) => r.click(`${card(SMALL)} .who a`);

await question("who holds the record, and what is it?", (r) => r.read(card(SMALL)), /73\.80 s.*#89 FP8DownProjection by Mister-dev-oss/);
await question("by how much did it beat the one before, and when?", (r) => r.read(card(SMALL)), /−1\.05 % on 2026-07-17/);
await question(
  "how is it proved?",
  async (r) => (await holder(r), r.read('section:has(> h2:text-is("Statistics"))')),
  /13 runs: p = 0\.0007 .*3\.28 at 0\.01/,
);
await question(
  "what did it beat, and on which clock?",
  async (r) => (await holder(r), r.read('section:has(> h2:has-text("What changed"))')),
  /from 74\.58 s \(#88 PrefixTokenPrediction\) to 73\.80 s.*official timing.*own runs took 79\.68 s.*0\.9871/,
);
await question(
  "what changed in the code?",
  async (r) => (await holder(r), r.page.locator('.evidence a:has-text("Pull request")').getAttribute("href")),
  /modded-nanogpt\/pull\/342/,
);
await question(
  "who made it, all of them?",
  async (r) => (await holder(r), r.read(".people")),
  /Mister-dev-oss CerovazS MarioPaerle GabrieleCirillo crisostomi/,
);
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
  "which entries used Muon?",
  async (r) => (await r.search("Muon and its variants"), r.read("section:has(> #muon)")),
  /#80 PairedHeadMuon.*#4 Muon/,
);
await question(
  "what did one person do?",
  async (r) => (await r.search("classiclarryd"), `${await r.read(".lede")} ${await r.read("tbody")}`),
  /records set.*#77 SimplifyHC/,
);
await question(
  "which track is not open yet, and what opens it?",
  async (r) => (await r.click('a:text-is("what opens it")'), r.read(".empty pre")),
  /speedrun baseline make single-gpu-fineweb/,
);
await question("what is newest?", (r) => r.read(".newest tbody tr"), /2026-11-28 A smaller batch/);
await question(
  "how much must the next record gain?",
  async (r) => (await r.board(SMALL), r.read("#story figcaption")),
  /From 45 min to 73\.80 s in 25 months.*last 10 records gained 0\.35 to 3\.71 %/,
);
await question(
  "how does one entry compare with the record?",
  async (r) => {
    await r.search("#88");
    await r.click('.below a:text-is("Compare")');
    await r.page.waitForSelector(".sr.compare[data-ready]");
    return r.read(".numbers table");
  },
  /#88 PrefixTokenPrediction #89 FP8DownProjection.*decides s 74\.58 73\.80 \(−1\.05 %\)/,
);
await question(
  "how do I cite a board?",
  async (r) => (await r.board(SMALL), await r.click('.reuse a:text-is("Cite")'), r.read("#cite-nanogpt-small")),
  /@misc\{speedrun-nanogpt-small/,
);
await question(
  "where are the raw numbers?",
  async (r) => (await r.board(SMALL), (await r.get('#board a:text-is("CSV")')).slice(0, 200)),
  /track,number,submission,point,place/,
);
await question(
  "where are the numbers of a chart?",
  async (r) => (await r.board(SMALL), (await r.get('#story a:text-is("CSV")')).slice(-900)),
  /89,2026-07-17,.*73\.8,official/,
);
await question(
  "how much of the official history is on file?",
  async (r) => (await r.board(SMALL), r.read(".lede")),
  /52 of 89 official results/,
);
await question(
  "what is known of a record that is not on file?",
  async (r) => {
    await r.board(SMALL);
    await r.click("#story summary");
    return r.read('#story tbody tr:has(td:text-is("85"))');
  },
  /85 2026-05-27 .*76\.26.*Lisennlp its evidence is not on file/,
);
await question(
  "how fast was the first, and when?",
  async (r) => {
    await r.board(SMALL);
    await r.click("#story summary");
    return r.read('#story tbody tr:has(td:text-is("1")):last-child');
  },
  /1 2024-05-28 .*2.700\.00/,
);
await question(
  "what did an entry's own runs take, beside the official time?",
  async (r) => (await r.search("#80"), r.read(".figures")),
  /84\.36 s official timing.*92\.63 s/,
);
await question(
  "why is an official record not ranked here?",
  async (r) => {
    await r.board(SMALL);
    await r.click("summary:has-text('on file that')");
    return r.read('section:has(> h2:text-is("Not ranked")) tr:has-text("#21")');
  },
  /misses the target 3\.28/,
);
await question(
  "what changed in the rules of a track?",
  async (r) => (await r.board(SMALL), r.read(".history")),
  /2025-12-02 .*same hardware/,
);
await question(
  "what does a rule check?",
  async (r) => (await r.search("mfu impossible"), r.read(".rulepage")),
  /mfu-impossible.*FLOPs/i,
);
await question(
  "how do I submit?",
  async (r) => (await r.click('a:text-is("How to submit, with every detail")'), r.read("article")),
  /speedrun new TRACK\/NAME/,
);
await question(
  "is the newest official record of the medium track on file?",
  (r) => r.read(card(MEDIUM)),
  /Official record #18 is not on file: −24\.50 % on 2025-12-31/,
);
await question(
  "how far is the second from the best?",
  async (r) => {
    await r.board(SMALL);
    await r.page.selectOption('[name="rel"]', "1");
    await r.page.waitForSelector('table.board td:text("×")');
    return r.read("table.board tbody tr:nth-child(2)");
  },
  /#88 .*1\.011 ×/,
);
await question(
  "is there a feed that says what was beaten?",
  async (r) => {
    await r.board(SMALL);
    await r.click('.reuse a:text-is("Cite")');
    return (await r.get('a[href$="feeds/nanogpt-small.xml"]')).slice(0, 1600);
  },
  /Beats #88 PrefixTokenPrediction: 74\.58 s to 73\.80 s/,
);
await browser.close();
console.log(JSON.stringify({ asked, failed }));
process.exit(failed ? 1 : 0);
