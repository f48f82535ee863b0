#!/usr/bin/env bash
# Copies uPlot from its npm package, whose bytes the lock file fixes, into the site's assets.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund
mkdir -p ../theme/assets/vendor
cp node_modules/uplot/dist/uPlot.iife.min.js node_modules/uplot/dist/uPlot.min.css ../theme/assets/vendor/
cp node_modules/uplot/LICENSE ../theme/assets/vendor/LICENSE.uPlot
