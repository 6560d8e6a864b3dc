/* host.c: the list, the longest ttl and the user of a host stand in files, for cron, sudo and all
 * others that keep no variables. The command of the tests looks for them in ./redlock.etc. */
#include "tests/command/command.h"

enum { N = 3, NO_QUORUM = 121, USAGE = 125 };

/* In the folder with the files, and without a variable, as sudo runs it. */
#define HERE "cd $work && env -i PATH=\"$PATH\" "

/* $redlock as a path that holds elsewhere too. */
static void put(const char *file, const char *text) {
  CHECK_EQ(shell("mkdir -p $work/redlock.etc && printf '%s' >$work/redlock.etc/%s", text, file), 0);
}

static void put_list(void) {
  char text[LINE];
  snprintf(text, sizeof text, "# ours\\n127.0.0.1:%d # a\\n127.0.0.1:%d\\n\\n#no\\n127.0.0.1:%d\\n",
           real.at[0].port, real.at[1].port, real.at[2].port);
  put("servers", text);
}

TEST(a_host_has_one_list) {
  put_list();
  CHECK_PRINTS("job\n", 0, HERE "$redlock -n job -- printenv REDLOCK_RESOURCE");
  CHECK_SAYS("the list is from redlock.etc/servers\n", 0, HERE "$redlock --status");
  CHECK(says("3 of 3 servers can vote"));
  CHECK_SAYS("\"list_from\":\"redlock.etc/servers\",\"max_ttl_from\":null,", 0,
             HERE "$redlock --status --json");
  CHECK_SAYS("the list is from REDLOCK_SERVERS\n", 0,
             HERE "REDLOCK_SERVERS=$REDLOCK_SERVERS $redlock --status");
  CHECK_SAYS("the list is from --servers\n", 0, HERE "$redlock --status -s 127.0.0.1:%d",
             real.at[0].port);
  CHECK_EQ(shell(HERE "REDLOCK_SERVERS= $redlock -n job -- true"), 0);
}

/* R24: whichever way the list is given. */
TEST(a_host_has_one_longest_ttl) {
  put_list();
  put("max-ttl", "1h\\n");
  CHECK_SAYS("s of --max-ttl 3600s: it votes in", NO_QUORUM, HERE "$redlock -n job -- true");
  CHECK_SAYS("s of --max-ttl 3600s: it votes in", NO_QUORUM,
             HERE "$redlock -n -s 127.0.0.1:%d job -- true", real.at[0].port);
  CHECK_SAYS(", --max-ttl 3600s from redlock.etc/max-ttl\n", NO_QUORUM, HERE "$redlock --status");
  CHECK_SAYS("of --max-ttl 1800s: it", NO_QUORUM, HERE "REDLOCK_MAX_TTL=30m $redlock -n job true");
  put("max-ttl", "5 m");
  CHECK_SAYS("'redlock.etc/max-ttl' must hold one word", USAGE, HERE "$redlock -n job true");
  put("max-ttl", "5x");
  CHECK_SAYS("'5x' is not a time", USAGE, HERE "$redlock -n job true");
}

TEST(a_hosts_user_goes_with_its_list) {
  put_list();
  put("user", "ann\\n");
  servers_command(&real, N, "ACL SETUSER ann reset on >s3cret ~* +@all");
  CHECK_EQ(shell("echo s3cret >$work/password"), 0);
  CHECK_EQ(shell(HERE "$redlock -n --password-file password job -- true"), 0);
  CHECK_SAYS("a user needs a password", USAGE, HERE "$redlock -n job -- true");
  CHECK_EQ(shell(HERE "$redlock -n -s 127.0.0.1:%d job -- true", real.at[0].port), 0);
}

/* Who may write there could lead the passwords elsewhere. */
TEST(files_that_others_may_write_are_refused) {
  static const char run[] = HERE "$redlock -n job -- true";
  put_list();
  shell("chmod o+w $work/redlock.etc/servers");
  CHECK_SAYS("'redlock.etc/servers' may be written by others", USAGE, run);
  shell("chmod o-w $work/redlock.etc/servers && chmod g+w $work/redlock.etc");
  CHECK_SAYS("others may write to redlock.etc", USAGE, run);
  shell("chmod g-w $work/redlock.etc");
  CHECK_EQ(shell(run), 0);
  CHECK_EQ(shell("cd $work/redlock.etc && rm servers && mkdir servers"), 0);
  CHECK_SAYS("'redlock.etc/servers' must be a file", USAGE, run);
  CHECK_EQ(shell("rmdir $work/redlock.etc/servers"), 0);
  put_list();
  if (shell("chown 12345 $work/redlock.etc/servers")) SKIP("we are not root");
  CHECK_SAYS("'redlock.etc/servers' may be written by others", USAGE, run);
}

/* flock's, of what is so anyway. */
TEST(flocks_other_options_are_accepted) {
  CHECK_PRINTS("job\n", 0, "$redlock -xn -e --exclusive -o --close -F --no-fork job -- "
               "printenv REDLOCK_RESOURCE");
}

/* As it stands in operations.md: the file is there, whether servers answer or redlock cannot run.
 */
TEST(the_metrics_do_not_fall_silent) {
  static const char run[] = "cd $work && PATH=$work:$PATH && . ./recipe; cat redlock.prom";
  if (shell("command -v jq") != 0) SKIP("no jq");
  CHECK_EQ(shell("sed -n '/^out=/,/^```/{/^```/!p;}' examples/operations.md | "
                 "sed 's/--max-ttl 5m //' >$work/recipe && "
                 "ln -s \"$(realpath $redlock)\" $work/redlock"), 0);
  CHECK_SAYS("\nredlock_check_exit_status 0\n", 0, run);
  CHECK(says("\nredlock_servers_voting 3\n") && says("# TYPE redlock_servers_with_errors gauge\n"));
  CHECK_SAYS("\nredlock_check_exit_status 125\n", 0, "export REDLOCK_SERVERS=; %s", run);
  CHECK(!says("voting"));
}

int main(int argc, char **argv) {
  char path[PATH_MAX];
  find_command(argv[0]);
  if (realpath(getenv("redlock"), path)) setenv("REDLOCK", path, 1);
  return command_main(argc, argv, N);
}
