#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A full disk gives an error that names the store, and what was recorded before stays readable.
# usage: full_disk.sh BIN
set -u
bin=$1
folder=$(mktemp -d)
cleanup() { umount "$folder" 2>/dev/null; rmdir "$folder"; }
trap cleanup EXIT
mount -t tmpfs -o size=1m tmpfs "$folder" 2>/dev/null || { echo "skipped: may not mount a tmpfs here"; exit 77; }
fail() { echo "FAILED: $1"; exit 1; }

run() {
  "$bin/gradstone" run --workload lenet-caffe --engine reference --batch 2 --steps 2 --data synthetic:train=64,test=16 \
    --store "$folder/records.db" "$@"
}
run --label before >/dev/null || fail "the first run should fit"
dd if=/dev/zero of="$folder/ballast" bs=4k 2>/dev/null
message=$(run --label after 2>&1 >/dev/null)
code=$?
((code != 0)) || fail "a run that cannot be recorded must not exit with 0"
grep -q "$folder/records.db" <<<"$message" || fail "the message does not name the store: $message"
rm "$folder/ballast"
"$bin/gradstone" report before --store "$folder/records.db" --format json | grep -q '"outcome": *"ok"' ||
  fail "what was recorded before is gone"
[[ $(sqlite3 "$folder/records.db" 'pragma integrity_check') == ok ]] || fail "the store is damaged"
run --label again >/dev/null || fail "the next run should work once there is room"
echo "ok: a full disk costs only the run that found it full ($message)"
