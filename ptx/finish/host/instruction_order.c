/* The order of straight-line code, where its values do not fit into the registers: sums that go on side by side through an
 * unrolled loop, a tile of them for each thread.  LLVM keeps the order it finds, and each sum would go to the stack and come back
 * for each element.
 *
 *   a += x0 * y0; b += x0 * z0; c += ..; a += x1 * y1; b += x1 * z1; c += ..;
 *   becomes    a += x0 * y0; b += x0 * z0; a += x1 * y1; b += x1 * z1; ..  c += ..; c += ..;
 *
 * Results that others use are made a few at a time, each few with all that leads to them, in the order they had.  What was loaded
 * for the few before is loaded again (rematerialised), and does not wait in a register or on the stack; so that LLVM does not
 * find the two loads to be one, each few have a block of their own.  How many is tried out on a file of registers that loses what
 * was used the longest time ago.  Last: no pass on IR may follow that orders anew.  Nothing goes past what writes memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "finish/host/host.h"
#include "lower/copy.h"
#include <stdlib.h>
#include <string.h>

struct host_registers {
    unsigned n, bytes; /* how many, of so many bytes: those of vectors */
};

enum {
    MAX_SEGMENT = 6000, /* instructions; of a longer one, so many are looked at */
    MAX_HELD = 64,      /* values in registers: as many as those, at most */
    MIN_SEGMENT = 32,   /* shorter ones have little to gain */
};

struct value {
    LLVMValueRef x;
    unsigned registers; /* of vectors, 0 else and where an instruction reads memory itself */
    int uses, left;     /* in the segment */
    bool outside;       /* made before it */
    bool result;        /* used after it */
    bool held, stored;  /* in a register; on the stack */
    bool again;         /* a load, or its splat */
    int stage;          /* of an instruction */
    int touched;
    LLVMValueRef copy;  /* of what is made again: the last one, for so many'th stage */
    int copy_stage;
};

struct order {
    struct host_registers file;
    LLVMBuilderRef b;
    struct aw_ptrmap index;     /* value -> 1 + its number */
    struct value *values;       /* first the instructions of the segment, then what they use from outside */
    int n, n_values, max_values;
    int *places;                /* instructions in some order */
    LLVMValueRef *firsts;       /* of each stage but the first, in the order taken */
    int n_firsts, copies;
    int held[MAX_HELD], n_held;
    unsigned used;              /* registers */
    bool ok;                    /* memory */
};

/* ---- A segment: instructions that touch no memory but to read it */

static bool moves(LLVMValueRef x)
{
    if (LLVMIsATerminatorInst(x) || LLVMIsAPHINode(x) || LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind)
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAlloca: case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMVAArg:
        return false;
    case LLVMLoad:
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
    case LLVMCall:
        return !ptx_host_touches(x, PTX_HOST_READS | PTX_HOST_WRITES);
    default:
        return true;
    }
}

static unsigned registers_of(const struct order *o, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x), elem = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : NULL;
    if (!elem || LLVMIsAConstant(x))
        return 0;
    LLVMTypeKind kind = LLVMGetTypeKind(elem);
    unsigned bits = kind == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(elem) : 64;
    bits = kind == LLVMFloatTypeKind ? 32 : kind == LLVMHalfTypeKind ? 16 : bits;
    if (LLVMIsAShuffleVectorInst(x) && ptx_host_splatted(x))
        return 1; /* all its parts are */
    return bits == 1 ? 0 : (LLVMGetVectorSize(t) * bits / 8 + o->file.bytes - 1) / o->file.bytes;
}

static struct value *value_of(struct order *o, LLVMValueRef x)
{
    intptr_t i = (intptr_t)aw_ptrmap_find(&o->index, x);
    return i ? &o->values[i - 1] : NULL;
}

static struct value *add_value(struct order *o, LLVMValueRef x)
{
    if (o->n_values == o->max_values || !aw_ptrmap_put(&o->index, x, (void *)(intptr_t)(o->n_values + 1))) {
        o->ok = false;
        return NULL;
    }
    struct value *v = &o->values[o->n_values++];
    *v = (struct value){ .x = x, .registers = registers_of(o, x) };
    return v;
}

/* Is it part of what uses it: an operand in memory, or the scalar of a splat? */
static bool folds(const struct value *v)
{
    return v->uses == 1 && !v->result && (LLVMIsALoadInst(v->x) || LLVMIsAInsertElementInst(v->x));
}

