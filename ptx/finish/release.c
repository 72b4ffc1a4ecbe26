/* Whether lanes that poll memory may wait for lanes of their own wave.
 *
 * Most loops that poll global memory wait for other blocks: a barrier of the grid, a scan that looks back.  Lanes need to be
 * apart for the others of their wave only if those could write something meanwhile, before they come to where the whole wave is
 * waited for: those that went another way, those that left the loop sooner, and those still in a loop that spins before this one.
 *
 * What they write counts, but for
 *   shared memory, where no one waits for that;
 *   plain stores by a kernel argument through which nothing is polled: data;
 *   stores in columns: where each lane polls at, say, p + 1024 * row + 4 * tid, and writes in another row of its own column.
 *   Lanes wait
 *   for nothing that is done for other columns then.  (A program in which one column waits in the opposite order of rows than
 *   another is
 *   not seen.) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/release.h"

#include "base/vec.h"
#include "lower/match.h"

typedef LLVMValueRef V;

/* ---- Addresses as sums: their low 32 bits */
enum { TERMS = 8, DEPTH_MAX = 16 };

struct sum {
    unsigned n;
    V of[TERMS];
    uint32_t by[TERMS], constant;
};

/* The kernel argument's offset that a load reads, or -1. */
static int64_t argument_of(V x)
{
    if (!LLVMIsALoadInst(x) || LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0))) != AS_CONST)
        return -1;
    V p = LLVMGetOperand(x, 0);
    if (LLVMIsAArgument(p))
        return 0;
    bool plain = LLVMIsAGetElementPtrInst(p) && LLVMGetNumIndices(p) == 1 && LLVMIsAArgument(LLVMGetOperand(p, 0));
    V at = plain ? LLVMGetOperand(p, 1) : NULL;
    return at && LLVMIsAConstantInt(at) ? (int64_t)LLVMConstIntGetZExtValue(at) : -1;
}

static bool same(V a, V b)
{
    enum ptx_simt id = ptx_simt_called(a);
    if (a == b)
        return true;
    if (id != PTX_SIMT_NONE)
        return id == ptx_simt_called(b) && ptx_simt_info(id)->traits == PTX_SIMT_PURE && !*ptx_simt_info(id)->args;
    return argument_of(a) >= 0 && argument_of(a) == argument_of(b) && LLVMTypeOf(a) == LLVMTypeOf(b);
}

static bool sum_term(struct sum *s, V v, uint32_t by)
{
    for (unsigned i = 0; i < s->n; i++)
        if (same(s->of[i], v)) {
            s->by[i] += by;
            return true;
        }
    if (s->n == TERMS)
        return false;
    s->of[s->n] = v;
    s->by[s->n++] = by;
    return true;
}

static bool is_wide(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMPointerTypeKind ||
           (LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) >= 32);
}

/* s += v * by.  False: too long. */
static bool sum_add(struct sum *s, V v, uint32_t by, unsigned depth)
{
    if (LLVMIsAConstantInt(v)) {
        s->constant += (uint32_t)LLVMConstIntGetZExtValue(v) * by;
        return true;
    }
    if (!LLVMIsAInstruction(v) || depth == DEPTH_MAX)
        return sum_term(s, v, by);
    V a = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL, b = LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    uint32_t c = b && LLVMIsAConstantInt(b) ? (uint32_t)LLVMConstIntGetZExtValue(b) : 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMIntToPtr: case LLVMPtrToInt:
        return is_wide(v) && is_wide(a) ? sum_add(s, a, by, depth + 1) : sum_term(s, v, by);
    case LLVMAdd: return sum_add(s, a, by, depth + 1) && sum_add(s, b, by, depth + 1);
    case LLVMSub: return sum_add(s, a, by, depth + 1) && sum_add(s, b, -by, depth + 1);
    case LLVMOr:
        return LLVMGetIsDisjoint(v) ? sum_add(s, a, by, depth + 1) && sum_add(s, b, by, depth + 1) : sum_term(s, v, by);
    case LLVMMul: return c ? sum_add(s, a, by * c, depth + 1) : sum_term(s, v, by);
    case LLVMShl: return c && c < 32 ? sum_add(s, a, by << c, depth + 1) : sum_term(s, v, by);
    case LLVMGetElementPtr: {
        LLVMTypeRef element = LLVMGetGEPSourceElementType(v);
        bool bytes = LLVMGetNumIndices(v) == 1 && LLVMGetTypeKind(element) == LLVMIntegerTypeKind &&
                     LLVMGetIntTypeWidth(element) == 8;
        return bytes ? sum_add(s, a, by, depth + 1) && sum_add(s, b, by, depth + 1) : sum_term(s, v, by);
    }
    default: return sum_term(s, v, by);
    }
}

