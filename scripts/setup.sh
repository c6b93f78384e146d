# SPDX-License-Identifier: Apache-2.0
# Sourced by demo.sh and test.sh: brings what Gradstone needs onto this machine. Packages are listed in packages.txt.

say() { printf '\n== %s\n' "$*" >&2; }

# The packages of the named groups that are not installed yet.
missing_packages() {
  local group line package
  for group in "$@"; do
    line=$(grep -E "^$group:" "$ROOT/packages.txt") || { echo "packages.txt has no group $group" >&2; return 1; }
    for package in ${line#*:}; do
      dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
    done
  done
}

# install_packages GROUP ...: by root or sudo; without either prints the command for an administrator and stops.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This set-up knows Debian 12 (and tries Ubuntu). Elsewhere install what packages.txt lists, then run" >&2
    echo "  cmake --preset release && cmake --build build/release" >&2
    exit 1
  fi
  local missing
  missing=$(missing_packages "$@") || exit 1
  [[ -z $missing ]] && return 0
  missing=$(echo $missing)
  local as_root=()
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      echo "These packages are missing. Ask an administrator to run, once:" >&2
      echo "  apt-get install --no-install-recommends $missing" >&2
      exit 1
    fi
  fi
  say "installing packages: $missing"
  # A list that was never fetched, or is old, is fetched when it turns out to be needed.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2 ||
    { "${as_root[@]}" apt-get update >&2 &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2; } ||
    { echo "installing packages failed; see above. Without network, install them by hand: $missing" >&2; exit 1; }
}

# build PRESET [cmake --build options]
build() {
  local preset=$1
  shift
  say "building ($preset)"
  (cd "$ROOT" && cmake --preset "$preset" >"$ROOT/build/$preset.configure.log" 2>&1) ||
    { cat "$ROOT/build/$preset.configure.log" >&2; exit 1; }
  cmake --build "$ROOT/build/$preset" "$@" >&2 || { echo "the build ($preset) failed; see above" >&2; exit 1; }
}

mkdir -p "$ROOT/build"
# Another clone of the same sources finds what this one compiled.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