/* Can it be made again at no more than a load? */
static bool is_again(struct order *o, LLVMValueRef x)
{
    struct value *from = NULL;
    if (LLVMIsALoadInst(x))
        return true;
    if (LLVMIsAInsertElementInst(x) && LLVMIsConstant(LLVMGetOperand(x, 0)) && LLVMIsConstant(LLVMGetOperand(x, 2)))
        from = value_of(o, LLVMGetOperand(x, 1));
    else if (LLVMIsAShuffleVectorInst(x) && LLVMIsConstant(LLVMGetOperand(x, 1)))
        from = value_of(o, LLVMGetOperand(x, 0));
    return from && from->again;
}

/* Takes the instructions from `first` on.  Returns the one after them. */
static LLVMValueRef take(struct order *o, LLVMValueRef first)
{
    LLVMValueRef x = first;
    aw_ptrmap_fini(&o->index);
    o->n_values = 0;
    for (; x && moves(x) && o->n_values < MAX_SEGMENT && add_value(o, x); x = LLVMGetNextInstruction(x))
        ;
    o->n = o->n_values;
    for (int i = 0; i < o->n && o->ok; i++) {
        o->values[i].again = is_again(o, o->values[i].x);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(o->values[i].x) && o->ok; k++) {
            LLVMValueRef operand = LLVMGetOperand(o->values[i].x, k);
            struct value *v = value_of(o, operand);
            if (!v && registers_of(o, operand) && (v = add_value(o, operand)))
                v->outside = true;
            if (v)
                v->uses++;
        }
        for (LLVMUseRef use = LLVMGetFirstUse(o->values[i].x); use; use = LLVMGetNextUse(use)) {
            intptr_t at = (intptr_t)aw_ptrmap_find(&o->index, LLVMGetUser(use));
            o->values[i].result |= !at || at > o->n;
        }
    }
    for (int i = 0; i < o->n; i++)
        o->values[i].registers = folds(&o->values[i]) ? 0 : o->values[i].registers;
    return x;
}

/* ---- What an order costs: loads and stores of the stack */

static void drop(struct order *o, int at)
{
    struct value *v = &o->values[o->held[at]];
    v->held = false;
    o->used -= v->registers;
    o->held[at] = o->held[--o->n_held];
}

/* What is made again does not live from stage to stage. */
static void drop_again(struct order *o)
{
    for (int k = o->n_held - 1; k >= 0; k--)
        if (o->values[o->held[k]].again)
            drop(o, k);
    for (int i = 0; i < o->n; i++)
        o->values[i].stored &= !o->values[i].again;
}

/* Puts a value into registers.  Returns what that costs. */
static int hold(struct order *o, int i, int now)
{
    struct value *v = &o->values[i];
    int cost = 0;
    v->touched = now;
    while (!v->held && o->n_held && (o->used + v->registers > o->file.n || o->n_held == MAX_HELD)) {
        int oldest = 0;
        for (int k = 1; k < o->n_held; k++)
            oldest = o->values[o->held[k]].touched < o->values[o->held[oldest]].touched ? k : oldest;
        struct value *old = &o->values[o->held[oldest]];
        cost += old->outside || old->stored ? 0 : (int)old->registers;
        old->stored = true;
        drop(o, oldest);
    }
    if (!v->held) {
        o->held[o->n_held++] = i;
        o->used += v->registers;
        v->held = true;
    }
    return cost;
}

static int use(struct order *o, struct value *v, int now)
{
    int i = (int)(v - o->values), cost = v->held ? 0 : (int)v->registers;
    cost += hold(o, i, now);
    if (!--v->left)
        for (int k = 0; k < o->n_held; k++)
            if (o->held[k] == i) {
                drop(o, k);
                break;
            }
    return cost;
}

static int cost_of(struct order *o)
{
    int cost = 0;
    o->n_held = 0;
    o->used = 0;
    for (int i = 0; i < o->n_values; i++) {
        o->values[i].left = o->values[i].uses;
        o->values[i].held = o->values[i].stored = false;
    }
    for (int i = 0; i < o->n; i++) {
        struct value *made = &o->values[o->places[i]];
        if (i && made->stage != o->values[o->places[i - 1]].stage)
            drop_again(o);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(made->x); k++) {
            struct value *v = value_of(o, LLVMGetOperand(made->x, k));
            cost += v && v->registers ? use(o, v, i) : 0;
        }
        cost += made->registers && made->uses ? hold(o, o->places[i], i) : 0;
    }
    return cost;
}

/* ---- Orders */

/* Marks all that leads to a value, and is not marked. */
static void mark(struct order *o, struct value *v, int stage)
{
    v->stage = stage;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v->x); k++) {
        struct value *from = value_of(o, LLVMGetOperand(v->x, k));
        if (from && !from->outside && from->stage < 0)
            mark(o, from, stage);
    }
}

