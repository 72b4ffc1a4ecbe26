/* Operations with a member mask that lanes of that mask may come to at different places.
 *
 * PTX has an operation of a warp wait for all lanes of its mask, wherever each of them comes to an operation of that
 * kind with that mask.  A source has one place, as a rule, and so lanes that run together are together there.  But nvcc
 * unrolls a loop that lanes leave in different rounds, and then some are in the unrolled body while others have gone to
 * what is left of the loop; and a program may say it so.  Those places need a meeting (wait.c); all others, nearly all,
 * do as they stand.
 *
 * Two places belong together when a branch at which lanes of a warp part leads to the one on one side, not by way of the
 * other, and to the other on another side likewise, before the lanes meet again: where all ways from the branch meet,
 * or, if no side leaves a loop around it, at that loop's head.  Not when the masks are different numbers, nor when one
 * was made on its side: of lanes that are there.
 *
 * Where the sides meet and then lanes part anew, two places belong together if each is on the side of a branch where
 * lanes come for which the other's condition did not hold, by the same value; or if they look like one place that was
 * unrolled: a loop has such operations several times, alike in all that is constant, and another of them comes before
 * the loop or behind it; or if lanes that have not come to the one may go on to the other, which may be the same in a later
 * round of a loop, and nothing in between waits for those that have.  A program in which all lanes of the mask are at such
 * a place whenever one is, though that cannot be seen here, loses speed alone.
 *
 * Functions are looked at each for itself, as if lanes had come to its beginning together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/masks.h"

#include "base/vec.h"

typedef LLVMValueRef V;

struct operation {
    V call;
    unsigned block;
    enum ptx_simt kind; /* PTX_SIMT_NONE: a function with any */
    V mask;             /* NULL: any */
};

struct member_masks {
    struct flow *f;
    struct aw_ptrmap functions; /* those with operations, own or called */
    AW_VEC(struct operation) operations;
    AW_VEC(bool *) loops;       /* bodies */
    bool failed;                /* memory is out */
};

/* ---- Operations */

/* The mask of an operation that waits for its lanes wherever they are; or NULL. */
static V members_mask(V x)
{
    V mask = ptx_flow_mask(x);
    return mask && ptx_flow_is_members(x) ? mask : NULL;
}

static bool function_has(const struct member_masks *m, V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            V callee = ptx_flow_callee(x);
            if (members_mask(x) || (callee && aw_ptrmap_find(&m->functions, callee)))
                return true;
        }
    return false;
}

static bool functions_find(struct member_masks *m, LLVMModuleRef module)
{
    bool ok = true;
    for (bool changed = true; ok && changed;) {
        changed = false;
        for (V fn = LLVMGetFirstFunction(module); ok && fn; fn = LLVMGetNextFunction(fn))
            if (!LLVMIsDeclaration(fn) && !aw_ptrmap_find(&m->functions, fn) && function_has(m, fn))
                ok = changed = aw_ptrmap_put(&m->functions, fn, fn);
    }
    return ok;
}

/* Where lanes of a warp may be elsewhere. */
static bool operations_find(struct member_masks *m)
{
    bool ok = true;
    for (unsigned i = 0; i < m->f->n; i++)
        for (V x = m->f->blocks[i].parted ? LLVMGetFirstInstruction(m->f->blocks[i].bb) : NULL; ok && x;
             x = LLVMGetNextInstruction(x)) {
            V callee = ptx_flow_callee(x), mask = members_mask(x);
            if (mask || (callee && aw_ptrmap_find(&m->functions, callee)))
                ok = aw_vec_push(&m->operations, ((struct operation){ x, i, ptx_simt_called(x), mask }));
        }
    return ok;
}

bool ptx_masks_any(LLVMModuleRef module)
{
    for (int id = 0; id < PTX_SIMT_COUNT; id++) {
        V fn = LLVMGetNamedFunction(module, ptx_simt_info((enum ptx_simt)id)->name);
        for (LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL; use; use = LLVMGetNextUse(use))
            if (LLVMIsACallInst(LLVMGetUser(use)) && members_mask(LLVMGetUser(use)))
                return true;
    }
    return false;
}

/* ---- Masks */

enum { DEPTH_MAX = 8 };

