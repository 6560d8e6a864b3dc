#!/bin/sh
# build.sh [TEST...] : compiles the header by itself, in every way that it promises to bear.
# What a compiler that is not installed would say is skipped. TESTS below lists the tests.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
header=$root/redlock.h
posix=-D_POSIX_C_SOURCE=200809L
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual
          -Wswitch-default -Wnull-dereference"
only_c=-Wstrict-prototypes
only_gcc=-Wlogical-op
only_gxx=-Wuseless-cast
# What clang adds later than the -Weverything that is promised (14) is turned off, where known.
everything="-Weverything -Wno-padded -Wno-declaration-after-statement -Wno-unknown-warning-option
            -Wno-unsafe-buffer-usage -Wno-switch-default -Wno-pre-c11-compat"
# No cast of C++ is one of C.
no_cxx98="-Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-old-style-cast
          -Wno-zero-as-null-pointer-constant"
configurations="-DPLAIN -DREDLOCK_STATIC -DREDLOCK_NO_DNS -DREDLOCK_NO_POSIX -DWITH_ASSERT
                -DREDLOCK_NO_TEXTS -DREDLOCK_NO_QUARANTINE -DREDLOCK_NO_FENCING -DREDLOCK_NO_URL"

. "$root/tests/check.sh"

# The first C compiler that there is.
a_compiler() { command -v gcc || command -v clang || command -v cc; }

is_linux() { [ "$(uname -s)" = Linux ]; }

# at_most LIMIT SIZE : and the size is told, whether it passes or not.
at_most() {
  [ -n "$2" ] || { echo "the size was not found"; return 1; }
  echo "note: $2 of at most $1"
  [ "$2" -le "$1" ]
}

# ---- What is compiled ----------------------------------------------------------------------------

for language in c cc; do
  cat >"$work/alone.$language" <<'END'
#ifdef WITH_ASSERT
#include <assert.h>
#define REDLOCK_ASSERT(truth) assert(truth)
#endif
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
END
  cat >"$work/again.$language" <<'END'
#include "redlock.h"
#include "redlock.h"
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#include "redlock.h"
#undef REDLOCK_IMPLEMENTATION
#include "redlock.h"
int main(void) { return redlock_strerror(REDLOCK_OK)[0] != 'o'; }
END
  # 0 = initialised, 1 = refused. It has the public part alone.
  cat >"$work/user.$language" <<'END'
#include "redlock.h"
int main(void) {
  static redlock rl;
  static redlock_options options;
  redlock_status status = redlock_init(&rl, "unix:/nowhere", &options);
  redlock_close(&rl);
  return status == REDLOCK_INVALID;
}
END
done
cp "$work/again.c" "$work/static.c"

# language_of STANDARD : the file name's end, and so the language
language_of() { case $1 in c++*) echo cc ;; *) echo c ;; esac; }

# driver_of COMPILER STANDARD : g++ for gcc and C++
driver_of() {
  case $1-$2 in
    gcc-c++*) echo g++ ;;
    clang-c++*) echo clang++ ;;
    *) echo "$1" ;;
  esac
}

# compile COMPILER STANDARD FLAG... : the header alone, in each configuration
compile() {
  driver=$(driver_of "$1" "$2") language=$(language_of "$2") standard=$2
  need "$driver" || return
  shift 2
  for configuration in $configurations; do
    "$driver" "-std=$standard" $posix "-I$root" "$configuration" "$@" -Werror \
      -c "$work/alone.$language" -o "$work/alone.o" || return 1
  done
}

# make_object FLAG... : $work/object.o, by the first C compiler, with no code that others slip in.
# Each is made once.
make_object() {
  need nm || return
  compiler=$(a_compiler) || skip "no C compiler is installed" || return
  made=$work/made-$(echo "$*" | cksum | tr ' ' -).o
  [ -e "$made" ] || "$compiler" -std=c99 $posix "-I$root" -fno-stack-protector -U_FORTIFY_SOURCE \
    "$@" -c "$work/alone.c" -o "$made" || return
  cp "$made" "$work/object.o"
}

# ---- Warnings ------------------------------------------------------------------------------------

