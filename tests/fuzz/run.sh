#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for a while, two at a time, from the seeds in tests/fuzz/seeds/<target>.
# usage: run.sh FOLDER SECONDS
set -u
folder=$1 seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fuzz_one() {
  local target=$1 name corpus
  name=$(basename "$target")
  corpus=$work/$name
  mkdir -p "$corpus"
  local seeds=()
  [[ -d $here/seeds/$name ]] && seeds=("$here/seeds/$name")
  if "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -artifact_prefix="$work/$name." \
    "$corpus" "${seeds[@]}" >"$work/$name.log" 2>&1; then
    echo "$name: $(grep -oE 'Done [0-9]+ runs' "$work/$name.log")"
  else
    tail -40 "$work/$name.log"
    for artifact in "$work/$name."{crash,oom,timeout}-*; do
      [[ -f $artifact ]] && { echo "$name: input that fails (base64):"; base64 "$artifact" | head -20; }
    done
    echo "$name: FAILED"
    return 1
  fi
}
export -f fuzz_one
export here work seconds
targets=("$folder"/*_fuzz)
[[ -x ${targets[0]} ]] || { echo "no fuzz targets in $folder"; exit 1; }
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P 2 bash -c 'fuzz_one "$0"'
