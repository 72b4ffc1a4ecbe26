/* May a block's shared memory be left to parts of warps, one part through its instructions after the other?
 *
 * Between two barriers, lanes of a warp read and write in step.  Where parts go one after the other, a later part must read
 * nothing that an earlier one has written before its turn, nor an earlier one miss what a later one writes first.  So of each
 * read and write between the same barriers one of these must be known:
 *   - ranges of bytes, by the ranges of threads' indices, that do not meet: different tiles;
 *   - in one block of code, a constant distance between them: its lanes' distances then say who touches whose, and in what order.
 *
 * Nothing is assumed of what else programs may mean: two writes have no order that anybody could rely on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum {
    WORDS = 8,
    MAX_ACCESSES = 64 * WORDS,
    DEPTH = 16,        /* operations from an index to an address */
    PART = 8,          /* lanes, the fewest that a part has */
    MOST_SHIFT = 20,   /* of an index, to bytes */
};

#define MOST ((int64_t)1 << 30)

struct byte_range {
    int64_t low, high; /* the last one, too */
};

struct tile_access {
    LLVMValueRef x, root;
    int64_t at;          /* bytes from its root */
    const int64_t *off;  /* lanes' distances in bytes, NULL: not known */
    struct byte_range bytes;
    bool writes, known;  /* the range */
};

/* Accesses by number. */
struct access_set {
    uint64_t bits[WORDS];
};

struct shared_order {
    struct simt *u;
    struct simt_fn f;
    struct tile_access *at;
    int n;
    struct access_set *since; /* per block: what may have been accessed since the last barrier where it begins */
};

/* ---- Ranges */

static bool range_of(struct shared_order *s, LLVMValueRef v, int depth, struct byte_range *ret);

static bool in_bounds(struct byte_range *r)
{
    return r->low >= -MOST && r->high <= MOST;
}

static bool range_of_two(struct shared_order *s, LLVMValueRef v, LLVMOpcode op, int depth, struct byte_range *ret)
{
    struct byte_range a, b;
    LLVMValueRef y = LLVMGetOperand(v, 1);
    int64_t c;
    bool constant = simt_int_const(y, &c);
    if (op == LLVMAnd && constant && c >= 0 && c <= MOST) {
        *ret = (struct byte_range){ 0, c };
        return true;
    }
    if (!range_of(s, LLVMGetOperand(v, 0), depth, &a) || !range_of(s, y, depth, &b))
        return false;
    switch (op) {
    case LLVMAdd: *ret = (struct byte_range){ a.low + b.low, a.high + b.high }; break;
    case LLVMSub: *ret = (struct byte_range){ a.low - b.high, a.high - b.low }; break;
    case LLVMOr:
        if (!LLVMGetIsDisjoint(v) || a.low < 0 || b.low < 0)
            return false;
        *ret = (struct byte_range){ a.low + b.low, a.high + b.high };
        break;
    case LLVMShl: case LLVMMul:
        if (!constant || c < 0 || a.low < 0 || c > (op == LLVMShl ? MOST_SHIFT : 1 << MOST_SHIFT))
            return false;
        c = op == LLVMShl ? INT64_C(1) << c : c;
        *ret = (struct byte_range){ a.low * c, a.high * c };
        break;
    case LLVMLShr:
        if (!constant || c < 0 || c > 31 || a.low < 0)
            return false;
        *ret = (struct byte_range){ a.low >> c, a.high >> c };
        break;
    default:
        return false;
    }
    return in_bounds(ret);
}

static bool range_of_index(const struct shared_order *s, LLVMValueRef call, struct byte_range *ret)
{
    enum ptx_simt id = simt_call_id(s->u, call);
    if (id < PTX_SIMT_TID_X || id > PTX_SIMT_TID_Z)
        return false;
    *ret = (struct byte_range){ 0, (int64_t)s->u->options->block[id - PTX_SIMT_TID_X] - 1 };
    return true;
}

