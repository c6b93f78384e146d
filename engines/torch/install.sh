#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts a LibTorch that Debian does not have beside Debian's: engines/torch/install.sh 2.15.0
# Takes from the wheels only what a C++ program on the CPU needs. Running it again is harmless; a run that was cut
# short continues with the wheels that had arrived whole. PIP_FIND_LINKS=FOLDER takes wheels from a folder.
set -euo pipefail

fail() { echo "install.sh: $*" >&2; exit 1; }

version=${1:-}
case $version in
  2.15.0)
    download_mb=554 unpack_mb=540
    requirements=(
      "torch==2.15.0 --hash=sha256:48c2d861134c0b5697c7602cb5ffa68f62a2989fdcd1717e593356f67996ca1e"
      "nvidia-cuda-runtime==13.2.86 --hash=sha256:3498247680dfddce31bad102af7e3e26fc795342a3cac64722bb0fa95e7f60f0"
      "nvidia-cuda-cupti==13.2.86 --hash=sha256:8fa29f15dd8336181f961764d9d95236fc6b931dd0c8fcf8cd70aab0c310b586"
    ) ;;
  *) echo "usage: $0 2.15.0" >&2; exit 2 ;;
esac

# Where gradstone looks too (src/base/files.h): $GRADSTONE_HOME, $XDG_DATA_HOME/gradstone, ~/.local/share/gradstone.
data=${XDG_DATA_HOME:-}
[[ $data == /* ]] || data=$HOME/.local/share
root=${GRADSTONE_HOME:-$data/gradstone}/frameworks/torch
target=$root/$version
if [[ -e $target ]]; then
  echo "torch $version is already in $target"
  exit 0
fi
[[ $(uname -sm) == "Linux x86_64" ]] || fail "the wheels are for Linux on x86_64, this is $(uname -sm)"
python3 -m pip --version >/dev/null 2>&1 || fail "needs pip: apt-get install python3-pip"

mkdir -p "$root"
wheels=$root/.wheels-$version
staging=$root/.staging-$version
exec 9>"$root/.lock"
flock -n 9 || fail "another install is running in $root"
echo "torch $version: downloads $download_mb MB, needs $((download_mb + unpack_mb)) MB of disk and keeps $unpack_mb MB in $target"
free_mb=$(df --output=avail -BM "$root" | tail -1 | tr -dc 0-9)
((free_mb > download_mb + unpack_mb)) || fail "only $free_mb MB free in $root; set GRADSTONE_HOME to a larger disk"

mkdir -p "$wheels"
trap 'rm -rf "$staging"; rmdir "$wheels" 2>/dev/null || true' EXIT
rm -rf "$staging"

# One call a wheel, so that each that has arrived is kept. The wheel is named for Python 3.11 whatever runs pip: only its
# C++ part is used.
for requirement in "${requirements[@]}"; do
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp \
    --python-version 3.11 --abi cp311 --abi none --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux2014_x86_64 --require-hashes --find-links "$wheels" --dest "$wheels" \
    --requirement <(echo "$requirement") || fail "could not download ${requirement%% *}; run it again to continue"
done

python3 - "$wheels" "$staging" <<'PYTHON' || fail "could not unpack the wheels"
import pathlib, sys, zipfile
wheels, staging = sys.argv[1:]
libraries = {"torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp.so.1"}
for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(staging, [name for name in archive.namelist()
            if name in libraries or name.startswith(("torch/include/", "nvidia/cu13/lib/")) or "/licenses/" in name])
PYTHON
mv -T "$staging" "$target"
rm -rf "$wheels"
echo "torch $version is in $target; configure again (cmake --preset release) to build engine-torch@$version"
