/* A wave and a decoded instruction: what a row of isa/ works on.  See sim.h for the rooms.
 *
 * A row's function does what its instruction says to one wave, for all active lanes.  It does not fetch, count or advance: the
 * wave's `next` is the following instruction already, and a branch sets it through sim_jump.  On bad memory it calls sim_fault
 * and returns. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_INST_H
#define SIM_INST_H

#include <string.h>

#include "sim.h"

struct sim_inst;
struct sim_wave;
struct sim_watch;

/* ---- Operands ---- */

enum sim_kind {
    SIM_NONE,
    SIM_SGPR,    /* reg: index into wave->s; VCC, M0, EXEC and trap temporaries are there too */
    SIM_VGPR,    /* reg: vector register */
    SIM_AGPR,    /* reg: accumulation register */
    SIM_IMM,     /* imm: bits in the type the row asks for */
    SIM_OFF,     /* "off", "null" as a source: reads 0, writes go nowhere */
    SIM_NULL,
    SIM_SPECIAL  /* reg: enum sim_special */
};
enum sim_special { SIM_SCC, SIM_VCCZ, SIM_EXECZ, SIM_SHARED_BASE, SIM_SHARED_LIMIT, SIM_PRIVATE_BASE, SIM_PRIVATE_LIMIT,
                   SIM_POPS_ID,
                   SIM_LDS_DIRECT };

/* Places in wave->s. */
enum { SIM_FLAT_SCRATCH = 102, SIM_XNACK_MASK = 104, SIM_VCC = 106, SIM_TTMP = 108, SIM_M0 = 124, SIM_EXEC = 126,
       SIM_SGPRS = 128 };

/* SDWA selections. */
enum sim_sel { SIM_SEL_DWORD, SIM_SEL_BYTE0, SIM_SEL_BYTE1, SIM_SEL_BYTE2, SIM_SEL_BYTE3, SIM_SEL_WORD0, SIM_SEL_WORD1 };

struct sim_operand {
    uint8_t kind;           /* enum sim_kind */
    uint8_t dwords;         /* registers that it names */
    uint8_t type;           /* letter of the row's signature that it has */
    bool plain;             /* a VGPR, SGPR or constant with no modifier, selection or DPP */
    bool neg, abs, sext;
    uint8_t sel;            /* enum sim_sel */
    uint16_t reg;
    uint64_t imm;           /* bits */
    const uint32_t *splat;  /* of an immediate: 64 times the low word, then 64 times the high word; lives as long as the
                             * program */
};

/* A row of the table.  Signature: result types, '=', source types, one letter each, in the order of the assembler's operands:
 *   b 32 bits f f32 h f16 (or 16 bits as f16) w 16-bit integer k bf16 q 64 bits d f64 p two 16-bit integers P two f16 F two f32
 *   m lane mask (one SGPR in wave32, two in wave64) s scalar 32 bits S scalar 64 bits o any, taken as it is (memory operands,
 *   offsets) The letter decides how an immediate of the text becomes bits.  A trailing '?' makes the last source optional; '*'
 *   ends checking. */
struct sim_op {
    const char *name;       /* LLVM's mnemonic without _e32, _e64, _dpp, _dpp8, _sdwa */
    const char *sig;
    void (*run)(struct sim_wave *w, const struct sim_inst *i);
    uint8_t cls;            /* enum sim_class */
    uint8_t cards;          /* SIM_GFX9 | SIM_GFX10 ...; 0: all that have the name */
};
enum { SIM_GFX9 = 1, SIM_GFX10 = 2, SIM_GFX11 = 4, SIM_GFX12 = 8 };

/* Each file of isa/ has one such table; core/decode.c knows them all. */
struct sim_table {
    const struct sim_op *ops;
    size_t count;
};
extern const struct sim_table sim_salu, sim_control, sim_valu_int, sim_valu_float, sim_valu_half, sim_valu_cmp, sim_valu_lane,
    sim_valu_matrix, sim_smem, sim_vmem, sim_buffer, sim_lds, sim_image, sim_salu_float, sim_valu_wmma;

