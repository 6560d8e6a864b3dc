# random.sh: N faults drawn at random go into copies of the header, one into each, and a test is looked
# for that fails; `run random` is for that. What it looks with, from cheap to dear, until one fails
# or hangs:
#   fake    the unit tests and those on fakes, first those that found the most in the least time
#   object  no test: the compiler makes the same code of it, so it is no fault (counted apart)
#   sim     the simulator: hook calls, kept seeds, then SIM_RUNS random worlds
#   redis   the tests on real servers
#   build   of tests/unit/build.sh, what runs the header
#   memory  the unit tests and those on fakes once more, with sanitizers; MEMORY=0 leaves it out
# A survivor is judged in judged.txt, or it is a failure; and so is a judgement that fits no mutant.
#   N=300 SEED=1 JOBS=2 SIM_RUNS=500 MEMORY=1
#   ONLY=TEXT   only mutants whose line in the list of candidates holds it
# shellcheck shell=sh disable=SC2013,SC2086,SC2154 # words; run sets them

N=${N:-300} SEED=${SEED:-1} SIM_RUNS=${SIM_RUNS:-500} MEMORY=${MEMORY:-1} SANITIZE=${SANITIZE:-}
export N SEED SIM_RUNS MEMORY SANITIZE

tab=$(printf '\t')
fast=$CC
! command -v tcc >/dev/null || fast=tcc

say() { echo "mutants: $*" >&2; }

# ---- The candidates: a file for each, with the fields that mutate.c tells of ---------------------

# The lines of the directives whose group this platform compiles.
groups() {
  awk '{ print } /^#[ ]*(if|el|endif)/ { group = NR }
    group && !/\\$/ { print "redlock_group_" group; group = 0 }' "$clean/redlock.h" >"$work/groups.h"
  "$CC" -E -P -std=c99 $posix -DREDLOCK_IMPLEMENTATION "$work/groups.h" |
    sed -n 's/.*redlock_group_\([0-9]*\)$/\1/p'
}

# put FILE FOLDER : the mutant, as FOLDER/redlock.h
put() {
  offset=$(cut -f1 "$1") size=$(cut -f2 "$1")
  mkdir -p "$2"
  {
    head -c "$offset" "$clean/redlock.h"
    cut -f3 "$1" | tr -d '\n'
    tail -c "+$((offset + size + 1))" "$clean/redlock.h"
  } >"$2/redlock.h"
}

# The first N that compile, in the order drawn.
draw() {
  drawn=0
  while [ "$drawn" -lt "$N" ] && IFS= read -r line; do
    case $line in *"$ONLY"*) ;; *) continue ;; esac
    printf '%s\n' "$line" >"$work/try/candidate"
    put "$work/try/candidate" "$work/try"
    alone "$work/try" -fsyntax-only 2>/dev/null || continue
    drawn=$((drawn + 1))
    mv "$work/try/candidate" "$work/candidates/$drawn"
  done <"$work/all"
  echo "$drawn" >"$work/drawn"
}

# ---- The stages: each says what found the fault in FOLDER, or nothing ----------------------------

# compile COMPILER FOLDER NAME FLAG...
compile() {
  compiler=$1 folder=$2 name=$3
  shift 3
  "$compiler" -std=c99 $posix -w -include assert.h '-DREDLOCK_ASSERT(truth)=assert(truth)' \
    "$@" "-I$folder" -I. "$name.c" -o "$folder/program" 2>/dev/null
}

# By what compiles fastest; it may be more particular than $CC.
compile_fast() { compile "$fast" "$1" "$2" || compile "$CC" "$1" "$2"; }

compile_redis() { compile "$CC" "$1" "$2" -O1 "$work/servers.o"; }

# ends_well SECONDS PROGRAM... : what it says is in $output
ends_well() { timeout -k 1 "$@" >"$output" 2>&1 </dev/null; }

# order FOLDER : the tests in that folder, first what found the most in the least time. The file
# kills has a name for each find, times the milliseconds and the name of each test.
order() {
  awk -v folder="$1" '
    FILENAME ~ /kills$/ { kills[$1]++; next }
    index($2, folder) { printf "%.6f %s\n", (kills[$2] + 0.2) / ($1 + 30), $2 }
  ' "$work/kills" "$work/times" | sort -rn | cut -d' ' -f2
}

by_fake() {
  for name in $(order tests/unit/ && order tests/fake/); do
    compile_fast "$1" "$name" || { echo "$name"; return; }
    ends_well 30 "$1/program" || { echo "$name"; return; }
  done
}

# is_same_object FOLDER FLAG : as the header itself gives with that flag
is_same_object() {
  alone "$1" -O1 "$2" -c -o "$1/object.o" 2>/dev/null && cmp -s "$1/object.o" "$clean/object$2.o"
}

# It has no use for the system's sockets, so neither for a fault in them.
by_sim() {
  [ "$1" = "$clean" ] || ! is_same_object "$1" -DREDLOCK_NO_POSIX || return 0
  build_sim "$work/main.o" "$1" -O1 || { echo "sim"; return; }
  ends_well 400 "$1/main" --kept --seed=1 "--runs=$SIM_RUNS" --silent ||
    echo "sim: $(sed -n 's/^seed [0-9]*: //p' "$output" | head -n 1)"
}

# Real time can be short on a loaded machine: a failure counts when it comes twice.
by_redis() {
  for name in $(order tests/redis/); do
    compile_redis "$1" "$name" || { echo "$name"; return; }
    ends_well 120 "$1/program" || ends_well 120 "$1/program" || { echo "$name"; return; }
  done
}