# gcc finds some of what it warns of only when it optimises: here in one standard, for the code is the
# same, and by `make portability` in all.
is_clean() {
  case $1-$2 in gcc-c99) more=-O2 ;; *) more=-fsyntax-only ;; esac
  [ "$1" != gcc ] || more="$more $only_gcc"
  case $1-$2 in
    gcc-c++*) more="$more $only_gxx" ;;
    *-c++*) ;;
    *) more="$more $only_c" ;;
  esac
  compile "$1" "$2" $warnings $more
}

is_clean_of_everything() {
  case $1 in
    c++*) compile clang "$1" $everything $no_cxx98 -fsyntax-only ;;
    *) compile clang "$1" $everything -fsyntax-only ;;
  esac
}

# C90 as strict as it goes, and with the flags of FreeRTOS-Plus-TCP, which has it from gcc alone.
c90_takes_it() { compile "$1" "$2" -Wall -Wextra -pedantic-errors -fsyntax-only; }

# The same with the public part alone, as all files but one see it.
public_part_is_clean() {
  driver=$(driver_of "$1" "$2")
  need "$driver" || return
  case $1 in clang) more="$everything $no_cxx98" ;; *) more= ;; esac
  "$driver" "-std=$2" "-I$root" $warnings $more -Werror -c "$work/user.$(language_of "$2")" \
    -o "$work/user.o"
}

# ---- Including and linking -----------------------------------------------------------------------

# link_and_run COMPILER FLAG... FILE...
link_and_run() {
  linker=$1
  shift
  need "$linker" || return
  "$linker" $posix "-I$root" $warnings -Werror "$@" -o "$work/program" && "$work/program"
}

included_many_times() { link_and_run "$(driver_of "$1" "$2")" "-std=$2" "$work/again.$3"; }

two_files_link() {
  link_and_run "$1" -std=c99 "$work/alone.c" "$work/user.c"
}

c_implementation_links_with_cxx() {
  need g++ && make_object -O0 && link_and_run g++ -std=c++11 "$work/user.cc" "$work/object.o"
}

# links_with FLAG... : a file with these flags, which makes a client, takes a lock and has a pointer
# to a function that does, with the object as it is
links_with() {
  cat >"$work/taker.c" <<'END'
#include "redlock.h"
static redlock_status (*take)(redlock *, redlock_lock *, const char *, uint32_t, uint32_t) =
    &redlock_acquire;
static redlock_lock lock;
int main(void) {
  return take(NULL, &lock, "r", 1000, 0) != redlock_release(NULL, &lock) ||
         redlock_init(NULL, "", NULL) != REDLOCK_INVALID;
}
END
  link_and_run "$(a_compiler)" -std=c99 "$@" "$work/taker.c" "$work/object.o" >"$work/linked" 2>&1
}

# A file that sees other clients or locks must not be run into.
other_sizes_do_not_link() {
  for of in '' -DREDLOCK_MAX_SERVERS=3 -DREDLOCK_NO_FENCING; do
    make_object -O0 $of || return
    links_with $of || { cat "$work/linked" && return 1; }
    for size in MAX_SERVERS=5 MAX_RESOURCE=64 MAX_COMMANDS=64 MAX_ERROR=64 NO_DNS NO_POSIX \
                NO_QUARANTINE; do
      [ "$of-DREDLOCK_$size" = -DREDLOCK_NO_FENCING-DREDLOCK_NO_QUARANTINE ] && continue
      links_with "-DREDLOCK_$size" && { echo "$of links with $size"; return 1; }
      grep -q 'redlock_acquire' "$work/linked" || return
    done
  done
}

# other.o: the implementation, as if it were an earlier version
make_other_version() {
  need nm && mkdir -p "$work/other" || return
  sed "s/^#define REDLOCK_VERSION_NUMBER .*/#define REDLOCK_VERSION_NUMBER 1/" "$header" \
    >"$work/other/redlock.h" &&
    "$(a_compiler)" -std=c99 $posix "-I$work/other" -c "$work/alone.c" -o "$work/other.o"
}

# Its structs may be others, even with the same sizes. Each call that taker.c makes is missed.
other_versions_do_not_link() {
  make_other_version && cp "$work/other.o" "$work/object.o" || return
  links_with && { echo "it links" && return 1; }
  for call in init_sized acquire release; do
    grep -q "redlock_${call}_[0-9]" "$work/linked" || return
  done
}

