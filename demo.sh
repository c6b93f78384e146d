#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up on a fresh Debian 12, then the main job on real data: two networks really trained, and a report of it.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$ROOT/scripts/setup.sh"

install_packages build engines data
build release --target release_binaries

gradstone=$ROOT/build/release/bin/gradstone
say "what this machine is, and what would spoil a measurement"
"$gradstone" doctor || true

say "LeNet on Fashion-MNIST: two epochs by each installed framework, and the first 200 steps by the reference"
"$gradstone" run --workload lenet-caffe --engine all --data fashion-mnist --epochs 2 --label demo-lenet
"$gradstone" run --workload lenet-caffe --engine reference --data fashion-mnist --steps 200 --label demo-reference

say "ResNet-50 (64x64 images) on synthetic images"
"$gradstone" run --workload resnet50 --size small --engine all --label demo-resnet50

say "report"
"$gradstone" report demo-lenet demo-reference demo-resnet50