/* Is it a set of lanes that are at a block of `only`?  phis[]: those that this was asked for already. */
static bool is_made_here(const struct member_masks *m, V mask, const bool *only, V *phis, unsigned n)
{
    if (!LLVMIsAInstruction(mask) || n == DEPTH_MAX)
        return false;
    unsigned at = ptx_flow_block(m->f, LLVMGetInstructionParent(mask));
    enum ptx_simt id = ptx_simt_called(mask);
    if (at >= m->f->n || !only[at])
        return false;
    if (id == PTX_SIMT_ACTIVEMASK || id == PTX_SIMT_BALLOT || id == PTX_SIMT_MATCH_ANY_32 || id == PTX_SIMT_MATCH_ANY_64)
        return true;
    for (unsigned i = 0; i < n; i++)
        if (phis[i] == mask)
            return true;
    phis[n] = mask;
    if (LLVMIsABinaryOperator(mask) && LLVMGetInstructionOpcode(mask) == LLVMAnd)
        return is_made_here(m, LLVMGetOperand(mask, 0), only, phis, n + 1) ||
               is_made_here(m, LLVMGetOperand(mask, 1), only, phis, n + 1);
    if (!LLVMIsAPHINode(mask))
        return false;
    for (unsigned i = 0; i < LLVMCountIncoming(mask); i++)
        if (!is_made_here(m, LLVMGetIncomingValue(mask, i), only, phis, n + 1))
            return false;
    return true;
}

static bool may_match(const struct operation *a, const struct operation *b)
{
    if (a->kind != PTX_SIMT_NONE && b->kind != PTX_SIMT_NONE && a->kind != b->kind)
        return false;
    return !a->mask || !b->mask || a->mask == b->mask || !LLVMIsAConstantInt(a->mask) || !LLVMIsAConstantInt(b->mask);
}

/* ---- Sides of a branch */

/* A branch at which lanes part, while it is looked at.  Rows of f->n blocks. */
struct fork {
    struct aw_arena arena;
    const struct member_masks *m;
    unsigned at, until;  /* the branch's block; where lanes meet at the latest, or f->n */
    unsigned n;          /* sides */
    bool **side;         /* [n]: blocks that lanes come to which go there */
    bool **only;         /* [n]: ... and no others */
    bool **first;        /* [n]: likewise, though lanes may be in another round of a loop: before all meet, wherever that is */
    bool ***around;      /* [n][operation]: not by way of the operation's block; NULL: not asked for yet */
};

static bool side_find(struct fork *k, unsigned side, unsigned around, bool **ret)
{
    const struct flow *f = k->m->f;
    *ret = AW_NEW_ARRAY(&k->arena, bool, f->n);
    return *ret && ptx_flow_side(f, k->at, f->blocks[k->at].succ[side], around, k->until, *ret);
}

static bool sides_find(struct fork *k)
{
    for (unsigned j = 0; j < k->n; j++)
        if (!side_find(k, j, k->m->f->n, &k->side[j]))
            return false;
    return true;
}

static unsigned head_of(const bool *body)
{
    unsigned head = 0;
    while (!body[head]) /* in reverse postorder the header is first */
        head++;
    return head;
}

/* The loop around the branch that no side leaves, if there is one: its lanes are together again at its head.  Bodies are
 * in order of their heads, so that inner loops come behind outer ones. */
static bool until_find(struct fork *k)
{
    const struct flow *f = k->m->f;
    for (size_t i = k->m->loops.n; i--;) {
        const bool *body = k->m->loops.at[i];
        bool leaves = false;
        if (!body[k->at])
            continue;
        k->until = head_of(body);
        if (!sides_find(k))
            return false;
        for (unsigned j = 0; j < k->n; j++)
            for (unsigned b = 0; b < f->n; b++)
                leaves |= k->side[j][b] && !body[b];
        if (!leaves)
            return true;
    }
    k->until = f->n;
    return sides_find(k);
}

static bool **rows_new(struct fork *k)
{
    bool **rows = AW_NEW_ARRAY(&k->arena, bool *, k->n);
    for (unsigned j = 0; rows && j < k->n; j++)
        if (!(rows[j] = AW_NEW_ARRAY(&k->arena, bool, k->m->f->n)))
            return NULL;
    return rows;
}

