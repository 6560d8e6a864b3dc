/* regression_seeds.h: seeds that found a bug, run before all others by the test `seeds`. Each
 * names the past bug of the header or of the simulator, or the planted one (tests/mutants/bugs),
 * that it catches. A change of the simulator can change what a seed does: `make sim-planted` tells
 * which still catches each bug.
 *
 * Seeds 1, 3, 6, 8, 12, 19 and 22 need no place here: they run anyway, and each finds fault with
 * some past version of the header. */
#ifndef SIM_REGRESSION_SEEDS_H
#define SIM_REGRESSION_SEEDS_H

#include <stdint.h>

static const uint64_t kept_seeds[] = {
    UINT64_C(52452714459), /* the past: by its other name a server voted a second time */
    UINT64_C(52493520742), /* the past: a late handshake behind a full ring cost its connection */
    90001057, /* the past: releasing an acquire whose grant had lapsed unseen said INVALID */
    UINT64_C(52964138213), /* the simulator's: 40 locks that try again each ms were called a spin */
    UINT64_C(77000006171), /* the simulator's: a clock set back for hours was never put right */
    UINT64_C(1099601630782), /* the simulator's: an older image's end hid the server's quarantine */
    UINT64_C(53535050570), /* the past: ten clients tried 1 500 times a second, and for 36 s */
    UINT64_C(4451893003605), /* the simulator's: ends of keys filled its queue */
    UINT64_C(54002599764), /* the past: a release grew too old behind a SET that was half sent */
    UINT64_C(53538370613), /* a mend of that: a waiter backed off for 831 ms too long */
    UINT64_C(2253671426206), /* the simulator's: a newcomer behind one who waited */
    UINT64_C(4455371121205), /* the simulator's: a slow server kept room for two timeouts */
    UINT64_C(57948960408), /* the past: who stood still in a step took its servers for silent */
    UINT64_C(58538660044), /* the simulator's: pushes of extensions were no wake-ups in vain */
    UINT64_C(58692650488), /* refine's: a SET that is put back asks for more than its round */
    UINT64_C(8854667522236), /* the past: a back-off in vain of 4 s beside a free lock */
    UINT64_C(9954190790091), /* the past: that nothing was told ended each back-off */
    UINT64_C(103452849984), /* the past: a retired release was refused unheard */
    UINT64_C(8854903763209), /* the simulator's: it was not known whose the lock was */
    UINT64_C(11053903770518), /* the simulator's: behind errors, one holder may be two */
    UINT64_C(6656265866757), /* the simulator's: an adoption was no news of another holder */
    UINT64_C(8796095022212), /* a-key-of-another-type-is-asked-for-twice */
    UINT64_C(8796096022307), /* lost-pushes-make-pollers */
    UINT64_C(8796096022334), /* wake-no-fallback, lost-pushes-make-pollers */
    UINT64_C(8796098022214), /* an-age-of-any-size */
    UINT64_C(8796098022352), /* one-liars-age */
    UINT64_C(8796098022360), /* a-timer-that-looks-is-a-race-that-is-lost */
    UINT64_C(8796098022466), /* an-age-that-tells-nothing-for-long */
    5000007,  /* thaw-unheard, which was a bug of the past too */
    2000035,  /* thaw-unheard, in another world */
    5000026,  /* no-check-after-reply */
    3000021,  /* listed-twice */
    5000005,  /* roll-back-on-new-socket */
    4000019,  /* no-check-at-hand-over */
    2000031,  /* refused-select */
    2000002,  /* t1-after-send, forgotten-age */
    1000001,  /* no-roll-back */
    3000002,  /* extension-shortens */
    2000001,  /* extension-without-quorum, wall-clock */
    3000000   /* no-quarantine, taken-is-yes, one-value, quorum-half, release-by-del, drift-0 */
};

enum { KEPT_SEEDS = sizeof kept_seeds / sizeof kept_seeds[0] };

#endif
