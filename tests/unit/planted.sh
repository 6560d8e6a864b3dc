#!/bin/sh
# planted.sh [TEST...] : the planted bugs still fit the header. That a test catches each, `make
# planted` and `make sim-planted` show.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
planted=$root/tests/planted

each_patch_applies() {
  stale=0
  for patch in "$planted"/*.patch; do
    "$planted/plant" "$patch" <"$root/redlock.h" >"$work/copy" 2>"$work/why" && continue
    echo "$(basename "$patch"): $(cat "$work/why")"
    stale=1
  done
  return $stale
}

each_has_its_tests() {
  for patch in "$planted"/*.patch; do
    grep -qE '^# (fakes|simulator):' "$patch" || { basename "$patch"; return 1; }
    sed -n 's/^# fakes: *//p' "$patch" | while read -r program test; do
      grep -q "^TEST($test) " "$root/tests/fake/$program.c" || { echo "$patch: $test"; exit 1; }
    done || return 1
  done
}

run each_patch_applies each_patch_applies
run each_has_its_tests each_has_its_tests
check_end