# Nor does the one get in the other's way within one program, as with a library that has its own.
two_versions_stand_in_one_program() {
  make_other_version && make_object || return
  nm "$work/object.o" "$work/other.o" | sed -n 's/.* T //p' | sort >"$work/names"
  [ "$(grep -c redlock_ "$work/names")" -gt 40 ] && ! uniq -d "$work/names" | grep .
}

# The one who includes it says what stands before each function: here, where its code goes.
api_can_be_set() {
  is_linux || skip "sections have other names" || return
  make_object '-DREDLOCK_API=__attribute__((section("elsewhere")))' &&
    size -A "$work/object.o" | grep '^elsewhere'
}

version_number_is_the_version() {
  sed -n 's/^#define REDLOCK_VERSION "\([0-9]*\)\.\([0-9]*\)\.\([0-9]*\)"$/\1 \2 \3/p' "$header" |
    awk '{ print 10000 * $1 + 100 * $2 + $3 }' >"$work/version"
  sed -n 's/^#define REDLOCK_VERSION_NUMBER \([0-9]*\) .*/\1/p' "$header" | diff - "$work/version"
}

static_leaves_no_name_outside() {
  make_object -DREDLOCK_STATIC || return
  ! nm "$work/object.o" | grep ' [A-TV-Z] '
}

unused_static_functions_are_no_news() {
  need "$1" && link_and_run "$1" -std=c99 -DREDLOCK_STATIC -Wunused "$work/static.c" &&
    link_and_run "$1" -std=c90 -DREDLOCK_STATIC -Wunused "$work/static.c"
}

# links_beside_another FLAG... : a program with a copy of its own, and a library with another
links_beside_another() {
  printf '%s\n' '#define REDLOCK_IMPLEMENTATION' '#include "redlock.h"' \
    'int theirs(void) { return redlock_init(NULL, "", NULL); }' >"$work/theirs.c"
  printf '%s\n' '#define REDLOCK_IMPLEMENTATION' '#include "redlock.h"' 'int theirs(void);' \
    'int main(void) { return redlock_init(NULL, "", NULL) != theirs(); }' >"$work/mine.c"
  rm -f "$work/libtheirs.a"
  "$(a_compiler)" -std=c99 $posix "-I$root" -c "$work/theirs.c" -o "$work/theirs.o" &&
    ar rc "$work/libtheirs.a" "$work/theirs.o" &&
    link_and_run "$(a_compiler)" -std=c99 "$@" "$work/mine.c" "$work/libtheirs.a"
}

a_static_copy_stands_beside_another() {
  links_beside_another -DREDLOCK_STATIC && ! links_beside_another >"$work/said" 2>&1 &&
    grep -q 'redlock_init' "$work/said"
}

# ---- What the object file holds ------------------------------------------------------------------

in_memory="memchr memcmp memcpy memmove memset strchr strcspn strlen strncmp strspn strstr"
in_posix="bind clock_gettime close connect fcntl freeaddrinfo getaddrinfo getpid getrandom
          getsockopt htons inet_pton open poll read recv send setsockopt socket __errno_location"

# only_calls ALLOWED FLAG...
only_calls() {
  allowed=$1
  shift
  make_object -O2 -fno-pic "$@" || return
  for symbol in $(nm -u "$work/object.o" | awk '{print $2}'); do
    case " $(echo $allowed) " in *" $symbol "*) ;; *) echo "calls $symbol" && return 1 ;; esac
  done
}

only_calls_posix() {
  is_linux || skip "the names of the symbols are those of Linux" || return
  only_calls "$in_memory $in_posix" && only_calls "$in_memory $in_posix" -DREDLOCK_NO_DNS
}

only_calls_memory_without_posix() {
  is_linux || skip "the names of the symbols are those of Linux" || return
  only_calls "$in_memory" -DREDLOCK_NO_POSIX
}

looks_nothing_up_without_dns() {
  make_object -DREDLOCK_NO_DNS && ! nm -u "$work/object.o" | grep addrinfo
}

# -fno-pic, for else a constant table of pointers counts as data until it is relocated.
nothing_is_writable() {
  make_object -O2 -fno-pic && ! nm "$work/object.o" | grep ' [BbCcDdGgSs] '
}

