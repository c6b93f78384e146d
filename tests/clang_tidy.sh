#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the short fatal list of .clang-tidy on every source of the dev build. A file whose preprocessed text
# passed before is not read again.
set -u
cd "$(dirname "$0")/.." || exit 1
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo "clang-tidy is not installed"; exit 1; }
clang=$(command -v clang++-14 || command -v clang++) || { echo "clang is not installed"; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gradstone/clang-tidy
mkdir -p "$cache"

check_one() {
  local file=$1 key
  key=$({ cat .clang-tidy; "$clang" -std=c++20 -E -P -Isrc -I. "$file" 2>/dev/null; } | sha256sum | cut -d' ' -f1)
  [[ -f $cache/$key ]] && return 0
  if "$tidy" --quiet -p build/dev "$file" 2>/dev/null; then
    touch "$cache/$key"
  else
    echo "$file: clang-tidy found faults"
    return 1
  fi
}
export -f check_one
export tidy clang cache
python3 - <<'P' | xargs -0 -n 1 -P "$(nproc)" bash -c 'check_one "$0"' || exit 1
import json, os
root = os.getcwd() + "/"
for entry in json.load(open("build/dev/compile_commands.json")):
    path = os.path.join(entry["directory"], entry["file"])
    if path.startswith(root) and not path.startswith(root + "build/"):
        print(path[len(root):], end="\0")
P
echo "clang-tidy: ok"
