#!/bin/sh
# find.sh [TEST...] : the server is found where it is, and what find-redis installs where there is
# none stays off: played by a package manager of our own, in a file system that is half ours.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"

bin=$work/bin
wants=/etc/systemd/system/multi-user.target.wants

# program NAME : the rest of stdin, as a program that comes first in PATH
program() {
  { echo '#!/bin/sh'; cat; } >"$bin/$1" && chmod 755 "$bin/$1"
}

# ---- In PATH -------------------------------------------------------------------------------------

# found_by_programs : what a test program takes for the server
found_by_programs() {
  env -u REDIS_SERVER PATH="$1" "$work/which"
}

programs_find_the_server_in_path() {
  need cc || return
  cat >"$work/which.c" <<'C'
#include "tests/servers.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char *missing = servers_missing();
  return puts(missing ? missing : getenv("REDIS_SERVER")) < 0;
}
C
  cc -std=c99 -D_POSIX_C_SOURCE=200809L "-I$root" "$work/which.c" "$root/tests/servers.c" \
    -o "$work/which" && mkdir -p "$bin" "$work/none" && program valkey-server </dev/null || return
  [ "$(found_by_programs "$bin")" = "$bin/valkey-server" ] || return
  program redis-server </dev/null
  [ "$(found_by_programs "$bin")" = "$bin/redis-server" ] &&
    found_by_programs "$work/none" | grep 'no server: install redis-server or valkey-server'
}

# ---- Installed -----------------------------------------------------------------------------------

# Where nothing is what the package manager would change, nor any server in find-redis's own places.
apart() {
  unshare --user --map-root-user --mount sh -ec '
    for each in /etc/systemd /usr/sbin /usr/local/sbin /usr/local/bin; do
      mount -t tmpfs none $each
    done
    exec "$@"' sh "$@"
}

can_be_apart() {
  need unshare || return
  [ -d /etc/systemd ] || skip 'no /etc/systemd' || return
  apart true 2>/dev/null || skip 'no file system of its own can be had here'
}

# What it needs, and no server.
make_path() {
  rm -rf "$bin" && mkdir "$bin" || return
  for each in id sh env rm chmod ln mkdir cat dirname; do
    ln -s "$(command -v $each)" "$bin/$each" || return
  done
}

# As dpkg does: the service starts unless policy-rc.d forbids it, and is enabled in any case.
debian() {
  program apt-get <<END
case "\$*" in *install*) ;; *) exit 0 ;; esac
/usr/sbin/policy-rc.d; [ \$? = 101 ] || echo started >>'$work/log'
mkdir -p $wants && ln -s /lib/systemd/system/redis-server.service $wants/
printf '#!/bin/sh\n' >'$bin/redis-server' && chmod 755 '$bin/redis-server'
END
}

find_redis() {
  : >"$work/log"
  apart env -u REDIS_SERVER PATH="$bin" sh -c "
    '$root/tests/find-redis' || exit
    for each in $wants/redis-server.service /usr/sbin/policy-rc.d; do
      [ ! -L \$each ] && [ ! -e \$each ] || echo \"\$each is left\" >>'$work/log'
    done" >"$work/said" 2>&1
}

# By its tool where there is one, else by hand.
a_service_that_is_installed_stays_off() {
  can_be_apart && make_path && debian || return
  find_redis && cat "$work/said" "$work/log" && ! grep . "$work/log" || return
  grep -q 'installed redis-server, .*: apt-get purge redis-server redis-tools$' "$work/said" &&
    grep -qx "$bin/redis-server" "$work/said" || return
  rm "$bin/redis-server"
  program update-rc.d <<END
echo "update-rc.d \$*" >>'$work/log'
END
  find_redis && cat "$work/log" && [ "$(cat "$work/log")" = 'update-rc.d redis-server disable' ]
}

other_systems_say_what_they_installed() {
  can_be_apart && make_path || return
  program apk <<END
[ "\$*" = 'add redis' ] || exit 1
printf '#!/bin/sh\n' >'$bin/redis-server' && chmod 755 '$bin/redis-server'
END
  find_redis && grep 'installed redis, .*: apk del redis$' "$work/said"
}

nothing_to_install_with_is_told() {
  can_be_apart && make_path || return
  ! find_redis && grep 'please install redis-server or valkey-server' "$work/said"
}

# As a package's build must not: nothing is installed, though it could be.
nothing_is_installed_where_that_is_forbidden() {
  can_be_apart && make_path && debian || return
  ! (INSTALL_NOTHING=1 && export INSTALL_NOTHING && find_redis) || return
  cat "$work/said" "$work/log"
  [ ! -e "$bin/redis-server" ] && ! grep 'trying to install' "$work/said" &&
    grep 'please install redis-server or valkey-server' "$work/said"
}

run programs_find_the_server_in_path programs_find_the_server_in_path
run a_service_that_is_installed_stays_off a_service_that_is_installed_stays_off
run other_systems_say_what_they_installed other_systems_say_what_they_installed
run nothing_to_install_with_is_told nothing_to_install_with_is_told
run nothing_is_installed_where_that_is_forbidden nothing_is_installed_where_that_is_forbidden

check_end
