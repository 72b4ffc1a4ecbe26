/* One kernel being lifted: what the emitters share.  Inside the room; sass.h is for others.
 *
 * Text is made an instruction at a time.  A 32-bit register R4 is %r4, UR4 %u4, P0 %p0, UP0 %up0; what an instruction needs
 * beside them are temporaries, each written once: %t (32 bits), %w (64), %h (16), %q (predicates), %x (128).  An instruction's
 * guard lies on the step that changes registers or memory, never on those before it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_LIFT_H
#define AW_PTX_SASS_LIFT_H

#include "base/arena.h"
#include "base/map.h"
#include "sass/cubin.h"
#include "sass/insn.h"

/* High words of generic addresses that lie in the shared and in the local window: no address of memory has them.  Machine code
 * builds such addresses from words of bank 0; an access asks (sass_generic). */
#define SASS_SHARED_WINDOW 0x5a5a0001u
#define SASS_LOCAL_WINDOW 0x5a5a0002u
/* And in bank 3, where several variables lie in it. */
#define SASS_CONSTANT_WINDOW 0x5a5a0003u
/* Addresses of functions, as bank 4 has them: this and the symbol's number. */
#define SASS_FUNCTION_ADDRESS 0x5a000000u

/* Places of bank 0 before the parameters. */
enum {
    SASS_BANK0_NTID = 0x0, SASS_BANK0_NCTAID = 0xc, SASS_BANK0_SHARED_WINDOW = 0x18, SASS_BANK0_LOCAL_WINDOW = 0x20,
    SASS_BANK0_STACK = 0x28,
    SASS_BANK0_DYNAMIC = 0x2c, SASS_BANK0_GRID = 0x30, SASS_BANK0_UNITS = 0x10c, SASS_BANK0_RESERVED = 0x114,
    SASS_BANK0_SELF = 0x40, SASS_BANK0_CONSTANTS = 0x50, SASS_BANK0_ENVIRONMENT = 0x88, SASS_BANK0_DESCRIPTOR = 0x118,
    SASS_BANK0_LAST_75 = 0x114, SASS_BANK0_LAST_80 = 0x12c, SASS_BANK0_LAST_90 = 0x1a0,
    SASS_BANK0_SELF_90 = 0x198, SASS_BANK0_CONSTANTS_90 = 0xd0, SASS_BANK0_ENVIRONMENT_90 = 0x40,
    SASS_BANK0_DESCRIPTOR_90 = 0x208,
    SASS_BANK0_CLUSTER = 0x140 /* was one asked for */, SASS_BANK0_CLUSTER_SIZE = 0x144 /* in 3 dimensions */,
    SASS_BANK0_CLUSTER_INVERSE = 0x150 /* 1 / that, floats */, SASS_BANK0_CLUSTERS = 0x15c /* of the grid */,
    SASS_BANK0_CLUSTER_BLOCKS = 0x188
};

/* Code of one section (parts.c). */
struct sass_code_part {
    const struct sass_code *code;
    uint32_t first;              /* its first instruction in the run of all */
};

/* An operand as PTX writes it. */
struct sass_text {
    char s[40];
};

/* Where a call came from; the code behind it is lifted once for each, or once for all. */
struct sass_context {
    uint32_t parent, return_to; /* number of the context around; index of the instruction that the callee returns to */
    uint32_t depth;
    bool once;                  /* for all, or of a ring: returns look where they lead */
    uint32_t ring;              /* of functions that may come to themselves; 0: none */
};

/* Where calls of code that is lifted once lead back to. */
struct sass_return {
    uint32_t from, parent, to; /* contexts of what is called and of the call; the instruction behind it */
};

/* A run of instructions in one context. */
struct sass_block {
    uint32_t first, context;
    bool emitted;
};

/* The first instruction of a 64-bit sum (values.c). */
struct sass_carry {
    uint32_t offset;
    struct sass_operand low;      /* what it writes */
    struct sass_text term[3];     /* the low words, inverted where they are negated */
    struct sass_operand from[3];  /* registers of which terms are, as long as these do not change; kind 0: none */
    unsigned ones;                /* how many are negated: that much is added */
    struct sass_operand shifted;  /* LEA: the register, in `source`, and by how much it is shifted; kind 0: no LEA */
    struct sass_text source;
    uint32_t shift;
};

/* Of an instruction with a guard that only computes: what it makes is put into its registers by moves at its end, which alone are
 * guarded; and until one of these changes, code under the same guard reads the temporary. */