/* ret[j]: blocks of side j that no other side leads to. */
static void only_find(const struct fork *k, bool **ret)
{
    const unsigned *succ = k->m->f->blocks[k->at].succ;
    for (unsigned j = 0; j < k->n; j++)
        for (unsigned b = 0; b < k->m->f->n; b++) {
            ret[j][b] = k->side[j][b];
            for (unsigned i = 0; i < k->n; i++)
                ret[j][b] &= i == j || !k->side[i][b] || succ[i] == succ[j];
        }
}

static bool fork_init(struct fork *k)
{
    const struct flow *f = k->m->f;
    k->n = f->blocks[k->at].n_succ;
    k->until = f->n;
    k->side = AW_NEW_ARRAY(&k->arena, bool *, k->n);
    k->only = rows_new(k);
    k->first = rows_new(k);
    k->around = AW_NEW_ARRAY(&k->arena, bool **, k->n);
    if (!k->side || !k->only || !k->first || !k->around || !sides_find(k))
        return false;
    only_find(k, k->first);
    if (!until_find(k))
        return false;
    only_find(k, k->only);
    for (unsigned j = 0; j < k->n; j++)
        if (!(k->around[j] = AW_NEW_ARRAY(&k->arena, bool *, k->m->operations.n)))
            return false;
    return true;
}

/* Do only lanes of a side come to the block, as far as a round of the loops around or as all that come before they meet? */
static bool is_sided(const struct fork *k, unsigned side, unsigned block)
{
    return k->only[side][block] || k->first[side][block];
}

/* Do lanes of a side come to operation x not by way of operation y? */
static bool comes(struct fork *k, unsigned side, size_t x, size_t y, bool *ret)
{
    const struct operation *op = k->m->operations.at;
    *ret = k->side[side][op[x].block];
    if (!*ret || !k->side[side][op[y].block])
        return true;
    bool **around = &k->around[side][y];
    if (!*around && !side_find(k, side, op[y].block, around))
        return false;
    *ret = (*around)[op[x].block];
    return true;
}

/* May lanes of side i be at operation x while others, of side j, are at operation y with the same mask? */
static bool meets(struct fork *k, unsigned i, size_t x, unsigned j, size_t y, bool *ret)
{
    const struct operation *op = k->m->operations.at;
    bool there = false;
    V phis[DEPTH_MAX];
    *ret = false;
    if (op[x].block == op[y].block || !may_match(&op[x], &op[y]))
        return true;
    if (!comes(k, i, x, y, ret) || (*ret && !comes(k, j, y, x, &there)))
        return false;
    *ret = *ret && there && !(op[x].mask && is_made_here(k->m, op[x].mask, k->only[i], phis, 0)) &&
           !(op[y].mask && is_made_here(k->m, op[y].mask, k->only[j], phis, 0));
    return true;
}

/* Operations on side i that belong together with others on side j. */
static bool pair_look(struct fork *k, unsigned i, unsigned j, bool *ret, bool *ret_any)
{
    const struct operation *op = k->m->operations.at;
    size_t n = k->m->operations.n;
    for (size_t x = 0; x < n; x++)
        for (size_t y = 0; k->side[i][op[x].block] && y < n; y++) {
            bool both = false;
            if (ret[op[x].block] && ret[op[y].block])
                continue;
            if (!meets(k, i, x, j, y, &both))
                return false;
            if (both)
                *ret_any = ret[op[x].block] = ret[op[y].block] = true;
        }
    return true;
}

static bool fork_look(struct fork *k, bool *ret, bool *ret_any)
{
    const unsigned *succ = k->m->f->blocks[k->at].succ;
    for (unsigned i = 0; i < k->n; i++)
        for (unsigned j = 0; j < k->n; j++)
            if (succ[i] != succ[j] && !pair_look(k, i, j, ret, ret_any))
                return false;
    return true;
}

/* ---- Branches by one condition, of which one comes behind the other */

static V without_not(V c, bool *ret_not)
{
    *ret_not = false;
    while (LLVMIsABinaryOperator(c) && LLVMGetInstructionOpcode(c) == LLVMXor && LLVMIsAConstantInt(LLVMGetOperand(c, 1))) {
        *ret_not ^= LLVMConstIntGetZExtValue(LLVMGetOperand(c, 1)) & 1;
        c = LLVMGetOperand(c, 0);
    }
    return c;
}

