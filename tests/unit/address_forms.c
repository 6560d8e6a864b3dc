/* address_forms.c: with names looked up. */
#include "address_forms.h"
