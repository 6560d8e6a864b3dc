# check.sh: what test scripts share, as check.h is for test programs. A script sets $root, includes
# this with the names of its tests as arguments (none: all), and ends with check_end.
#
#   $work    a folder for the script, removed at its end

work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-check-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

skipped_status=77
passed=0 failed=0 skipped=0
wanted=" $* "

skip() {
  echo "$*"
  return $skipped_status
}

need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# And then REDIS_SERVER names it.
has_server() {
  REDIS_SERVER=${REDIS_SERVER:-$(command -v redis-server || command -v valkey-server)}
  export REDIS_SERVER
  [ -x "$REDIS_SERVER" ] || skip "no redis-server"
}

# run NAME COMMAND... : 77 = skipped, and the last line of the output says why.
run() {
  running=$1
  shift
  [ "$wanted" = "  " ] || case $wanted in *" $running "*) ;; *) return ;; esac
  status=0
  "$@" >"$work/output" 2>&1 || status=$?
  case $status in
    0) passed=$((passed + 1)) && echo "  ok    $running$(sed -n 's/^note: / = /p' "$work/output")" ;;
    "$skipped_status")
      skipped=$((skipped + 1)) && echo "  skip  $running: $(tail -n 1 "$work/output")" ;;
    *)
      failed=$((failed + 1))
      head -n 20 "$work/output" | sed 's/^/    /'
      echo "  FAIL  $running" ;;
  esac
}

check_end() {
  total="$passed passed, $failed failed"
  [ $skipped = 0 ] || total="$total, $skipped skipped"
  echo "$total"
  [ $failed = 0 ]
}
