#!/bin/sh
# explorer.sh CC FLAGS... : puts each patch of this folder with a line "# explorer:" into a copy of
# redlock.h. The explorer must find a violation with the options of that line, within the bound;
# "ring=4" among them is the size of the ring. It must find none in the header as it is.
#   BOUND=10 seconds of processor time  ONLY=part of a name  BUILD=build
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/planted/lib.sh

work=${BUILD:-build}/planted-explorer
bound=${BOUND:-10}

# world PROGRAM OPTIONS... : 3 = a violation
world() {
  program=$1
  shift
  "$program" "$@" seconds="$bound"
}

# try PATCH CC FLAGS... : says how many states and events it took, and what was found
try() {
  options=$(field "$1" explorer | sed 's/ring=4//')
  ring=8
  field "$1" explorer | grep -q 'ring=4' && ring=4
  $planted/plant "$1" <redlock.h >"$work/redlock.h" || return 1
  shift
  cc=$1
  shift
  rm -f "$work/explore" # the copy must be found before the header itself
  "$cc" -I"$work" "$@" -w -DANY_SIZE -DRING=$ring tests/explore/main.c -o "$work/explore" 2>&1 ||
    return 1
  # shellcheck disable=SC2086 # words
  world "$work/explore" $options >"$work/said"
  if [ $? -lt 3 ]; then
    tail -n 1 "$work/said"
    return 1
  fi
  awk '/^VIOLATION: [0-9]+ states/ { states = $2; at = $8 + 0; next }
       /^VIOLATION/ { sub(/^VIOLATION[^:]*: /, ""); what = $0 }
       /^schedule of/ { events = $3 }
       END { printf "%d states, %d events, %s s: %s\n", states, events, at, what }' "$work/said"
}

rm -rf "$work"
mkdir -p "$work"
each_patch explorer try "$@"
