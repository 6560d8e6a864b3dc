#!/bin/sh
# plots.sh [TEST...] : the plots that `make bench` draws, from rows as its programs print them.
# TESTS below lists the tests.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
plots="single in_flight faults waiting crowd sections"

# ---- A bench that was short ----------------------------------------------------------------------

row() { printf '  %-42s %8.2f   (%.2f - %.2f)  %s\n' "$@"; }

# wait_row HOW COMMANDS HAND-OVER LOCKS/S GOT-NONE
wait_row() {
  printf '  %-7s %7.1f locks/s %7.1f commands a lock %8.1f a second\n' "$1" "$4" "$2" 12
  printf '          hand-over p50 %7.2f p99 %7.2f ms (%d)  wait p99 %7.1f' "$3" 20 "${4%.*}" 9
  printf ' worst %7.1f ms  least %d most %d  %d got none\n' 10 0 9 "${5:-0}"
}

in_flight() {
  echo "Many locks in flight, with a ring of $1 commands ...."
  for width in 1 8 64 256; do
    row "W = $width: floor, cycles a second" "${width}000" 900 9900 ''
    row "W = $width: redlock.h, cycles a second" "${width}00" 90 990 ''
    row "W = $width: of the floor" 0.91 0.90 0.92 'target met'
  done
}

bench() {
  echo 'Measured on 2 processors (a < b & c), 2026-11-22.'
  echo 'One lock at a time: 7 rounds of 1800 cycles each .......'
  row 'floor: lock, microseconds' 52.35 52 54.77 ''
  row 'redlock.h: lock, microseconds' 55.15 53.97 56.66 ''
  row 'with a token: lock, microseconds' 65.15 63.97 66.66 ''
  in_flight 32
  in_flight 1024
  echo 'Faults: 7 rounds of 400 locks in each case .......'
  echo '  Lock, times the healthy case (below 1: fewer servers share the processors)'
  for case in healthy 'one killed' 'one frozen' 'one black-holed' 'one killed, one frozen'; do
    row "$case: lock, microseconds" 76 63 80 ''
    row "$case: p99, microseconds" 121 92 149 ''
  done
  echo 'Waiting, 5 servers: woken, and polling as on servers without HELLO'
  echo '  8 processes, 300 ms hold, 1 x 15 s'
  wait_row woken 45.5 1.25 3.3
  wait_row polling 3654.0 7.70 3.3
  echo '          hand-over p50, ms: at most 3: target met'
  echo '  8 waiters, a lock kept with a ttl of 1 s, 1 x 5 s'
  wait_row woken 100.5 0 0.0
  wait_row polling 2111.0 0 0.0
  for waiters in 2 8 32 128 256; do
    echo "  a crowd of $waiters, 1 x 4 s"
    wait_row woken $((20 + 3 * waiters)) 1.25 45 2
    wait_row polling $((10 + waiters)) 7.70 54 104
  done
  echo '  a crowd of 128, each once, 1 x 30 s'
  wait_row woken 8888 1.25 46
  printf '\nbytes, functions and section, without POSIX: some-gcc\n'
  printf '   316    9  Texts\n  1200       constants: texts, scripts, tables\n'
}

complete() { bench && echo 'All of the bench has run.'; }

plot() { awk "$@" -f "$root/tests/bench/plot.awk"; }

# ---- What is asked of it -------------------------------------------------------------------------

# An SVG file that stands alone: each element is closed, and nothing comes from elsewhere.
is_whole() {
  [ "$(head -c 5 "$1")" = '<svg ' ] && [ "$(tail -n 1 "$1")" = '</svg>' ] || return
  [ "$(grep -c '<text' "$1")" = "$(grep -c '</text>' "$1")" ] || return
  ! grep -E 'href|url\(|<script|<image|@import' "$1"
}

each_plot_is_a_whole_file() {
  for name in $plots; do
    complete | plot -v only="$name" >"$work/$name.svg" && is_whole "$work/$name.svg" || return
  done
}

a_median_and_its_range_are_told() {
  complete | plot -v only=faults | grep -c '>76 (63 to 80)<' | grep -qx 5
}

what_waiting_costs_is_read_where_there_were_grants() {
  complete | plot -v only=waiting >"$work/waiting.svg"
  for figure in 3654 7.70; do
    grep -q ">$figure<" "$work/waiting.svg" || { echo "$figure"; return 1; }
  done
  ! grep -E '>2111<|a crowd' "$work/waiting.svg"
}

