/* Asks whether lanes are neighbours, where that is likely (analysis/likely_row.c), and where the first one is then.
 *
 * What is asked is not the addresses, vectors of 64 bits, but the index that they are made of by steps that are the same for all
 * lanes: does each lane's follow the one before it?  An index that is widened on the way must not wrap there, which the first
 * lane's tells.  Lanes that are off may hold anything, so that the first one's is frozen. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum { CHAIN = 24 };

struct chain {
    struct simt_fn *f;
    LLVMValueRef steps[CHAIN]; /* operations from the address down to the index; one operand of each differs among lanes */
    unsigned from[CHAIN];      /* which one */
    int64_t by[CHAIN];         /* from lane to lane, of the result */
    int n;
    LLVMValueRef ok;           /* i1, NULL = true */
};

/* The operand in which lanes differ, if it is the only one and the others are known; -1: there is none such. */
static int the_varying(struct simt_fn *f, LLVMValueRef v)
{
    int found = -1;
    for (int i = 0; i < LLVMGetNumOperands(v); i++) {
        if (simt_uniform(f, LLVMGetOperand(v, (unsigned)i)))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* How far lanes of that operand are apart, if those of `v` are `by`; 0: it is no such step. */
static int64_t step_of(struct simt_fn *f, LLVMValueRef v, int from, int64_t by)
{
    int64_t c = 1;
    LLVMTypeRef type;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSExt: case LLVMZExt: case LLVMIntToPtr: case LLVMPtrToInt:
        return by;
    case LLVMAdd:
        return by;
    case LLVMSub:
        return from == 0 ? by : 0;
    case LLVMMul:
        return simt_int_const(LLVMGetOperand(v, !from), &c) && c > 0 && by % c == 0 ? by / c : 0;
    case LLVMShl:
        if (from || !simt_int_const(LLVMGetOperand(v, 1), &c) || c < 0 || c > 16 || by % (INT64_C(1) << c))
            return 0;
        return by >> c;
    case LLVMGetElementPtr:
        type = LLVMGetGEPSourceElementType(v);
        c = from ? (int64_t)LLVMABISizeOfType(f->u->in_layout, type) : 1;
        return LLVMGetNumOperands(v) == 2 && c && by % c == 0 ? by / c : 0;
    default:
        return 0;
    }
}

static LLVMValueRef find_index(struct chain *c, LLVMValueRef ptr, int64_t *by)
{
    while (c->n < CHAIN && LLVMIsAInstruction(ptr)) {
        int from = the_varying(c->f, ptr);
        int64_t step = from < 0 ? 0 : step_of(c->f, ptr, from, *by);
        if (!step)
            break;
        c->steps[c->n] = ptr;
        c->by[c->n] = *by;
        c->from[c->n++] = (unsigned)from;
        *by = step;
        ptr = LLVMGetOperand(ptr, (unsigned)from);
    }
    return ptr;
}

/* x + by * (lanes - 1) must not wrap where the integer x is widened. */
static void no_wrap(struct chain *c, LLVMValueRef inst, LLVMValueRef x, int64_t by)
{
    struct simt *u = c->f->u;
    LLVMTypeRef type = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(type), high = bits - (LLVMIsASExtInst(inst) != NULL);
    uint64_t most = (high < 64 ? (UINT64_C(1) << high) - 1 : ~UINT64_C(0)) - (uint64_t)by * (uint64_t)(u->lanes - 1);
    LLVMValueRef ok = LLVMBuildICmp(u->b, LLVMIsASExtInst(inst) ? LLVMIntSLE : LLVMIntULE, x, LLVMConstInt(type, most, 0), "");
    c->ok = simt_and(u, c->ok, ok);
}

/* Of a sum of bytes: where the first lane's address is, of which it holds x.  Shared addresses are 32-bit offsets here. */
static LLVMValueRef first_gep(struct chain *c, int at, LLVMValueRef x, bool shared)
{
    struct simt *u = c->f->u;
    LLVMValueRef v = c->steps[at];
    LLVMValueRef base = c->from[at] ? simt_scalar(c->f, LLVMGetOperand(v, 0)) : x;
    LLVMValueRef index = c->from[at] ? x : simt_scalar(c->f, LLVMGetOperand(v, 1));
    LLVMTypeRef type = shared ? u->i32 : u->i64;
    index = LLVMBuildIntCast2(u->b, index, type, 1, "");
    if (c->from[at] && !shared && LLVMGetIntTypeWidth(LLVMTypeOf(x)) < 64)
        c->ok = LLVMConstNull(u->i1); /* nvcc widens first */
    uint64_t size = LLVMABISizeOfType(u->in_layout, LLVMGetGEPSourceElementType(v));
    index = LLVMBuildMul(u->b, index, LLVMConstInt(type, size, 0), "");
    return shared ? LLVMBuildAdd(u->b, base, index, "") : LLVMBuildGEP2(u->b, u->i8, base, &index, 1, "");
}

/* The first lane's result of the step, of which it holds x. */
static LLVMValueRef first_of(struct chain *c, int at, LLVMValueRef x)
{
    struct simt *u = c->f->u;
    LLVMValueRef v = c->steps[at], other;
    LLVMTypeRef type = simt_type(u, LLVMTypeOf(v));
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    bool shared = simt_is_shared_ptr(LLVMTypeOf(v));
    switch (op) {
    case LLVMSExt: case LLVMZExt:
        no_wrap(c, v, x, c->by[at]);
        return LLVMBuildCast(u->b, op, x, type, "");
    case LLVMIntToPtr: case LLVMPtrToInt:
        if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMIntegerTypeKind && LLVMGetTypeKind(type) == LLVMIntegerTypeKind)
            return LLVMBuildIntCast2(u->b, x, type, 0, "");
        return LLVMBuildCast(u->b, op, x, type, "");
    case LLVMGetElementPtr:
        return first_gep(c, at, x, shared);
    default:
        other = simt_scalar(c->f, LLVMGetOperand(v, !c->from[at]));
        return LLVMBuildBinOp(u->b, op, c->from[at] ? other : x, c->from[at] ? x : other, "");
    }
}

