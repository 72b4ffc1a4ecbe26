/* The slow paths of lanes.h: scalars spread over lanes, source modifiers, SDWA and DPP.  What an instruction computes is not
 * here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

/* ---- DPP: which lane each lane's first source comes from ---- */

struct route {
    uint32_t from[64];  /* a lane, in any case */
    uint32_t there[64]; /* 1 when there is such a source */
};

#define ROUTE(at, condition) LANES(w, l, uint32_t lane = (uint32_t)l; r->from[l] = (at) & (n - 1); r->there[l] = (condition););

static void dpp_route(const struct sim_wave *w, const struct sim_inst *i, struct route *r)
{
    uint32_t n = w->lanes, d = i->dpp_arg[0];
    switch (i->dpp) {
    case SIM_DPP_QUAD_PERM:
        for (size_t l = 0; l < n; l++)
            r->from[l] = (uint32_t)(l & ~3u) | (i->dpp_arg[l & 3] & 3), r->there[l] = 1;
        break;
    case SIM_DPP_8:
        for (size_t l = 0; l < n; l++)
            r->from[l] = (uint32_t)(l & ~7u) | (i->dpp_arg[l & 7] & 7), r->there[l] = 1;
        break;
    case SIM_DPP_ROW_SHL: ROUTE(lane + d, (lane & 15) + d < 16); break;
    case SIM_DPP_ROW_SHR: ROUTE(lane - d, (lane & 15) >= d); break;
    case SIM_DPP_ROW_ROR: ROUTE((lane & ~15u) | ((lane - d) & 15), 1); break;
    case SIM_DPP_WAVE_SHL: ROUTE(lane + 1, lane + 1 < n); break;
    case SIM_DPP_WAVE_ROL: ROUTE(lane + 1, 1); break;
    case SIM_DPP_WAVE_SHR: ROUTE(lane - 1, lane > 0); break;
    case SIM_DPP_WAVE_ROR: ROUTE(lane - 1, 1); break;
    case SIM_DPP_ROW_MIRROR: ROUTE(lane ^ 15, 1); break;
    case SIM_DPP_ROW_HALF_MIRROR: ROUTE(lane ^ 7, 1); break;
    case SIM_DPP_BCAST15: ROUTE((lane & ~15u) - 1, lane >= 16); break;
    case SIM_DPP_BCAST31: ROUTE(31, lane >= 32); break;
    case SIM_DPP_ROW_SHARE:
    case SIM_DPP_ROW_NEWBCAST: ROUTE((lane & ~15u) | (d & 15), 1); break;
    case SIM_DPP_ROW_XMASK: ROUTE(lane ^ (d & 15), 1); break;
    default: ROUTE(lane, 1); break;
    }
}

/* Fills the route, with `there` only where the source lane is active or may be read all the same. */
static void dpp_readable(const struct sim_wave *w, const struct sim_inst *i, struct route *r)
{
    dpp_route(w, i, r);
    if (i->fi || lanes_full(w))
        return;
    uint64_t exec = sim_exec(w);
    uint32_t low = (uint32_t)exec, high = (uint32_t)(exec >> 32);
    LANES(w, l, uint32_t at = r->from[l]; r->there[l] &= (at & 32 ? high : low) >> (at & 31) & 1;);
}

/* The lanes that row_mask and bank_mask leave. */
static uint64_t dpp_masks(const struct sim_inst *i)
{
    uint64_t rows = 0, banks = 0;
    for (unsigned n = 0; n < 4; n++) {
        rows |= i->row_mask >> n & 1 ? 0xffffull << 16 * n : 0;
        banks |= i->bank_mask >> n & 1 ? 0x000f000f000f000full << 4 * n : 0;
    }
    return rows & banks;
}

uint64_t lanes_dpp_mask(struct sim_wave *w, const struct sim_inst *i)
{
    uint64_t mask = sim_exec(w), there;
    if (i->dpp == SIM_DPP_NONE || i->dpp == SIM_DPP_8)
        return mask; /* DPP8 has no masks, and reads zero from inactive lanes */
    mask &= dpp_masks(i);
    if (i->bound_ctrl)
        return mask;
    struct route r;
    dpp_readable(w, i, &r);
    LANES_MASK(w, l, there, r.there[l], );
    return mask & there;
}

static void dpp_move(const struct sim_wave *w, const struct sim_inst *i, const uint32_t *x, uint32_t *buf)
{
    struct route r;
    uint32_t moved[64];
    dpp_readable(w, i, &r);
    LANES(w, l, moved[l] = r.there[l] ? x[r.from[l]] : 0;);
    memcpy(buf, moved, w->lanes * sizeof *buf);
}

/* ---- Sources ---- */

/* Register or constant as it is; `high`: the second dword of a 64-bit one. */
static const uint32_t *raw32(struct sim_wave *w, const struct sim_operand *o, bool high, uint32_t *buf)
{
    uint32_t x;
    switch (o->kind) {
    case SIM_VGPR:
        return sim_vgpr(w, o->reg + high);
    case SIM_AGPR:
        return w->a + (size_t)(o->reg + high) * w->lanes;
    case SIM_IMM:
        return o->splat + 64 * high;
    default:
        x = high ? (uint32_t)(sim_read_s64(w, o) >> 32) : sim_read_s32(w, o);
        LANES(w, l, buf[l] = x;);
        return buf;
    }
}

