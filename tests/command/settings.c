/* settings.c: the command line: what each option takes, and where passwords come from and go. */
#include "tests/command/command.h"

TEST(runs_a_shell_line) {
  fresh();
  CHECK_EQ(shell("$redlock job -c 'echo \"<$REDLOCK_RESOURCE>\"; exit 5'"), 5);
  CHECK(strcmp(output(), "<job>\n") == 0);
  CHECK_EQ(shell("$redlock -c 'exit 6' job"), 6);
  CHECK_EQ(shell("$redlock --command='exit 7' job"), 7);
  CHECK_EQ(shell("$redlock job -c"), 125);
  CHECK_EQ(shell("$redlock job -c true more"), 125);
  CHECK(says("leave out 'more': with --command nothing may follow RESOURCE"));
  CHECK_EQ(shell("$redlock -c true job -- true"), 125);
  CHECK_EQ(shell("$redlock job -- sh -c 'exit 8' -c"), 8); /* that one is COMMAND's own */
}

TEST(takes_the_names_of_flock) {
  pid_t pid;
  int64_t from;
  fresh();
  pid = start_holder("-t 5s job");
  CHECK_EQ(shell("$redlock --nb job -- true"), 120);
  from = timing_ms();
  CHECK_EQ(shell("$redlock --timeout 0.3 job -- true"), 120);
  CHECK(timing_ms() - from >= 300);
  terminate(pid);
}

TEST(takes_decimals) {
  pid_t pid;
  fresh();
  pid = start_holder("-t 5s job");
  CHECK_EQ(shell("$redlock -w 0.05 job -- true"), 120);
  CHECK_EQ(shell("$redlock -w .05s job -- true"), 120);
  CHECK_EQ(shell("$redlock -w 0.001m job -- true"), 120);
  CHECK_EQ(shell("$redlock -w 0.0000000001 job -- true"), 120);
  terminate(pid);
  CHECK_EQ(shell("$redlock -t 0.2s job -- true"), 0);
  CHECK_EQ(shell("$redlock -t 0.1999 job -- true"), 0); /* rounded up */
  CHECK_EQ(shell("$redlock -t 0.199 job -- true"), 125);
  CHECK_EQ(shell("$redlock -t 1. job -- true"), 0);
  CHECK_SAYS("'.' is not a time", 125, "$redlock -t . job -- true");
  CHECK_EQ(shell("$redlock -t 1.5.5 job -- true"), 125);
  CHECK_EQ(shell("$redlock -t 1,5 job -- true"), 125);
  CHECK_SAYS("'24.9d' is too long", 125, "$redlock -t 24.9d job -- true");
}

/* The ttl is 30 s, but no longer than the longest one; as long as that if it is asked for. */
TEST(the_longest_ttl_may_stand_in_the_environment) {
  static const char left[] = "$redlock -v %s job -- true 2>&1 | grep -c 'it is valid for %s'";
  fresh();
  CHECK_EQ(shell(left, "", "29... ms"), 0);
  CHECK_EQ(shell("until $redlock --max-ttl 5s --status | grep -q '3 of 3'; do sleep 0.1; done"),
           0);
  setenv("REDLOCK_MAX_TTL", "5s", 1);
  CHECK_EQ(shell(left, "", "4... ms"), 0);
  CHECK_SAYS("--ttl 9s is longer than --max-ttl 5s", 125, "$redlock -t 9s job -- true");
  CHECK_SAYS("s of --max-ttl 3600s: it votes in 3", 121, "$redlock --max-ttl 1h --status");
  setenv("REDLOCK_MAX_TTL", "3 s", 1);
  CHECK_SAYS("'3 s' is not a time", 125, "$redlock --status");
  setenv("REDLOCK_MAX_TTL", "", 1);
  CHECK_EQ(shell(left, "", "29... ms"), 0);
  unsetenv("REDLOCK_MAX_TTL");
}

/* ---- passwords ---- */

/* The default user of all servers wants this one, or none when it is "". */
static void want_password(const char *password) {
  int i;
  for (i = 0; i < real.count; i++) server_want_password(&real.at[i], password);
}

