#!/usr/bin/env bash
# Installs what the browser checks need: Debian's Chromium and the npm packages of the lock file.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v chromium >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium fonts-noto-core
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
