#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The core loads no framework, and no worker is linked to a protobuf by us (a framework may bring its own).
# usage: check_links.sh BIN
set -u
bin=$1
failures=0
complain() { echo "$1"; failures=$((failures + 1)); }

[[ -x $bin/gradstone ]] || { echo "no $bin/gradstone"; exit 1; }
if ldd "$bin/gradstone" | grep -iE 'torch|tensorflow|mxnet|caffe|cntk|libc10|openblas|mkl'; then
  complain "gradstone links a framework"
fi
workers=0
for manifest in "$bin"/engine-*.json; do
  worker=${manifest%.json}
  workers=$((workers + 1))
  ldd "$worker" | grep 'not found' && complain "$worker: a library is missing"
  readelf -d "$worker" | grep NEEDED | grep -i protobuf && complain "$worker links protobuf"
done
((workers > 0)) || complain "no workers in $bin"
((failures == 0)) || exit 1
echo "links: ok ($workers workers)"