/* What the branch at the end of a block asks; *ret_not: whether it has been negated.  NULL: it is no branch of two ways. */
static V condition_of(const struct flow *f, unsigned at, bool *ret_not)
{
    V end = LLVMGetBasicBlockTerminator(f->blocks[at].bb);
    V c = LLVMIsABranchInst(end) && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;
    *ret_not = false;
    return c ? without_not(c, ret_not) : NULL;
}

static LLVMIntPredicate inverse(LLVMIntPredicate p)
{
    static const LLVMIntPredicate pairs[][2] = { { LLVMIntEQ, LLVMIntNE }, { LLVMIntUGT, LLVMIntULE }, { LLVMIntUGE, LLVMIntULT },
                                                 { LLVMIntSGT, LLVMIntSLE }, { LLVMIntSGE, LLVMIntSLT } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (unsigned j = 0; j < 2; j++)
            if (pairs[i][j] == p)
                return pairs[i][1 - j];
    return p;
}

/* Are two conditions the same, or opposites?  The latter turns *ret_not over. */
static bool is_alike_question(V a, V b, bool *ret_not)
{
    if (a == b)
        return true;
    if (!LLVMIsAICmpInst(a) || !LLVMIsAICmpInst(b) || LLVMGetOperand(a, 0) != LLVMGetOperand(b, 0) ||
        LLVMGetOperand(a, 1) != LLVMGetOperand(b, 1))
        return false;
    *ret_not ^= LLVMGetICmpPredicate(a) != LLVMGetICmpPredicate(b);
    return LLVMGetICmpPredicate(a) == LLVMGetICmpPredicate(b) || LLVMGetICmpPredicate(a) == inverse(LLVMGetICmpPredicate(b));
}

/* Do two branches ask the same?  *ret_not: one the opposite of the other. */
static bool asks_alike(const struct flow *f, unsigned p, unsigned q, bool *ret_not)
{
    bool not_a, not_b;
    V a = condition_of(f, p, &not_a), b = condition_of(f, q, &not_b);
    *ret_not = not_a != not_b;
    return a && b && is_alike_question(a, b, ret_not);
}

/* Operations that only lanes of side i of one branch come to, and such that only lanes of side j of the other do. */
static void sides_look(struct fork *a, unsigned i, struct fork *b, unsigned j, bool *ret, bool *ret_any)
{
    const struct operation *op = a->m->operations.at;
    V phis[DEPTH_MAX];
    for (size_t x = 0; x < a->m->operations.n; x++)
        for (size_t y = 0; a->only[i][op[x].block] && y < a->m->operations.n; y++) {
            if (!b->only[j][op[y].block] || op[x].block == op[y].block || !may_match(&op[x], &op[y]))
                continue;
            bool here = (op[x].mask && is_made_here(a->m, op[x].mask, a->only[i], phis, 0)) ||
                        (op[y].mask && is_made_here(a->m, op[y].mask, b->only[j], phis, 0));
            if (!here)
                *ret_any = ret[op[x].block] = ret[op[y].block] = true;
        }
}

static bool opposites_look(struct fork *a, bool *ret, bool *ret_any)
{
    const struct member_masks *m = a->m;
    bool ok = true, negated;
    for (unsigned q = a->at + 1; ok && q < m->f->n; q++) {
        if (!m->f->blocks[q].parts || !asks_alike(m->f, a->at, q, &negated))
            continue;
        struct fork b = { .m = m, .at = q };
        ok = fork_init(&b);
        for (unsigned i = 0; ok && i < 2; i++)
            sides_look(a, i, &b, negated ? i : 1 - i, ret, ret_any);
        aw_arena_fini(&b.arena);
    }
    return ok;
}

/* ---- Unrolled loops */

static bool loop_keep(const struct flow *f, const bool *body, void *data)
{
    struct member_masks *m = data;
    bool *copy = AW_NEW_ARRAY(&m->f->arena, bool, f->n);
    if (copy && aw_vec_push(&m->loops, copy))
        memcpy(copy, body, f->n * sizeof *copy);
    else
        m->failed = true;
    return true;
}

/* The head of the innermost loop around that of number `loop`, or f->n. */
static unsigned head_around(const struct member_masks *m, size_t loop)
{
    for (size_t i = loop; i--;)
        if (m->loops.at[i][head_of(m->loops.at[loop])])
            return head_of(m->loops.at[i]);
    return m->f->n;
}

static bool not_into(void *data, int from, int to)
{
    (void)from;
    return (unsigned)to != *(const unsigned *)data;
}

/* ret[]: blocks that lanes come to behind the loop, in the same round of the one around it. */
static bool behind_find(const struct member_masks *m, size_t loop, bool *ret)
{
    const bool *body = m->loops.at[loop];
    unsigned until = head_around(m, loop);
    memcpy(ret, body, m->f->n * sizeof *ret);
    bool ok = ptx_flow_walk(m->f, ret, not_into, &until);
    for (unsigned i = 0; i < m->f->n; i++)
        ret[i] &= !body[i];
    return ok;
}

/* The same operation of constants that are the same? */
static bool is_alike(V a, V b)
{
    if (ptx_simt_called(a) == PTX_SIMT_NONE || ptx_simt_called(a) != ptx_simt_called(b))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(a); i++) {
        V x = LLVMGetOperand(a, i), y = LLVMGetOperand(b, i);
        if (x != y && (LLVMIsAConstant(x) || LLVMIsAConstant(y)))
            return false;
    }
    return true;
}