/* Are all lanes that run where x says `first`, and does the first lane? */
static LLVMValueRef ask_same(struct simt_fn *f, LLVMValueRef x, LLVMValueRef first)
{
    struct simt *u = f->u;
    LLVMValueRef same = LLVMBuildICmp(u->b, LLVMIntEQ, x, simt_splat(u, first), "");
    if (!f->mask)
        return simt_all_on(u, same);
    same = simt_all_on(u, LLVMBuildOr(u->b, same, LLVMBuildNot(u->b, f->mask, ""), ""));
    return simt_and(u, same, LLVMBuildExtractElement(u->b, f->mask, simt_c32(u, 0), ""));
}

/* The row in which lane `lane`, an i64, is at its place: NULL: the first one. */
static void row_of(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, LLVMValueRef x, LLVMValueRef lane, struct simt_row *ret)
{
    struct simt *u = f->u;
    struct chain c = { .f = f };
    int64_t by = (int64_t)size, off[SIMT_LANES];
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(x));
    find_index(&c, ptr, &by);
    for (int i = 0; i < u->lanes; i++)
        off[i] = by * i;
    LLVMValueRef first = LLVMBuildExtractElement(u->b, x, lane ? lane : simt_c32(u, 0), "");
    if (lane) {
        LLVMValueRef before = LLVMBuildMul(u->b, LLVMBuildIntCast2(u->b, lane, type, 0, ""), LLVMConstInt(type, (uint64_t)by, 0),
                                           "");
        first = LLVMBuildSub(u->b, first, before, "");
    }
    LLVMValueRef want = LLVMBuildAdd(u->b, simt_splat(u, first), simt_offset_vec(u, off, type), "");
    ret->lanes = LLVMBuildICmp(u->b, LLVMIntEQ, x, want, "");
    for (int i = c.n - 1; i >= 0; i--)
        first = first_of(&c, i, first);
    ret->base = simt_is_shared_ptr(LLVMTypeOf(ptr)) ? simt_window(f, first) : first;
    ret->ok = c.ok;
}

/* What all lanes' addresses are made of alike; NULL: that cannot be asked. */
static LLVMValueRef index_of(struct simt_fn *f, LLVMValueRef ptr, uint64_t size)
{
    struct chain c = { .f = f };
    int64_t by = (int64_t)size;
    LLVMValueRef index = find_index(&c, ptr, &by);
    bool integer = LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMIntegerTypeKind && simt_width(LLVMTypeOf(index)) >= 32;
    return integer ? LLVMBuildFreeze(f->u->b, simt_vector(f, index), "") : NULL;
}

LLVMValueRef simt_ask_row(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, struct simt_row *ret, LLVMValueRef *ret_same)
{
    struct simt *u = f->u;
    LLVMValueRef x = index_of(f, ptr, size);
    if (!x)
        return NULL;
    row_of(f, ptr, size, x, NULL, ret);
    if (ret_same)
        *ret_same = ask_same(f, x, LLVMBuildExtractElement(u->b, x, simt_c32(u, 0), ""));
    LLVMValueRef row = f->mask ? LLVMBuildOr(u->b, ret->lanes, LLVMBuildNot(u->b, f->mask, ""), "") : ret->lanes;
    return simt_and(u, ret->ok, simt_all_on(u, row));
}

void simt_ask_row_of(struct simt_fn *f, LLVMValueRef ptr, uint64_t size, LLVMValueRef rest, struct simt_row *ret)
{
    row_of(f, ptr, size, index_of(f, ptr, size), simt_first_lane(f->u, rest, false), ret);
}
