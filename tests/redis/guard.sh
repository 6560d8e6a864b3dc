#!/bin/sh
# guard.sh [TEST...] : examples/guard.hpp in each C++ that it promises, and the program that shows it.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
cd "$root" || exit

cxx=${CXX:-c++}
flags="-D_POSIX_C_SOURCE=200809L -I$root -O0 -g"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Werror"

has_tools() { need "$cxx" && has_server; }

# Once, in C and without tests in it. What leaks is found, where the compiler can.
build_library() {
  [ ! -e "$work/servers.o" ] || return 0
  sanitize=$(tests/probe-flags "$work/probe" "$cxx" -fsanitize=address,undefined)
  for each in library servers; do
    $cxx -x c -std=c99 $flags $sanitize -c "tests/$each.c" -o "$work/$each.o" || return
  done
}

holds_in() {
  has_tools && build_library || return
  $cxx "-std=$1" $flags $warnings $sanitize tests/redis/guard.cpp "$work/library.o" \
    "$work/servers.o" -o "$work/guard" && "$work/guard"
}

# unable to reach anybody, it says so and ends
the_program_runs() {
  has_tools && build_library || return
  $cxx -std=c++11 $flags $warnings $sanitize -DREDLOCK_IMPLEMENTED examples/guard.cpp \
    "$work/library.o" -o "$work/program" || return
  ! "$work/program" not:a:list && ! "$work/program" 127.0.0.1:1
}

for standard in c++11 c++14 c++17 c++20; do
  run "guard_holds_in_$standard" holds_in $standard
done
run the_program_runs the_program_runs

check_end