/* How many operations of the loop are as `op`, with masks from outside. */
static unsigned copies(const struct member_masks *m, const bool *body, const struct operation *op)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->operations.n; i++) {
        const struct operation *x = &m->operations.at[i];
        V phis[DEPTH_MAX];
        n += body[x->block] && is_alike(x->call, op->call) && !is_made_here(m, x->mask, body, phis, 0);
    }
    return n;
}

/* Do lanes part somewhere of which some go by way of the loop and come to block `at` only when they have met the others? */
static bool separated(const struct member_masks *m, const bool *body, unsigned at, bool *side, bool *ret)
{
    const struct flow *f = m->f;
    bool ok = true;
    *ret = false;
    for (unsigned p = 0; ok && !*ret && p < f->n; p++)
        for (unsigned j = 0; ok && f->blocks[p].parts && j < f->blocks[p].n_succ && !*ret; j++) {
            memset(side, 0, f->n * sizeof *side);
            ok = ptx_flow_side(f, p, f->blocks[p].succ[j], f->n, f->n, side);
            *ret = ok && side[head_of(body)] && !side[at];
        }
    return ok;
}

/* Operations of the loop, and others before it or behind it, that look like one operation of a loop that was unrolled. */
static bool unrolled_look(const struct member_masks *m, size_t loop, bool *ret, bool *ret_any)
{
    const struct flow *f = m->f;
    const bool *body = m->loops.at[loop];
    bool *behind = AW_NEW_ARRAY(&m->f->arena, bool, f->n), *own = AW_NEW_ARRAY(&m->f->arena, bool, f->n);
    bool *side = AW_NEW_ARRAY(&m->f->arena, bool, f->n), apart;
    if (!behind || !own || !side || !behind_find(m, loop, behind))
        return false;
    for (size_t i = 0; i < m->operations.n; i++) {
        const struct operation *z = &m->operations.at[i];
        V phis[DEPTH_MAX];
        if (body[z->block] || copies(m, body, z) < 2)
            continue;
        own[z->block] = true;
        bool made = is_made_here(m, z->mask, behind[z->block] ? behind : own, phis, 0);
        own[z->block] = false;
        if (!separated(m, body, z->block, side, &apart))
            return false;
        for (size_t k = 0; !made && apart && k < m->operations.n; k++) {
            const struct operation *x = &m->operations.at[k];
            if (body[x->block] && is_alike(x->call, z->call))
                *ret_any = ret[x->block] = ret[z->block] = true;
        }
    }
    return true;
}

/* ---- Places in turn: lanes wait at the one while others go on to the other */

/* Operations that may match by kind and mask, where these are the same. */
struct turn {
    enum ptx_simt kind;
    V mask;
    bool *held_up; /* blocks that lanes do not leave while others of the mask wait at such an operation */
};

struct turns {
    const struct member_masks *m;
    AW_VEC(struct turn) kinds;
    size_t words;       /* of a row of bits, one for each block */
    uint64_t *sided;    /* a row for each operation: branches that only lanes of one side come from to it */
    uint64_t *seen;     /* one row */
    bool any;           /* there is a bit in sided */
};