/* gfx12: whose caches an access goes past, in the encoding's order. */
enum sim_scope { SIM_SCOPE_CU, SIM_SCOPE_SE, SIM_SCOPE_DEV, SIM_SCOPE_SYS };

enum sim_dpp { SIM_DPP_NONE, SIM_DPP_QUAD_PERM, SIM_DPP_ROW_SHL, SIM_DPP_ROW_SHR, SIM_DPP_ROW_ROR, SIM_DPP_WAVE_SHL,
               SIM_DPP_WAVE_ROL,
               SIM_DPP_WAVE_SHR, SIM_DPP_WAVE_ROR, SIM_DPP_ROW_MIRROR, SIM_DPP_ROW_HALF_MIRROR, SIM_DPP_BCAST15, SIM_DPP_BCAST31,
               SIM_DPP_ROW_SHARE, SIM_DPP_ROW_XMASK, SIM_DPP_ROW_NEWBCAST, SIM_DPP_8 };

/* What the loop over instructions reads of each comes first, in one cache line. */
struct sim_inst {
    const struct sim_op *op;          /* never NULL: unknown text has a row that stops the wave */
    void (*run)(struct sim_wave *w, const struct sim_inst *i); /* op's */
    const struct sim_inst *follow;    /* the next one in memory, NULL until it was decoded */
    uint64_t pc;
    uint32_t epoch;                   /* when its bytes were last compared with memory (core/decode.c) */
    uint16_t vgprs, agprs;            /* how many the operands reach: more than the wave has is illegal */
    uint8_t cls;                      /* op's */
    uint8_t slots;                    /* lanes of the wave for a vector instruction, 0 for others: what its execution counts */
    bool quick;                       /* sources are VGPRs, SGPRs and constants with neg and abs at most, the first result is a
                                       * VGPR; no DPP, SDWA, op_sel, omod or clamp */
    uint8_t size, bytes[20];
    uint8_t wave;                     /* 32 or 64 */
    uint8_t n, n_results;             /* operands; how many of them, first, are results */
    struct sim_operand o[12];

    int64_t offset;                   /* offset:N, or 0 */
    uint16_t offset0, offset1;        /* of LDS pairs */
    int32_t simm;                     /* SOPP and SOPK immediate (sign-extended 16 bits), branch distance in dwords, s_waitcnt's
                                       * bits, ... */
    uint8_t glc, slc, dlc;            /* cache bits; glc is "returns the old value" for atomics (also sc0 on gfx940,
                                       * th:TH_ATOMIC_RETURN on gfx12) */
    uint8_t scope;                    /* gfx12: enum sim_scope */
    bool clamp, offen, idxen, lds, gds, tfe, unorm, a16, d16, da, lwe, r128;
    uint8_t omod;                     /* 0; 1 *2, 2 *4, 3 /2 */
    uint8_t dpp;                      /* enum sim_dpp */
    uint8_t dpp_arg[8];               /* quad_perm and dpp8 selectors, or the distance in [0] */
    uint8_t row_mask, bank_mask;      /* 15 where not said */
    bool bound_ctrl, fi;              /* out of range reads 0; inactive lanes may be read */
    uint8_t dst_sel, dst_unused;      /* SDWA; unused: 0 pad, 1 sext, 2 preserve */
    uint8_t op_sel[4], op_sel_hi[4], neg_lo[4], neg_hi[4]; /* per source, [3] of op_sel is the result; op_sel_hi as LLVM prints
                                                            * it, 1 by default in packed rows */
    uint8_t dmask, dim;               /* image */
    uint8_t cbsz, abid, blgp;         /* MFMA */
    uint32_t hwreg, hwreg_offset, hwreg_size; /* s_getreg, s_setreg */
    char text[160];                   /* as LLVM prints it */
    const struct sim_inst *target;    /* of a direct branch, NULL until it was taken */
    struct sim_inst *dual[2];         /* of gfx11's v_dual_*: the two halves; NULL */
    const char *why;                  /* of text that is none of ours: what is wrong with it */
    const struct sim_inst *self;      /* where it lies: a row may be run on a changed copy (VGPR indexing), which caches
                                       * nothing */
};