static uint32_t factor(const struct sum *s, V of)
{
    for (unsigned i = 0; i < s->n; i++)
        if (same(s->of[i], of))
            return s->by[i];
    return 0;
}

/* The one kernel argument that an address is made from, or -1. */
static int64_t argument_under(V address)
{
    struct sum s = { 0 };
    int64_t ret = -1;
    if (!sum_add(&s, address, 1, 0))
        return -1;
    for (unsigned i = 0; i < s.n; i++) {
        int64_t at = s.by[i] == 1 && LLVMGetTypeKind(LLVMTypeOf(s.of[i])) == LLVMIntegerTypeKind &&
                     LLVMGetIntTypeWidth(LLVMTypeOf(s.of[i])) == 64 ? argument_of(s.of[i]) : -1;
        if (at >= 0 && ret >= 0)
            return -1;
        ret = at >= 0 ? at : ret;
    }
    return ret;
}

int64_t ptx_release_argument(V address)
{
    return argument_under(address);
}

/* Computed from what is one value for a block, and where `thread` by sums and products from the thread's indices, too: *thread
 * says then whether there are any. */
static bool is_index(V v, bool *thread, unsigned depth)
{
    enum ptx_simt id = ptx_simt_called(v);
    if (id >= PTX_SIMT_TID_X && id <= PTX_SIMT_TID_Z && thread)
        return *thread = true;
    if (id != PTX_SIMT_NONE)
        return id >= PTX_SIMT_NTID_X && id <= PTX_SIMT_NCTAID_Z;
    if (LLVMIsAConstantInt(v) || argument_of(v) >= 0)
        return true;
    if (depth == DEPTH_MAX || !(LLVMIsACastInst(v) || LLVMIsABinaryOperator(v)))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    bool sum = LLVMIsACastInst(v) || is_addition(v) || op == LLVMSub || op == LLVMMul || op == LLVMShl;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!is_index(LLVMGetOperand(v, i), sum ? thread : NULL, depth + 1))
            return false;
    return true;
}

bool ptx_release_own(V a, V b)
{
    struct sum p = { 0 }, q = { 0 };
    bool thread = false;
    if (!sum_add(&p, a, 1, 0) || !sum_add(&q, b, 1, 0) || p.constant != q.constant || p.n != q.n)
        return false;
    for (unsigned i = 0; i < p.n; i++)
        if (factor(&q, p.of[i]) != p.by[i] || !is_index(p.of[i], &thread, 0))
            return false;
    return thread;
}

/* ---- Columns */

/* The same for all lanes of the wave, at any time. */
static bool is_fixed(const struct flow *f, V v)
{
    unsigned at = LLVMIsAInstruction(v) ? ptx_flow_block(f, LLVMGetInstructionParent(v)) : f->n;
    return !ptx_flow_differs(f, v) && !(at < f->n && f->blocks[at].parted);
}

static bool agree(const struct flow *f, const struct sum *p, const struct sum *q, uint32_t size)
{
    for (unsigned i = 0; i < p->n; i++) {
        uint32_t by = p->by[i];
        if ((by - factor(q, p->of[i])) % size)
            return false;
        if (by % size && ptx_simt_called(p->of[i]) != PTX_SIMT_TID_X && !is_fixed(f, p->of[i]))
            return false;
    }
    return true;
}

