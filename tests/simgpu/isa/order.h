/* Minimum, maximum and median of floats by their bits, with AMD's rules for NaNs and zeros: f16 in the upper half of 32 bits,
 * f32, f64.  Integer arithmetic only, so that loops over lanes vectorise and no bit of a NaN is lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* Defines order_{min,max,med,same}NAME on bit type U, S being its signed twin of BITS bits.  The manual's order of cases: in ieee
 * mode a signalling NaN wins and becomes quiet; else a NaN loses, also to another NaN; -0 is below +0. */
#define ORDER_FUNCTIONS(name, U, S, bits, inf, quiet)                                                                   \
    static inline bool order_nan##name(U x)                                                                             \
    {                                                                                                                   \
        return (x & ~((U)1 << (bits - 1))) > (U)(inf);                                                                  \
    }                                                                                                                   \
    static inline S order_key##name(U x)                                                                                \
    {                                                                                                                   \
        return (S)(x ^ ((U)((S)x >> (bits - 1)) >> 1));                                                                 \
    }                                                                                                                   \
    static inline U order_pick##name(U a, U b, U smaller, bool ieee)                                                    \
    {                                                                                                                   \
        bool nan_a = order_nan##name(a), nan_b = order_nan##name(b);                                                    \
        U r = nan_b ? a : smaller;                                                                                      \
        r = nan_a ? b : r;                                                                                              \
        r = ieee & nan_b & !(b & (quiet)) ? b | (quiet) : r;                                                            \
        return ieee & nan_a & !(a & (quiet)) ? a | (quiet) : r;                                                         \
    }                                                                                                                   \
    static inline U order_min##name(U a, U b, bool ieee)                                                                \
    {                                                                                                                   \
        return order_pick##name(a, b, order_key##name(a) < order_key##name(b) ? a : b, ieee);                           \
    }                                                                                                                   \
    static inline U order_max##name(U a, U b, bool ieee)                                                                \
    {                                                                                                                   \
        return order_pick##name(a, b, order_key##name(a) > order_key##name(b) ? a : b, ieee);                           \
    }                                                                                                                   \
    /* gfx12's: `num` prefers a number to any NaN, the others any NaN to a number. */                                   \
    static inline U order_num##name(U a, U b, U picked)                                                                 \
    {                                                                                                                   \
        bool nan_a = order_nan##name(a), nan_b = order_nan##name(b);                                                    \
        return nan_a & nan_b ? a | (quiet) : nan_a ? b : nan_b ? a : picked;                                            \
    }                                                                                                                   \
    static inline U order_nan_first##name(U a, U b, U picked)                                                           \
    {                                                                                                                   \
        return order_nan##name(a) ? a | (quiet) : order_nan##name(b) ? b | (quiet) : picked;                            \
    }                                                                                                                   \
    static inline U order_min_num##name(U a, U b)                                                                       \
    {                                                                                                                   \
        return order_num##name(a, b, order_key##name(a) < order_key##name(b) ? a : b);                                  \
    }                                                                                                                   \
    static inline U order_max_num##name(U a, U b)                                                                       \
    {                                                                                                                   \
        return order_num##name(a, b, order_key##name(a) > order_key##name(b) ? a : b);                                  \
    }                                                                                                                   \
    static inline U order_minimum##name(U a, U b)                                                                       \
    {                                                                                                                   \
        return order_nan_first##name(a, b, order_key##name(a) < order_key##name(b) ? a : b);                            \
    }                                                                                                                   \
    static inline U order_maximum##name(U a, U b)                                                                       \
    {                                                                                                                   \
        return order_nan_first##name(a, b, order_key##name(a) > order_key##name(b) ? a : b);                            \
    }                                                                                                                   \
    static inline bool order_same##name(U a, U b)                                                                       \
    {                                                                                                                   \
        return (a == b) | ((U)((a | b) << 1) == 0);                                                                     \
    }                                                                                                                   \
    static inline U order_med##name(U a, U b, U c, bool ieee)                                                           \
    {                                                                                                                   \
        U least = order_min##name(order_min##name(a, b, ieee), c, ieee);                                                \
        U most = order_max##name(order_max##name(a, b, ieee), c, ieee);                                                 \
        U r = order_same##name(most, b) ? order_max##name(a, c, ieee) : order_max##name(a, b, ieee);                    \
        r = order_same##name(most, a) ? order_max##name(b, c, ieee) : r;                                                \
        return order_nan##name(a) | order_nan##name(b) | order_nan##name(c) ? least : r;                                \
    }                                                                                                                   \
    static inline U order_med_num##name(U a, U b, U c)                                                                  \
    {                                                                                                                   \
        bool nan = order_nan##name(a) | order_nan##name(b) | order_nan##name(c);                                        \
        return nan ? order_min_num##name(order_min_num##name(a, b), c) : order_med##name(a, b, c, false);               \
    }

ORDER_FUNCTIONS(16, uint32_t, int32_t, 32, 0x7c000000, 0x02000000u)
ORDER_FUNCTIONS(32, uint32_t, int32_t, 32, 0x7f800000, 0x00400000u)
ORDER_FUNCTIONS(64, uint64_t, int64_t, 64, 0x7ff0000000000000ull, 0x0008000000000000ull)

#endif
