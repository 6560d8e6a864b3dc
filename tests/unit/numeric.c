/* numeric.c: with numeric addresses alone. */
#define REDLOCK_NO_DNS
#include "address_forms.h"