/* ---- Waves ---- */

enum sim_state { SIM_RUNNING, SIM_AT_BARRIER, SIM_ASLEEP /* yields its slice: s_sleep, spinning */, SIM_AT_GWS, SIM_ENDED,
                 SIM_STOPPED /* fault, illegal, trap */ };

/* gfx12's barrier in two instructions: what became of the wave's signal that it has not waited for yet. */
enum sim_signal { SIM_NOT_SIGNALLED, SIM_SIGNALLED, SIM_ALL_SIGNALLED };

/* One block being run. */
struct sim_group {
    uint8_t *lds;
    uint32_t lds_size;
    uint32_t id[3];
    unsigned n_waves;
    struct sim_wave *waves;
    struct sim_run *run;              /* the dispatch, core's */
};

struct sim_wave {
    const struct sim_inst *next;      /* what comes; NULL: decode at pc */
    uint64_t pc;                      /* of the instruction being executed while one is */
    uint32_t s[SIM_SGPRS];            /* scalar registers and the named ones */
    uint32_t *v;                      /* vector registers: register r of lane l is v[r * lanes + l] */
    uint32_t *a;                      /* accumulation registers likewise, NULL on cards without */
    unsigned lanes;                   /* 32 or 64 */
    unsigned n_vgprs;                 /* allocated: use past it is illegal (decode checks) */
    uint32_t scc;                     /* 0 or 1 */
    uint32_t mode;                    /* MODE: [1:0] f32 round, [3:2] f64/f16 round (0 even, 1 +inf, 2 -inf, 3 zero), [5:4] f32
                                       * denormals, [7:6] f64/f16 denormals (bit 0: inputs kept, bit 1: results kept), [8]
                                       * dx10_clamp, [9] ieee */
    uint8_t state;                    /* enum sim_state */
    uint8_t signal;                   /* gfx12: enum sim_signal */
    const struct sim_card *card;
    struct sim_group *group;
    unsigned index;                   /* of the wave in its block */
    uint8_t *scratch;                 /* lane l's private memory begins at scratch + l * scratch_bytes */
    uint32_t scratch_bytes;           /* of a lane */
    uint64_t scratch_base;            /* what flat_scratch and buffer descriptors of scratch hold as base */
    struct sim_view code, data[3];    /* data[0]: loads, [1]: stores and atomics, [2]: scalar */
    struct sim_stats stats;
    bool counts;                      /* also what takes time to count: lines, bank conflicts */
    uint64_t clock;                   /* instructions executed so far */
    struct sim_report report;         /* SIM_STOPPED */
    enum sim_end end;
    uint32_t gws_resource, gws_round; /* SIM_AT_GWS: what it waits for; core/schedule.c's */
    struct sim_decoder *decoder;      /* core/decode.c's; NULL until its first instruction */
    uint64_t flat_scratch;            /* gfx10's register of that name, written and read by s_setreg and s_getreg */
    uint32_t hw_id;                   /* HW_REG_HW_ID, HW_REG_HW_ID1: where it runs, as the card encodes it */
    struct sim_watch *watch;          /* core/race.c's; NULL: races are not looked for */
};

static inline uint64_t sim_exec(const struct sim_wave *w)
{
    return w->lanes == 64 ? w->s[SIM_EXEC] | (uint64_t)w->s[SIM_EXEC + 1] << 32 : w->s[SIM_EXEC];
}

static inline void sim_set_exec(struct sim_wave *w, uint64_t mask)
{
    w->s[SIM_EXEC] = (uint32_t)mask;
    if (w->lanes == 64)
        w->s[SIM_EXEC + 1] = (uint32_t)(mask >> 32);
}

static inline uint64_t sim_vcc(const struct sim_wave *w)
{
    return w->lanes == 64 ? w->s[SIM_VCC] | (uint64_t)w->s[SIM_VCC + 1] << 32 : w->s[SIM_VCC];
}

static inline uint32_t *sim_vgpr(struct sim_wave *w, unsigned reg)
{
    return w->v + (size_t)reg * w->lanes;
}

