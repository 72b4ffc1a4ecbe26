/* References: shuffles, votes, matches and reductions of a warp (PTX ISA 9.7.9.5, .6, 9.7.13.9 and on). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/oracle.h"

#define REF(name) void oracle_ref_##name(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES])
#define EACH(i, set) (unsigned i = 0; i < ORACLE_LANES; i++) if ((set) >> i & 1)

/* Who takes part with lane i: the member mask, which is the last operand; without .sync those who execute. */
static uint32_t members(const struct ptx_instr *in, uint32_t active, const struct oracle_lane *lane, unsigned operand)
{
    return ptx_has(in, PTX_MOD_SYNC) ? lane->src[operand].u32[0] & active : active;
}

REF(shfl)
{
    for EACH (i, active) {
            int lane = (int)i, b = lanes[i].src[1].u32[0] & 31, c = lanes[i].src[2].u32[0] & 31,
                segment = lanes[i].src[2].u32[0] >> 8 & 31;
            int most = (lane & segment) | (c & ~segment), least = lane & segment, j;
            bool p;
            if (ptx_has(in, PTX_MOD_UP)) {
                j = lane - b;
                p = j >= most;
        } else {
            j = ptx_has(in, PTX_MOD_DOWN) ? lane + b : ptx_has(in, PTX_MOD_BFLY) ? lane ^ b : least | (b & ~segment);
            p = j <= most;
        }
        if (!p)
            j = lane; /* its own */
        lanes[i].undefined = j > 31 || !(members(in, active, &lanes[i], 3) >> j & 1);
        if (!lanes[i].undefined)
            lanes[i].dst[0].u32[0] = lanes[j].src[0].u32[0];
        lanes[i].dst[1].u8[0] = p;
    }
}

REF(vote)
{
    for EACH (i, active) {
        uint32_t with = members(in, active, &lanes[i], 1), yes = 0;
        for EACH (j, with)
            yes |= (uint32_t)(lanes[j].src[0].u8[0] & 1) << j;
        if (ptx_has(in, PTX_MOD_BALLOT))
            lanes[i].dst[0].u32[0] = yes;
        else
            lanes[i].dst[0].u8[0] = ptx_has(in, PTX_MOD_ANY)   ? yes != 0
                                    : ptx_has(in, PTX_MOD_ALL) ? yes == with
                                                               : yes == 0 || yes == with;
    }
}

REF(match)
{
    for EACH (i, active) {
        uint32_t with = members(in, active, &lanes[i], 1), same = 0;
        for EACH (j, with)
            same |= (uint32_t)(lanes[j].src[0].u64[0] == lanes[i].src[0].u64[0]) << j;
        if (ptx_has(in, PTX_MOD_ANY)) {
            lanes[i].dst[0].u32[0] = same;
        } else {
            lanes[i].dst[0].u32[0] = same == with ? with : 0;
            lanes[i].dst[1].u8[0] = same == with;
        }
    }
}

REF(activemask)
{
    for EACH (i, active)
        lanes[i].dst[0].u32[0] = active;
}

REF(redux)
{
    for EACH (i, active) {
        uint32_t with = members(in, active, &lanes[i], 1), r = 0, flip = ptx_type_class(in->types[0]) == 'S' ? 0x80000000 : 0;
        bool first = true;
        for EACH (j, with) {
            uint32_t v = lanes[j].src[0].u32[0];
            if (first)
                r = v;
            else if (ptx_has(in, PTX_MOD_ADD))
                r += v;
            else if (ptx_has(in, PTX_MOD_MIN))
                r = (v ^ flip) < (r ^ flip) ? v : r;
            else if (ptx_has(in, PTX_MOD_MAX))
                r = (v ^ flip) > (r ^ flip) ? v : r;
            else
                r = ptx_has(in, PTX_MOD_AND) ? r & v : ptx_has(in, PTX_MOD_OR) ? r | v : r ^ v;
            first = false;
        }
        lanes[i].dst[0].u32[0] = r;
    }
}

/* Which lane is elected is the implementation's affair, though always the same: here, as on cards, the lowest. */
REF(elect)
{
    for EACH (i, active) {
        uint32_t with = members(in, active, &lanes[i], 0);
        unsigned leader = 0;
        while (!(with >> leader & 1))
            leader++;
        lanes[i].dst[0].u32[0] = leader;
        lanes[i].dst[1].u8[0] = i == leader;
    }
}
