// guard.cpp: a lock for a scope. Copy from here, with guard.hpp.
//
//   c++ -std=c++11 -I.. guard.cpp -o guard
//   ./guard 10.0.0.1,10.0.0.2,10.0.0.3
#define REDLOCK_IMPLEMENTATION // in one file of the program only
#include "guard.hpp"

#include <cstdio>

static int work(const redlock_guard &guard) {
  std::printf("invoice:42 is locked for %ld ms more: working\n", long(guard.remaining_ms()));
  return 0;
}

static int run(redlock *client) {
  redlock_guard guard(client, "invoice:42", 10000, 3000);
  if (guard) return work(guard); // released on the way out, an exception included
  std::fprintf(stderr, "%s\n", redlock_strerror(guard.status()));
  if (guard.status() == REDLOCK_INVALID)
    std::fprintf(stderr, "  %s\n", redlock_server_error(client, -1));
  return 1;
}

int main(int argc, char **argv) {
  const char *servers = argc > 1 ? argv[1] : "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  redlock client;
  int result = 1;
  if (redlock_init(&client, servers, nullptr) == REDLOCK_OK) result = run(&client);
  else std::fprintf(stderr, "%s\n", redlock_server_error(&client, -1));
  redlock_close(&client); // after the last guard
  return result;
}
