/* References of rows about warps and copies that work on more than integers: reductions of floats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000;
}

/* Is a before b where -0 comes before +0?  Neither is NaN. */
static bool is_less(uint32_t a, uint32_t b)
{
    bool a_negative = a >> 31, b_negative = b >> 31;
    if (a_negative != b_negative)
        return a_negative;
    return a_negative ? a > b : a < b;
}

/* redux.sync.{min,max}{.abs}{.NaN}.f32 d, a, members: NaN is passed over, and the result is NaN only where all are; with .NaN,
 * where any is.  A NaN that results is canonical. */
static uint32_t reduce(const struct ptx_instr *in, uint32_t members, const struct oracle_lane lanes[ORACLE_LANES])
{
    uint32_t best = 0x7fffffff;
    for (int i = 0; i < ORACLE_LANES; i++) {
        uint32_t v = lanes[i].src[0].u32[0];
        if (!(members >> i & 1))
            continue;
        if (is_nan(v)) {
            if (ptx_has(in, PTX_MOD_NAN_RESULT))
                return 0x7fffffff;
            continue;
        }
        if (ptx_has(in, PTX_MOD_ABS))
            v &= 0x7fffffff;
        if (is_nan(best) || (ptx_has(in, PTX_MOD_MAX) ? is_less(best, v) : is_less(v, best)))
            best = v;
    }
    return best;
}

oracle_warp_reference oracle_ref_redux_f32;
void oracle_ref_redux_f32(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES])
{
    for (int i = 0; i < ORACLE_LANES; i++) {
        uint32_t members = lanes[i].src[1].u32[0];
        if (!(active >> i & 1))
            continue;
        if ((members & active) != members || !(members >> i & 1))
            lanes[i].undefined = true; /* a member that is not here, or a lane that is no member */
        lanes[i].dst[0].u32[0] = reduce(in, members & active, lanes);
    }
}
