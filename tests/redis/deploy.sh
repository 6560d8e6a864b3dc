#!/bin/sh
# deploy.sh [TEST...] : what stands in examples/deploy besides redis.conf: three servers to try out,
# taken by the command as the README says, the unit, and the configuration's lines for TLS.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/check.sh"

deploy=$work/deploy
three=$deploy/three
folder=$work/three
first=$((20000 + $$ % 10000))
server=
trap '"$three" stop "$folder" >/dev/null 2>&1; kill $server 2>/dev/null; rm -rf "$work"' EXIT

# As the server under test takes it.
cp -r "$root/examples/deploy" "$deploy" || exit
"$root/tests/deployed-conf" >"$deploy/redis.conf" 2>"$work/why" || [ $? = 77 ] || exit

has_cli() { command -v redis-cli || command -v valkey-cli || skip "no redis-cli"; }

# takes_users : else it has no configuration
takes_users() { [ ! -s "$work/why" ] || skip "$(cat "$work/why")"; }

# start_three : on ports that are free
start_three() {
  for _ in 1 2 3; do
    export FIRST_PORT=$first
    "$three" start "$folder" >"$work/env" && return
    "$three" stop "$folder"
    first=$((first + 3))
  done
  return 1
}

three_servers_can_be_tried_out() {
  has_server && has_cli && takes_users || return
  start_three || return
  . "$work/env"
  [ "$(echo "$REDLOCK_SERVERS" | tr , '\n' | grep -c '^redis://locks:.*@127.0.0.1:')" = 3 ] &&
    "$root/build/redlock" try -- true && "$root/build/redlock" --status
}

# A second start finds them as they are; stop leaves none.
three_servers_are_started_once_and_stopped() {
  has_server && has_cli && takes_users || return
  start_three && cp "$work/env" "$work/before" && start_three && cmp "$work/before" "$work/env" ||
    return
  . "$work/env"
  unset FIRST_PORT
  "$three" stop "$folder" && ! "$root/build/redlock" -w 0 try -- true
}

# Another one's server has another password: it is left alone.
three_never_stops_a_server_of_others() {
  has_server && has_cli && takes_users || return
  start_three && cp -r "$folder" "$work/other" || return
  printf 'locks=x\noperator=x\n' >"$work/other/passwords"
  "$three" stop "$work/other" && . "$work/env" && "$root/build/redlock" try -- true
}

three_says_that_nothing_was_started() {
  has_server && has_cli && takes_users || return
  ! "$three" stop "$work/none" 2>"$work/said" && grep -q "nothing was started in $work/none" \
    "$work/said" && [ ! -e "$work/none" ]
}

# three_refuses FOLDER : and runs nothing of what stands there
three_refuses() {
  for what in start stop; do
    ! "$three" $what "$1" 2>"$work/said" || return
    grep -q "belongs to another user, or all may write to it" "$work/said" || return
  done
  [ ! -e "$work/run" ]
}

# Whoever made the folder would say what is run, and as whom.
three_trusts_no_folder_of_others() {
  has_server && has_cli && takes_users && start_three || return
  mkdir -m 777 "$work/open" && mkdir "$work/theirs" "$work/link" && . "$work/env" || return
  cp -r "$folder"/[0-9]* "$work/open" && cp -r "$folder"/[0-9]* "$work/theirs" || return
  echo "touch $work/run" >>"$folder/passwords" && cp "$folder/passwords" "$work/open" &&
    cp "$folder/passwords" "$work/theirs" && ln -s "$folder/passwords" "$work/link" || return
  three_refuses "$work/open" && three_refuses "$work/link" || return
  if [ "$(id -u)" = 0 ]; then
    chown -R 1 "$work/theirs" && three_refuses "$work/theirs" && chown 0 "$work/theirs" &&
      three_refuses "$work/theirs" || return
  fi
  start_three && [ ! -e "$work/run" ] && "$root/build/redlock" try -- true
}

# A port that others have; without its pauses.
three_names_the_port_to_change() {
  has_server && has_cli && takes_users && start_three || return
  mkdir -p "$work/bin" && printf '#!/bin/sh\n' >"$work/bin/sleep" && chmod 755 "$work/bin/sleep"
  ! PATH=$work/bin:$PATH "$three" start "$work/second" 2>"$work/said" &&
    cat "$work/said" && grep "is the port free? Else set FIRST_PORT to another" "$work/said"
}

# As its first comment says: an unset password is never that of nobody, which lets everybody in.
passwords_are_filled_in_as_the_configuration_says() {
  cp "$deploy/redis.conf" "$work/redis.conf"
  sed -n '/^# Fill in two passwords/,/^$/s/^#   //p' "$deploy/redis.conf" >"$work/recipe"
  cd "$work" || return
  ! locks=a operator= sh ./recipe 2>"$work/said" && ! locks= operator=b sh ./recipe 2>>"$work/said" &&
    cmp redis.conf "$deploy/redis.conf" && [ "$(grep -c 'null' "$work/said")" = 2 ] || return
  locks=a operator=b sh ./recipe && ! grep '^user.*@[A-Z]*@' redis.conf &&
    [ "$(grep -c '^user.*#[0-9a-f]\{64\} ' redis.conf)" = 2 ]
}

# logs_in PASSWORD : as the clients' user
logs_in() {
  [ "$(REDISCLI_AUTH=$1 "$(has_cli)" -p "$port" --user locks --no-auth-warning get job 2>&1)" = "" ]
}

