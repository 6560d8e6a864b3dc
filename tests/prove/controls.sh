#!/bin/sh
# controls.sh [PROOF...] : shows that the proofs speak of something. Each reaches every state that
# it says it does; and each line of controls.txt breaks a copy of the header so that the proofs
# named there fail, two at once (JOBS). An expression that changes nothing is an error, and so is a
# proof without a control. Prints caught or NOT CAUGHT for each; last line: N passed, N failed, N
# skipped.
# controls.sh --broken WHAT EXPRESSION PROOF : one of these.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=tests/prove
work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-controls-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# Why this one shows nothing, or nothing; $1 = expression, $2 = proof.
complaint() {
  sed -e "$1" redlock.h >"$work/redlock.h" || { echo "sed fails"; return; }
  if cmp -s redlock.h "$work/redlock.h"; then echo "it changes nothing"; return; fi
  HEADER=$work JOBS=1 $here/prove.sh "$2" >"$work/said"
  if grep -q '^  FAILED' "$work/said"; then return; fi
  if grep -q '^  skip' "$work/said"; then echo skip; return; fi
  sed -n 's/^  NO RESULT.*/no result/p' "$work/said" | head -n 1
  echo "$(grep -c '^  proved' "$work/said") proofs stand"
}

if [ "${1:-}" = --broken ]; then
  why=$(complaint "$3" "$4" | tr '\n' ' ')
  case $why in
    '') echo "  caught      $4: $2" ;;
    skip*) echo "  skip        $4: $2" ;;
    *) echo "  NOT CAUGHT  $4: $2: $why" ;;
  esac
  exit
fi

names=$*
wanted() { [ -z "$names" ] || case " $names " in *" $1 "*) ;; *) false ;; esac; }

# All proofs that there are.
proofs() {
  awk '!/^#/ { print $1 }' $here/proofs.txt
  sed -n 's/^for proof in \(.*\); do$/\1/p' $here/wp.sh | tr ' ' '\n' | sed 's/:.*//'
}

# Each control as three arguments for xargs, which ends them by a NUL.
controls() {
  while IFS= read -r line; do
    rest=${line% | *}
    for proof in ${line##* | }; do
      ! wanted "$proof" || printf '%s\0%s\0%s\0' "${rest%% | *}" "${rest#* | }" "$proof"
    done
  done <"$work/table"
}

without_control() {
  proofs | sort -u | while read -r proof; do
    grep -qE "[| ]$proof( |\$)" "$work/table" || echo "  NOT CAUGHT  $proof: it has no control"
  done
}

grep -v '^#' $here/controls.txt >"$work/table"
{
  # shellcheck disable=SC2086
  REACH=1 $here/prove.sh $names | sed '$d'
  controls | xargs -0 -n 3 -P "${JOBS:-2}" $here/controls.sh --broken
  without_control
} | tee "$work/all"

count() { grep -cE "^  ($1) " "$work/all"; }
failed=$(count 'NOT CAUGHT|NOT REACHED|NO RESULT|FAILED') skipped=$(count skip)
echo "$(count 'caught|reached') passed, $failed failed$([ "$skipped" = 0 ] ||
  echo ", $skipped skipped")"
[ "$failed" = 0 ]
