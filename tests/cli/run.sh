#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Text in, text out, through the real binary: runs the commands of a .test file and compares.
# usage: run.sh FILE BIN_FOLDER
#
#   $ COMMAND        run by bash in a fresh folder; $GRADSTONE_STORE is a store of its own, and
#                    $SOURCE the root of the repository
#   exit N           the command must exit with N (0 where this is not said)
#   out: TEXT        stdout must have a line that contains TEXT; `out!: TEXT` must not
#   err: TEXT        the same of stderr; `err!: TEXT`
#   out~ REGEX       the same with an extended regular expression; `err~ REGEX`
#   # ...            a comment
set -u
file=$(realpath "$1")
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
export SOURCE PATH="$(realpath "$2"):$PATH" LC_ALL=C.UTF-8 NO_COLOR=1 COLUMNS=120
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir home logs
export HOME=$work/home GRADSTONE_STORE=$work/records.db
unset XDG_DATA_HOME GRADSTONE_HOME
faults=0 command="" line_of_command=0 wanted=0 status=0

fault() {
  echo "$file:$line_of_command: \$ $command"
  echo "  $1"
  sed 's/^/  stdout| /' logs/out | head -30
  sed 's/^/  stderr| /' logs/err | head -30
  faults=$((faults + 1))
}

# The exit status is compared when all that is said about the command has been read.
end_command() {
  [[ -n $command && $status -ne $wanted ]] && fault "exit $status, wanted $wanted"
  command=""
}

number=0
while IFS= read -r line || [[ -n $line ]]; do
  number=$((number + 1))
  text=${line#*[:~] }
  case $line in
    '$ '*)
      end_command
      command=${line#\$ } line_of_command=$number wanted=0
      bash -c "$command" >logs/out 2>logs/err </dev/null
      status=$?
      ;;
    'exit '*) wanted=${line#exit } ;;
    'out: '*) grep -qF -e "$text" logs/out || fault "stdout lacks: $text" ;;
    'err: '*) grep -qF -e "$text" logs/err || fault "stderr lacks: $text" ;;
    'out!: '*) grep -qF -e "$text" logs/out && fault "stdout has: $text" ;;
    'err!: '*) grep -qF -e "$text" logs/err && fault "stderr has: $text" ;;
    'out~ '*) grep -qE -e "$text" logs/out || fault "stdout does not match: $text" ;;
    'err~ '*) grep -qE -e "$text" logs/err || fault "stderr does not match: $text" ;;
    '' | '#'*) ;;
    *) echo "$file:$number: cannot read: $line"; faults=$((faults + 1)) ;;
  esac
done <"$file"
end_command
((faults == 0)) || { echo "$faults fault(s)"; exit 1; }