TEST(reads_a_password_file) {
  fresh();
  want_password("s3:cr@t");
  shell("printf 's3:cr@t\\nnot this line' >$work/password");
  CHECK_EQ(shell("$redlock -n job -- true"), 121);
  CHECK(says("NOAUTH") && says("it wants a password: see --password-file"));
  CHECK_EQ(shell("$redlock -n --password-file $work/password job -- true"), 0);
  CHECK_EQ(shell("printf 's3:cr@t' | $redlock -n --password-file=/dev/stdin job -- true"), 0);
  CHECK_SAYS("3 of 3 servers can vote", 0, "$redlock --password-file $work/password --status");
  shell("echo wrong >$work/password");
  CHECK_EQ(shell("$redlock -n --password-file $work/password job -- true"), 121);
  CHECK(says("WRONGPASS") && says("check user and password"));
  want_password("");
  CHECK_EQ(shell("$redlock --password-file $work/none job -- true"), 125);
  CHECK(says("/none': check its name, and who may read it"));
  CHECK_EQ(shell("echo | $redlock --password-file /dev/stdin job -- true"), 125);
  CHECK(says("is empty: write the password in its first line"));
  CHECK_SAYS("is too long: 510 bytes are the most", 125, "head -c 600 /dev/zero | tr '\\0' x | "
             "$redlock --password-file /dev/stdin job -- true");
  CHECK_EQ(shell("$redlock --password-file $work job -- true"), 125);
  CHECK(says("cannot read the password file") && says("it must be a file"));
}

TEST(a_user_has_the_password_of_the_file) {
  fresh();
  servers_command(&real, real.count, "ACL SETUSER ann on >s3cret ~* +@all");
  shell("echo s3cret >$work/password");
  CHECK_EQ(shell("$redlock -n --user ann --password-file $work/password job -- true"), 0);
  CHECK_EQ(shell("$redlock -n --user bob --password-file $work/password job -- true"), 121);
  CHECK_EQ(shell("$redlock --user ann --password-file $work/password --status"), 0);
  CHECK_SAYS("WRONGPASS", 121, "$redlock --user bob --password-file $work/password --status");
  CHECK_EQ(shell("$redlock -n -s redis://ann@127.0.0.1:%d --password-file $work/password job true",
                 real.at[0].port), 0);
  CHECK_SAYS("a user needs a password", 125, "$redlock -n --user ann job -- true");
  servers_command(&real, real.count, "ACL DELUSER ann");
}

TEST(reads_the_users_own_password) {
  static const char run[] = "HOME=$work/home XDG_CONFIG_HOME=%s $redlock -n job -- true";
  fresh();
  want_password("s3cret");
  shell("mkdir -p $work/home/.config/redlock $work/elsewhere/redlock; umask 077; "
        "echo s3cret >$work/home/.config/redlock/password");
  CHECK_EQ(shell(run, ""), 0);
  CHECK_EQ(shell(run, "$work/elsewhere"), 121);
  shell("mv $work/home/.config/redlock/password $work/elsewhere/redlock");
  CHECK_EQ(shell(run, ""), 121);
  CHECK_EQ(shell(run, "$work/elsewhere"), 0);
  shell("chmod g+r $work/elsewhere/redlock/password");
  CHECK_EQ(shell(run, "$work/elsewhere"), 125);
  CHECK(says("is open to other users: chmod 600 it") && !says("s3cret"));
  CHECK_EQ(shell("XDG_CONFIG_HOME=$work/elsewhere $redlock --password-file "
                 "$work/elsewhere/redlock/password -n job -- true"), 0); /* named: not judged */
  shell("chmod 600 $work/elsewhere/redlock/password");
  if (shell("chown 1:1 $work/elsewhere/redlock/password") == 0)
    CHECK_EQ(shell(run, "$work/elsewhere"), 121); /* another user's own */
  want_password("");
  shell("rm -r $work/home $work/elsewhere");
}

/* With what the list has besides. */
TEST(command_is_not_told_a_password) {
  char expected[SERVERS_LIST];
  const int *a = &real.at[0].port, *b = &real.at[1].port;
  fresh();
  servers_command(&real, 2, "ACL SETUSER ann on >s3cret ~* +@all");
  CHECK_EQ(shell("REDLOCK_SERVERS=redis://ann:s3cret@127.0.0.1:%d/1,redis://127.0.0.1:%d/2,unix:%s "
                 "$redlock job -- env", *a, *b, real.at[2].socket), 0);
  snprintf(expected, sizeof expected,
           "\nREDLOCK_SERVERS=redis://ann@127.0.0.1:%d/1,redis://127.0.0.1:%d/2,unix:%s\n", *a, *b,
           real.at[2].socket);
  CHECK(strstr(read_work("output"), expected) || strstr(read_work("output"), expected + 1));
  CHECK(!says("s3cret"));
  CHECK_EQ(shell("REDLOCK_SERVERS=redis://:not,this@one $redlock -s 127.0.0.1:%d job -- env", *b),
           0);
  CHECK(!says("REDLOCK_SERVERS") && !says("this@one"));
  CHECK_EQ(shell("$redlock job -c 'test \"$REDLOCK_SERVERS\" = \"'$REDLOCK_SERVERS'\"'"), 0);
  servers_command(&real, 2, "ACL DELUSER ann");
}

