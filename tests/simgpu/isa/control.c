/* Control: jumps and calls, barriers and the end, hardware registers, messages, waits and hints.  What a barrier waits for is
 * core/schedule.c's business. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "scalar.h"

#define RUN(name) static void run_##name(struct sim_wave *w, const struct sim_inst *i)

/* ---- Branches ---- */

#define BRANCHES                                                                                                        \
    BRANCH(s_branch, true)                                                                                              \
    BRANCH(s_cbranch_scc0, !w->scc)                                                                                     \
    BRANCH(s_cbranch_scc1, w->scc)                                                                                      \
    BRANCH(s_cbranch_vccz, !sim_vcc(w))                                                                                 \
    BRANCH(s_cbranch_vccnz, sim_vcc(w) != 0)                                                                            \
    BRANCH(s_cbranch_execz, !sim_exec(w))                                                                               \
    BRANCH(s_cbranch_execnz, sim_exec(w) != 0)                                                                          \
    /* No debugger is ever attached. */                                                                                 \
    BRANCH(s_cbranch_cdbgsys, false)                                                                                    \
    BRANCH(s_cbranch_cdbguser, false)                                                                                   \
    BRANCH(s_cbranch_cdbgsys_or_user, false)                                                                            \
    BRANCH(s_cbranch_cdbgsys_and_user, false)

#define BRANCH(name, condition) RUN(name) { if (condition) sim_branch(w, i); }
BRANCHES
#undef BRANCH

RUN(s_getpc_b64)
{
    scalar_out64(w, &i->o[0], i->pc + i->size);
}

RUN(s_setpc_b64)
{
    sim_jump(w, scalar_in64(w, &i->o[0]));
    w->stats.taken++;
}

RUN(s_swappc_b64)
{
    uint64_t target = scalar_in64(w, &i->o[1]);
    scalar_out64(w, &i->o[0], i->pc + i->size);
    sim_jump(w, target);
    w->stats.taken++;
}

RUN(s_call_b64)
{
    scalar_out64(w, &i->o[0], i->pc + i->size);
    sim_branch(w, i);
}

/* A wave64 run as two passes of half of it: the other half of EXEC waits in the operand. */
RUN(s_subvector_loop_begin)
{
    uint32_t *exec = &w->s[SIM_EXEC];
    if (!exec[0] && !exec[1]) {
        sim_branch(w, i);
    } else if (!exec[0]) {
        scalar_out32(w, &i->o[0], 0);
    } else {
        scalar_out32(w, &i->o[0], exec[1]);
        exec[1] = 0;
    }
}

RUN(s_subvector_loop_end)
{
    uint32_t *exec = &w->s[SIM_EXEC], kept = scalar_in32(w, &i->o[0]);
    if (exec[1]) {
        exec[0] = kept;
    } else if (kept) {
        scalar_out32(w, &i->o[0], exec[0]);
        exec[1] = kept;
        exec[0] = 0;
        sim_branch(w, i);
    }
}

/* ---- The wave's state ---- */

RUN(s_endpgm)
{
    w->state = SIM_ENDED;
}

RUN(s_barrier)
{
    sim_race_at_barrier(w, i);
    w->state = SIM_AT_BARRIER;
}

/* gfx12: to come to the block's barrier (-1) and to wait for it are two instructions. */

static bool is_block_barrier(struct sim_wave *w, const struct sim_inst *i, bool known)
{
    if (!known)
        sim_illegal(w, i, "of barriers only that of the block (-1) is simulated");
    return known;
}

static bool signal(struct sim_wave *w, const struct sim_inst *i)
{
    const struct sim_operand *o = &i->o[0];
    if (!is_block_barrier(w, i, o->kind == SIM_IMM && (int32_t)o->imm == -1))
        return false;
    if (w->signal) {
        sim_illegal(w, i, "the wave has signalled the barrier before and not waited for it");
        return false;
    }
    sim_race_at_barrier(w, i);
    w->signal = SIM_SIGNALLED;
    return true;
}

RUN(s_barrier_signal)
{
    signal(w, i);
}

/* SCC: is it the first one? */
RUN(s_barrier_signal_isfirst)
{
    if (!signal(w, i))
        return;
    w->scc = 1;
    for (unsigned k = 0; k < w->group->n_waves; k++)
        w->scc &= &w->group->waves[k] == w || w->group->waves[k].signal != SIM_SIGNALLED;
}