/* `each` results at a time; 0: the order there is. */
static void arrange(struct order *o, int each)
{
    int results = 0, at = 0, last = 0;
    for (int i = 0; i < o->n; i++)
        o->values[i].stage = each ? -1 : 0;
    for (int i = 0; i < o->n && each; i++)
        if (o->values[i].result && o->values[i].registers && o->values[i].stage < 0)
            mark(o, &o->values[i], results++ / each);
    last = each ? results / each + 1 : 0;
    for (int i = 0; i < o->n; i++)
        o->values[i].stage = o->values[i].stage < 0 ? last : o->values[i].stage;
    for (int stage = 0; stage <= last; stage++)
        for (int i = 0; i < o->n; i++)
            if (o->values[i].stage == stage)
                o->places[at++] = i;
}

/* The value for a stage: what is made again, once more where it is of another one.  At the builder. */
static LLVMValueRef value_for(struct order *o, LLVMValueRef x, int stage)
{
    struct value *v = value_of(o, x);
    if (!v || v->outside || !v->again || v->stage == stage)
        return x;
    if (v->copy && v->copy_stage == stage)
        return v->copy;
    LLVMValueRef copy = LLVMInstructionClone(x);
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(x); k++)
        LLVMSetOperand(copy, k, value_for(o, LLVMGetOperand(x, k), stage));
    ptx_insert(o->b, copy);
    v->copy = copy;
    v->copy_stage = stage;
    o->copies++;
    return copy;
}

static void apply(struct order *o, LLVMValueRef after)
{
    int stage = -1;
    o->copies = o->n_firsts = 0;
    LLVMPositionBuilderBefore(o->b, after);
    for (int i = 0; i < o->n; i++) {
        struct value *v = &o->values[o->places[i]];
        LLVMInstructionRemoveFromParent(v->x);
        LLVMValueRef before = LLVMGetPreviousInstruction(after);
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v->x); k++)
            LLVMSetOperand(v->x, k, value_for(o, LLVMGetOperand(v->x, k), v->stage));
        ptx_insert(o->b, v->x);
        if (v->stage != stage && stage >= 0)
            o->firsts[o->n_firsts++] = before ? LLVMGetNextInstruction(before)
                                              : LLVMGetFirstInstruction(LLVMGetInstructionParent(after));
        stage = v->stage;
    }
}

/* Each stage in a block of its own. */
static void part(struct order *o)
{
    for (int i = 0; i < o->n_firsts; i++) {
        LLVMBasicBlockRef bb = LLVMGetInstructionParent(o->firsts[i]);
        size_t n = 0;
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x != o->firsts[i]; x = LLVMGetNextInstruction(x))
            n++;
        ptx_host_move_out(o->b, bb, n);
    }
}

/* The order that costs least, of those with fewer and fewer results at a time.  Only where each instruction moves a register's
 * worth to or from the stack, and a quarter of that can be saved: LLVM knows more of the machine, and where there is less (in
 * attention, one in eight) the estimate has been wrong. */
static void improve(struct order *o, LLVMValueRef after)
{
    arrange(o, 0);
    int before = cost_of(o), least = before, best = 0;
    for (int each = (int)o->file.n; each && before >= o->n; each /= 2) {
        arrange(o, each);
        int cost = cost_of(o);
        if (cost < least) {
            least = cost;
            best = each;
        }
    }
    if (least >= before || least > before / 4 * 3)
        return;
    arrange(o, best);
    apply(o, after);
    if (o->copies)
        part(o);
}

static void in_module(LLVMModuleRef m, struct host_registers file)
{
    enum { MAX_VALUES = 4 * MAX_SEGMENT };
    struct order o = { .file = file, .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m)), .max_values = MAX_VALUES };
    o.values = calloc(MAX_VALUES, sizeof *o.values);
    o.places = calloc(MAX_SEGMENT, sizeof *o.places);
    o.firsts = calloc(MAX_SEGMENT, sizeof *o.firsts);
    o.ok = o.values && o.places && o.firsts; /* else all stays as it is */
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn && o.ok; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb && o.ok; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && o.ok;) {
                LLVMValueRef after = moves(x) ? take(&o, x) : NULL;
                if (after && o.ok && o.n >= MIN_SEGMENT)
                    improve(&o, after);
                x = after ? after : LLVMGetNextInstruction(x);
            }
    aw_ptrmap_fini(&o.index);
    free(o.values);
    free(o.places);
    free(o.firsts);
    LLVMDisposeBuilder(o.b);
}

int ptx_run_order(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module, pipe->on & PTX_PASS_AVX512 ? (struct host_registers){ 32, 64 } : (struct host_registers){ 16, 32 });
    return AW_OK;
}