/* Does an operation of all lanes wait for those at an operation of another kind? */
static bool holds_up(const struct turn *t, V z)
{
    V mask = members_mask(z);
    if (ptx_flow_is_barrier(z))
        return true;
    return mask && t->kind != PTX_SIMT_NONE && ptx_simt_called(z) != t->kind && (mask == t->mask || ptx_flow_is_whole(z));
}

static bool turn_add(struct turns *t, const struct operation *x)
{
    const struct flow *f = t->m->f;
    for (size_t i = 0; i < t->kinds.n; i++)
        if (t->kinds.at[i].kind == x->kind && t->kinds.at[i].mask == x->mask)
            return true;
    struct turn turn = { x->kind, x->mask, AW_NEW_ARRAY(&t->m->f->arena, bool, f->n) };
    for (unsigned b = 0; turn.held_up && b < f->n; b++)
        for (V z = LLVMGetFirstInstruction(f->blocks[b].bb); z; z = LLVMGetNextInstruction(z))
            turn.held_up[b] |= holds_up(&turn, z);
    return turn.held_up && aw_vec_push(&t->kinds, turn);
}

static bool turns_init(struct turns *t, struct member_masks *m)
{
    bool ok = true;
    *t = (struct turns){ .m = m, .words = (m->f->n + 63) / 64 };
    t->sided = AW_NEW_ARRAY(&m->f->arena, uint64_t, t->words * (m->operations.n + 1));
    t->seen = AW_NEW_ARRAY(&m->f->arena, uint64_t, t->words);
    for (size_t i = 0; ok && i < m->operations.n; i++)
        ok = turn_add(t, &m->operations.at[i]);
    return ok && t->sided && t->seen;
}

/* Is the mask of lanes that agree in the branch's condition? */
static bool is_of_branch(const struct flow *f, V mask, unsigned at, unsigned depth)
{
    bool negated;
    V c = condition_of(f, at, &negated);
    if (!c || !mask || !LLVMIsAInstruction(mask) || depth == DEPTH_MAX)
        return false;
    if (LLVMIsABinaryOperator(mask) && LLVMGetInstructionOpcode(mask) == LLVMAnd)
        return is_of_branch(f, LLVMGetOperand(mask, 0), at, depth + 1) || is_of_branch(f, LLVMGetOperand(mask, 1), at, depth + 1);
    return ptx_simt_called(mask) == PTX_SIMT_BALLOT &&
           is_alike_question(without_not(LLVMGetOperand(mask, 1), &negated), c, &negated);
}

/* Notes which operations are on a side of the branch. */
static void turns_note(struct turns *t, const struct fork *k)
{
    for (size_t y = 0; y < t->m->operations.n; y++) {
        const struct operation *op = &t->m->operations.at[y];
        bool on = false;
        for (unsigned j = 0; j < k->n; j++)
            on |= is_sided(k, j, op->block);
        if (!on || is_of_branch(t->m->f, op->mask, k->at, 0))
            continue;
        t->sided[y * t->words + k->at / 64] |= UINT64_C(1) << k->at % 64;
        t->any = true;
    }
}

static bool not_behind(void *held_up, int from, int to)
{
    (void)to;
    return !((const bool *)held_up)[from];
}

/* ret[]: blocks that lanes come to which do not take side i, while others wait at an operation on that side. */
static bool others_find(const struct turns *t, const struct fork *k, unsigned i, const struct turn *x, bool *ret)
{
    const struct flow *f = t->m->f;
    const unsigned *succ = f->blocks[k->at].succ;
    memset(ret, 0, f->n * sizeof *ret);
    for (unsigned j = 0; j < k->n; j++)
        if (succ[j] != succ[i])
            ret[succ[j]] = true;
    if (!ptx_flow_walk(f, ret, not_behind, x->held_up))
        return false;
    memset(t->seen, 0, t->words * sizeof *t->seen);
    for (unsigned b = 0; b < f->n; b++)
        t->seen[b / 64] |= (uint64_t)ret[b] << b % 64;
    return true;
}

