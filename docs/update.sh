#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints again what documentation takes from tables of the program. tests/cli/list.test checks that it is current.
# usage: docs/update.sh PATH_OF_GRADSTONE
set -eu
gradstone=$(realpath "$1")
cd "$(dirname "$0")"
{
  printf '# Metrics\n\nEvery figure of a record. Unit `1` means none; shares are from 0 to 1. Printed from the catalogue in\n'
  printf '`src/analysis/metric_catalogue.cc` by `docs/update.sh`.\n\n'
  "$gradstone" list metrics --format md
} >metrics.md
{
  printf '# Operators\n\nWhat a graph is made of: ONNX operators (opset 17), and the operators of our own domain: those for\n'
  printf 'workloads (own-operators.md) and those that backward passes are made of (`src/graph/gradient_ops.h`). Printed from the operator table by `docs/update.sh`.\n\n'
  "$gradstone" list operators --format md
} >operators.md