static void select_part(const struct sim_wave *w, const struct sim_operand *o, const uint32_t *x, uint32_t *buf)
{
    unsigned width = o->sel >= SIM_SEL_WORD0 ? 16 : 8;
    unsigned at = o->sel >= SIM_SEL_WORD0 ? 16u * (o->sel - SIM_SEL_WORD0) : 8u * (o->sel - SIM_SEL_BYTE0);
    unsigned up = 32 - width - at, down = 32 - width;
    if (o->sext)
        LANES(w, l, buf[l] = (uint32_t)((int32_t)(x[l] << up) >> down););
    else
        LANES(w, l, buf[l] = x[l] << up >> down;);
}

/* The sign bits of a source of this type within one dword; of a 16-bit one in both halves, as op_sel has yet to choose. */
static uint32_t sign_bits(const struct sim_operand *o, bool high)
{
    switch (o->type) {
    case 'h':
    case 'w':
    case 'k':
    case 'P':
        return 0x80008000;
    case 'd':
    case 'q':
        return high ? 0x80000000 : 0;
    default:
        return 0x80000000;
    }
}

static const uint32_t *fetch_dword(struct sim_wave *w, const struct sim_inst *i, unsigned k, bool high, uint32_t *buf)
{
    const struct sim_operand *o = &i->o[k];
    const uint32_t *x = raw32(w, o, high, buf);
    if (i->dpp && k == i->n_results) {
        dpp_move(w, i, x, buf);
        x = buf;
    }
    if (o->sel != SIM_SEL_DWORD && !high) {
        select_part(w, o, x, buf);
        x = buf;
    }
    uint32_t sign = sign_bits(o, high), drop = o->abs ? sign : 0, flip = o->neg ? sign : 0;
    if (drop | flip) {
        LANES(w, l, buf[l] = (x[l] & ~drop) ^ flip;);
        x = buf;
    }
    return x;
}

const uint32_t *lanes_spread32(const struct sim_wave *w, const struct sim_operand *o, uint32_t *buf)
{
    uint32_t x = w->s[o->reg];
    LANES(w, l, buf[l] = x;);
    return buf;
}

const uint32_t *lanes_fetch32(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    return fetch_dword(w, i, k, false, buf);
}

const uint64_t *lanes_fetch64(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint64_t *buf)
{
    uint32_t low[64], high[64];
    if (i->o[k].plain && i->o[k].kind == SIM_SGPR) {
        uint64_t value = sim_read_s64(w, &i->o[k]);
        LANES(w, l, buf[l] = value;);
        return buf;
    }
    const uint32_t *x = fetch_dword(w, i, k, false, low), *y = fetch_dword(w, i, k, true, high);
    LANES(w, l, buf[l] = x[l] | (uint64_t)y[l] << 32;);
    return buf;
}

const uint32_t *lanes_fetch_pk(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    unsigned s = k - i->n_results, lo = i->op_sel[s] ? 16 : 0, hi = i->op_sel_hi[s] ? 16 : 0;
    uint32_t flip = (i->neg_lo[s] ? 0x8000u : 0) | (i->neg_hi[s] ? 0x80000000u : 0);
    const uint32_t *x = lanes_read32(w, i, k, buf);
    LANES(w, l, buf[l] = ((x[l] >> lo & 0xffff) | x[l] >> hi << 16) ^ flip;);
    return buf;
}

void lanes_read_pair(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *ret_lo, uint32_t *ret_hi)
{
    unsigned s = k - i->n_results;
    uint32_t buf[64], lo = i->neg_lo[s] ? 0x80000000 : 0, hi = i->neg_hi[s] ? 0x80000000 : 0;
    const uint32_t *x = fetch_dword(w, i, k, i->op_sel[s], buf);
    LANES(w, l, ret_lo[l] = x[l] ^ lo;);
    x = fetch_dword(w, i, k, i->op_sel_hi[s], buf);
    LANES(w, l, ret_hi[l] = x[l] ^ hi;);
}

/* ---- Results ---- */

/* SDWA: what of the result goes where, and what becomes of the rest. */
static void store_part(const struct sim_wave *w, const struct sim_inst *i, uint32_t *dst, const uint32_t *x, uint64_t mask)
{
    bool word = i->dst_sel >= SIM_SEL_WORD0;
    unsigned at = word ? 16u * (i->dst_sel - SIM_SEL_WORD0) : 8u * (i->dst_sel - SIM_SEL_BYTE0), down = word ? 16 : 24;
    uint32_t part = word ? 0xffff : 0xff, keep = i->dst_unused == 2 ? ~(part << at) : 0;
    uint32_t buf[64];
    if (i->dst_unused == 1)
        LANES(w, l, buf[l] = (uint32_t)((int32_t)(x[l] << down) >> down) << at;);
    else
        LANES(w, l, buf[l] = (dst[l] & keep) | (x[l] & part) << at;);
    lanes_blend32(w, dst, buf, mask);
}

void lanes_store32(struct sim_wave *w, const struct sim_inst *i, const uint32_t *x)
{
    uint32_t *dst = sim_vgpr(w, i->o[0].reg);
    uint64_t mask = lanes_mask(w, i);
    if (i->dst_sel == SIM_SEL_DWORD)
        lanes_blend32(w, dst, x, mask);
    else
        store_part(w, i, dst, x, mask);
}