/* May lanes that have come to the blocks in others[] be at operation y, which is on a side of a branch there? */
static bool comes_next(const struct turns *t, const struct turn *x, size_t y, const bool *others)
{
    const struct operation *op = &t->m->operations.at[y];
    V phis[DEPTH_MAX];
    bool sided = false;
    if (!others[op->block] || !may_match(&(struct operation){ NULL, 0, x->kind, x->mask }, op))
        return false;
    for (size_t w = 0; w < t->words; w++)
        sided |= t->sided[y * t->words + w] & t->seen[w];
    if (!sided || (op->mask && is_made_here(t->m, op->mask, others, phis, 0)))
        return false;
    for (V z = LLVMGetFirstInstruction(t->m->f->blocks[op->block].bb); z != op->call; z = LLVMGetNextInstruction(z))
        if (holds_up(x, z))
            return false;
    return true;
}

/* Does x, of the kind, wait on side i for lanes that may come elsewhere? */
static bool waits_there(const struct fork *k, unsigned i, const struct turn *kind, const struct operation *x)
{
    V phis[DEPTH_MAX];
    return is_sided(k, i, x->block) && x->kind == kind->kind && x->mask == kind->mask &&
           !(x->mask && (is_made_here(k->m, x->mask, k->only[i], phis, 0) || is_of_branch(k->m->f, x->mask, k->at, 0)));
}

/* Operations of a kind on side i, and those that lanes may be at which have not come there. */
static bool turn_look(struct turns *t, struct fork *k, unsigned i, const struct turn *kind, bool *ret, bool *ret_any)
{
    const struct operation *op = t->m->operations.at;
    size_t n = t->m->operations.n, x = 0;
    while (x < n && !waits_there(k, i, kind, &op[x]))
        x++;
    if (x == n)
        return true;
    bool *others = AW_NEW_ARRAY(&k->arena, bool, t->m->f->n), found = false;
    if (!others || !others_find(t, k, i, kind, others))
        return false;
    for (size_t y = 0; y < n; y++)
        if (comes_next(t, kind, y, others))
            found = ret[op[y].block] = true;
    for (; found && x < n; x++)
        if (waits_there(k, i, kind, &op[x]))
            *ret_any = ret[op[x].block] = true;
    return true;
}

static bool turns_look(struct turns *t, bool *ret, bool *ret_any)
{
    bool ok = true;
    for (unsigned p = 0; ok && t->any && p < t->m->f->n; p++) {
        if (!t->m->f->blocks[p].parts)
            continue;
        struct fork k = { .m = t->m, .at = p };
        ok = fork_init(&k);
        for (unsigned i = 0; ok && i < k.n; i++)
            for (size_t j = 0; ok && j < t->kinds.n; j++)
                ok = turn_look(t, &k, i, &t->kinds.at[j], ret, ret_any);
        aw_arena_fini(&k.arena);
    }
    return ok;
}

/* Branches at which lanes part, each by itself and with those behind it. */
static bool forks_look(struct turns *t, bool *ret, bool *ret_any)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < t->m->f->n; i++) {
        if (!t->m->f->blocks[i].parts)
            continue;
        struct fork k = { .m = t->m, .at = i };
        ok = fork_init(&k) && fork_look(&k, ret, ret_any) && opposites_look(&k, ret, ret_any);
        if (ok)
            turns_note(t, &k);
        aw_arena_fini(&k.arena);
    }
    return ok;
}

bool ptx_masks_apart(struct flow *f, bool *ret, bool *ret_any, bool *ret_sided)
{
    struct member_masks m = { .f = f };
    struct turns turns = { 0 };
    bool *heads = AW_NEW_ARRAY(&f->arena, bool, f->n);
    *ret_any = false;
    bool ok = heads && functions_find(&m, LLVMGetGlobalParent(LLVMGetBasicBlockParent(f->blocks[0].bb))) && operations_find(&m);
    if (ok && m.operations.n)
        ok = ptx_flow_loops(f, loop_keep, &m, heads) && !m.failed && turns_init(&turns, &m) && forks_look(&turns, ret, ret_any);
    for (size_t i = 0; ok && i < m.loops.n; i++)
        ok = unrolled_look(&m, i, ret, ret_any);
    ok = ok && turns_look(&turns, ret, ret_any);
    *ret_sided = turns.any;
    aw_ptrmap_fini(&m.functions);
    aw_vec_fini(&m.operations);
    aw_vec_fini(&m.loops);
    aw_vec_fini(&turns.kinds);
    return ok;
}
