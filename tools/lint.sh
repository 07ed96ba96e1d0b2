#!/usr/bin/env bash
# clang-tidy over all C++ files, then the project's own checks. Needs the clang preset built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
check() { "$@" || status=1; }

# run-clang-tidy echoes each command and the counts of what it suppressed: no news, left out.
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