struct sass_late {
    struct sass_operand to;  /* one register */
    struct sass_text value;
    uint8_t guard;
    bool guard_inv, guard_uniform;
};

/* A register that has an angle in turns, and the angle. */
struct sass_turns {
    uint8_t reg;
    bool ftz;
    struct sass_text angle;
};

/* Gradients in the four lanes of a quad (emit_quad.c): what a register is in them. */
struct sass_quad_part {
    uint8_t reg;
    struct sass_text base, dx, dy;   /* "": not yet */
};

struct sass_quad {
    bool on, fetched;                /* all lanes of the quad are there; the texel has been fetched */
    int lane;                        /* of which the coordinates are; -1: not said yet */
    struct sass_quad_part parts[8];  /* n */
    unsigned n;
};

/* A quotient, reciprocal or root that is made in steps (quotients.c): computed before the instruction `at`, whose operands are a
 * and b; `end` writes it, and `branch` leads around the slow way. */
struct sass_quotient {
    uint32_t at, end, branch;
    const char *op;              /* "div.rn.f32" */
    bool wide, two;              /* of 64 bits; there is a b */
    struct sass_operand a, b;
    struct sass_text value;
};

/* What an instruction is to one. */
enum { SASS_QUOTIENT_AT = 1, SASS_QUOTIENT_END = 2, SASS_QUOTIENT_BRANCH = 4 };

/* Temporaries: %t (32 bits), %w (64), %h (16), %q (predicates), %x (128). */
static const char sass_temp_kinds[] = "twhqx";
enum { SASS_TEMPS = sizeof sass_temp_kinds - 1 };

/* Those of one kind: how many there are, and the next one's name, of which most often only the last digit changes. */
struct sass_temps {
    uint32_t n;
    uint8_t last;
    struct sass_text next;
};

/* Where an instruction comes from (lines.c). */
struct sass_line {
    uint32_t file, line; /* number of the file in the text, from 1 on; 0: nothing is known */
};

struct sass_file {
    size_t list;  /* of the line table that `file` is a number in */
    uint64_t file;
    struct aw_str name;
};

struct sass_lift {
    const struct sass_cubin *cubin;
    const struct sass_code *code;
    struct aw_arena arena;
    struct aw_buf body;
    struct sass_code_part *parts;     /* the kernel's own is the first */
    uint32_t n_parts;
    uint32_t *functions, n_functions; /* symbols of kernels and functions whose code is in the parts, in their order */
    uint8_t *taken;              /* by symbol: a function whose address is in data or code */
    struct sass_insn *insns;     /* of all parts */
    uint32_t n;
    bool occurs[SASS_OPS];       /* by enum sass_op: the code has such an instruction */
    uint32_t *jumps, n_jumps;    /* those that name a place in the code, or go to one that a register says */
    uint64_t *branches;          /* bit an instruction: control may go elsewhere from it than to the next one, or nowhere */
    uint64_t *marks;             /* of those, and of leaders, warp operations, waits and accesses to shared memory: what walks
                                  * through all of the code look at */
    const struct sass_insn *at;  /* the instruction that text is made of */

    /* Member masks (masks.c). */
    uint32_t *mask_of;           /* of a warp operation: 1 + the instruction whose A operand is its member mask; 0: all lanes */
    uint8_t *is_mask;            /* such an instruction */
    uint8_t *asks;               /* a warp operation that only finds what a question asks */
    uint8_t *served;             /* of a question whether lanes are together: those are that are not */
    uint8_t *serves;             /* of WARPSYNC: in code that serves them; of its first instruction likewise */
    uint8_t *members;            /* of a warp operation or WARPSYNC: it waits for the lanes of its mask wherever they are */
    uint8_t *passed;             /* of a NOP that waits: what it waits for has been waited for */
    struct sass_rounds *rounds;  /* NULL until something asks (rounds.c) */
    uint8_t *apart;              /* of a barrier: lanes of a warp may come to it one after the other */

    struct sass_quotient *quotients; /* n_quotients */
    uint32_t n_quotients;
    uint8_t *quotient_of;        /* of an instruction: SASS_QUOTIENT_ */