names_begin_with_redlock() {
  make_object -O2 -fno-pic && ! nm "$work/object.o" | grep ' [A-TV-Z] ' | grep -v ' redlock_'
}

# text_bytes FLAG... : with the POSIX back end, on x86-64
text_bytes() {
  case $("$(a_compiler)" -dumpmachine) in
    x86_64*) ;;
    *) skip 'this is not x86-64' || return ;;
  esac
  make_object -Os "$@" || return
  size -A "$work/object.o" | awk '$1 ~ /^\.(text|rodata)/ { sum += $2 } END { print sum }'
}

# See "Size" in tests/bench/README.md.
text_stays_small() {
  bytes=$(text_bytes -DREDLOCK_NO_FENCING) || { echo "$bytes" && return $skipped_status; }
  at_most 23336 "$bytes"
}

# What tokens add (R25). On Cortex-M4 it is at most 1750: see `make size`.
fencing_stays_small() {
  bytes=$(text_bytes) || { echo "$bytes" && return $skipped_status; }
  at_most 1950 $((bytes - $(text_bytes -DREDLOCK_NO_FENCING)))
}

# ---- Sizes of the structs ------------------------------------------------------------------------

# struct_bytes EXPRESSION COMPILER FLAG... : read off the assembly, for the target may not run here
struct_bytes() {
  {
    echo '#include "redlock.h"'
    echo "extern const char measured[]; const char measured[$1] = { 1 };"
  } >"$work/measured.c"
  shift
  "$@" -std=c99 "-I$root" -ffreestanding -S "$work/measured.c" -o - |
    sed -n 's/^[[:space:]]*\.size[[:space:]]*measured, *\([0-9]*\).*/\1/p'
}

# What another header left on does not give two files two structs.
packed_structs_do_not_compile() {
  need "$1" || return
  { echo '#pragma pack(1)'; echo '#include "redlock.h"'; } >"$work/packed.c"
  ! "$1" "-I$root" -fsyntax-only "$work/packed.c" 2>"$work/said" &&
    grep rl_check_packing "$work/said"
}

# Nor does what is the default of bare ARM, and not of each vendor's library.
short_enums_change_no_struct() {
  need "$1" || return
  for type in redlock_lock redlock; do
    [ "$(struct_bytes "sizeof($type)" "$@")" = "$(struct_bytes "sizeof($type)" "$@" -fshort-enums)" ] ||
      return
  done
}

client_is_small() {
  need gcc || return
  bytes=$(struct_bytes 'sizeof(void *)' gcc)
  [ "$bytes" = 8 ] || skip "pointers have $bytes bytes here" || return
  at_most 8896 "$(struct_bytes 'sizeof(redlock)' gcc -DREDLOCK_NO_FENCING)"
}

# 8 for each command of the ring, and 24 for each server.
tokens_take_little_room() {
  need gcc || return
  both='sizeof(redlock) + sizeof(redlock_lock)'
  without=$(struct_bytes "$both" gcc -DREDLOCK_NO_FENCING)
  at_most $((8 * 32 + 24 * 7)) $(($(struct_bytes "$both" gcc) - without))
}

# The flags of the smallest configuration, as the header documents it.
smallest() {
  sed -n 's/.*smallest useful sizes are \([0-9]*\), \([0-9]*\), \([0-9]*\) and \([0-9]*\):.*/'\
'-DREDLOCK_MAX_SERVERS=\1 -DREDLOCK_MAX_RESOURCE=\2 -DREDLOCK_MAX_COMMANDS=\3 '\
'-DREDLOCK_MAX_ERROR=\4/p' "$header"
}

# smallest_is_small COMPILER FLAG... : client and lock, for a target of 32 bits: about 1 KB, as the
# header says
smallest_is_small() {
  need "$1" || return
  [ -n "$(smallest)" ] || { echo "the header names no smallest configuration"; return 1; }
  bytes=$(struct_bytes 'sizeof(void *)' "$@")
  [ "$bytes" = 4 ] || skip "$* has no 32 bits here" || return
  at_most 1096 "$(struct_bytes 'sizeof(redlock) + sizeof(redlock_lock)' "$@" $(smallest) \
    -DREDLOCK_NO_DNS -DREDLOCK_NO_FENCING)"
}

