/* settings.c: the command line: what each option takes, and where passwords come from and go. */
#include "tests/command/command.h"

TEST(a_shell_line_is_run) {
  CHECK_PRINTS("<job>\n", 5, "$redlock job -c 'echo \"<$REDLOCK_RESOURCE>\"; exit 5'");
  CHECK_EQ(shell("$redlock -c 'exit 6' job"), 6);
  CHECK_EQ(shell("$redlock --command='exit 7' job"), 7);
  CHECK_EQ(shell("$redlock job -- sh -c 'exit 8' -c"), 8); /* that one is COMMAND's own */
  refuses("job -c", "needs a value");
  refuses("job -c true more", "leave out 'more': with --command nothing may follow RESOURCE");
  refuses("-c true job -- true", "with --command nothing may follow RESOURCE");
}

TEST(flocks_names_and_decimals_are_understood) {
  static const char *const waits[] = {"--nb", "-w 0.05", "-w .05s", "-w 0.001m",
                                      "-w 0.0000000001", "--timeout 0.3"};
  static const char *const ttls[] = {"0.2s", "0.1999" /* rounded up */, "1.", "999.9", "30000ms"};
  size_t i;
  int64_t from = 0;
  pid_t pid = start_holder("-t 5s job");
  for (i = 0; i < sizeof waits / sizeof *waits; i++) {
    from = timing_ms();
    CHECK_EQ(shell("$redlock %s job -- true", waits[i]), 120);
  }
  CHECK(timing_ms() - from >= 300);
  terminate(pid);
  for (i = 0; i < sizeof ttls / sizeof *ttls; i++)
    CHECK_SAYS_ONCE("", 0, "$redlock -t %s job -- true", ttls[i]);
}

/* The ttl is 30 s, but no longer than the longest one; as long as that if it is asked for. */
TEST(the_longest_ttl_may_stand_in_the_environment) {
  static const char left[] = "$redlock -v %s job -- true 2>&1 | grep -c 'it is valid for %s'";
  CHECK_EQ(shell(left, "", "29... ms"), 0);
  CHECK_EQ(shell("until $redlock --max-ttl 2s --status | grep -q '3 of 3'; do sleep 0.1; done"),
           0);
  setenv("REDLOCK_MAX_TTL", "2s", 1);
  CHECK_EQ(shell(left, "", "1... ms"), 0);
  CHECK_SAYS("--ttl 9s is longer than --max-ttl 2s", 125, "$redlock -t 9s job -- true");
  CHECK_SAYS("s of --max-ttl 3600s: it votes in 3", 121, "$redlock --max-ttl 1h --status");
  setenv("REDLOCK_MAX_TTL", "3 s", 1);
  CHECK_SAYS("'3 s' is not a time", 125, "$redlock --status");
  setenv("REDLOCK_MAX_TTL", "30000", 1);
  CHECK_SAYS("'30000' needs a unit", 125, "$redlock --status");
  setenv("REDLOCK_MAX_TTL", "", 1);
  CHECK_EQ(shell(left, "", "29... ms"), 0);
  unsetenv("REDLOCK_MAX_TTL");
}

/* ---- passwords ---- */

