/* count.h: system calls by kind. The program is linked with -Wl,--wrap=NAME for each NAME below, so
 * the calls of the header and those of the floor go through the same counters. The clock is not
 * among them: it is read without entering the kernel. */
#ifndef COUNT_H
#define COUNT_H

enum count_kind {
  COUNT_SEND,
  COUNT_RECV,
  COUNT_POLL,
  COUNT_NETWORK, /* how many kinds those are */
  COUNT_RANDOM = COUNT_NETWORK,
  COUNT_PID,
  COUNT_KINDS
};

extern long counts[COUNT_KINDS];

#endif