smallest_compiles() {
  make_object -O2 $warnings $only_c -Werror $(smallest) -DREDLOCK_NO_DNS &&
    make_object -O2 $warnings $only_c -Werror $(smallest) -DREDLOCK_NO_POSIX
}

# ---- The text of the header ----------------------------------------------------------------------

public_part_includes_little() {
  compiler=$(a_compiler) || skip "no C compiler is installed" || return
  "$compiler" -H -fsyntax-only -std=c99 "-I$root" "$work/user.c" 2>&1 |
    sed -n 's/^\.\. .*\///p' | sort -u >"$work/included"
  printf 'stddef.h\nstdint.h\n' | diff - "$work/included"
}

# explained WORD FLAG... : the header alone does not compile, and the only error says the word
explained() {
  is_linux || skip "other systems have other names" || return
  compiler=$(a_compiler) || skip "no C compiler is installed" || return
  word=$1
  shift
  ! "$compiler" "-I$root" -fsyntax-only "$@" "$work/alone.c" 2>"$work/errors" &&
    grep -c 'error: ' "$work/errors" | grep -x 1 && grep 'error: ' "$work/errors" | grep "$word"
}

hidden_posix_names_are_explained() { explained _POSIX_C_SOURCE -std=c99; }

# X/Open 5 has clocks, but not getaddrinfo.
old_posix_names_are_explained() {
  explained _POSIX_C_SOURCE -std=c99 -D_XOPEN_SOURCE=500 &&
    explained _POSIX_C_SOURCE -std=c99 -D_POSIX_C_SOURCE=199309L
}

# A compiler that finds no headers but its own, as for a microcontroller.
no_sockets_are_explained() {
  mkdir -p "$work/bare" && : >"$work/bare/string.h"
  explained REDLOCK_NO_POSIX -std=c99 -ffreestanding -nostdinc "-I$work/bare" \
    -isystem "$("$(a_compiler)" -print-file-name=include)"
}

# Where neither name can be had, a lost connection would kill the process.
sigpipe_is_explained() {
  printf '#include <sys/socket.h>\n#undef MSG_NOSIGNAL\n' >"$work/without.h"
  explained SIGPIPE -std=c99 $posix -include "$work/without.h" &&
    ! explained SIGPIPE -std=c99 $posix -include "$work/without.h" -D__APPLE__
}

# It owns rl_ names too. Other headers that programs have beside ours may be added here.
bears_readline() {
  for order in 'readline/readline.h redlock.h' 'redlock.h readline/readline.h'; do
    echo '#include <stdio.h>' >"$work/beside.c"
    echo '#define REDLOCK_IMPLEMENTATION' >>"$work/beside.c"
    for file in $order; do echo "#include <$file>" >>"$work/beside.c"; done
    "$(a_compiler)" -std=c99 $posix "-I$root" -Wall -Werror -fsyntax-only "$work/beside.c" || return
  done
}

has_readline() {
  echo '#include <stdio.h>
        #include <readline/readline.h>' >"$work/beside.c"
  "$(a_compiler)" -fsyntax-only "$work/beside.c" 2>/dev/null || skip "readline is not installed"
}

can_stand_beside_readline() { has_readline && bears_readline; }

defines_no_feature_macro() { ! grep -nE '#[[:space:]]*define[[:space:]]+_' "$header"; }

silences_nothing() { ! grep -nE '_?_?[Pp]ragma' "$header"; }

lines_are_short() {
  ! find "$header" tests examples -name '*.[ch]' -exec \
    env LC_ALL=C awk 'length > 100 { print FILENAME ":" FNR }' {} + | grep .
}

