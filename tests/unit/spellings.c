/* spellings.c: with names looked up. */
#include "spellings.h"
