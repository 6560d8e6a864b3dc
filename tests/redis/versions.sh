#!/bin/sh
# versions.sh [TEST...] : clients of older versions and of this one exclude each other on the same
# servers, side by side. The older headers are taken from the history of git, where there is one.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
cd "$root" || exit

v0_1_0=3a0d277 v1_0_0=e1a7d05
told=e7bc1c9 # the first that is told when a lock is free, and has tokens
cycles=${CYCLES:-40}
grants=${GRANTS:-400}
servers='' pids=''
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT

has_tools() {
  need git && need cc && has_server || return
  [ -e .git ] || skip "no history of git here: the older headers are in it"
}

# take_header COMMIT : into a folder of its own
take_header() {
  mkdir -p "$work/$1"
  [ "$1" = today ] || git show "$1:redlock.h" >"$work/$1/redlock.h" 2>/dev/null ||
    skip "this history of git has no commit $1"
}

# build COMMIT FLAG... : a peer of that version
build() {
  version=$1
  shift
  take_header "$version" || return
  cc -std=c99 -D_POSIX_C_SOURCE=200809L -O1 -w "-I$work/$version" -I. "$@" \
    tests/redis/versions/peer.c -o "$work/$version/peer"
}

start_servers() {
  for each in 1 2 3; do
    "$REDIS_SERVER" --port 0 --unixsocket "$work/$each" --save '' --dir "$work" >"$work/log-$each" &
    pids="$pids $!" servers="$servers${servers:+,}unix:$work/$each"
    until [ -S "$work/$each" ]; do
      kill -0 $! || return
      sleep 0.05
    done
  done
}

# contend VERSION... : two peers of each, at once
contend() { run_peers "$cycles" "$@" "$@"; }

# run_peers "CYCLES [GRANTS]" VERSION... : one of each, at once
run_peers() {
  rm -f "$work/inside" "$work/tokens" "$work/granted" "$work"/said-*
  peers='' until=$1
  shift
  for version in "$@"; do
    "$work/$version/peer" "$servers" "$work" $until >>"$work/said-$version" &
    peers="$peers $!"
  done
  bad=0
  for peer in $peers; do wait "$peer" || bad=1; done
  cat "$work"/said-*
  return $bad
}

all_versions_exclude_each_other() {
  has_tools && build $v0_1_0 && build $told && build $v1_0_0 && build today && start_servers ||
    return
  contend $v0_1_0 today && contend $told today && contend $v1_0_0 today &&
    contend $v0_1_0 $v1_0_0 today
}

# Servers that have just started have no vote where tokens are: so this waits for them.
tokens_grow_across_versions() {
  has_tools && build $told -DFENCED && build $v1_0_0 -DFENCED && build today -DFENCED || return
  [ -n "$servers" ] || start_servers || return
  contend $told today && contend $v1_0_0 today
}

grants_of() { awk '{ sum += $1 } END { print sum + 0 }' "$work/said-$1"; }

# Whoever is told and knows no line, eight of them, beside eight who wait in line and whose values
# are longer. Each kind gets an eighth of its fair half at least.
crowd_shares() {
  [ -n "$servers" ] || start_servers || return
  crowd="$told today $told today $told today $told today"
  run_peers "1000000 $grants" $crowd $crowd || return
  echo "note: the old ones have had $(grants_of $told), the new ones $(grants_of today)"
  [ $(($(grants_of $told) * 16)) -ge "$grants" ] && [ $(($(grants_of today) * 16)) -ge "$grants" ]
}

# R26
old_and_new_share_a_crowd() {
  has_tools && build $told && build today && crowd_shares
}

# R25 R26
so_they_do_with_tokens() {
  has_tools && build $told -DFENCED && build today -DFENCED && crowd_shares
}

run all_versions_exclude_each_other all_versions_exclude_each_other
run tokens_grow_across_versions tokens_grow_across_versions
run old_and_new_share_a_crowd old_and_new_share_a_crowd
run so_they_do_with_tokens so_they_do_with_tokens

check_end
