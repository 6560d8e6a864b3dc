#!/bin/sh
# prove.sh [NAME...] : the proofs of proofs.txt, all or those named, two at once (JOBS), and then
# those of wp.sh. One line each, as proof.sh says. REACH=1 asks of each instead whether the states
# that it speaks of are reached. CBMC is found or unpacked by get-cbmc. Last line: N passed, N
# failed, N skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=tests/prove
work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-prove-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

wanted() { [ -z "$names" ] || case " $names " in *" $1 "*) ;; *) false ;; esac; }
names=$*

grep -v '^#' $here/proofs.txt | while read -r line; do
  ! wanted "${line%% *}" || echo "$line"
done >"$work/list"
[ -n "${CBMC:-}" ] || CBMC=$($here/get-cbmc build/cbmc 2>"$work/why") || {
  echo "  skip  all but wp.sh: there is no CBMC 6, and none could be unpacked:" \
    "$(tail -n 1 "$work/why")"
  sed 's/.*/  skip/' "$work/list" >"$work/said"
  : >"$work/list"
}
export CBMC
[ ! -s "$work/list" ] ||
  xargs -P "${JOBS:-2}" -L 1 $here/proof.sh <"$work/list" | tee -a "$work/said"
# shellcheck disable=SC2086
[ -n "${REACH:-}" ] || $here/wp.sh $names | tee -a "$work/said"

count() { grep -cE "^  ($1) " "$work/said"; }
passed=$(count 'proved|reached') skipped=$(grep -c '^  skip' "$work/said")
failed=$(count 'FAILED|NO RESULT|NOT REACHED')
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" = 0 ] && [ $((passed + skipped)) -gt 0 ]
