/* scripted.h: servers in the same process that answer each command with a yes, for counting what
 * the library itself executes. Its functions begin with script_, so that a profile can leave them
 * out. Each send takes all that it is given. */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#include "redlock.h"

extern const redlock_io script_io;

#endif
