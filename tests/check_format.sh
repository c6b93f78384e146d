#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format 14 writes it.
set -u
cd "$(dirname "$0")/.." || exit 1
format=$(command -v clang-format-14 || command -v clang-format) || {
  echo "skipped: clang-format is not installed"
  exit 77
}
find src engines workloads tests bench \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 "$format" --dry-run --Werror