    /* Control flow (flow.c). */
    uint8_t *leader;             /* a block begins at this instruction */
    uint32_t *first_entry, *last_entry; /* of it: which instructions jump there; n and 0: none do */
    uint32_t *entered_from;      /* 1 + the one instruction that jumps to this one; 0: none does, UINT32_MAX: several, or a
                                  * table */
    uint8_t *no_return;          /* of a call's target: no return can be reached from it */
    uint8_t *noted;              /* the code has this instruction's place as a number, so a return may lead there */
    uint16_t breaks;             /* bit a convergence barrier: some lanes leave it for good */
    bool asked;                  /* `asks` has some */
    uint32_t lowered;            /* instructions that move the stack down by a number */
    uint8_t *in_step;            /* an ordering point of the warp comes before this instruction (steps.c) */
    uint8_t *here;               /* a warp operation that takes the lanes that are there, while others may be elsewhere
                                  * (apart.c) */
    struct sass_text here_mask;  /* the register that names those, on this straight way; "": none yet */
    bool flat;                   /* calls have no contexts: returns look where they lead, and lanes that part do not meet where
                                  * the machine's do */
    bool again;                  /* with contexts it is too much: flat is to be tried */
    struct sass_return *returns; /* of calls of what is lifted once */
    uint32_t n_returns, cap_returns;
    uint8_t *once;               /* of a call's target: it is lifted once (functions.c) */
    uint32_t *ring;              /* of it: the number of the ring of functions that call each other, or 0 (functions.c) */
    bool recursive;              /* there is one */
    bool takes_stack;            /* code takes memory of the stack that no table counts */
    bool checks_stack;           /* it may: whether it is there is asked where it is taken */
    uint64_t lifted;             /* instructions */
    uint32_t *once_context;      /* of it: 1 + its context */
    bool spins;                  /* some loop waits for what other lanes write */
    struct sass_context *contexts;
    uint32_t n_contexts, cap_contexts;
    struct sass_block *blocks;
    uint32_t n_blocks, cap_blocks;
    struct aw_ptrmap block_of;
    uint32_t *pending;           /* blocks that text goes to and that have none yet */
    uint32_t n_pending, cap_pending;

    struct sass_looked looked;       /* at of this instruction */
    bool relocated;
    bool deferring;                  /* the instruction's results go to temporaries first */
    struct sass_late late[24];       /* of it: n_late; then what is known from before */
    unsigned n_late, n_known;
    struct sass_late known[24];
    struct sass_carry carries[16];   /* by predicate: P, UP; those that are known: */
    uint32_t carried;                /* bits */
    struct sass_turns turns[4];  /* n_turns */
    struct sass_text angle;      /* the last one of which turns were made */
    unsigned n_turns;
    struct sass_quad quad;
    struct sass_temps temps[SASS_TEMPS];
    bool wide[256];              /* a pair of registers from this on is read as one number */
    uint8_t regs[256], uregs[256], preds[8], upreds[8]; /* registers that occur */
    struct sass_text names[2][256];  /* R, UR: as text names them; "" until one occurs */
    bool handles;                /* some register has a texture's or surface's handle; of which the low word, by register */
    bool has_handle[2][256];     /* R, UR */
    uint8_t *words, *pairs;      /* of bank 0, an entry for each 4 bytes: loaded as %c, as %cd */
    uint32_t n_words, n_calls, n_objects; /* n_objects: places with mbarrier objects */
    uint8_t *symbols;            /* an entry a symbol: the text names it */
    uint32_t frame;              /* bytes of local memory */
    bool copied_guard, guard_copy; /* %guard occurs; it stands for the instruction's guard */
    bool local, shared, local_window, shared_window, constant_window, true_pred, bank2, bank4, calls, emulated, keeps;

    bool whole;                      /* the text has the variables that it names */
    struct sass_line *lines;         /* of each instruction; NULL: nothing is known */
    struct sass_line line;           /* of the text before */
    struct sass_file *files;
    uint32_t n_files;

    enum aw_status status;
    struct aw_buf error; /* one line */
};

/* ---- Parts (parts.c) */

bool sass_find_parts(struct sass_lift *l); /* sets n as well */
const struct sass_code_part *sass_part_of(const struct sass_lift *l, uint32_t index);
/* The relocation of an instruction; NULL. */
const struct sass_reloc *sass_reloc_of(const struct sass_lift *l, const struct sass_insn *i);
/* Where a function's or kernel's code (plus bytes) is in the run; false where it is not. */
bool sass_place_of(const struct sass_lift *l, uint32_t symbol, int64_t addend, uint32_t *ret_offset);
/* Whether a call through a register may be of this symbol; the function's first instruction, and what the register's low word is
 * then. */