# start_configured : redis.conf in $work, on $port; returns when it answers
start_configured() {
  (cd "$work" && exec "$REDIS_SERVER" redis.conf --port "$port" --logfile password.log) &
  server=$!
  until REDISCLI_AUTH=x "$(has_cli)" -p "$port" --user operator --no-auth-warning ping |
    grep -q PONG; do kill -0 $server && sleep 0.1 || return; done 2>/dev/null
}

stop_configured() {
  kill $server && wait $server
  server=
}

# As its comment says: without a restart, and the next restart knows it too.
a_new_password_outlives_a_restart() {
  has_server && has_cli && takes_users || return
  port=$((first + 600)) new=new
  sed "s/#@[A-Z]*@/#$(printf x | sha256sum | cut -c 1-64)/" "$deploy/redis.conf" >"$work/redis.conf"
  sed -n '/^# A new password/,/^user/s/^#   //p' "$deploy/redis.conf" >"$work/recipe"
  start_configured && logs_in x || return
  for rule in '>new' '<x'; do
    REDISCLI_AUTH=x "$(has_cli)" -p "$port" --user operator --no-auth-warning acl setuser locks "$rule"
  done
  logs_in new && ! logs_in x && (cd "$work" && new=$new sh ./recipe) || return
  stop_configured && start_configured && logs_in new && ! logs_in x
  status=$?
  stop_configured
  return $status
}

# is_good UNIT
is_good() {
  SYSTEMD_UNIT_PATH=$work: systemd-analyze verify "$1" >"$work/said" 2>&1
  status=$?
  cat "$work/said"
  [ $status = 0 ] && ! grep -i "redlock-server.service" "$work/said"
}

# One whose version tells nothing, as builds of what is to come have it.
what_a_server_can_do_is_asked() {
  has_server && takes_users || return
  printf '#!/bin/sh\n[ "$1" != --version ] || { echo "Valkey server v=255.255.255"; exit; }\n' >"$work/next"
  printf 'exec "%s" "$@"\n' "$REDIS_SERVER" >>"$work/next" && chmod 755 "$work/next"
  REDIS_SERVER=$work/next "$root/tests/deployed-conf" >"$work/asked" &&
    cmp "$deploy/redis.conf" "$work/asked"
}

# As it stands, with chrony, and as its comment makes it Valkey's.
unit_is_good() {
  need systemd-analyze && has_server || return
  unit=$work/redlock-server.service
  sed "s|/usr/bin/redis-server|$REDIS_SERVER|" "$deploy/redlock-server.service" >"$unit"
  is_good "$unit" || return
  printf '[Service]\nType=oneshot\nExecStart=/bin/true\n' >"$work/chrony-wait.service"
  sed -i 's/^#\([A-Z][a-z]*=chrony-wait\)/\1/' "$unit"
  [ "$(grep -c '^[RA][a-z]*=chrony-wait.service$' "$unit")" = 2 ] && is_good "$unit" || return
  cp "$deploy/redlock-server.service" "$unit"
  sed -n 's|^#   \(sed -i .*\) .*|\1 "$1"|p' "$unit" >"$work/recipe"
  sh "$work/recipe" "$unit" && grep '^ExecStart=/usr/bin/valkey-server /etc/redlock/' "$unit" &&
    [ "$(grep -c '^\(User\|Group\)=valkey$' "$unit")" = 2 ]
}

# certificate NAME : one that its own key signs, for 127.0.0.1
certificate() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=locks \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$work/$1.key" -out "$work/$1.crt" 2>/dev/null
}

# ask_tls PORT FLAG... : GET as the clients' user
ask_tls() {
  port=$1
  shift
  REDISCLI_AUTH=x "$(has_cli)" --tls -p "$port" --user locks --no-auth-warning "$@" --no-raw get job 2>&1
}

# The lines that wait behind a #, without it.
tls_lines_can_be_taken_in() {
  has_server && has_cli && takes_users && need openssl || return
  certificate server || skip "this openssl cannot make a certificate" || return
  hash=$(printf x | sha256sum | cut -c 1-64)
  port=$((first + 500))
  sed -e 's/^#\([a-z]\)/\1/' -e "s/#@[A-Z]*@/#$hash/" -e "s/^tls-port .*/tls-port $port/" \
    -e "s|/etc/redlock/ca|$work/server|; s|/etc/redlock|$work|" "$deploy/redis.conf" \
    >"$work/redis.conf"
  (cd "$work" && exec "$REDIS_SERVER" redis.conf --logfile log) >"$work/said" 2>&1 &
  server=$!
  until grep -q 'eady to accept' "$work/log" 2>/dev/null; do
    kill -0 $server 2>/dev/null || break
    sleep 0.2
  done
  said=$(ask_tls "$port" --cacert "$work/server.crt")
  kill $server 2>/dev/null
  wait $server
  ! grep -qis 'TLS support\|bad directive' "$work/log" "$work/said" ||
    skip "this server has no TLS" || return
  echo "$said"
  [ "$said" = "(nil)" ]
}

run three_servers_can_be_tried_out three_servers_can_be_tried_out
run three_servers_are_started_once_and_stopped three_servers_are_started_once_and_stopped
run three_never_stops_a_server_of_others three_never_stops_a_server_of_others
run three_says_that_nothing_was_started three_says_that_nothing_was_started
run three_trusts_no_folder_of_others three_trusts_no_folder_of_others
run three_names_the_port_to_change three_names_the_port_to_change
run passwords_are_filled_in_as_the_configuration_says \
  passwords_are_filled_in_as_the_configuration_says
run a_new_password_outlives_a_restart a_new_password_outlives_a_restart
run what_a_server_can_do_is_asked what_a_server_can_do_is_asked
run unit_is_good unit_is_good
run tls_lines_can_be_taken_in tls_lines_can_be_taken_in

check_end
