// node check_html.mjs FILE...: html-validate, less the theme's own faults (theme-faults.json).
import { readFileSync } from "node:fs";
import { FileSystemConfigLoader, HtmlValidate } from "html-validate";

const here = new URL(".", import.meta.url).pathname;
const config = JSON.parse(readFileSync(here + "htmlvalidate.json", "utf8"));
const allowed = JSON.parse(readFileSync(here + "theme-faults.json", "utf8"));
const validator = new HtmlValidate(new FileSystemConfigLoader(config));
let faults = 0;
for (const file of process.argv.slice(2)) {
  const report = await validator.validateString(readFileSync(file, "utf8"), file);
  for (const message of report.results.flatMap((r) => r.messages)) {
    const known = allowed.some(
      (a) =>
        a.rule === message.ruleId &&
        (a.selector === null || new RegExp(a.selector).test(message.selector || "")),
    );
    if (known) continue;
    faults++;
    console.log(
      JSON.stringify({
        file,
        line: message.line,
        rule: message.ruleId,
        text: message.message,
        at: message.selector,
      }),
    );
  }
}
console.log(JSON.stringify({ files: process.argv.length - 2, faults }));
process.exitCode = faults ? 1 : 0;