RUN(s_barrier_wait)
{
    if (!is_block_barrier(w, i, i->simm == -1))
        return;
    if (w->signal == SIM_NOT_SIGNALLED)
        sim_illegal(w, i, "the wave waits for a barrier that it has not signalled");
    else if (w->signal == SIM_ALL_SIGNALLED)
        w->signal = SIM_NOT_SIGNALLED;
    else
        w->state = SIM_AT_BARRIER;
}

RUN(s_sleep)
{
    w->state = SIM_ASLEEP;
}

enum { TRAP_DEBUG = 3 };

/* Without a debugger the trap handler returns at once from llvm.debugtrap. */
RUN(s_trap)
{
    unsigned number = (unsigned)i->simm & 255;
    if (number != TRAP_DEBUG)
        sim_trap(w, i, number);
}

/* What would end in the trap handler, halt or kill the wave for a debugger or the system. */
RUN(unusual)
{
    sim_illegal(w, i, "no program's code has this; it is the trap handler's, the debugger's or padding");
}

RUN(hint)
{
    (void)w, (void)i;
}

/* Memory operations are done when their instruction is, so nothing waits for them but for this machine's own stores, which other
 * processors may see only after later loads; the race detector takes note. */

static void stores_seen(uint32_t left)
{
    if (left == 0)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

RUN(s_waitcnt)
{
    uint32_t bits = (uint32_t)i->simm;
    if (w->card->major >= 11)
        sim_race_wait(w, bits >> 10 & 63, bits >> 4 & 63, SIM_ANY);
    else
        sim_race_wait(w, (bits & 15) | (bits >> 10 & 0x30), bits >> 8 & (w->card->major >= 10 ? 63u : 15u), SIM_ANY);
    if (w->card->major < 10)
        stores_seen((bits & 15) | (bits >> 10 & 0x30)); /* which count with loads */
}

RUN(s_waitcnt_vscnt)
{
    sim_race_wait(w, SIM_ANY, SIM_ANY, (uint32_t)i->simm & 63);
    stores_seen((uint32_t)i->simm & 63);
}

RUN(s_waitcnt_vmcnt)
{
    sim_race_wait(w, (uint32_t)i->simm & 63, SIM_ANY, SIM_ANY);
}

RUN(s_waitcnt_lgkmcnt)
{
    sim_race_wait(w, SIM_ANY, (uint32_t)i->simm & 63, SIM_ANY);
}

/* gfx12: a counter for each kind of memory. */

RUN(s_wait_loadcnt)
{
    sim_race_wait(w, (uint32_t)i->simm & 63, SIM_ANY, SIM_ANY);
}

RUN(s_wait_storecnt)
{
    sim_race_wait(w, SIM_ANY, SIM_ANY, (uint32_t)i->simm & 63);
    stores_seen((uint32_t)i->simm & 63);
}

RUN(s_wait_dscnt)
{
    sim_race_wait(w, SIM_ANY, (uint32_t)i->simm & 63, SIM_ANY);
}

RUN(s_wait_loadcnt_dscnt)
{
    sim_race_wait(w, (uint32_t)i->simm >> 8 & 63, (uint32_t)i->simm & 63, SIM_ANY);
}

RUN(s_wait_storecnt_dscnt)
{
    sim_race_wait(w, SIM_ANY, (uint32_t)i->simm & 63, (uint32_t)i->simm >> 8 & 63);
    stores_seen((uint32_t)i->simm >> 8 & 63);
}

enum { MSG_INTERRUPT = 1, MSG_DEALLOC_VGPRS = 3 /* gfx11: nothing that a program sees */, MSG_RTN_GET_REALTIME = 0x83 };

RUN(s_sendmsg)
{
    unsigned message = (unsigned)i->simm & (w->card->major >= 11 ? 255u : 15u);
    if (message == MSG_DEALLOC_VGPRS && w->card->major >= 11)
        return;
    if (message != MSG_INTERRUPT)
        sim_illegal(w, i, "only the interrupt message is simulated");
    else if (sim_interrupt)
        sim_interrupt(w->data[0].node, w->s[SIM_M0] & 0xffffff);
}

RUN(s_sendmsg_rtn_b64)
{
    if (i->bytes[0] != MSG_RTN_GET_REALTIME)
        sim_illegal(w, i, "of the messages with an answer only that for the time is simulated");
    else
        sim_write_s64(w, &i->o[0], sim_realtime());
}

/* ---- Hardware registers ---- */

enum { HW_MODE = 1, HW_STATUS = 2, HW_TRAPSTS = 3, HW_HW_ID = 4, HW_GPR_ALLOC = 5, HW_LDS_ALLOC = 6, HW_SH_MEM_BASES = 15,
       HW_FLAT_SCR_LO = 20 /* gfx940: HW_XCC_ID */, HW_FLAT_SCR_HI = 21, HW_XNACK_MASK = 22, HW_HW_ID1 = 23, HW_HW_ID2 = 24,
       HW_SHADER_CYCLES = 29,
       HW_SHADER_CYCLES_HI = 30 };

/* SCC, EXECZ, VCCZ, "in a block", "valid". */
static uint32_t status(const struct sim_wave *w)
{
    return w->scc | (uint32_t)!sim_exec(w) << 9 | (uint32_t)!sim_vcc(w) << 10 | (uint32_t)(w->group->n_waves > 1) << 11 |
           1u << 16;
}

/* False when the card has no such register, or what is in it is not simulated. */
static bool read_register(const struct sim_wave *w, unsigned id, uint32_t *ret)
{
    switch (id) {
    case HW_MODE:
        *ret = w->mode;
        return true;
    case HW_STATUS:
        *ret = status(w);
        return true;
    case HW_TRAPSTS: /* no exception is ever recorded */
    case HW_HW_ID2:
        *ret = 0;
        return true;
    case HW_HW_ID: case HW_HW_ID1:
        *ret = w->hw_id;
        return (id == HW_HW_ID) == (w->card->major == 9);
    case HW_LDS_ALLOC: /* base 0, size in units of 64 (gfx9) or 128 words */
        *ret = (w->group->lds_size + 511) / 512 << 12;
        return true;
    case HW_SH_MEM_BASES: /* the top 16 bits of the apertures */
        *ret = (uint32_t)(SIM_LDS_APERTURE >> 48) << 16 | (uint32_t)(SIM_SCRATCH_APERTURE >> 48);
        return true;
    case HW_FLAT_SCR_LO:
        *ret = w->card->major >= 10 ? (uint32_t)w->flat_scratch : 0; /* a card of one XCC */
        return w->card->major >= 10 || w->card->minor == 4;
    case HW_FLAT_SCR_HI:
        *ret = (uint32_t)(w->flat_scratch >> 32);
        return w->card->major >= 10;
    case HW_SHADER_CYCLES:
        *ret = (uint32_t)w->clock & (w->card->major >= 12 ? ~0u : 0xfffffu);
        return w->card->major > 10 || (w->card->major == 10 && w->card->minor >= 3);
    case HW_SHADER_CYCLES_HI:
        *ret = (uint32_t)(w->clock >> 32);
        return w->card->major >= 12;
    default:
        return false;
    }
}

static bool write_register(struct sim_wave *w, unsigned id, uint32_t value)
{
    switch (id) {
    case HW_MODE:
        w->mode = value;
        return true;
    case HW_FLAT_SCR_LO:
        w->flat_scratch = (w->flat_scratch & ~0xffffffffull) | value;
        return w->card->major >= 10;
    case HW_FLAT_SCR_HI:
        w->flat_scratch = (w->flat_scratch & 0xffffffff) | (uint64_t)value << 32;
        return w->card->major >= 10;
    default:
        return false;
    }
}

static uint32_t field_mask(const struct sim_inst *i)
{
    return (uint32_t)((1ull << i->hwreg_size) - 1);
}

RUN(s_getreg_b32)
{
    uint32_t value;
    if (read_register(w, i->hwreg, &value))
        scalar_out32(w, &i->o[0], value >> i->hwreg_offset & field_mask(i));
    else
        sim_illegal(w, i, "this hardware register is not simulated");
}

RUN(s_setreg_b32)
{
    uint32_t old, mask = field_mask(i) << i->hwreg_offset, value = scalar_in32(w, &i->o[0]) << i->hwreg_offset;
    if (!read_register(w, i->hwreg, &old) || !write_register(w, i->hwreg, (old & ~mask) | (value & mask)))
        sim_illegal(w, i, "this hardware register cannot be written");
}

RUN(s_round_mode)
{
    w->mode = (w->mode & ~15u) | ((uint32_t)i->simm & 15);
}

RUN(s_denorm_mode)
{
    w->mode = (w->mode & ~0xf0u) | ((uint32_t)i->simm & 15) << 4;
}

/* ---- VGPR indexing of gfx9: between s_set_gpr_idx_on and _off, registers of vector operands are M0's low byte further ---- */

enum { IDX_SRC0 = 1, IDX_SRC1 = 2, IDX_SRC2 = 4, IDX_DST = 8, IDX_LONGEST = 64 };

static bool shift_register(struct sim_wave *w, struct sim_operand *o, unsigned by)
{
    if (o->kind != SIM_VGPR)
        return true;
    o->reg = (uint16_t)(o->reg + by);
    return o->reg + (unsigned)o->dwords <= w->n_vgprs;
}

/* Runs `at` as the mode says; false when the wave stopped. */
static bool run_indexed(struct sim_wave *w, const struct sim_inst *at, unsigned mode)
{
    struct sim_inst copy = *at;
    unsigned by = w->s[SIM_M0] & 255;
    bool fits = true;
    if (strncmp(at->op->name, "v_", 2) == 0) {
        for (unsigned k = 0; k < copy.n; k++) {
            unsigned source = k - copy.n_results;
            bool on = k < copy.n_results ? mode & IDX_DST : source < 3 && mode >> source & 1;
            fits = fits && (!on || shift_register(w, &copy.o[k], by));
        }
    }
    w->pc = at->pc;
    w->clock++;
    w->stats.executed[at->cls]++;
    w->stats.vector_lanes += at->slots ? (unsigned)__builtin_popcountll(sim_exec(w)) : 0;
    w->stats.vector_slots += at->slots;
    if (fits)
        copy.run(w, &copy);
    else
        sim_illegal(w, at, "M0 leads out of the vector registers");
    return w->state == SIM_RUNNING;
}

static bool ends_indexing(const struct sim_inst *at)
{
    return strcmp(at->op->name, "s_set_gpr_idx_off") == 0;
}

/* The mode lasts for a few vector and scalar instructions and no jump, as compilers use it; they are run from here. */
RUN(s_set_gpr_idx_on)
{
    unsigned mode = (unsigned)i->simm & 15;
    w->s[SIM_M0] = (w->s[SIM_M0] & ~0xf0ffu) | (scalar_in32(w, &i->o[0]) & 255) | mode << 12;
    uint64_t pc = i->pc + i->size;
    for (unsigned n = 0; n < IDX_LONGEST; n++) {
        const struct sim_inst *at = sim_decode(w, pc);
        if (!at)
            return;
        if (at->cls == SIM_BRANCH || at->cls == SIM_BARRIER || at->vgprs > w->n_vgprs) {
            sim_illegal(w, at, "this is not simulated while vector registers are indexed");
            return;
        }
        pc = at->pc + at->size;
        if (ends_indexing(at)) {
            sim_jump(w, pc);
            return;
        }
        if (strcmp(at->op->name, "s_set_gpr_idx_mode") == 0)
            mode = (unsigned)at->simm & 15;
        else if (strcmp(at->op->name, "s_set_gpr_idx_idx") == 0)
            w->s[SIM_M0] = (w->s[SIM_M0] & ~255u) | (scalar_in32(w, &at->o[0]) & 255);
        else if (!run_indexed(w, at, mode))
            return;
    }
    sim_illegal(w, i, "vector registers stay indexed for longer than is simulated");
}

/* ---- The rows ---- */

#define ROW(name, sig, cls, cards) { #name, sig, run_##name, SIM_##cls, cards },
#define HINT(name, sig, cards) { #name, sig, run_hint, SIM_WAIT, cards },
#define UNUSUAL(name, sig, cards) { #name, sig, run_unusual, SIM_OTHER, cards },
#define BRANCH(name, condition) ROW(name, "", BRANCH, 0)

static const struct sim_op rows[] = {
    BRANCHES
    ROW(s_getpc_b64, "S=", SALU, 0)
    ROW(s_setpc_b64, "=S", BRANCH, 0)
    ROW(s_swappc_b64, "S=S", BRANCH, 0)
    ROW(s_call_b64, "S=", BRANCH, 0)
    ROW(s_subvector_loop_begin, "s=", BRANCH, SIM_GFX10)
    ROW(s_subvector_loop_end, "s=", BRANCH, SIM_GFX10)
    ROW(s_endpgm, "", BRANCH, 0)
    { "s_endpgm_saved", "", run_s_endpgm, SIM_BRANCH, 0 },
    { "s_endpgm_ordered_ps_done", "", run_s_endpgm, SIM_BRANCH, 0 },
    ROW(s_barrier, "", BARRIER, 0)
    ROW(s_barrier_signal, "=s", BARRIER, SIM_GFX12)
    ROW(s_barrier_signal_isfirst, "=s", BARRIER, SIM_GFX12)
    ROW(s_barrier_wait, "", BARRIER, SIM_GFX12)
    { "s_sleep_var", "=s", run_s_sleep, SIM_WAIT, SIM_GFX12 },
    ROW(s_sleep, "", WAIT, 0)
    ROW(s_trap, "", OTHER, 0)
    ROW(s_sendmsg, "", OTHER, 0)
    ROW(s_sendmsg_rtn_b64, "S=", OTHER, SIM_GFX11 | SIM_GFX12)
    ROW(s_getreg_b32, "s=", OTHER, 0)
    ROW(s_setreg_b32, "=s", OTHER, 0)
    { "s_setreg_imm32_b32", "=s", run_s_setreg_b32, SIM_OTHER, 0 },
    ROW(s_round_mode, "", OTHER, SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    ROW(s_denorm_mode, "", OTHER, SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    ROW(s_set_gpr_idx_on, "=s", OTHER, SIM_GFX9)
    UNUSUAL(s_set_gpr_idx_off, "", SIM_GFX9)
    UNUSUAL(s_set_gpr_idx_mode, "", SIM_GFX9)
    UNUSUAL(s_set_gpr_idx_idx, "=s", SIM_GFX9)
    ROW(s_waitcnt, "", WAIT, 0)
    ROW(s_waitcnt_vscnt, "=s", WAIT, SIM_GFX10 | SIM_GFX11)
    ROW(s_waitcnt_vmcnt, "=s", WAIT, SIM_GFX10 | SIM_GFX11)
    HINT(s_waitcnt_expcnt, "=s", SIM_GFX10 | SIM_GFX11)
    ROW(s_waitcnt_lgkmcnt, "=s", WAIT, SIM_GFX10 | SIM_GFX11)
    HINT(s_waitcnt_depctr, "", SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    ROW(s_wait_loadcnt, "", WAIT, SIM_GFX12)
    ROW(s_wait_storecnt, "", WAIT, SIM_GFX12)
    ROW(s_wait_dscnt, "", WAIT, SIM_GFX12)
    ROW(s_wait_loadcnt_dscnt, "", WAIT, SIM_GFX12)
    ROW(s_wait_storecnt_dscnt, "", WAIT, SIM_GFX12)
    HINT(s_wait_kmcnt, "", SIM_GFX12)
    HINT(s_wait_samplecnt, "", SIM_GFX12)
    HINT(s_wait_bvhcnt, "", SIM_GFX12)
    HINT(s_wait_expcnt, "", SIM_GFX12)
    HINT(s_wait_event, "", SIM_GFX11 | SIM_GFX12)
    HINT(s_nop, "", 0)
    HINT(s_wakeup, "", 0)
    HINT(s_setprio, "", 0)
    HINT(s_icache_inv, "", 0)
    HINT(s_incperflevel, "", 0)
    HINT(s_decperflevel, "", 0)
    HINT(s_ttracedata, "", 0)
    HINT(s_ttracedata_imm, "", SIM_GFX10)
    HINT(s_inst_prefetch, "", SIM_GFX10 | SIM_GFX11)
    HINT(s_clause, "", SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    HINT(s_delay_alu, "", SIM_GFX11 | SIM_GFX12)
    HINT(s_version, "", 0)
    HINT(s_wait_idle, "", SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    HINT(v_clrexcp, "", 0)
    HINT(v_pipeflush, "", SIM_GFX10)
    UNUSUAL(v_illegal, "", SIM_GFX10)
    UNUSUAL(s_code_end, "", SIM_GFX10 | SIM_GFX11 | SIM_GFX12)
    UNUSUAL(s_sethalt, "", 0)
    UNUSUAL(s_setkill, "", 0)
    UNUSUAL(s_sendmsghalt, "", 0)
    UNUSUAL(s_rfe_b64, "=S", 0)
    UNUSUAL(s_setvskip, "=ss", SIM_GFX9)
    UNUSUAL(s_rfe_restore_b64, "=*", SIM_GFX9)
    UNUSUAL(s_cbranch_g_fork, "=SS", SIM_GFX9)
    UNUSUAL(s_cbranch_i_fork, "=S", SIM_GFX9)
    UNUSUAL(s_cbranch_join, "=s", SIM_GFX9)
};

const struct sim_table sim_control = { rows, sizeof rows / sizeof *rows };
