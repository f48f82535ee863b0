// Debian's Chromium with the flags that keep it offline and quiet.
import { chromium } from "playwright-core";

export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
export const BINARY = process.env.CHROME_PATH || "/usr/bin/chromium";

export function launch(more = []) {
  return chromium.launch({ executablePath: BINARY, headless: true, args: [...FLAGS, ...more] });
}