static bool range_of_gep(struct shared_order *s, LLVMValueRef v, int depth, struct byte_range *ret)
{
    struct byte_range base, index;
    if (LLVMGetNumOperands(v) != 2 || !range_of(s, LLVMGetOperand(v, 0), depth, &base) ||
        !range_of(s, LLVMGetOperand(v, 1), depth, &index))
        return false;
    int64_t size = (int64_t)LLVMABISizeOfType(s->u->in_layout, LLVMGetGEPSourceElementType(v));
    if (size > 1 << MOST_SHIFT)
        return false;
    *ret = (struct byte_range){ base.low + size * index.low, base.high + size * index.high };
    return in_bounds(ret);
}

/* Of an integer or an address in the shared window, whose arithmetic does not wrap within these bounds. */
static bool range_of(struct shared_order *s, LLVMValueRef v, int depth, struct byte_range *ret)
{
    int64_t c;
    if (simt_known_const(&s->f, v, &c)) {
        *ret = (struct byte_range){ c, c };
        return in_bounds(ret);
    }
    if (!depth || !LLVMIsAInstruction(v))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    switch (op) {
    case LLVMCall:
        return range_of_index(s, v, ret);
    case LLVMGetElementPtr:
        return range_of_gep(s, v, depth - 1, ret);
    case LLVMZExt: case LLVMSExt: case LLVMTrunc:
        if (simt_width(LLVMTypeOf(LLVMGetOperand(v, 0))) < 32 || simt_width(LLVMTypeOf(v)) < 32)
            return false;
        return range_of(s, LLVMGetOperand(v, 0), depth - 1, ret) && (op != LLVMZExt || ret->low >= 0);
    case LLVMFreeze: case LLVMIntToPtr: case LLVMPtrToInt:
        return range_of(s, LLVMGetOperand(v, 0), depth - 1, ret);
    default:
        return LLVMIsABinaryOperator(v) && simt_width(LLVMTypeOf(v)) >= 32 && range_of_two(s, v, op, depth - 1, ret);
    }
}

/* ---- Accesses */

static bool is_shared(LLVMValueRef x)
{
    return (LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) && simt_maybe_shared(simt_access_address(x));
}

static void access_look(struct shared_order *s, LLVMValueRef x, struct tile_access *ret)
{
    LLVMValueRef p = simt_access_address(x);
    const struct simt_val *val = simt_get(&s->f, p);
    *ret = (struct tile_access){ .x = x, .writes = LLVMIsAStoreInst(x) };
    ret->root = simt_access_root(&s->f, p, &ret->at);
    ret->off = val && val->kind == SIMT_AFFINE && !val->check ? val->off : NULL;
    ret->known = simt_is_shared_ptr(LLVMTypeOf(p)) && range_of(s, p, DEPTH, &ret->bytes);
    ret->bytes.high += (int64_t)LLVMStoreSizeOfType(s->u->in_layout, simt_access_type(x)) - 1;
}

/* False: they are too many. */
static bool accesses_look(struct shared_order *s)
{
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(s->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            if (!is_shared(x))
                continue;
            if (s->n == MAX_ACCESSES)
                return false;
            access_look(s, x, &s->at[s->n++]);
        }
    return true;
}

/* ---- Pairs of them */

/* Would parts of the warp one after the other touch what the two share in another order than in step?  `first` comes first. */
static bool parts_disagree(const struct shared_order *s, const struct tile_access *first, const struct tile_access *then)
{
    int64_t size[2] = { (int64_t)LLVMStoreSizeOfType(s->u->in_layout, simt_access_type(first->x)),
                        (int64_t)LLVMStoreSizeOfType(s->u->in_layout, simt_access_type(then->x)) };
    for (int i = 0; i < SIMT_LANES; i++)
        for (int j = 0; j < i / PART * PART; j++) { /* lane j's part is through `then` before lane i's comes to `first` */
            int64_t a = first->at + first->off[i], b = then->at + then->off[j];
            if (a < b + size[1] && b < a + size[0])
                return true;
        }
    return false;
}