bool sass_is_target(const struct sass_lift *l, const struct sass_insn *call, uint32_t symbol, uint32_t *ret_index,
                    uint32_t *ret_value);

/* The first instruction from k on with its bit set; l->n: none. */
static inline uint32_t sass_next_bit(const struct sass_lift *l, const uint64_t *bits, uint32_t k)
{
    uint64_t word = k < l->n ? bits[k / 64] >> k % 64 << k % 64 : 0;
    while (!word && (k = (k | 63) + 1) < l->n)
        word = bits[k / 64];
    return word ? (k & ~63u) + (uint32_t)__builtin_ctzll(word) : l->n;
}

static inline void sass_set_bit(uint64_t *bits, uint32_t k)
{
    bits[k / 64] |= 1ull << k % 64;
}

/* ---- What an instruction says by itself */

static inline bool sass_guarded(const struct sass_insn *insn)
{
    return insn->guard != SASS_PT;
}

/* Of a predicate: known without asking. */
static inline bool sass_is_true(const struct sass_operand *o)
{
    return (o->kind == SASS_PRED || o->kind == SASS_UPRED) && o->reg == SASS_PT && !o->inv;
}

static inline bool sass_is_false(const struct sass_operand *o)
{
    return (o->kind == SASS_PRED || o->kind == SASS_UPRED) && o->reg == SASS_PT && o->inv;
}

/* RZ, URZ, 0, or no such operand. */
static inline bool sass_is_zero(const struct sass_operand *o)
{
    if (o->inv)
        return false;
    return o->kind == SASS_NONE || ((o->kind == SASS_REG || o->kind == SASS_UREG) && o->reg == SASS_RZ) ||
           (o->kind == SASS_IMM && o->value == 0);
}

/* Not RZ, PT or nothing. */
static inline bool sass_writes(const struct sass_operand *o)
{
    switch (o->kind) {
    case SASS_REG: case SASS_UREG: return o->reg != SASS_RZ;
    case SASS_PRED: case SASS_UPRED: return o->reg != SASS_PT;
    default: return false;
    }
}

/* ---- Lines (lines.c) */

/* Fills `lines`; `all`: with places in the machine code where the cubin has none of the source. */
void sass_find_lines(struct sass_lift *l, bool all);
void sass_line_begin(struct sass_lift *l, uint32_t k); /* text of instruction k follows */
void sass_line_files(const struct sass_lift *l, struct aw_buf *out);

/* ---- Text (text.c) */

