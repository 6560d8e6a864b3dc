#!/bin/sh
# install.sh [TEST...] : make builds and installs as packagers and administrators call it: into
# folders with blanks, after a failure, with the tools of busybox, as root in another one's tree.
# TESTS below lists the tests.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX # those of `make test` are not the packager's
cd "$root" || exit

quick=CFLAGS=-O0
made="make -s BUILD=$work/build $quick"

has_tools() { need make && need cc; }

# is_whole FOLDER : the command and nine files that all may read, none of them empty
is_whole() {
  ls -lR "$1"
  [ "$(find "$1" -type f -perm 755 -size +0)" = "$(find "$1" -name redlock -path '*/bin/*')" ] &&
    [ "$(find "$1" -type f -perm 644 -size +0 | wc -l)" = 9 ] &&
    [ "$(find "$1" -type f | wc -l)" = 10 ]
}

# ---- Folders -------------------------------------------------------------------------------------

blanks_are_part_of_a_name() {
  has_tools || return
  set -- DESTDIR="$work/a root" PREFIX="/opt/my apps; touch $work/ran"
  $made install "$@" && is_whole "$work/a root" && $made uninstall "$@" || return
  [ -z "$(find "$work/a root" -type f)" ] && [ ! -e "$work/ran" ]
}

pkg_config_tells_a_folder_with_a_blank() {
  has_tools && need pkg-config && $made install PREFIX="$work/my apps" || return
  eval "set -- $(PKG_CONFIG_PATH="$work/my apps/share/pkgconfig" pkg-config --cflags redlock)"
  [ "$*" = "-I$work/my apps/include" ] && [ $# = 1 ]
}

small_letters_are_heard() {
  has_tools && $made install DESTDIR="$work/small" prefix=/usr mandir=/usr/man || return
  is_whole "$work/small" && [ -f "$work/small/usr/bin/redlock" ] &&
    [ -f "$work/small/usr/man/man3/redlock.3" ]
}

a_umask_hides_nothing() {
  has_tools && (umask 077 && $made install DESTDIR="$work/masked") || return
  is_whole "$work/masked" && [ -z "$(find "$work/masked/usr" -type d ! -perm 755)" ]
}

# ---- Tools ---------------------------------------------------------------------------------------

# What awk leaves behind when it fails is not taken for a manual by the next one who installs.
nothing_half_made_is_installed() {
  has_tools || return
  mkdir -p "$work/bad" && printf '#!/bin/sh\necho .TH\nexit 2\n' >"$work/bad/awk" &&
    chmod 755 "$work/bad/awk" || return
  set -- BUILD="$work/again" $quick DESTDIR="$work/half"
  ! PATH="$work/bad:$PATH" make -s install "$@" && ! PATH="$work/bad:$PATH" make -s install "$@" &&
    [ ! -e "$work/half" ] && make -s install "$@" && is_whole "$work/half"
}

# A compiler and make, and of all else what busybox has.
only_busybox() {
  mkdir "$work/box" && busybox --install -s "$work/box" || return
  for each in make cc as ld; do ln -sf "$(command -v $each)" "$work/box/$each" || return; done
}

busybox_is_enough() {
  has_tools && need busybox && only_busybox || return
  PATH=$work/box make -s BUILD="$work/boxed" $quick install DESTDIR="$work/box-root" || return
  is_whole "$work/box-root" && $made "$work/build/redlock.3" &&
    cmp "$work/boxed/redlock.3" "$work/build/redlock.3" &&
    PATH="$work/box" "$work/box-root/usr/local/bin/redlock" --version
}

other_makes_say_which_one_it_takes() {
  need bmake || return
  ! bmake >"$work/said" 2>&1 && cat "$work/said" && grep -q 'needs GNU make' "$work/said"
}

# ---- Rights --------------------------------------------------------------------------------------

# As a user's tree, in which root installs: what that builds is the user's, too.
roots_files_are_the_owners() {
  has_tools || return
  [ "$(id -u)" = 0 ] || skip "only root can install for another one" || return
  mkdir "$work/tree" && cp -R Makefile redlock.h LICENSE examples tests "$work/tree/" &&
    chown -R 4321:4321 "$work/tree" || return
  (cd "$work/tree" && make -s install $quick DESTDIR="$work/tree-root" BUILD=built) || return
  find "$work/tree" ! -user 4321 | tee "$work/roots"
  [ ! -s "$work/roots" ] && is_whole "$work/tree-root"
}

# ---- Static, and the version ---------------------------------------------------------------------

# With TLS, or else told that it is not.
static_has_tls_or_says_why() {
  has_tools || return
  set -- redlock-static TLS=1 STATIC_CC=cc BUILD="$work/static" $quick
  if make -s "$@" >"$work/said" 2>&1; then "$work/static/redlock-static" --version | grep 'with TLS'
  else cat "$work/said" && grep 'finds no static OpenSSL 3' "$work/said"
  fi
}

libraries_come_last() {
  has_tools || return
  make -n redlock redlock-static examples STATIC_CC=cc BUILD="$work/none" LDLIBS=-lyours |
    sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' |
    grep -E -- '-o [^ ]*(redlock|examples)' >"$work/lines"
  [ "$(wc -l <"$work/lines")" -gt 9 ] && ! grep -v -- '-lyours -o ' "$work/lines"
}

one_version_stands_everywhere() {
  has_tools && $made install DESTDIR="$work/version" prefix=/usr || return
  version=$(tests/version) && cat "$work/version/usr/share/pkgconfig/redlock.pc" &&
    grep -qx "Version: $version" "$work/version/usr/share/pkgconfig/redlock.pc" &&
    grep -qx "set(PACKAGE_VERSION $version)" \
      "$work/version/usr/share/cmake/redlock/redlockConfigVersion.cmake" &&
    "$work/version/usr/bin/redlock" --version | grep "^redlock $version,"
}

# Each place that could differ.
another_version_is_seen() {
  mkdir -p "$work/other/examples/redlock" "$work/other/tests" || return
  for each in redlock.h:s/1/9/ README.md:s/'^- \*\*[0-9.]*:\*\*'/'- **9.9.9:**'/ \
    redlock.h:s/VERSION_NUMBER./'&9'/; do
    cp redlock.h README.md "$work/other/" && cp tests/version "$work/other/tests/" || return
    sed "1,/${each#*:}/ ${each#*:}" "${each%%:*}" >"$work/other/${each%%:*}"
    ! "$work/other/tests/version" || { echo "not seen: $each"; return 1; }
  done
}

# ---- TESTS ---------------------------------------------------------------------------------------

for each in blanks_are_part_of_a_name pkg_config_tells_a_folder_with_a_blank \
  small_letters_are_heard a_umask_hides_nothing nothing_half_made_is_installed busybox_is_enough \
  other_makes_say_which_one_it_takes roots_files_are_the_owners static_has_tls_or_says_why \
  libraries_come_last one_version_stands_everywhere another_version_is_seen; do
  run "$each" "$each"
done

check_end
