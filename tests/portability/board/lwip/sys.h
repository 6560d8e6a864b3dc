#include <stdint.h>

uint32_t sys_now(void);
