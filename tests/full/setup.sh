#!/usr/bin/env bash
# Installs what the full test run needs beside Python packages. Run by `make test-full`.
set -euo pipefail
cd "$(dirname "$0")"
bash ../site/setup.sh