/* Do lanes never write, at the second address, where another lane of their wave polls, at the first? */
static bool in_columns(const struct flow *f, V polled, V written)
{
    struct sum p = { 0 }, q = { 0 };
    if (!(f->of & PTX_FLOW_ROW) || !sum_add(&p, polled, 1, 0) || !sum_add(&q, written, 1, 0))
        return false;
    uint32_t step = 0;
    for (unsigned i = 0; i < p.n; i++)
        step = ptx_simt_called(p.of[i]) == PTX_SIMT_TID_X ? p.by[i] : step;
    uint32_t size = step * (f->of & PTX_FLOW_WARP ? 32 : 64);
    bool power = step && step < UINT32_C(1) << 25 && !(step & (step - 1));
    return power && !((p.constant - q.constant) % size) && agree(f, &p, &q, size) && agree(f, &q, &p, size);
}

/* ---- What counts */
struct release {
    struct flow *f;
    bool shared;             /* someone may wait for what is in shared memory: looks at it in a loop */
    bool columns;            /* the loop polls by the loads in polls[] alone */
    AW_VEC(V) polls, all;    /* of the loop, and of the kernel */
};

static bool is_global(V address)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == AS_GLOBAL;
}

/* An exchange that may poll: not one that counts, or adds or sets what was computed. */
static bool may_poll(V x)
{
    return LLVMIsAAtomicCmpXchgInst(x) ||
           (LLVMIsAAtomicRMWInst(x) && LLVMIsAConstantInt(LLVMGetOperand(x, 1)) && !ptx_flow_counts(x));
}

/* Is the block in a loop of any kind?  Who waits looks more than once.  `after`: room for a bool for each block. */
static bool in_cycle(struct flow *f, unsigned i, bool *after)
{
    memset(after, 0, f->n * sizeof *after);
    return !ptx_flow_reach(f, i, after) || after[i];
}

static bool look(struct release *r, const bool *body)
{
    bool *after = AW_NEW_ARRAY(&r->f->arena, bool, r->f->n), ok = after != NULL;
    r->columns = true;
    for (unsigned i = 0; ok && i < r->f->n; i++) {
        bool shared = false;
        for (V x = LLVMGetFirstInstruction(r->f->blocks[i].bb); x && ok; x = LLVMGetNextInstruction(x)) {
            bool load = ptx_flow_is_ordered(x), exchange = may_poll(x);
            V address = load || exchange ? LLVMGetOperand(x, 0) : NULL;
            shared |= address && !is_global(address);
            r->columns &= !body[i] || !(LLVMIsAAtomicRMWInst(x) || exchange || (load && !is_global(address)));
            ok = !address || (aw_vec_push(&r->all, address) && (!body[i] || aw_vec_push(&r->polls, address)));
        }
        r->shared |= shared && !r->shared && in_cycle(r->f, i, after);
    }
    return ok;
}

/* A plain store by an argument by which nothing is polled. */
static bool is_data(const struct release *r, V store)
{
    int64_t to = LLVMGetVolatile(store) || LLVMGetOrdering(store) != LLVMAtomicOrderingNotAtomic
                     ? -1
                     : argument_under(LLVMGetOperand(store, 1));
    bool ret = to >= 0;
    for (size_t i = 0; i < r->all.n && ret; i++) {
        int64_t from = is_global(r->all.at[i]) ? argument_under(r->all.at[i]) : 0;
        ret = from >= 0 && from != to;
    }
    return ret;
}

static bool store_releases(const struct release *r, V store)
{
    V address = LLVMGetOperand(store, 1);
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(address));
    if (space == AS_LOCAL || (space == AS_SHARED && !r->shared))
        return false;
    if (space != AS_GLOBAL)
        return true;
    bool columns = r->columns;
    for (size_t i = 0; i < r->polls.n && columns; i++)
        columns = in_columns(r->f, r->polls.at[i], address);
    return !columns && !is_data(r, store);
}