/* A line of text; with the instruction's guard in front (sass_do). */
void sass_step(struct sass_lift *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sass_do(struct sass_lift *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct sass_text sass_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A name, or nothing, and a number behind it: what most text is made of, several times as fast. */
struct sass_text sass_numbered(const char *name, uint32_t n);
/* A floating-point number by its bits, of 32 or 64: "0f3F800000", "0d3FF0000000000000". */
struct sass_text sass_float_bits(uint64_t bits, bool wide);
void sass_temps_begin(struct sass_lift *l);
/* A new temporary: 't', 'w', 'h', 'q' or 'x'. */
struct sass_text sass_temp(struct sass_lift *l, char kind);
/* What is not known: the kernel cannot be lifted.  The first failure is kept. */
void sass_fail(struct sass_lift *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Does it write predicates that its immediate names? */
static inline bool sass_writes_predicates(const struct sass_insn *i)
{
    return i->op == SASS_R2P || i->op == SASS_UR2UP;
}
/* The guard as a predicate, with the instruction's own condition (S) where it has one; "" when both are always true.  May add
 * lines. */
struct sass_text sass_condition(struct sass_lift *l, const struct sass_insn *insn);
/* The predicate `q` where such a condition, which may be "" or begin with '!', holds, else false. */
struct sass_text sass_where(struct sass_lift *l, struct sass_text q, const struct sass_text *condition);

/* ---- What was looked at (operand.c).  Every modifier and operand of an instruction has to be, unless it is what it is when
 * nothing is meant: what nobody looks at refuses the kernel, so that a meaning that an emitter does not know is never dropped. */

/* The instruction's modifier. */
static inline unsigned sass_mod(struct sass_lift *l, enum sass_field field)
{
    sass_look_at_field(&l->looked, field);
    return l->at->mod[field];
}

static inline const struct sass_operand *sass_look(struct sass_lift *l, enum sass_slot slot)
{
    l->looked.slots |= 1u << slot;
    return &l->at->opnd[slot];
}

/* Of an operation that changes no value whatever is said of it. */
void sass_look_all(struct sass_lift *l);
void sass_look_begin(struct sass_lift *l);
void sass_look_end(struct sass_lift *l);

/* ---- Operands (operand.c).  Each may add lines. */

/* `n` words of an operand, from word k on; of RZ zeros.  Adds none. */
struct sass_operand sass_words_of(const struct sass_operand *o, unsigned k, unsigned n);
/* 32 bits as they are, without negation or inversion. */
struct sass_text sass_raw(struct sass_lift *l, const struct sass_operand *o);
/* With negation and inversion as an integer. */
struct sass_text sass_int(struct sass_lift *l, const struct sass_operand *o);
/* 64 bits: a pair of registers, a constant's two words. */
struct sass_text sass_raw64(struct sass_lift *l, const struct sass_operand *o);
struct sass_text sass_int64(struct sass_lift *l, const struct sass_operand *o);
struct sass_text sass_f32(struct sass_lift *l, const struct sass_operand *o);
struct sass_operand sass_sign_apart(struct sass_lift *l, unsigned slot);
struct sass_text sass_f64(struct sass_lift *l, const struct sass_operand *o);
/* A predicate that is read. */
struct sass_text sass_pred(struct sass_lift *l, const struct sass_operand *o);
/* "min" or "max", as the instruction's predicate S says; one that is known only when it runs is refused. */
const char *sass_least_or_greatest(struct sass_lift *l);
/* 0 or 1. */
struct sass_text sass_bit(struct sass_lift *l, const struct sass_operand *o);
/* A register that is written; RZ is a temporary.  Word 1 is the register after it, and so on. */
struct sass_text sass_dest(struct sass_lift *l, const struct sass_operand *o, unsigned word);
void sass_put(struct sass_lift *l, enum sass_slot slot, const char *value);    /* mov.b32 */
void sass_put64(struct sass_lift *l, enum sass_slot slot, const char *value);  /* to a pair */
void sass_put_pred(struct sass_lift *l, enum sass_slot slot, const char *value);
/* Splits and joins. */
struct sass_text sass_join(struct sass_lift *l, const char *lo, const char *hi);
void sass_split(struct sass_lift *l, const char *value, struct sass_text *ret_lo, struct sass_text *ret_hi);
/* of 32 bits or 64; nothing for + 0 */
struct sass_text sass_sum(struct sass_lift *l, bool wide, struct sass_text a, struct sass_text b);
struct sass_text sass_widen(struct sass_lift *l, const char *value); /* zero-extended to 64 bits */
/* What may be an immediate, in a register: a temporary of that kind, 't' (32 bits) or 'w' (64), where it is none. */
struct sass_text sass_in_register(struct sass_lift *l, struct sass_text value, char kind);
/* The word of bank 4, or of data, that holds a symbol's address. */
struct sass_text sass_symbol_address(struct sass_lift *l, uint32_t symbol, int64_t addend);

/* The variable that byte `at` of bank 3 lies in, the last one that begins there or before; UINT32_MAX: none. */
uint32_t sass_constant_symbol(const struct sass_lift *l, uint64_t at);

/* The module's variables that the text names: as `.extern`; with their bytes, and those whose addresses are among these. */
void sass_declare_variables(const struct sass_lift *l, struct aw_buf *out);
void sass_define_variables(struct sass_lift *l, struct aw_buf *out);
void sass_head(const struct sass_cubin *cubin, struct aw_buf *out); /* .version, .target, .address_size */
unsigned sass_symbol_align(const struct sass_cubin *cubin, const struct sass_symbol *s); /* bytes */
/* The variables that have a kernel's bank 2, and bank 4; several kernels may share the latter, and there is none where it holds
 * other things than addresses. */
struct sass_text sass_bank2_name(const struct sass_cubin *cubin, const struct sass_code *code);
struct sass_text sass_bank4_name(const struct sass_cubin *cubin, const struct sass_code *code);
bool sass_has_bank4(const struct sass_cubin *cubin, const struct sass_code *code);
/* Of the kernel that a relocation is of, for who would start it. */
struct sass_text sass_started_address(struct sass_lift *l, const struct sass_reloc *r);
/* What stands for the address of a function. */
uint64_t sass_function_address(uint32_t symbol);

/* ---- Sums of 64 bits (values.c).  The first ones are called after the low words' instruction has been looked at and before it
 * writes; the last three for that of the high words: true when they have made its text. */
void sass_carry_forget(struct sass_lift *l);
/* Control goes on into a block that begins at instruction k. */
void sass_carry_enter(struct sass_lift *l, uint32_t k);
void sass_carry_after(struct sass_lift *l, const struct sass_insn *i);
void sass_carry_add(struct sass_lift *l, const struct sass_insn *i);
void sass_carry_lea(struct sass_lift *l, const struct sass_insn *i);
bool sass_carry_add_high(struct sass_lift *l, const struct sass_insn *i);
bool sass_carry_mad_high(struct sass_lift *l, const struct sass_insn *i);
bool sass_carry_lea_high(struct sass_lift *l, const struct sass_insn *i);

/* ---- Guards (text.c) */
bool sass_defers(const struct sass_insn *i);
void sass_defer_begin(struct sass_lift *l, const struct sass_insn *i);
void sass_defer_end(struct sass_lift *l, const struct sass_insn *i);
void sass_known_forget(struct sass_lift *l);
void sass_known_after(struct sass_lift *l, const struct sass_insn *i);
/* The temporary that holds a register under the instruction's guard; NULL. */
const char *sass_known(const struct sass_lift *l, const struct sass_operand *o, unsigned word);

/* ---- Angles (emit_float.c).  Sine and cosine take turns, which the instruction before has made of the angle in fewer digits
 * than it had: who knows both takes the angle. */
void sass_turns_after(struct sass_lift *l, const struct sass_insn *i);

/* ---- Emitters, by family */
typedef void sass_emit(struct sass_lift *l, const struct sass_insn *i);
sass_emit *sass_emitter(unsigned op); /* NULL: no meaning yet */

#define SASS_EMITTERS(X)                                                                                                       \
    X(iadd3)                                                                                                                   \
    X(uiadd3_64) X(imad) X(imad_wide) X(imad_hi) X(isetp) X(imnmx) X(viadd) X(viaddmnmx) X(vimnmx3) X(i2i) X(i2ip) X(plop3r)   \
        X(lop3) X(shf) X(lea) X(mov) X(sel) X(prmt) X(sgxt) X(bmsk) X(iabs) X(vabsdiff) X(vabsdiff4) X(flo) X(popc) X(brev)    \
            X(idp) X(plop3) X(p2r) X(r2p) X(fadd) X(fmul) X(ffma) X(fmnmx) X(fsetp) X(fset) X(fsel) X(mufu) X(fchk) X(fswzadd) \
                X(f2f) X(f2i) X(f2ip) X(i2f) X(frnd) X(f2fp) X(dadd) X(dmul) X(dfma) X(dsetp) X(hadd2) X(hmul2) X(hfma2)       \
                    X(hsetp2) X(hset2) X(hmnmx2) X(vhmnmx) X(s2r) X(cs2r) X(ldc) X(load) X(store) X(atom) X(atom_cas) X(red)   \
                        X(membar) X(cctl) X(qspc) X(ldgsts) X(ldgdepbar) X(depbar) X(vote) X(shfl) X(match) X(redux) X(hmma)   \
                            X(imma) X(bmma) X(dmma) X(ldsm) X(movm) X(nothing) X(nop) X(warpsync) X(nanosleep) X(lepc) X(bar)  \
                                X(b2r) X(bmov) X(r2ur) X(bpt) X(tex) X(tld) X(tld4) X(txd) X(txq) X(suld) X(sust) X(sured)     \
                                    X(arrives) X(syncs_arrive) X(syncs_phasechk) X(syncs_exch) X(syncs_kept) X(hmma_884)       \
                                        X(hmma_sp) X(stsm) X(imma_sp) X(qmma) X(qmma_sp) X(elect) X(ucgabar) X(dependent)      \
                                            X(fence_view)
#define SASS_DECLARE(name) sass_emit sass_emit_##name;
SASS_EMITTERS(SASS_DECLARE)
#undef SASS_DECLARE

/* ---- Handles of textures and surfaces (handles.c).  Ours have 64 bits, of which machine code knows the low ones, in a register
 * or a constant. */

/* Of each instruction, before sass_find_handles. */
void sass_note_handles(struct sass_lift *l, const struct sass_insn *i);
void sass_find_handles(struct sass_lift *l);
/* Before an instruction's own text: what registers with handles become by it, where it copies them from registers or
 * constants. */
void sass_handle_copy(struct sass_lift *l, const struct sass_insn *i);
/* The same of a load, of which `op` is the text before the type ("ld.global"), and `address` what stands in brackets. */
void sass_handle_load(struct sass_lift *l, const struct sass_insn *i, const char *op, const char *address);
/* The handle, as PTX has it between brackets, of a constant or uniform registers in a slot; of a general register, which is the
 * operand. */
struct sass_text sass_handle(struct sass_lift *l, enum sass_slot slot);
struct sass_text sass_handle_of(struct sass_lift *l, const struct sass_operand *o);
/* The variable of a bound texture or surface that a word of bank 0 is for; NULL. */
const struct sass_reloc *sass_bound(const struct sass_lift *l, const struct sass_operand *o);

/* ---- Quads (emit_quad.c) */

void sass_quad_bmov(struct sass_lift *l, const struct sass_insn *i);
void sass_quad_after(struct sass_lift *l, const struct sass_insn *i); /* forgets what another instruction overwrites */
bool sass_quad_shfl(struct sass_lift *l, const struct sass_insn *i); /* true: it has made the shuffle's text */
/* A move in one lane of each quad. */
void sass_quad_mov(struct sass_lift *l, const struct sass_insn *i);
/* What a register of coordinates is, where both gradients are known; NULL. */
const struct sass_quad_part *sass_quad_part(const struct sass_lift *l, unsigned reg);

/* The register that holds where the machine code's shared memory begins, in PTX's. */
const char *sass_shared_base(struct sass_lift *l);
/* The address of shared memory that M, or another slot, says, without its immediate. */
struct sass_text sass_shared_address(struct sass_lift *l, const struct sass_operand *m);
/* Of an offset in local memory. */
struct sass_text sass_local_address(struct sass_lift *l, const char *offset);
/* A generic address in PTX's sense, of a 64-bit one in the machine code's.  *ret_shared, when asked: a predicate, or "" when none
 * can be. */
struct sass_text sass_generic(struct sass_lift *l, const char *address, struct sass_text *ret_shared);
/* A comparison of enum sass_cmp as setp writes it ("lt", "equ"). */
const char *sass_cmp_name(unsigned cmp);
/* p = value bool s, q = !value bool s. */
void sass_put_compared(struct sass_lift *l, const struct sass_insn *i, const char *value);
/* Where a comparison always has the same result: true. */
bool sass_cmp_constant(unsigned cmp, bool *ret_value);

/* ---- Control flow (flow.c) */
/* Of each instruction, before sass_flow: what it does to the stack. */
void sass_note_stack(struct sass_lift *l, const struct sass_insn *i);
bool sass_flow(struct sass_lift *l); /* makes all of the body; false with `again` set: sass_flow_again may */
bool sass_flow_again(struct sass_lift *l);
/* Control never goes on behind it.  Behind a question (BRA.DIV, BRA.CONV) it does. */
bool sass_never_falls(const struct sass_lift *l, const struct sass_insn *i);
/* Fills `here`. */
void sass_find_apart(struct sass_lift *l);
/* A branch of which some lanes may go one way and some another; any guarded instruction that only some may run. */
bool sass_may_part(const struct sass_lift *l, const struct sass_insn *i);
/* The instruction that a byte offset is of; false outside the code. */
bool sass_target_index(const struct sass_lift *l, int64_t offset, uint32_t *ret_index);
/* The targets that the file names for the BRX at `offset`; NULL: none. */
const uint32_t *sass_indirect_targets(const struct sass_lift *l, uint32_t offset, uint32_t *ret_n);
void sass_find_steps(struct sass_lift *l);
/* Does the end of some loop depend on memory?  Loops that stand for one atomic operation aside. */
bool sass_may_wait(struct sass_lift *l);
bool sass_nop_waits(const struct sass_lift *l, const struct sass_insn *i);

/* ---- Loops of compare-and-swap (swaps.c) */
/* How many instructions from k on are a loop that stands for one atomic operation; 0: they are none. */
uint32_t sass_swap_loop(const struct sass_lift *l, uint32_t k);
void sass_emit_swap_loop(struct sass_lift *l, uint32_t k);

/* Is it this operation, without a guard and with no modifier but the four (NULL: none) that the caller knows? */
bool sass_is_plain(const struct sass_insn *i, unsigned op, const enum sass_field known[4]);
/* Does something other than instruction `from` jump to instruction k? */
bool sass_is_entered(const struct sass_lift *l, uint32_t k, uint32_t from);

/* ---- Quotients, reciprocals and roots (quotients.c) */
void sass_find_quotients(struct sass_lift *l);
/* Before an instruction's own text; in place of it: true when it has made that. */
void sass_quotient_before(struct sass_lift *l, const struct sass_insn *i);
bool sass_quotient_end(struct sass_lift *l, const struct sass_insn *i);

/* ---- Functions of the code (functions.c) */
/* The target of a call that no register says; false where one does, and of functions of the device runtime. */
bool sass_called(const struct sass_lift *l, const struct sass_insn *i, uint32_t *ret_index);
bool sass_calls_register(const struct sass_insn *i);
/* Of such a call: it never leads back here, and so is a jump. */
bool sass_call_jumps(const struct sass_lift *l, const struct sass_insn *i, uint32_t *ret_index);
/* Of each instruction, before sass_find_jumps: fills `noted`. */
void sass_note_places(struct sass_lift *l, const struct sass_insn *i);
void sass_find_jumps(struct sass_lift *l); /* fills `no_return` */
bool sass_find_once(struct sass_lift *l);  /* fills `once` and `ring`; false: there are too many functions */
uint64_t sass_most_lifted(const struct sass_lift *l); /* instructions that code may become with contexts for its calls */

/* ---- Member masks (masks.c) */

/* Fills the fields above. */
void sass_find_masks(struct sass_lift *l);
/* BRA.DIV and BRA.CONV. */
bool sass_is_question(const struct sass_lift *l, const struct sass_insn *i);
/* A barrier or wait that all lanes of a warp come to together. */
bool sass_waits_for_all(const struct sass_lift *l, uint32_t k);
/* BRA.DIV: a question whether lanes are together. */
bool sass_asks_together(const struct sass_lift *l, const struct sass_insn *i);
/* Where lanes go from a branch: as its condition says; not to its target; there. */
enum sass_way { SASS_WAY_EITHER, SASS_WAY_ON, SASS_WAY_TAKEN };
enum sass_way sass_way_of(const struct sass_lift *l, const struct sass_insn *i);
/* The instruction that ends what WARPSYNC.COLLECTIVE number k began, the lanes of which go on right behind it; 0: not so. */
uint32_t sass_collective_end(const struct sass_lift *l, uint32_t k);
/* Has the WARPSYNC a warp operation behind it, on the same straight way? */
bool sass_waits_for_operation(const struct sass_lift *l, uint32_t k);

/* ---- Rounds of loops (rounds.c) */

/* May lanes of a warp be at instruction k while others come to it in a later round of a loop? */
bool sass_comes_in_turn(struct sass_lift *l, uint32_t k);

/* ---- Kernels that start kernels (starts.c) */

/* A function of CUDA's device runtime. */
struct sass_runtime_function {
    const char *params; /* 'p' a generic address, 'w' 64 bits, 't' 32 bits, 'd' three words of 32 bits */
    char result;        /* or 0 */
    bool ends;          /* does not return */
};

/* Of a name, one of those that start kernels; NULL. */
const struct sass_runtime_function *sass_starter(struct aw_str name);
/* Of a kernel of the cubin; false where the symbol is none. */
bool sass_kernel_address(const struct sass_cubin *cubin, uint32_t symbol, uint64_t *ret_address);
/* What the outline's text needs where code of the cubin starts kernels: before them, in one of them, and behind them. */
void sass_starts_declare(struct aw_buf *out);
void sass_starts_mark(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *out);
void sass_starts_addresses(const struct sass_cubin *cubin, struct aw_buf *out);

/* ---- Calls of functions of CUDA's device runtime (call.c); registers hold their arguments. */
bool sass_declare_function(struct aw_str name, struct aw_buf *out);
/* Of a symbol; false when it is none that is known. */
bool sass_call_symbol(struct sass_lift *l, uint32_t symbol);
/* Of what `address` is, among those that code knows the address of; then it goes on at label $E`label`.  False when all that are
 * not in the image are functions that are not known here: *ret_other is one of their names, or empty. */
bool sass_call_known(struct sass_lift *l, const char *address, uint32_t label, struct aw_str *ret_other);

#endif