# Their floors are those of two runs, and their rates no matter of one picture.
two_builds_are_told_as_shares_of_their_floors() {
  complete | plot -v only=in_flight >"$work/in_flight.svg"
  grep -c '>0.91<' "$work/in_flight.svg" | grep -qx 8 && ! grep '00<' "$work/in_flight.svg"
}

# The two ways of it; nor those who want it once.
a_crowd_is_told_beside_one_that_polls() {
  complete | plot -v only=crowd >"$work/crowd.svg"
  for figure in 404 138 788 45 54 104; do
    grep -q ">$figure<" "$work/crowd.svg" || { echo "$figure"; return 1; }
  done
  grep -q 'Of 32, redlock.h leaves 2 without a lock' "$work/crowd.svg" || return
  ! grep -E '>(8888|2000)<' "$work/crowd.svg" # nor does the axis reach so far
}

# Letters of 13 pixels and more in a picture of 480 still have ten where 390 are all there is. Each
# takes 7 or so, and what stands in the picture leaves half of its margin free on both sides.
a_telephone_shows_it() {
  for name in $plots; do
    complete | plot -v only="$name" >"$work/$name.svg"
    ! grep -oE 'font(-size)?:[0-9]+px' "$work/$name.svg" | grep -vE ':(13|14|19)px' || return
    within_the_margin "$work/$name.svg" || return
  done
}

within_the_margin() {
  sed -n 's/^<text x="\([0-9]*\).* class="\([^"]*\)">\(.*\)<.text>/\1|\2|\3/p' "$1" |
    awk -F'|' '{ width = 7 * length($3)
                 left = $1 - ($2 ~ /end/ ? width : $2 ~ /middle/ ? width / 2 : 0) }
               left < 10 || left + width > 470 { print; wide = 1 } END { exit wide }'
}

a_plot_says_where_it_was_measured_and_how_to_repeat_it() {
  complete | plot -v only=faults >"$work/faults.svg"
  grep -q '2 processors (a &lt; b &amp; c), 2026-11-22<' "$work/faults.svg" &&
    grep -q 'Again: make bench' "$work/faults.svg"
}

the_page_has_every_plot() {
  complete | plot >"$work/page.html" || return
  [ "$(grep -c '^<svg ' "$work/page.html")" = "$(echo "$plots" | wc -w)" ] &&
    ! grep -E 'href|src=|url\(|<script|@import' "$work/page.html"
}

a_bench_that_stopped_gives_no_plot() { ! bench | plot >"$work/page.html"; }

a_plot_without_its_rows_is_an_error() {
  for lost in 'W = 8: of the floor' polling 'one killed' 'redlock.h: lock' 'constants'; do
    complete | grep -v "$lost" | plot >"$work/page.html" 2>"$work/said"
    grep -q 'no row' "$work/said" || { echo "not missed: $lost"; return 1; }
  done
}

what_the_readme_shows_stands_alone() {
  for file in "$root"/tests/bench/*.svg; do
    is_whole "$file" && grep -q 'prefers-color-scheme:dark' "$file" || { echo "$file"; return 1; }
    within_the_margin "$file" || { echo "$file"; return 1; }
  done
}

# ---- TESTS ---------------------------------------------------------------------------------------

run each_plot_is_a_whole_file each_plot_is_a_whole_file
run a_median_and_its_range_are_told a_median_and_its_range_are_told
run what_waiting_costs_is_read what_waiting_costs_is_read_where_there_were_grants
run two_builds_are_shares_of_their_floors two_builds_are_told_as_shares_of_their_floors
run a_crowd_is_told_beside_one_that_polls a_crowd_is_told_beside_one_that_polls
run a_telephone_shows_it a_telephone_shows_it
run a_plot_says_where_and_how a_plot_says_where_it_was_measured_and_how_to_repeat_it
run the_page_has_every_plot the_page_has_every_plot
run a_bench_that_stopped_gives_no_plot a_bench_that_stopped_gives_no_plot
run a_plot_without_its_rows_is_an_error a_plot_without_its_rows_is_an_error
run what_the_readme_shows_stands_alone what_the_readme_shows_stands_alone

check_end