/* for each active lane `l` */
#define SIM_EACH_LANE(w, l) \
    for (uint64_t left_ = sim_exec(w), l = 0; left_ && ((l = (uint64_t)__builtin_ctzll(left_)), 1); left_ &= left_ - 1)

/* ---- Reading and writing scalars (core/operand.c; small ones inline there by LTO or not at all) ---- */

uint32_t sim_read_s32(const struct sim_wave *w, const struct sim_operand *o);
uint64_t sim_read_s64(const struct sim_wave *w, const struct sim_operand *o);
/* A lane mask: one register in wave32, two in wave64; immediates are sign-extended. */
uint64_t sim_read_mask(const struct sim_wave *w, const struct sim_operand *o);
void sim_write_s32(struct sim_wave *w, const struct sim_operand *o, uint32_t value);
void sim_write_s64(struct sim_wave *w, const struct sim_operand *o, uint64_t value);
void sim_write_mask(struct sim_wave *w, const struct sim_operand *o, uint64_t mask);

/* ---- Services ---- */

/* Continues at `pc`; decoding happens there when it comes. */
void sim_jump(struct sim_wave *w, uint64_t pc);
/* Takes a direct branch: continues `simm` dwords behind the instruction. */
void sim_branch(struct sim_wave *w, const struct sim_inst *i);

enum sim_access { SIM_LOAD, SIM_STORE, SIM_ATOMIC, SIM_FETCH };
/* Stops the wave: `size` bytes at `address` cannot be reached by lane `lane` (-1: scalar). */
void sim_fault(struct sim_wave *w, const struct sim_inst *i, enum sim_access access, uint64_t address, unsigned size, int lane);
/* Stops the wave: the instruction is none of ours, or its operands make no sense; `why` in words. */
void sim_illegal(struct sim_wave *w, const struct sim_inst *i, const char *why);
void sim_trap(struct sim_wave *w, const struct sim_inst *i, unsigned number);

/* The decoded instruction at `pc`, NULL after sim_fault or when the text is none.  core/decode.c. */
const struct sim_inst *sim_decode(struct sim_wave *w, uint64_t pc);

/* The row of an instruction, by whatever name of it, for that card; NULL. */
const struct sim_op *sim_row(const char *name, const struct sim_card *card);

/* Begins a new epoch: code may have changed since, so each instruction is compared with memory when next executed.  Every
 * dispatch calls it before its first wave runs.  Thread-safe. */
void sim_decode_epoch(void);

/* The race detector (core/race.c).  What accesses memory calls these when the wave is watched: vector memory whose lanes `live`
 * have host addresses too, LDS, scalar memory.  Before it is done. */
void sim_race_memory(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t live,
                     const uint64_t *address, char *const *at);
void sim_race_lds(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t live,
                  const uint32_t *address);
void sim_race_scalar(struct sim_wave *w, const struct sim_inst *i, enum sim_access kind, unsigned size, uint64_t address,
                     char *at);
/* A wait until at most so many loads, LDS instructions and (gfx10) stores are under way; SIM_ANY: any number.  Watched or not. */
#define SIM_ANY 1000u
void sim_race_wait(struct sim_wave *w, unsigned vm, unsigned lgkm, unsigned vs);
/* The caches of the compute unit forget what they hold, and those beyond it that other units do not share. */
void sim_race_invalidate(struct sim_wave *w, bool beyond);
/* The wave comes to a barrier. */
void sim_race_at_barrier(struct sim_wave *w, const struct sim_inst *i);

/* Runs up to `budget` instructions or until the wave waits, sleeps or ends.  core/wave.c. */
void sim_wave_run(struct sim_wave *w, unsigned budget);

/* Global wave sync, resources 0..63 of a card (core/schedule.c): what ds_gws_init and ds_gws_barrier do.  `waves_less_one` is the
 * instruction's data.  The barrier leaves the wave in SIM_AT_GWS until the last one has come, or does not wait at all when it is
 * the last. */
void sim_gws_init(struct sim_wave *w, unsigned resource, uint32_t waves_less_one);
void sim_gws_barrier(struct sim_wave *w, unsigned resource, uint32_t waves_less_one);

#endif
