#!/usr/bin/env bash
# Runs clang-tidy on all C++ files, then the project's own checks. Needs a build of preset clang.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
check() { "$@" || status=1; }

# Filters out what run-clang-tidy always prints: its commands and the number of suppressed warnings.
lint() {
  run-clang-tidy -quiet -j2 -p build/clang \
    "^$PWD/(src|sim|tests|bench|examples|fuzz)/.*\.cc$" 2>&1 |
    sed -E $'s/\033\\[[0-9;]*m//g' |
    grep -vE '^([^ ]*clang-tidy[-0-9]* |[0-9]+ warnings? |$)'
  return "${PIPESTATUS[0]}"
}

check lint
check python3 tools/check_layers.py
check python3 tools/check_border.py
check python3 tools/check_tidy.py
check python3 tools/check_vocabulary.py
check python3 tools/check_words.py
check python3 tools/check_docs.py
check python3 tools/format.py --check
[[ $status -eq 0 ]] && echo "lint: clean"
exit "$status"
