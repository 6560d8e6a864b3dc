#!/bin/sh
# proof.sh NAME SCOPE FILE OPTIONS... : one line of proofs.txt, proved by $CBMC. Prints one line:
#   proved  NAME  SCOPE  seconds  megabytes  number of properties
# or FAILED, and what failed; or NO RESULT. With REACH=1: reached, if every state that the proof
# says it reaches is. HEADER is the folder of redlock.h; LIMIT_S bounds the processor's time and
# LIMIT_KB the memory.
set -u
name=$1 scope=$2 file=$3
shift 3
here=$(dirname "$0")
out=$(mktemp -d "${TMPDIR:-/tmp}/redlock-prove-XXXXXX")
trap 'rm -rf "$out"' EXIT
trap 'exit 1' INT TERM HUP

# A file that says "replaces: NAME..." has functions of its own in their place; the header's are
# then called NAME_itself.
replaced=$(sed -n 's/^ *replaces: \([a-z_ ]*\).*/\1/p' "$here/$file.c" | tr '\n' ' ')
if [ -n "$replaced" ]; then
  awk -v names="$replaced" '
    BEGIN { for (n = split(names, each, " "); n; n--) replaced[each[n]] = 1 }
    /^(RL_NOINLINE )?static .*\(/ && !head {
      name = $0
      sub(/\(.*/, "", name)
      sub(/.*[ *]/, "", name)
      head = name in replaced
    }
    !head { print; next }
    { text = text $0 "\n" }
    /[;{]/ {
      declared = text
      if (sub(/ {.*/, ";\n", declared)) { printf "%s", declared; sub(name, name "_itself", text) }
      printf "%s", text
      text = head = ""
    }' "${HEADER:-.}/redlock.h" >"$out/redlock.h"
  HEADER=$out
fi

checks='--unwinding-assertions --pointer-overflow-check'
[ -z "${REACH:-}" ] || checks='-DREACH --no-standard-checks --no-unwinding-assertions'
measure=
[ ! -x /usr/bin/time ] || measure="/usr/bin/time -o $out/cost -f %U:%M"
(
  # shellcheck disable=SC3045
  ulimit -t "${LIMIT_S:-170}" && ulimit -v "${LIMIT_KB:-1000000}"
  # shellcheck disable=SC2086
  $measure "$CBMC" "$here/$file.c" --function "$name" -I"$here" -I"${HEADER:-.}" $checks \
    --drop-unused-functions --slice-formula "$@"
) >"$out/said" 2>&1

failed=$(grep -c ': FAILURE$' "$out/said")
of=$(sed -n 's/^\*\* [0-9]* of \([0-9]*\) failed.*/\1/p' "$out/said")
cost=$(tail -n 1 "$out/cost" 2>/dev/null | awk -F: '{ printf "%.1f s %.0f MB", $1, $2 / 1024 }')
verdict=$(sed -n 's/^VERIFICATION //p' "$out/said")
if [ -n "${REACH:-}" ]; then
  failed=$(grep -c 'never: .*: FAILURE$' "$out/said") of=$(grep -c 'never: ' "$out/said")
  if [ "$failed" = "$of" ] && [ "$of" -gt 0 ]; then verdict=reached
  elif [ -n "$verdict" ]; then verdict='NOT REACHED'; fi
fi
case $verdict in SUCCESSFUL) verdict=proved ;; '') verdict='NO RESULT' ;; esac
printf '  %-9s  %-36s %-13s %s, %s\n' "$verdict" "$name" "$scope" "${cost:-?}" "${of:-?} properties"
case $verdict in
  proved | reached) exit 0 ;;
  FAILED) grep ': FAILURE$' "$out/said" | head -n 5 ;;
  'NOT REACHED') grep 'never: .*: SUCCESS$' "$out/said" | head -n 5 ;;
  *) tail -n 5 "$out/said" ;;
esac
exit 1