/* Writes what others may wait for. */
static bool releases(const struct release *r, V x)
{
    if (LLVMIsAStoreInst(x))
        return store_releases(r, x);
    if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
        return r->shared || LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0))) != AS_SHARED;
    if (!LLVMIsACallInst(x))
        return false;
    enum ptx_simt id = ptx_simt_called(x);
    if (id != PTX_SIMT_NONE)
        return id == PTX_SIMT_SWAP_128;
    V callee = LLVMGetCalledValue(x);
    return !LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee) || LLVMIsAMemIntrinsic(x);
}

/* No lane of the wave passes it as long as others have not come there. */
static bool holds(const struct release *r, V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    bool warp = r->f->of & PTX_FLOW_WARP;
    if (id != PTX_SIMT_BARRIER && id != PTX_SIMT_BARRIER_REDUCE && id != PTX_SIMT_BARRIER_ARRIVE)
        return warp && ptx_flow_is_whole(x);
    V which = LLVMGetOperand(x, 0), threads = LLVMGetOperand(x, 1);
    return warp || (id != PTX_SIMT_BARRIER_ARRIVE && LLVMIsNull(which) && LLVMIsNull(threads));
}

/* Can lanes that go on at the blocks of at[] release others? */
static bool walk(const struct release *r, bool *at)
{
    const struct flow *f = r->f;
    AW_VEC(unsigned) work = { 0 };
    bool ret = false;
    for (unsigned i = 0; i < f->n; i++)
        ret |= at[i] && !aw_vec_push(&work, i);
    while (work.n && !ret) {
        const struct flow_block *b = &f->blocks[work.at[--work.n]];
        bool held = false;
        for (V x = LLVMGetFirstInstruction(b->bb); x && !held && !ret; x = LLVMGetNextInstruction(x)) {
            held = holds(r, x);
            ret = !held && releases(r, x);
        }
        for (unsigned j = 0; j < b->n_succ && !held; j++) {
            unsigned s = b->succ[j];
            ret |= !at[s] && !aw_vec_push(&work, s);
            at[s] = true;
        }
    }
    aw_vec_fini(&work);
    return ret;
}

/* ---- Who may be elsewhere */

/* Lanes that have come apart in a loop that spins are apart behind it. */
static bool others_spin(struct flow *f, const bool *known, unsigned head, bool *ret)
{
    bool *ahead = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = ahead != NULL;
    for (unsigned i = 0; ok && i < f->n; i++) {
        if (!known[i])
            continue;
        memset(ahead, 0, f->n * sizeof *ahead);
        ok = ptx_flow_reach(f, i, ahead);
        ret[i] |= ahead[head];
    }
    return ok;
}

/* Adds where lanes go on that leave the loop before others. */
static bool others_leave(struct flow *f, const bool *body, bool *ret)
{
    bool *inside = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = inside != NULL;
    for (unsigned i = 0; ok && i < f->n; i++) {
        const struct flow_block *b = &f->blocks[i];
        bool out = false, apart = b->parts;
        for (unsigned j = 0; body[i] && j < b->n_succ; j++)
            out |= !body[b->succ[j]];
        if (!out)
            continue;
        memset(inside, 0, f->n * sizeof *inside);
        ok = ptx_flow_others(f, i, body, inside);
        for (unsigned j = 0; j < f->n && !apart; j++)
            apart = inside[j];
        for (unsigned j = 0; j < b->n_succ && apart; j++)
            ret[b->succ[j]] |= !body[b->succ[j]];
    }
    return ok;
}

bool ptx_release_possible(struct flow *f, const bool *known, const bool *body)
{
    struct release r = { .f = f };
    bool *at = AW_NEW_ARRAY(&f->arena, bool, f->n);
    unsigned head = 0;
    while (!body[head])
        head++;
    bool ok = at && ptx_flow_others(f, head, NULL, at) && others_spin(f, known, head, at) && others_leave(f, body, at) &&
              look(&r, body);
    bool ret = !ok || walk(&r, at);
    aw_vec_fini(&r.polls);
    aw_vec_fini(&r.all);
    return ret;
}
