/* work.h: how many basic blocks of code a program has run: the same on every machine, however busy
 * it is. */
#ifndef WORK_H
#define WORK_H

extern long work_done;

#endif
