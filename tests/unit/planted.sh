#!/bin/sh
# planted.sh [TEST...] : the planted bugs and the judged mutants fit the header. That each bug is
# caught, `make planted` and its like show.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
mutants=$root/tests/mutants

mutate() {
  [ -x "$work/mutate" ] || "${CC:-cc}" -std=c99 "$mutants/mutate.c" -o "$work/mutate" || return 1
  "$work/mutate" "$@"
}

each_fits() { BUILD=$work "$mutants/run" fits; }

# Two locals have other names, and lines break elsewhere.
rewritten() {
  sed 's/\([.>]\)lock\b/\1%/g; s/\block\b/its/g; s/\brl\b/client/g; s/\([.>]\)%/\1lock/g' \
    "$root/redlock.h" | awk '!/["\\#]/ { gsub(/[(=?,] /, "&\n") } 1'
}

each_fits_whatever_locals_and_lines_are() {
  rewritten >"$work/redlock.h"
  ! grep -q 'rl->' "$work/redlock.h" || return 1
  mutate fits "$work/redlock.h" "$mutants"/bugs/*.txt
}

# fits CHANGE : whether it can be made in the header; if not, why, in one line
fits() {
  printf 'a-bug: R1\n  %s\n' "$1" >"$work/bugs.txt"
  mutate fits "$root/redlock.h" "$work/bugs.txt" 2>&1 | tr -s '\n ' '  '
}

a_change_that_does_not_fit_says_why() {
  fits 'rl_decide: x->status = 0 => ;' | grep 'rl_decide lacks: .* closest is: lock->status = ' &&
    fits 'rl_gone: lock->kept = 0 => ;' | grep 'rl_gone is not there: .* it stands in ' &&
    fits 'rl_judge: REDLOCK_PENDING => 0' | grep 'rl_judge has it more than once: ' &&
    fits 'rl_decide: lock->kept = 0 => a = 0' | grep 'rl_decide does not say which is: a'
}

run each_planted_bug_and_judged_mutant_fits_the_header each_fits
run each_planted_bug_fits_whatever_locals_and_lines_are each_fits_whatever_locals_and_lines_are
run a_change_that_does_not_fit_says_why a_change_that_does_not_fit_says_why
check_end