TEST(a_password_is_read_from_a_file) {
  static const struct {
    const char *what;
    int status;
    const char *line;
  } rows[] = {
    {"NOAUTH", 121, "$redlock -n job -- true"},
    {"it wants a password: see --password-file", 121, "$redlock -n job -- true"},
    {"", 0, "$redlock -n --password-file $work/password job -- true"},
    {"", 0, "printf 's3:cr@t' | $redlock -n --password-file=/dev/stdin job -- true"},
    {"3 of 3 servers can vote", 0, "$redlock --password-file $work/password --status"},
    {"WRONGPASS", 121, "$redlock -n --password-file $work/wrong job -- true"},
    {"check user and password", 121, "$redlock -n --password-file $work/wrong job -- true"},
    {"/none': check its name, and who may read it", 125,
     "$redlock --password-file $work/none job -- true"},
    {"is empty: write the password in its first line", 125,
     "echo | $redlock --password-file /dev/stdin job -- true"},
    {"is too long: 510 bytes are the most", 125,
     "head -c 600 /dev/zero | tr '\\0' x | $redlock --password-file /dev/stdin job -- true"},
    {"cannot read the password file", 125, "$redlock --password-file $work job -- true"},
    {"it must be a file", 125, "$redlock --password-file $work job -- true"},
    {"begins with a byte order mark", 125,
     "printf '\\357\\273\\277s3:cr@t\\r\\n' | "
     "$redlock --password-file /dev/stdin job -- true"},
    {"begins with a byte order mark", 125,
     "printf '\\377\\376s\\0003\\000' | $redlock --password-file /dev/stdin job -- true"},
    {"there is a zero byte in the password file", 125,
     "printf 's3:cr@t\\000\\n' | $redlock --password-file /dev/stdin job -- true"},
    {"", 0, "printf 's3:cr@t\\n\\000' | $redlock -n --password-file /dev/stdin job -- true"}
  };
  size_t i;
  want_password(3, "s3:cr@t");
  shell("printf 's3:cr@t\\nnot this line' >$work/password; echo wrong >$work/wrong");
  for (i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK_SAYS(rows[i].what, rows[i].status, "%s", rows[i].line);
  want_password(3, "");
}

/* A pipe that nobody opens keeps the command no longer than the lock may; one whose writer is slow
   is read, named or not. */
TEST(a_password_may_come_through_a_pipe) {
  static const char slow[] = "(sleep 0.3; echo s3cret)";
  static const char nobody[] = "nobody has written to the password file";
  want_password(3, "s3cret");
  shell("mkdir -m 700 $work/redlock; mkfifo -m 600 $work/pipe $work/redlock/password");
  CHECK_SAYS(nobody, 125, "$redlock -n --password-file $work/pipe job -- true");
  CHECK_SAYS(nobody, 125, "$redlock -w 0.1s --password-file $work/pipe job -- true");
  CHECK_SAYS(nobody, 125, "$redlock --password-file $work/pipe --status");
  CHECK_SAYS(nobody, 125, "XDG_CONFIG_HOME=$work $redlock -n job -- true");
  CHECK_EQ(shell("%s >$work/pipe & $redlock --password-file $work/pipe job -- true", slow), 0);
  CHECK_EQ(shell("%s | $redlock -n --password-file /dev/fd/0 job -- true", slow), 0);
  if (shell("command -v bash") == 0)
    CHECK_EQ(shell("exec bash -c '$redlock -n --password-file <%s job -- true'", slow), 0);
  want_password(3, "");
}

TEST(a_user_has_the_password_of_the_file) {
  servers_command(&real, real.count, "ACL SETUSER ann on >s3cret ~* +@all");
  shell("echo s3cret >$work/password");
  CHECK_EQ(shell("$redlock -n --user ann --password-file $work/password job -- true"), 0);
  CHECK_EQ(shell("$redlock --user ann --password-file $work/password --status"), 0);
  CHECK_SAYS("WRONGPASS", 121, "$redlock --user bob --password-file $work/password --status");
  CHECK_EQ(shell("$redlock -n -s redis://ann@127.0.0.1:%d --password-file $work/password job true",
                 real.at[0].port), 0);
  CHECK_SAYS("a user needs a password", 125, "$redlock -n --user ann job -- true");
}

TEST(the_users_own_password_is_read) {
  static const char run[] = "HOME=$work/home XDG_CONFIG_HOME=%s $redlock -n job -- true";
  want_password(3, "s3cret");
  shell("mkdir -p $work/home/.config/redlock $work/elsewhere/redlock; umask 077; "
        "echo s3cret >$work/home/.config/redlock/password");
  CHECK_EQ(shell(run, ""), 0);
  CHECK_EQ(shell(run, "$work/elsewhere"), 121);
  shell("mv $work/home/.config/redlock/password $work/elsewhere/redlock");
  CHECK_EQ(shell(run, ""), 121);
  CHECK_EQ(shell(run, "$work/elsewhere"), 0);
  shell("chmod g+r $work/elsewhere/redlock/password");
  CHECK_SAYS("is open to other users: chmod 600 it", 125, run, "$work/elsewhere");
  CHECK(!says("s3cret"));
  CHECK_EQ(shell("XDG_CONFIG_HOME=$work/elsewhere $redlock --password-file "
                 "$work/elsewhere/redlock/password -n job -- true"), 0); /* named: not judged */
  shell("chmod 600 $work/elsewhere/redlock/password");
  if (shell("chown 1:1 $work/elsewhere/redlock/password") == 0)
    CHECK_EQ(shell(run, "$work/elsewhere"), 121); /* another user's own */
  want_password(3, "");
}

/* One holds the lock, another waits for it, while the servers' password changes and they lose their
   connections; the file follows when both have been refused. */
TEST(a_password_that_changes_is_read_again) {
  static const char run[] = "exec $redlock -v -t 12s --password-file $work/password job -- %s";
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t holder, waiter;
  char line[LINE];
  want_password(3, "first");
  shell("echo first >$work/password");
  snprintf(line, sizeof line, run, "sh -c 'touch $work/runs; " UNTIL_END "'");
  holder = start_line(line, "background");
  CHECK(await_file("runs"));
  snprintf(line, sizeof line, run, "true");
  waiter = start_line(line, "waiter");
  await_words("waiter", "it is taken\n");
  want_password(3, "second");
  servers_command(&real, 3, "CONFIG RESETSTAT");
  servers_command(&real, 3, "CLIENT KILL TYPE normal SKIPME yes");
  while (server_info(&real.at[0], "errorstat_WRONGPASS:count=") < 2 && timing_ms() < end)
    sleep_ms(10);
  shell("echo second >$work/password");
  await_words("background", "a server refuses the password: its file has a new one");
  await_words("waiter", "a server refuses the password: its file has a new one");
  while (server_info(&real.at[0], "cmdstat_pexpire:calls=") < 1 && timing_ms() < end) sleep_ms(10);
  let_it_end();
  CHECK_EQ(end_of(holder), 0);
  CHECK_EQ(end_of(waiter), 0);
  want_password(3, "");
}

/* With what the list has besides. */
TEST(a_password_is_not_told_to_command) {
  char expected[SERVERS_LIST];
  const int *a = &real.at[0].port, *b = &real.at[1].port;
  servers_command(&real, 2, "ACL SETUSER ann on >s3cret ~* +@all");
  CHECK_EQ(shell("REDLOCK_SERVERS=redis://ann:s3cret@127.0.0.1:%d/1,redis://127.0.0.1:%d/2,unix:%s "
                 "$redlock job -- env", *a, *b, real.at[2].socket), 0);
  snprintf(expected, sizeof expected,
           "\nREDLOCK_SERVERS=redis://ann@127.0.0.1:%d/1,redis://127.0.0.1:%d/2,unix:%s\n", *a, *b,
           real.at[2].socket);
  CHECK((says(expected) || says(expected + 1)) && !says("s3cret"));
  CHECK_EQ(shell("REDLOCK_SERVERS=redis://:not,this@one $redlock -s 127.0.0.1:%d job -- env", *b),
           0);
  CHECK(!says("REDLOCK_SERVERS") && !says("this@one"));
  CHECK_EQ(shell("$redlock job -c 'test \"$REDLOCK_SERVERS\" = \"'$REDLOCK_SERVERS'\"'"), 0);
}

/* ---- what tells about the options ---- */

/* Each option stands in the help, the manual and the completions. */
TEST(every_option_is_told_everywhere) {
  CHECK_EQ(shell("sed -n '/known_options\\[\\]/,/^};/p' examples/redlock/settings.c "
                 "| grep -o '\"[a-z-]*\"' | tr -d '\"' >$work/options && wc -l <$work/options"), 0);
  CHECK(strtol(output(), NULL, 10) > 15);
  CHECK_EQ(shell("while read o; do "
                 "$redlock --help | grep -q -e \"--$o\" || echo \"help lacks $o\"; "
                 "sed 's/\\\\//g' examples/redlock/redlock.1 | grep -q -e \"--$o\" "
                 "|| echo \"manual lacks $o\"; "
                 "for f in redlock.bash _redlock; do grep -q -e \"--$o\" examples/redlock/$f "
                 "|| echo \"$f lacks $o\"; done; done <$work/options"), 0);
  if (!CHECK(!*output())) printf("%s", output());
}

/* What the shell offers for the last of the words, among other things. */
TEST(bash_completes) {
  static const char *const rows[][2] = {{"redlock --max", "<--max-hold><--max-ttl>"},
                                        {"redlock -n --sta", "<--status>"},
                                        {"redlock --password-file LICEN", "LICENSE>"},
                                        {"redlock -w 5 job -- printen", "<printenv>"},
                                        {"redlock job printen", "<printenv>"},
                                        {"redlock job --ma", "<>"}}; /* options end at RESOURCE */
  size_t i;
  if (shell("command -v bash") != 0) SKIP("no bash");
  for (i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK_SAYS(rows[i][1], 0,
               "bash -c 'source examples/redlock/redlock.bash; COMP_WORDS=(%s); "
               "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=\"${COMP_WORDS[*]}\"; "
               "COMP_POINT=${#COMP_LINE}; _redlock redlock \"${COMP_WORDS[COMP_CWORD]}\" \"\"; "
               "printf \"<%%s>\" \"${COMPREPLY[@]}\"'", rows[i][0]);
}

TEST(zsh_understands_its_completion) {
  if (shell("command -v zsh") != 0) SKIP("no zsh");
  CHECK_EQ(shell("zsh -n examples/redlock/_redlock"), 0);
}

/* As it stands in the manual. */
TEST(a_script_locks_itself) {
  pid_t pid;
  CHECK_EQ(shell("sed -n '/^ *#!/,/^.fi/{s/^    //;s/\\\\-/-/g;/^.fi/!p;}' "
                 "examples/redlock/redlock.1 >$work/script && chmod +x $work/script && "
                 "ln -s \"$(realpath $redlock)\" $work/redlock"), 0);
  CHECK_PRINTS("only one of these runs at a time\n", 0, "PATH=$work:$PATH $work/script");
  CHECK_PRINTS("only one of these runs at a time\n", 0, "cd $work && PATH=$work:$PATH sh script");
  CHECK_PRINTS("only one of these runs at a time\n", 0,
               "cd $work && chmod -x script && PATH=$work:$PATH sh ./script");
  pid = start_holder("nightly");
  CHECK_EQ(shell("PATH=$work:$PATH sh $work/script"), 120);
  terminate(pid);
}

/* The manual's deployment in steps, where too few servers answer the second one: its ticket still
   releases the lock. */
TEST(a_ticket_outlives_a_step_that_fails) {
  CHECK_EQ(shell("sed -n '/^    T=/,/^.fi/{s/^    //;s/\\\\-/-/g;/^.fi/!p;}' "
                 "examples/redlock/redlock.1 >$work/steps && test $(wc -l <$work/steps) = 4"), 0);
  CHECK_EQ(shell("printf '#!/bin/sh\ncase $* in *--extend*) exit 121 ;; *) exec %%s \"$@\" ;; "
                 "esac\n' \"$(realpath $redlock)\" >$work/redlock; "
                 "printf '#!/bin/sh\n' >$work/make; "
                 "chmod +x $work/redlock $work/make"), 0);
  CHECK_PRINTS("", 0, "PATH=$work:$PATH sh $work/steps");
  CHECK(is_released("deploy:shop"));
}

/* Every option has a line of its own, or stands beside others of its kind. */
TEST(the_help_explains_each_step) {
  static const char *const steps[] = {"status", "take", "extend", "run", "release"};
  size_t i;
  for (i = 0; i < sizeof steps / sizeof *steps; i++)
    CHECK_EQ(shell("$redlock --help | grep -qE '^      --%s  +[a-z]'", steps[i]), 0);
  CHECK_PRINTS("", 0, "$redlock --help | awk 'length($0) > 80'");
}

/* In its environment, with the servers and the folder of this test, which are too young for
   REDLOCK_MAX_TTL. */
TEST(the_cron_lines_run_under_cron) {
  static const char cron[] = "env -i HOME=/ SHELL=/bin/sh PATH=/usr/bin:/bin sh $work/job";
  CHECK_PRINTS("4\n", 0,
               "sed -n '/^A cron job/,/^.fi/{s/^    //;s/\\\\-/-/g;/^[A-Z0-9].*[=*]/p;}' "
               "examples/redlock/redlock.1 >$work/crontab && wc -l <$work/crontab | tr -d ' '");
  CHECK_EQ(shell("printf '#!/bin/sh\necho backed up\n' >$work/backup.sh && "
                 "chmod +x $work/backup.sh && ln -s \"$(realpath $redlock)\" $work/redlock"), 0);
  CHECK_EQ(shell("sed -e \"s|/usr/local/bin|$work|; s|10.0.0.1,.*|$REDLOCK_SERVERS|\" "
                 "-e '/MAX_TTL=/d; /=/s/^/export /; s/^[0-9* ]*redlock/redlock/' "
                 "$work/crontab >$work/job"), 0);
  CHECK_PRINTS("backed up\n", 0, cron);
  CHECK_PRINTS("", 0, cron); /* another host, whose clock is behind */
}

int main(int argc, char **argv) {
  unsetenv("XDG_CONFIG_HOME");
  return command_main(argc, argv, 3);
}
