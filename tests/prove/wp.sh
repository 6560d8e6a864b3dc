#!/bin/sh
# wp.sh [NAME...] : proves by Frama-C's WP, in integers and for all values, what multiplies too much
# for CBMC: R1's validity, and that random numbers stay in range. The functions are taken from the
# header word for word; between their lines lemmas are put, which are proved too. One line each, as
# proof.sh says. HEADER is the folder of redlock.h; LIMIT_S bounds each goal.
# shellcheck disable=SC2317 # the proofs are called by their names
set -u
header=${HEADER:-.}/redlock.h
work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-wp-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

missing() { for p in frama-c why3 z3 cvc4; do command -v $p >/dev/null || echo "$p"; done; }

body() { sed -n "/^static int64_t $1(/,/^}/p" "$header"; }

preamble() {
  cat <<'C'
#include <stddef.h>
#include <stdint.h>
#define RL_CLOCK_STEP_MS 1
typedef struct { uint32_t drift_ppm; } redlock_options;
typedef struct { redlock_options options; } redlock;
C
}

# R1: exactly ceil(ttl * ppm / 1e6) + 3 less than the ttl, for every ttl and every drift_ppm.
validity_is_exact() {
  preamble
  cat <<'C'
/*@ requires \valid_read(rl) && rl->options.drift_ppm < 1000000;
    assigns \nothing;
    ensures low: (ttl_ms - 3 - \result) * 1000000 >= ttl_ms * rl->options.drift_ppm;
    ensures high: (ttl_ms - 4 - \result) * 1000000 < ttl_ms * rl->options.drift_ppm;
    ensures less: \result <= ttl_ms - 3; */
C
  body rl_validity_ms | sed -e '/rest = ttl_ms/a\
  /*@ assert c: 0 <= (rest % 1000) * ppm <= 999 * 999999; */\
  /*@ assert b: 0 <= (rest / 1000) * ppm <= 999 * 999999; */\
  /*@ assert a: 0 <= (ttl_ms / 1000000) * ppm <= 4294 * 999999; */\
  /*@ assert t: ttl_ms == 1000000 * (ttl_ms / 1000000) + 1000 * (rest / 1000) + rest % 1000; */\
  /*@ assert p: ttl_ms * ppm == 1000000 * ((ttl_ms / 1000000) * ppm) +\
                                1000 * ((rest / 1000) * ppm) + (rest % 1000) * ppm; */' \
    -e '/uint32_t drift = /a\
  /*@ assert d: (rest % 1000) * ppm <= drift * 1000 < (rest % 1000) * ppm + 1000; */\
  /*@ assert d2: 0 <= drift <= 999999; */\
  //@ ghost uint32_t first = drift;' \
    -e '/drift = ttl_ms/a\
  /*@ assert e: \\let m = ((rest / 1000) * ppm + first + 999) / 1000;\
                drift == (ttl_ms / 1000000) * ppm + m; */'
}

# R3, R9: -1, or within the span, for every span and whatever is drawn.
random_numbers_stay_in_range() {
  preamble
  cat <<'C'
/*@ assigns *(uint32_t *)data; */
static int rl_read_entropy(redlock *rl, uint32_t *data, size_t size);

/*@ requires \valid(rl);
    ensures -1 <= \result <= span; */
C
  body rl_random | sed -e '/return -1;/a\
  /*@ assert m: 0 <= r * (span + 1) <= 4294967295 * (span + 1); */'
}

# prove NAME FUNCTION...
prove() {
  name=$1 began=$(date +%s)
  "$name" >"$work/$name.c"
  frama-c -machdep x86_64 -wp -wp-rte -wp-prover cvc4,z3 -wp-timeout "${LIMIT_S:-20}" -wp-split \
    -wp-fct "$2" "$work/$name.c" >"$work/said" 2>&1
  goals=$(sed -n 's/.*Proved goals: *\([0-9]*\) *\/ *\([0-9]*\).*/\1 \2/p' "$work/said")
  cost="$(($(date +%s) - began)) s"
  case $goals in
    '' | '0 0') verdict='NO RESULT' ;;
    "${goals#* } ${goals#* }") verdict=proved ;;
    *) verdict=FAILED ;;
  esac
  printf '  %-9s  %-36s %-13s %s, %s goals by WP\n' "$verdict" "$name" all "$cost" "${goals#* }"
  [ "$verdict" = proved ] || { grep -E 'Timeout|Unknown|rror' "$work/said" | head -n 5; failed=1; }
}

failed=0
lacks=$(missing)
export WHY3CONFIG="$work/why3.conf"
[ -n "$lacks" ] || why3 config detect >"$work/said" 2>&1
for proof in validity_is_exact:rl_validity_ms random_numbers_stay_in_range:rl_random; do
  name=${proof%:*}
  [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
  if [ -n "$lacks" ]; then echo "  skip  $name: not installed: $(echo "$lacks" | tr '\n' ' ')"
  else prove "$name" "${proof#*:}"; fi
done
exit $failed