/* ---- what tells about the options ---- */

/* Each option stands in the help, the manual and the completions. */
TEST(every_option_is_told_everywhere) {
  fresh();
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

/* What the shell would offer for the last of the words. */
static int bash_offers(const char *words) {
  return shell("bash -c 'source examples/redlock/redlock.bash; COMP_WORDS=(%s); "
               "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=\"${COMP_WORDS[*]}\"; "
               "COMP_POINT=${#COMP_LINE}; _redlock redlock \"${COMP_WORDS[COMP_CWORD]}\" \"\"; "
               "printf \"<%%s>\" \"${COMPREPLY[@]}\"'", words);
}

TEST(bash_completes) {
  fresh();
  if (shell("command -v bash") != 0) SKIP("no bash");
  CHECK_EQ(bash_offers("redlock --max"), 0);
  CHECK(strcmp(output(), "<--max-hold><--max-ttl>") == 0);
  CHECK_EQ(bash_offers("redlock -n --sta"), 0);
  CHECK(strcmp(output(), "<--status>") == 0);
  CHECK_EQ(bash_offers("redlock --password-file LICEN"), 0);
  CHECK(says("LICENSE>"));
  CHECK_EQ(bash_offers("redlock -w 5 job -- printen"), 0);
  CHECK(says("<printenv>"));
  CHECK_EQ(bash_offers("redlock job printen"), 0);
  CHECK(says("<printenv>"));
  CHECK_EQ(bash_offers("redlock job --ma"), 0); /* options end at RESOURCE */
  CHECK(!says("--max"));
}

TEST(zsh_understands_its_completion) {
  fresh();
  if (shell("command -v zsh") != 0) SKIP("no zsh");
  CHECK_EQ(shell("zsh -n examples/redlock/_redlock"), 0);
}

/* As it stands in the manual. */
TEST(a_script_locks_itself) {
  pid_t pid;
  fresh();
  CHECK_EQ(shell("sed -n '/^ *#!/,/^.fi/{s/^    //;s/\\\\-/-/g;/^.fi/!p;}' "
                 "examples/redlock/redlock.1 >$work/script && chmod +x $work/script && "
                 "ln -s \"$(realpath $redlock)\" $work/redlock"), 0);
  CHECK_EQ(shell("PATH=$work:$PATH $work/script"), 0);
  CHECK(strcmp(output(), "only one of these runs at a time\n") == 0);
  pid = start_holder("nightly");
  CHECK_EQ(shell("PATH=$work:$PATH $work/script"), 120);
  CHECK(!says("only one"));
  terminate(pid);
}

/* In its environment, with the servers and the folder of this test. */
TEST(the_cron_lines_run_under_cron) {
  fresh();
  CHECK_EQ(shell("sed -n '/^A cron job/,/^.fi/{s/^    //;s/\\\\-/-/g;/^[A-Z0-9].*[=*]/p;}' "
                 "examples/redlock/redlock.1 >$work/crontab && wc -l <$work/crontab"), 0);
  CHECK_EQ(strtol(output(), NULL, 10), 3);
  CHECK_EQ(shell("printf '#!/bin/sh\necho backed up\n' >$work/backup.sh && "
                 "chmod +x $work/backup.sh && ln -s \"$(realpath $redlock)\" $work/redlock"), 0);
  CHECK_EQ(shell("sed -e \"s|/usr/local/bin|$work|; s|10.0.0.1,.*|$REDLOCK_SERVERS|\" "
                 "-e '/=/s/^/export /; s/^[0-9* ]*redlock/redlock/' $work/crontab >$work/job && "
                 "env -i HOME=/ SHELL=/bin/sh PATH=/usr/bin:/bin sh $work/job"), 0);
  CHECK(strcmp(output(), "backed up\n") == 0);
  CHECK_EQ(shell("env -i HOME=/ SHELL=/bin/sh PATH=/usr/bin:/bin sh $work/job"), 0);
  CHECK(!*output()); /* another host, whose clock is behind */
}

int main(int argc, char **argv) {
  unsetenv("XDG_CONFIG_HOME");
  if (open_world(argc, argv, 3)) check_all();
  return close_world();
}
