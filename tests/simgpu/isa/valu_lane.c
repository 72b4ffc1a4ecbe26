/* What crosses lanes or register files: readlane, writelane, mbcnt, permlane, accumulation registers.  DPP is in lanes.c,
 * ds_bpermute in lds.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

static void run_v_readlane_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t buf[64];
    const uint32_t *x = lanes_read32(w, i, 1, buf); /* of inactive lanes too */
    sim_write_s32(w, &i->o[0], x[sim_read_s32(w, &i->o[2]) & (w->lanes - 1)]);
}

static void run_v_readfirstlane_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t buf[64];
    uint64_t exec = sim_exec(w);
    const uint32_t *x = lanes_read32(w, i, 1, buf);
    sim_write_s32(w, &i->o[0], x[exec ? __builtin_ctzll(exec) : 0]);
}

static void run_v_writelane_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t value = sim_read_s32(w, &i->o[1]), lane = sim_read_s32(w, &i->o[2]) & (w->lanes - 1);
    sim_vgpr(w, i->o[0].reg)[lane] = value; /* whatever exec says */
}

/* Lane `l` counts the bits that lanes before it have in its 32 lanes, `from` being the first of those, and adds. */
static void count_below(struct sim_wave *w, const struct sim_inst *i, unsigned from)
{
    uint32_t buf[3][64];
    const uint32_t *a = lanes_read32(w, i, 1, buf[0]), *b = lanes_read32(w, i, 2, buf[1]);
    uint32_t *out = lanes_out32(w, i, buf[2]);
    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t before = l < from ? 0 : l >= from + 32 ? ~0u : (1u << (l - from)) - 1;
        out[l] = (uint32_t)__builtin_popcount(a[l] & before) + b[l];
    }
    lanes_done32(w, i, out, buf[2]);
}

static void run_v_mbcnt_lo_u32_b32(struct sim_wave *w, const struct sim_inst *i)
{
    count_below(w, i, 0);
}

static void run_v_mbcnt_hi_u32_b32(struct sim_wave *w, const struct sim_inst *i)
{
    count_below(w, i, 32);
}

/* Each lane takes from the lane of its row, or of the row beside it, that its four bits of the two selectors name.  op_sel[0]
 * lets inactive lanes be read (fi), op_sel[1] makes those read as 0 (bound_ctrl); with neither the lane is not written. */
static void permute_rows(struct sim_wave *w, const struct sim_inst *i, unsigned other_row)
{
    uint32_t buf[64], out[64];
    const uint32_t *x = lanes_read32(w, i, 1, buf);
    uint64_t sel = sim_read_s32(w, &i->o[2]) | (uint64_t)sim_read_s32(w, &i->o[3]) << 32, exec = sim_exec(w), mask = exec;
    for (unsigned l = 0; l < w->lanes; l++) {
        unsigned from = (l & ~15u) ^ other_row;
        from |= sel >> 4 * (l & 15) & 15;
        bool readable = i->op_sel[0] || exec >> from & 1;
        out[l] = readable ? x[from] : 0;
        if (!readable && !i->op_sel[1])
            mask &= ~(1ull << l);
    }
    lanes_blend32(w, sim_vgpr(w, i->o[0].reg), out, mask);
}

static void run_v_permlane16_b32(struct sim_wave *w, const struct sim_inst *i)
{
    permute_rows(w, i, 0);
}

static void run_v_permlanex16_b32(struct sim_wave *w, const struct sim_inst *i)
{
    permute_rows(w, i, 16);
}

/* A register of either file to one of either, in active lanes. */
static void run_accvgpr(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t buf[64];
    const uint32_t *x = lanes_read32(w, i, 1, buf);
    uint32_t *to = i->o[0].kind == SIM_AGPR ? w->a + (size_t)i->o[0].reg * w->lanes : sim_vgpr(w, i->o[0].reg);
    lanes_blend32(w, to, x, sim_exec(w));
}

static const struct sim_op ops[] = {
    { "v_readlane_b32", "s=bs", run_v_readlane_b32, SIM_LANES, 0 },
    { "v_readfirstlane_b32", "s=b", run_v_readfirstlane_b32, SIM_LANES, 0 },
    { "v_writelane_b32", "b=ss", run_v_writelane_b32, SIM_LANES, 0 },
    { "v_mbcnt_lo_u32_b32", "b=bb", run_v_mbcnt_lo_u32_b32, SIM_LANES, 0 },
    { "v_mbcnt_hi_u32_b32", "b=bb", run_v_mbcnt_hi_u32_b32, SIM_LANES, 0 },
    { "v_permlane16_b32", "b=bss", run_v_permlane16_b32, SIM_LANES, SIM_GFX10 | SIM_GFX11 | SIM_GFX12 },
    { "v_permlanex16_b32", "b=bss", run_v_permlanex16_b32, SIM_LANES, SIM_GFX10 | SIM_GFX11 | SIM_GFX12 },
    { "v_accvgpr_read_b32", "b=b", run_accvgpr, SIM_VALU, SIM_GFX9 },
    { "v_accvgpr_write_b32", "b=b", run_accvgpr, SIM_VALU, SIM_GFX9 },
    { "v_accvgpr_mov_b32", "b=b", run_accvgpr, SIM_VALU, SIM_GFX9 },
};

const struct sim_table sim_valu_lane = { ops, sizeof ops / sizeof *ops };