# It takes the header that stands two folders above it.
by_build() {
  mkdir -p "$1/tests/unit"
  cp tests/check.sh "$1/tests/"
  cp tests/unit/build.sh "$1/tests/unit/"
  ends_well 100 "$1/tests/unit/build.sh" other_sizes_are_refused || echo "tests/unit/build.sh"
}

by_memory() {
  [ "$MEMORY" = 1 ] && [ -n "$SANITIZE" ] || return 0
  memory=$CC
  ! command -v clang >/dev/null || memory=clang # it takes half the time
  for name in $(order tests/unit/ && order tests/fake/); do
    compile "$memory" "$1" "$name" -O0 $SANITIZE || continue
    ends_well 120 "$1/program" || { echo "$name, with sanitizers"; return; }
  done
}

# ---- One mutant ----------------------------------------------------------------------------------

# cheaply FOLDER REASON : "STAGE<tab>what found it", or nothing as yet
cheaply() {
  by=$(by_fake "$1")
  [ -z "$by" ] || { echo "$by" >>"$work/kills"; echo "fake$tab$by"; return; }
  ! is_same_object "$1" -g0 || { echo "object${tab}the same code"; return; }
  [ -z "$2" ] || echo "judged$tab$2"
}

# dearly FOLDER : the same for what is left
dearly() {
  for stage in $(cat "$work/stages"); do
    by=$(by_"$stage" "$1")
    [ -z "$by" ] || { echo "$by" >>"$work/kills"; echo "$stage$tab$by"; return; }
  done
  echo "survived$tab"
}

# tell K FILE FOLDER RESULT : with what a survivor changes
tell() {
  case $4 in
    '') printf '  #%s line %s: not by fake\n' "$1" "$(cut -f4 "$2")" ;;
    survived*)
      echo "  #$1 line $(cut -f4 "$2") SURVIVES"
      diff "$clean/redlock.h" "$3/redlock.h" | grep '^[<>]'
      echo "  $(cut -f6 "$2")" ;;
    *) printf '  #%s line %s: %s\n' "$1" "$(cut -f4 "$2")" "$4" | tr '\t' ' ' ;;
  esac
}

# one HOW K
one() {
  file=$work/candidates/$2 place=$work/$2 output=$work/$2/output
  [ ! -e "$work/results/$2" ] || return 0
  put "$file" "$place"
  result=$("$1" "$place" "$(cut -f5 "$file")" 2>/dev/null)
  tell "$2" "$file" "$place" "$result" >"$place/said"
  cat "$place/said"
  [ -z "$result" ] || printf '%s\n' "$result" >"$work/results/$2"
  rm -rf "$place"
}

# ---- All of them ---------------------------------------------------------------------------------

list() {
  groups >"$work/groups"
  "$work/mutate" list "$clean/redlock.h" "$SEED" $here/judged.txt <"$work/groups" >"$work/all"
}

prepare() {
  begin
  mkdir -p "$work/candidates" "$work/results" "$work/try"
  list
  draw
  for flag in -g0 -DREDLOCK_NO_POSIX; do
    alone "$clean" -O1 "$flag" -c -o "$clean/object$flag.o"
  done
  "$CC" -std=c99 $posix -O1 -w -I. -c tests/servers.c -o "$work/servers.o"
  "$CC" $sim_flags -O1 -c tests/sim/main.c -o "$work/main.o"
}

left_out() { say "$1 fails on the header as it is: left out"; }

# time_clean COMPILE SOURCE... : notes how long each takes that ends well
time_clean() {
  how=$1
  shift
  for source in "$@"; do
    "$how" "$clean" "${source%.c}" || { left_out "$source"; continue; }
    begin=$(date +%s%N)
    ends_well 120 "$clean/program" || ends_well 120 "$clean/program" ||
      { left_out "$source"; continue; }
    echo "$((($(date +%s%N) - begin) / 1000000)) ${source%.c}" >>"$work/times"
  done
}

# A test that fails without a mutant would find every one of them.
try_clean() {
  output=$clean/output
  : >"$work/kills"
  : >"$work/times"
  time_clean compile_fast tests/unit/*.c tests/fake/*.c
  time_clean compile_redis tests/redis/*.c
  for stage in sim build; do
    by=$(by_"$stage" "$clean")
    if [ -z "$by" ]; then echo "$stage"; else left_out "$by"; fi
  done >"$work/stages"
  printf 'redis\nmemory\n' >>"$work/stages"
}

sum_up_mutants() {
  cat "$work"/results/* | cut -f1 | sort | uniq -c | awk -v candidates="$(wc -l <"$work/all")" '
    { count[$2] = $1; all += $1 }
    END {
      real = all - count["object"]
      killed = real - count["survived"] - count["judged"]
      printf "%d mutants of %d candidates; %d of them are the same code, and do not count\n",
        all, candidates, count["object"]
      printf "found by: fake %d, sim %d, redis %d, build %d, memory %d\n",
        count["fake"], count["sim"], count["redis"], count["build"], count["memory"]
      printf "killed: %d of %d, %.1f %%; survived and judged: %d; survived: %d\n",
        killed, real, real ? 100 * killed / real : 0, count["judged"], count["survived"]
      printf "%d passed, %d failed\n", all - count["survived"], count["survived"]
      exit count["survived"] > 0 || all == 0
    }'
}

# all_mutants HOW : of those that no test has found yet
all_mutants() { seq 1 "$(cat "$work/drawn")" | xargs -P "$JOBS" -n 1 "$0" random "$1"; }

draw_and_find() {
  prepare
  try_clean
  echo "$(cat "$work/drawn") mutants, drawn with SEED=$SEED"
  all_mutants cheaply
  all_mutants dearly
  sum_up_mutants
}