static bool has(const struct access_set *set, long i)
{
    return set->bits[i / 64] >> (i % 64) & 1;
}

static bool is_settled(const struct shared_order *s, int b, const struct tile_access *first, const struct tile_access *then)
{
    if (first->writes == then->writes)
        return true;
    if (first->known && then->known && (first->bytes.high < then->bytes.low || then->bytes.high < first->bytes.low))
        return true;
    LLVMBasicBlockRef bb = s->f.blocks[b].bb;
    return LLVMGetInstructionParent(first->x) == bb && LLVMGetInstructionParent(then->x) == bb &&
           !has(&s->since[b], first - s->at) && !has(&s->since[b], then - s->at) && first->root == then->root &&
           first->off && then->off && !parts_disagree(s, first, then);
}

static bool all_before_settled(const struct shared_order *s, int b, const struct access_set *since, int then)
{
    for (int w = 0; w < WORDS; w++)
        for (uint64_t left = since->bits[w]; left; left &= left - 1)
            if (!is_settled(s, b, &s->at[64 * w + __builtin_ctzll(left)], &s->at[then]))
                return false;
    return true;
}

/* Through a block; *since is what has been accessed where it begins, and then where it ends.  False: with `ask`, a pair is not
 * settled. */
static bool walk(const struct shared_order *s, int b, bool ask, struct access_set *since)
{
    bool settled = true;
    int i = 0;
    while (i < s->n && LLVMGetInstructionParent(s->at[i].x) != s->f.blocks[b].bb)
        i++;
    for (LLVMValueRef x = LLVMGetFirstInstruction(s->f.blocks[b].bb); x && settled; x = LLVMGetNextInstruction(x)) {
        if (simt_is_barrier(s->u, x))
            *since = (struct access_set){ 0 };
        if (!is_shared(x))
            continue;
        settled = !ask || all_before_settled(s, b, since, i);
        since->bits[i / 64] |= UINT64_C(1) << i % 64;
        i++;
    }
    return settled;
}

/* Adds `more` to a set; was it otherwise before? */
static bool set_add(struct access_set *set, const struct access_set *more)
{
    bool changed = false;
    for (int w = 0; w < WORDS; w++) {
        changed |= (more->bits[w] & ~set->bits[w]) != 0;
        set->bits[w] |= more->bits[w];
    }
    return changed;
}

static bool all_settled(struct shared_order *s)
{
    bool settled = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < s->f.n_blocks; b++) {
            struct access_set since = s->since[b];
            walk(s, b, false, &since);
            for (int j = 0; j < s->f.blocks[b].n_succ; j++)
                changed |= set_add(&s->since[s->f.blocks[b].succ[j]], &since);
        }
    }
    for (int b = 0; b < s->f.n_blocks && settled; b++) {
        struct access_set since = s->since[b];
        settled = walk(s, b, true, &since);
    }
    return settled;
}

bool simt_shared_in_parts(struct simt *u, enum simt_form form)
{
    struct shared_order s = { .u = u, .f = { .u = u, .form = form, .src = u->kernel } };
    s.at = AW_NEW_ARRAY(&u->arena, struct tile_access, MAX_ACCESSES);
    bool ok = s.at && simt_lanes_set(u, SIMT_LANES) && simt_cfg_build(&s.f) && simt_shape_analyse(&s.f) && accesses_look(&s);
    s.since = ok ? AW_NEW_ARRAY(&u->arena, struct access_set, (size_t)s.f.n_blocks + 1) : NULL;
    ok = ok && s.since && all_settled(&s);
    aw_ptrmap_fini(&s.f.vals);
    simt_cfg_fini(&s.f);
    return ok && !u->status;
}
