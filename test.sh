#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up on a fresh Debian 12, then every test. What takes over five minutes runs with --long.
# usage: ./test.sh [--quick] [--long]     --quick: no sanitizer build, no fuzzing, no clang-tidy
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$ROOT/scripts/setup.sh"

quick=no long=no
for argument in "$@"; do
  case $argument in
    --quick) quick=yes ;;
    --long) long=yes ;;
    *) sed -n '3,4s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
# Tests inside a program that did not run, with their reasons; ctest counts the program as passed.
say_skips() {
  local log=$ROOT/build/$1/Testing/Temporary/LastTest.log
  grep -qs ': Skipped$' "$log" || return 0
  say "skipped ($1), with how often"
  grep -A1 ': Skipped$' "$log" | grep -vE ': Skipped$|^--$' | sort | uniq -c >&2
}

fuzz_seconds=${GRADSTONE_FUZZ_SECONDS:-60}
[[ $long == yes ]] && export GRADSTONE_LONG_TESTS=1

install_packages build engines data test
build release

if [[ $quick == no ]]; then
  build dev
  say "tests under address and undefined-behaviour sanitizers (dev)"
  ctest --preset dev -LE release_only
  say_skips dev
  say "clang-tidy"
  "$ROOT/tests/clang_tidy.sh"
  build fuzz --target fuzz_targets
  say "fuzz targets, $fuzz_seconds s each"
  "$ROOT/tests/fuzz/run.sh" "$ROOT/build/fuzz/fuzz" "$fuzz_seconds"
fi

say "tests (release)"
ctest --preset release
say_skips release