# What is named like a question, or tells a time, takes no struct of ours that it could change; so
# it can stand in an assertion. What acts is named by a verb. Parameters that are const are taken
# out, and no pointer to a struct may be left.
queries_change_nothing() {
  ! awk '/^(RL_NOINLINE )?static / { definition = "" }
         { definition = definition " " $0 }
         /[{]/ && definition != "" { print definition; definition = "" }' "$header" |
    grep -E 'rl_([a-z]+_)*(is|has|next|check|find|count|may|must|can|needs|lacks|owns|pins|uses|shares|contains)_[a-z_]*[(]|rl_[a-z_]+_ms[(]' |
    sed 's/[{].*//; s/const [a-z_]* [*]//g' | grep -E 'static .*[( ](redlock|redlock_lock|rl_[a-z]+) [*][a-z]'
}

is_plain_text() { ! LC_ALL=C grep -n '[^ -~]' "$header"; }

# The lines of each function, from its name to its last brace.
function_lines() {
  awk '/^(RL_NOINLINE )?[a-z].*[(]/ && !/;$/ { name = $0; start = NR }
       /^[a-zR].*[(].*;$/ || /^typedef/ || /^enum/ || /^static const/ { start = 0 }
       /^REDLOCK_API/ { name = $0; start = NR }
       /^#endif .* REDLOCK_H/ { start = 0 }
       /^[a-zR].*[(].*[{].*[}]$/ { print 1, $0; start = 0 }
       /^[}]/ && start { print NR - start + 1, name; start = 0 }' "$header"
}

functions_are_short() {
  [ "$(function_lines | wc -l)" -ge 50 ] || { echo "too few functions were found"; return 1; }
  ! function_lines | awk '$1 > 70' | grep .
}

most_functions_are_very_short() {
  at_most 15 "$(function_lines | sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }')"
}

# ---- TESTS ---------------------------------------------------------------------------------------

for standard in c99 c11 c17 c2x c++98 c++11 c++20; do
  run "gcc_$standard" is_clean gcc $standard
  run "clang_everything_$standard" is_clean_of_everything $standard
done
for standard in c90 gnu90; do
  run "gcc_$standard" c90_takes_it gcc $standard
  run "clang_$standard" c90_takes_it clang $standard
done
run public_part_gcc public_part_is_clean gcc c99
run public_part_clang public_part_is_clean clang c99
run public_part_gcc_cxx public_part_is_clean gcc c++98
run public_part_clang_cxx public_part_is_clean clang c++11
run included_many_times included_many_times gcc c99 c
run included_many_times_clang included_many_times clang c99 c
run included_many_times_cxx included_many_times gcc c++98 cc
run two_files_link two_files_link gcc
run two_files_link_clang two_files_link clang
run c_implementation_links_with_cxx c_implementation_links_with_cxx
run other_sizes_do_not_link other_sizes_do_not_link
run other_versions_do_not_link other_versions_do_not_link
run two_versions_stand_in_one_program two_versions_stand_in_one_program
run api_can_be_set api_can_be_set
run version_number_is_the_version version_number_is_the_version
run static_leaves_no_name_outside static_leaves_no_name_outside
run a_static_copy_stands_beside_another a_static_copy_stands_beside_another
run unused_static_functions unused_static_functions_are_no_news gcc
run unused_static_functions_clang unused_static_functions_are_no_news clang
run only_calls_posix only_calls_posix
run only_calls_memory_without_posix only_calls_memory_without_posix
run looks_nothing_up_without_dns looks_nothing_up_without_dns
run nothing_is_writable nothing_is_writable
run names_begin_with_redlock names_begin_with_redlock
run text_stays_small text_stays_small
run fencing_stays_small fencing_stays_small
run packed_structs_do_not_compile packed_structs_do_not_compile "$(a_compiler)"
run short_enums_change_no_struct_gcc short_enums_change_no_struct gcc
run short_enums_change_no_struct_clang short_enums_change_no_struct clang
run client_is_small client_is_small
run tokens_take_little_room tokens_take_little_room
run smallest_is_small_i386 smallest_is_small gcc -m32
run smallest_is_small_arm smallest_is_small clang --target=armv7m-none-eabi
run smallest_compiles smallest_compiles
run public_part_includes_little public_part_includes_little
run hidden_posix_names_are_explained hidden_posix_names_are_explained
run old_posix_names_are_explained old_posix_names_are_explained
run no_sockets_are_explained no_sockets_are_explained
run sigpipe_is_explained sigpipe_is_explained
run can_stand_beside_readline can_stand_beside_readline
run defines_no_feature_macro defines_no_feature_macro
run silences_nothing silences_nothing
run lines_are_short lines_are_short
run is_plain_text is_plain_text
run functions_are_short functions_are_short
run queries_change_nothing queries_change_nothing
run most_functions_are_very_short most_functions_are_very_short

check_end
