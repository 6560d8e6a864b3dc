/* check_main.h: check.h, and the main of a program that runs every TEST. */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include "check.h"

int main(int argc, char **argv) {
  check_start(argc, argv);
  check_all();
  return check_end();
}

#endif
