/* Updates in place that lack a barrier: write-after-read hazards between the warps of a block, by addresses.
 *
 *   left = s[t - 1]; right = s[t + 1];  s[t] = (left + right) / 2;
 *
 * That is a race; but on cards, where warps go side by side, all have read long before the first one writes, and such programs
 * are right there.  Here a warp would be through before the next one begins.  So aw.meet is put before the write, where warps may
 * wait for each other (simt/schedule/fission.c says whether they can).  If both are in a branch that some threads take alone, it
 * is taken in two halves, and they meet in between.
 *
 * Addresses are sums: of constants, of values that are the same for the block, of multiples of threads' indices.  It is a hazard
 *   - where a thread reads, a distance away from where it writes itself, what another thread writes;
 *   - where the indices have other factors, as in s[x][y] = s[y][x];
 *   - where a thread reads what it writes, and others of the block do so at the same place.
 * A distance that is known only when the kernel runs counts where a guard compares an index with it (if (t >= d) s[t] += s[t -
 * d]); sums by halves (if (t < d) s[t] += s[t + d]) are none, and what else guards tell apart.  Nothing that is missed or found
 * too much makes code wrong which has no race: a meeting costs time, and that is all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "base/arena.h"
#include "base/vec.h"
#include "finish/tangle.h"
#include "lower/branch_halves.h"
#include "lower/graph.h"
#include "pass/pass.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

enum {
    GENERIC = 0, GLOBAL = 1, SHARED = 3, /* address spaces */
    MAX_TERMS = 8, MAX_DEPTH = 12,       /* of a sum */
    MAX_SHIFT = 24,
    MAX_FACTOR = 1 << MAX_SHIFT,
    MAX_GUARDS = 12,
    MAX_BACK = 4,                        /* blocks before the one with the write */
    MAX_READS = 64, MAX_STEPS = 1000,    /* of a search */
    MAX_VALUES = 100, MAX_JOINS = 16,    /* of which a value is made */
    MAX_MEETINGS = 64,
    WARP = 32,
};

#define MAX_CONSTANT ((int64_t)1 << 40)

/* constant + the sum of `times` times `of`, and what it is counted from. */
struct index_sum {
    V base;
    int64_t constant;
    bool low; /* of what is added now, the low 32 bits count */
    struct term {
        V of;
        int64_t times;
    } term[MAX_TERMS];
    int n;
};

struct plain_access {
    V x;
    bool writes;
    bool plain;       /* its address is a sum of indices and of what is the same for the block */
    unsigned indices; /* that are in its address, of a write */
    unsigned space, size;
    struct index_sum at;
};

struct guards {
    struct ptx_way_guard g[2 * MAX_GUARDS]; /* of a block, innermost first; then perhaps those of another one */
    int n;
    bool all; /* no more than that */
};

struct places {
    V kernel;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    struct aw_arena arena;
    struct aw_ptrmap index; /* 1 + place of a block in reverse postorder */
    BB *blocks;
    int n, *idom;
    struct ptx_edges *into, *onward, ends; /* of blocks that return */
    int *pdom;              /* nearest postdominator; n: none but the end; -1: no way leads to it */
    int64_t extent[3];      /* of a block; a guess where it is not known */
    int64_t threads;        /* of a block; 0: not known */
    const struct guards *hold; /* where an address is looked at; NULL: not known */
};

/* ---- Sums */

static bool term_add(struct index_sum *s, V of, int64_t times)
{
    for (int i = 0; i < s->n; i++)
        if (s->term[i].of == of) {
            s->term[i].times += times;
            if (!s->term[i].times)
                s->term[i] = s->term[--s->n];
            return true;
        }
    if (s->n == MAX_TERMS)
        return false;
    s->term[s->n++] = (struct term){ of, times };
    return true;
}

static bool constant_add(struct index_sum *s, int64_t c, int64_t times)
{
    int64_t product, sum;
    c = s->low ? (int32_t)c : c;
    if (__builtin_mul_overflow(c, times, &product) || __builtin_add_overflow(s->constant, product, &sum) ||
        sum > MAX_CONSTANT || sum < -MAX_CONSTANT)
        return false;
    s->constant = sum;
    return true;
}

/* Of a thread's index: which; else -1. */
static int index_of(V v)
{
    enum ptx_simt id = LLVMIsACallInst(v) ? ptx_simt_called(v) : PTX_SIMT_NONE;
    return id == PTX_SIMT_TID_X ? 0 : id == PTX_SIMT_TID_Y ? 1 : id == PTX_SIMT_TID_Z ? 2 : -1;
}

/* How often the index is in a sum; terms made of indices otherwise do not count. */
static int64_t factor(const struct index_sum *s, int index)
{
    for (int i = 0; i < s->n; i++)
        if (index_of(s->term[i].of) == index)
            return s->term[i].times;
    return 0;
}

static bool sum_add(const struct places *p, struct index_sum *s, V v, int64_t times, int depth);

/* What a selection is where guards hold; NULL: they do not say. */
static V selected(const struct places *p, V v)
{
    for (int i = 0; p->hold && i < p->hold->n; i++)
        if (p->hold->g[i].condition == LLVMGetOperand(v, 0))
            return LLVMGetOperand(v, p->hold->g[i].holds ? 1 : 2);
    return NULL;
}

/* Is it a sum of indices alone that keeps to the ones of `ones`, or does where it wraps round at `ring`? */
static bool is_within(const struct places *p, V v, int64_t ones, bool ring, int depth)
{
    struct index_sum s = { 0 };
    if (!p->threads || !sum_add(p, &s, v, 1, depth))
        return false;
    int64_t high = ring ? 0 : s.constant, low = high, step = ones & -ones;
    for (int i = 0; i < s.n; i++) {
        int index = index_of(s.term[i].of);
        if (index < 0 || s.term[i].times % step)
            return false;
        int64_t by = s.term[i].times * (p->extent[index] - 1);
        high += by > 0 ? by : 0;
        low += by < 0 ? by : 0;
    }
    return s.constant % step == 0 && (ring ? high - low <= ones : low >= 0 && high <= ones);
}

static bool is_ones(int64_t c)
{
    return c > 0 && c < MAX_CONSTANT && !((c + (c & -c)) & c);
}

/* The low word of an address: that of a shared one in lifted code, whose high word says that it is one. */
static bool low_word_add(const struct places *p, struct index_sum *s, V v, int64_t times, int depth)
{
    bool low = s->low;
    s->low = true;
    bool ok = sum_add(p, s, v, times, depth);
    s->low = low;
    return ok;
}

/* Adds `times` times a value: by constants and by what it is made of, without a thought of results that wrap round. */
static bool sum_add(const struct places *p, struct index_sum *s, V v, int64_t times, int depth)
{
    int64_t c;
    if (times > MAX_FACTOR || times < -MAX_FACTOR)
        return false;
    if (ptx_host_constant(v, &c))
        return constant_add(s, c, times);
    bool expression = LLVMIsAConstantExpr(v);
    V a = depth && (LLVMIsAInstruction(v) || expression) && LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    V b = a && LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    bool constant = ptx_host_constant(b, &c);
    switch (!a ? LLVMRet : expression ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v)) {
    case LLVMAdd: case LLVMOr:
        return sum_add(p, s, a, times, depth - 1) && sum_add(p, s, b, times, depth - 1);
    case LLVMSub:
        return sum_add(p, s, a, times, depth - 1) && sum_add(p, s, b, -times, depth - 1);
    case LLVMShl:
        return constant && c >= 0 && c < MAX_SHIFT ? sum_add(p, s, a, times * (1 << c), depth - 1) : term_add(s, v, times);
    case LLVMMul:
        if (ptx_host_constant(a, &c)) { /* not tidied yet */
            constant = true;
            a = b;
        }
        return constant && c < MAX_FACTOR && c > -MAX_FACTOR ? sum_add(p, s, a, times * c, depth - 1) : term_add(s, v, times);
    case LLVMAnd: /* (t + 1) & 255: neighbours in a ring */
        if (!constant || !is_ones(c) || !is_within(p, a, c, true, depth - 1))
            return term_add(s, v, times);
        return sum_add(p, s, a, times, depth - 1);
    case LLVMXor: /* t ^ 255: what is left of it */
        if (!constant || !is_ones(c) || !is_within(p, a, c, false, depth - 1))
            return term_add(s, v, times);
        return constant_add(s, c, times) && sum_add(p, s, a, -times, depth - 1);
    case LLVMSelect:
        b = selected(p, v);
        return b ? sum_add(p, s, b, times, depth - 1) : term_add(s, v, times);
    case LLVMTrunc:
        if (LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 32)
            return low_word_add(p, s, a, times, depth - 1);
        return LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 1 ? sum_add(p, s, a, times, depth - 1) : term_add(s, v, times);
    case LLVMZExt: case LLVMSExt: case LLVMFreeze:
        return LLVMGetIntTypeWidth(LLVMTypeOf(a)) > 1 ? sum_add(p, s, a, times, depth - 1) : term_add(s, v, times);
    default:
        return term_add(s, v, times);
    }
}

/* What a generic address is in shared memory, if it is there: unoptimised code makes one of each, and of machine code that was
 * lifted a selection by the address's high word.  NULL: no such thing. */
static V shared_of(V address)
{
    V choice = LLVMIsAIntToPtrInst(address) ? LLVMGetOperand(address, 0) : NULL;
    V word = choice && LLVMIsASelectInst(choice) ? LLVMGetOperand(choice, 1) : NULL;
    V cast = word && LLVMIsAPtrToIntInst(word) ? LLVMGetOperand(word, 0) : address;
    return LLVMIsAAddrSpaceCastInst(cast) && LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(cast, 0))) == SHARED
               ? LLVMGetOperand(cast, 0)
               : NULL;
}

static bool address_sum(const struct places *p, V address, struct index_sum *ret)
{
    *ret = (struct index_sum){ 0 };
    for (int depth = MAX_DEPTH; depth > 0; depth--) {
        V shared = shared_of(address);
        if (shared) {
            address = shared;
        } else if (LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) == 2) {
            int64_t bytes = (int64_t)LLVMABISizeOfType(p->layout, LLVMGetGEPSourceElementType(address));
            if (!sum_add(p, ret, LLVMGetOperand(address, 1), bytes, MAX_DEPTH))
                return false;
            address = LLVMGetOperand(address, 0);
        } else if (LLVMIsAIntToPtrInst(address)) {
            return sum_add(p, ret, LLVMGetOperand(address, 0), 1, MAX_DEPTH);
        } else {
            break;
        }
    }
    ret->base = address;
    return true;
}

/* a - b; false: they are counted from different places. */
static bool sum_subtract(const struct index_sum *a, const struct index_sum *b, struct index_sum *ret)
{
    *ret = *a;
    ret->constant -= b->constant;
    bool ok = a->base == b->base;
    for (int i = 0; i < b->n && ok; i++)
        ok = term_add(ret, b->term[i].of, -b->term[i].times);
    return ok;
}

/* ---- What values depend on */

/* What a value is made of: bits 0 to 2, threads' indices; OTHER, what may differ from thread to thread besides. */
enum { INDICES = 7, OTHER = 8 };

/* What has been looked at of a value: how much more may be, and which joins. */
struct makings {
    int values, joins;
    V join[MAX_JOINS];
};

/* Of what comes round a loop, or by several ways, each join counts once. */
static bool is_new_join(V phi, struct makings *m)
{
    for (int i = 0; i < m->joins; i++)
        if (m->join[i] == phi)
            return false;
    m->join[m->joins++] = phi;
    return true;
}

static unsigned depends_within(V v, struct makings *m)
{
    if (LLVMIsConstant(v) || LLVMIsAArgument(v))
        return 0;
    if (!LLVMIsAInstruction(v) || --m->values < 0 || m->joins == MAX_JOINS)
        return OTHER;
    if (LLVMIsAPHINode(v) && !is_new_join(v, m))
        return 0;
    int index = index_of(v);
    enum ptx_simt id = LLVMIsACallInst(v) ? ptx_simt_called(v) : PTX_SIMT_NONE;
    if (index >= 0)
        return 1u << index;
    if (id >= PTX_SIMT_NTID_X && id <= PTX_SIMT_NCTAID_Z)
        return 0;
    bool pure = id != PTX_SIMT_NONE && id != PTX_SIMT_LANEID && id != PTX_SIMT_WARPID &&
                ptx_simt_info(id)->traits == PTX_SIMT_PURE;
    bool known = LLVMIsALoadInst(v) && ptx_metadata(v, PTX_INVARIANT);
    bool intrinsic = ptx_intrinsic_called(v) != PTX_INTRINSIC_NONE;
    if ((LLVMIsACallInst(v) && !pure && !intrinsic) || (LLVMIsALoadInst(v) && !known) || LLVMIsAAllocaInst(v))
        return OTHER;
    unsigned all = 0;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v) && !(all & OTHER); i++) {
        V x = LLVMGetOperand(v, i);
        if (!LLVMIsAFunction(x))
            all |= depends_within(x, m);
    }
    return all;
}

static unsigned depends(V v)
{
    struct makings m = { .values = MAX_VALUES };
    return depends_within(v, &m);
}

static unsigned sum_depends(const struct index_sum *s)
{
    unsigned all = 0;
    for (int i = 0; i < s->n; i++)
        all |= depends(s->term[i].of);
    return all;
}

static bool is_plain(const struct index_sum *s)
{
    for (int i = 0; i < s->n; i++)
        if (index_of(s->term[i].of) < 0 && depends(s->term[i].of))
            return false;
    return true;
}

/* ---- Guards */

/* The one block before, by edges forwards; -1: none or several. */
static int only_before(const struct places *p, int b)
{
    int found = -1, n = 0;
    for (int i = 0; i < p->into[b].n; i++)
        if (p->into[b].at[i] < b && p->into[b].at[i] != found) {
            found = p->into[b].at[i];
            n++;
        }
    return n == 1 ? found : -1;
}

/* Where all come to a block in the end, as behind a loop, the branch to it is no guard. */
static void guards_find(const struct places *p, int b, struct guards *ret)
{
    ret->n = 0;
    while (b > 0 && ret->n < MAX_GUARDS) {
        int before = only_before(p, b);
        V last = before >= 0 ? LLVMGetBasicBlockTerminator(p->blocks[before]) : NULL;
        if (last && LLVMIsABranchInst(last) && LLVMIsConditional(last) && p->pdom[before] != b)
            ret->g[ret->n++] = (struct ptx_way_guard){ LLVMGetCondition(last), LLVMGetSuccessor(last, 0) == p->blocks[b],
                                               p->blocks[before] };
        b = before >= 0 ? before : p->idom[b];
    }
    ret->all = b == 0;
}

/* Of a guard that compares by order: it says that `ret` is less than 0, or not greater (*ret_equal). */
static bool guard_sum(const struct places *p, const struct ptx_way_guard *g, struct index_sum *ret, bool *ret_equal)
{
    *ret = (struct index_sum){ 0 };
    if (!LLVMIsAICmpInst(g->condition))
        return false;
    bool less, equal;
    switch (LLVMGetICmpPredicate(g->condition)) {
    case LLVMIntULT: case LLVMIntSLT: less = true; equal = false; break;
    case LLVMIntULE: case LLVMIntSLE: less = true; equal = true; break;
    case LLVMIntUGT: case LLVMIntSGT: less = false; equal = false; break;
    case LLVMIntUGE: case LLVMIntSGE: less = false; equal = true; break;
    default: return false;
    }
    int64_t times = less == g->holds ? 1 : -1;
    *ret_equal = equal == g->holds;
    return sum_add(p, ret, LLVMGetOperand(g->condition, 0), times, MAX_DEPTH) &&
           sum_add(p, ret, LLVMGetOperand(g->condition, 1), -times, MAX_DEPTH);
}

/* Does it say that the index is, or is not (*ret_equal), a number? */
static bool guard_equals(const struct ptx_way_guard *g, int index, int64_t *ret, bool *ret_equal)
{
    if (!LLVMIsAICmpInst(g->condition) || index_of(LLVMGetOperand(g->condition, 0)) != index ||
        !ptx_host_constant(LLVMGetOperand(g->condition, 1), ret))
        return false;
    LLVMIntPredicate how = LLVMGetICmpPredicate(g->condition);
    *ret_equal = (how == LLVMIntEQ) == g->holds;
    return how == LLVMIntEQ || how == LLVMIntNE;
}

/* What guards leave of an index: first .. end-1. */
static void index_range(const struct places *p, const struct guards *all, int index, int64_t *ret_first, int64_t *ret_end)
{
    *ret_first = 0;
    *ret_end = p->extent[index];
    for (int i = 0; i < all->n; i++) {
        struct index_sum s;
        bool equal;
        int64_t c;
        if (guard_equals(&all->g[i], index, &c, &equal)) {
            if (equal ? c > *ret_first : c == *ret_first)
                *ret_first = c + !equal;
            if (equal ? c + 1 < *ret_end : c + 1 == *ret_end)
                *ret_end = c + equal;
            continue;
        }
        if (!guard_sum(p, &all->g[i], &s, &equal) || s.n != 1 || index_of(s.term[0].of) != index)
            continue;
        c = s.constant; /* +-t + c < 0 */
        if (s.term[0].times == 1 && -c + equal < *ret_end)
            *ret_end = -c + equal;
        if (s.term[0].times == -1 && c + !equal > *ret_first)
            *ret_first = c + !equal;
    }
}

/* Does a guard part threads in another way than by comparing indices in order: by a remainder, by several indices? */
static bool parts_otherwise(const struct places *p, const struct guards *all)
{
    for (int i = 0; i < all->n; i++) {
        struct index_sum s;
        bool equal;
        int64_t c;
        unsigned of = depends(all->g[i].condition) & INDICES;
        int index = of & 1 ? 0 : of & 2 ? 1 : 2;
        if (of && ((of & (of - 1)) ||
                   (!guard_equals(&all->g[i], index, &c, &equal) && !guard_sum(p, &all->g[i], &s, &equal))))
            return true;
    }
    return false;
}

/* ---- Hazards */

/* Does another thread write what one reads `apart` bytes from where it writes? */
static bool meets_at_distance(const struct places *p, const struct guards *all, const struct plain_access *read,
                              const struct plain_access *write, int64_t apart)
{
    if (parts_otherwise(p, all))
        return false;
    for (int d = 0; d < 3; d++) {
        int64_t by = factor(&write->at, d), first, end;
        if (!by)
            continue;
        index_range(p, all, d, &first, &end);
        for (int64_t k = apart / by - 1; k <= apart / by + 1; k++) {
            int64_t off = apart - by * k, threads = k < 0 ? -k : k;
            bool overlaps = off < (int64_t)write->size && off > -(int64_t)read->size;
            if (k && overlaps && threads < end - first && (end - first > WARP || p->extent[1] * p->extent[2] > 1))
                return true;
        }
    }
    return false;
}

/* The same at a distance that is known when it runs: by what guards say. */
static bool meets_behind_guard(const struct places *p, const struct guards *all, const struct plain_access *write,
                               const struct index_sum *apart)
{
    bool compared = false;
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < all->n; i++) {
            struct index_sum s;
            bool equal, with = true, against = true;
            int64_t by = factor(&write->at, d), way = guard_sum(p, &all->g[i], &s, &equal) ? factor(&s, d) : 0;
            if (!by || (way != 1 && way != -1))
                continue;
            for (int j = 0; j < apart->n; j++) {
                int64_t in = 0;
                for (int k = 0; k < s.n; k++)
                    if (s.term[k].of == apart->term[j].of)
                        in = s.term[k].times * way;
                with &= in && in * by == apart->term[j].times;
                against &= in && in * by == -apart->term[j].times;
            }
            if (against && way == 1)
                return false; /* t < d: reads begin where writes end */
            compared |= with;
        }
    return compared && !parts_otherwise(p, all);
}

/* Indices by other factors: do the ranges overlap? */
static bool ranges_overlap(const struct places *p, const struct guards *all, const struct plain_access *read,
                           const struct plain_access *write)
{
    const struct plain_access *of[2] = { read, write };
    int64_t first[2], end[2];
    if (!p->threads || parts_otherwise(p, all))
        return false;
    for (int i = 0; i < 2; i++) {
        first[i] = of[i]->at.constant;
        end[i] = first[i] + of[i]->size;
        for (int d = 0; d < 3; d++) {
            int64_t by = factor(&of[i]->at, d), low, high;
            index_range(p, all, d, &low, &high);
            first[i] += by < 0 ? by * (high - 1) : by * low;
            end[i] += by < 0 ? by * low : by * (high - 1);
        }
    }
    return first[0] < end[1] && first[1] < end[0];
}

/* Do threads of several warps update the same place? */
static bool is_common_place(const struct places *p, const struct guards *all, const struct plain_access *write)
{
    unsigned missing = 0, guarded = 0;
    for (int d = 0; d < 3; d++)
        if (p->extent[d] > 1 && !(write->indices & 1u << d))
            missing |= 1u << d;
    for (int i = 0; i < all->n; i++)
        guarded |= depends(all->g[i].condition);
    return p->threads > WARP && all->all && missing && !(guarded & (missing | OTHER));
}

static bool is_hazard(const struct places *p, const struct guards *all, const struct plain_access *read,
                      const struct plain_access *write)
{
    struct index_sum apart;
    if (read->space != write->space || !sum_subtract(&read->at, &write->at, &apart))
        return false;
    if (!apart.n && !apart.constant)
        return is_common_place(p, all, write);
    unsigned in = sum_depends(&apart);
    if (!write->plain || write->space != SHARED || (in & OTHER) || !write->indices ||
        !(sum_depends(&read->at) & INDICES))
        return false;
    if (!in)
        return apart.n ? meets_behind_guard(p, all, write, &apart) : meets_at_distance(p, all, read, write, apart.constant);
    for (int i = 0; i < apart.n; i++)
        if (index_of(apart.term[i].of) < 0)
            return false;
    return ranges_overlap(p, all, read, write);
}

/* ---- Reads before a write */

static bool is_shared(V v)
{
    while (LLVMIsAConstantExpr(v))
        v = LLVMGetOperand(v, 0);
    return LLVMIsAGlobalVariable(v) && LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == SHARED;
}

/* Generic addresses are of the one or the other. */
static unsigned space_of(const struct index_sum *address)
{
    bool shared = address->base && is_shared(address->base);
    for (int i = 0; i < address->n; i++)
        shared |= is_shared(address->term[i].of);
    return shared ? SHARED : GLOBAL;
}

/* A plain access of shared or global memory, where `hold` holds. */
static bool access_of(const struct places *p, const struct guards *hold, V x, struct plain_access *ret)
{
    struct places here = *p;
    bool writes = LLVMIsAStoreInst(x);
    if ((!writes && !LLVMIsALoadInst(x)) || LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic)
        return false;
    V address = LLVMGetOperand(x, writes ? 1 : 0);
    LLVMTypeRef type = LLVMTypeOf(writes ? LLVMGetOperand(x, 0) : x);
    *ret = (struct plain_access){ .x = x, .writes = writes, .space = LLVMGetPointerAddressSpace(LLVMTypeOf(address)),
                            .size = (unsigned)LLVMABISizeOfType(p->layout, type) };
    here.hold = hold;
    if ((ret->space != GENERIC && ret->space != GLOBAL && ret->space != SHARED) ||
        (!writes && ptx_metadata(x, PTX_INVARIANT)) || !address_sum(&here, address, &ret->at))
        return false;
    ret->space = ret->space == GENERIC ? space_of(&ret->at) : ret->space;
    return true;
}

/* Whatever is called but LLVM's intrinsics and what touches no memory: behind it, nothing is known of what others do.  At fences
 * nobody waits. */
static bool is_wait(V x)
{
    enum ptx_simt id = LLVMIsACallInst(x) ? ptx_simt_called(x) : PTX_SIMT_NONE;
    if (!LLVMIsACallInst(x) || ptx_intrinsic_called(x) != PTX_INTRINSIC_NONE)
        return false;
    enum ptx_simt_traits traits = id != PTX_SIMT_NONE ? ptx_simt_info(id)->traits : PTX_SIMT_SYNC;
    return traits != PTX_SIMT_PURE && traits != PTX_SIMT_CONVERGENT && traits != PTX_SIMT_MARK && traits != PTX_SIMT_TIME;
}

struct read_search {
    const struct places *p;
    const struct plain_access *write;
    const struct guards *guards; /* of the write */
    int reads, steps;
    int apart;        /* how many of the innermost guards part threads */
    bool found, inside; /* a read that it is a hazard for; behind such a guard */
};

/* What holds at a read in block `b`, and at the write. */
static struct guards guards_of_both(const struct read_search *s, int b)
{
    struct guards both = *s->guards, own;
    guards_find(s->p, b, &own);
    for (int i = 0; i < own.n; i++)
        both.g[both.n++] = own.g[i];
    both.all &= own.all;
    return both;
}

/* Reads of block `b` from `x` upwards, and of those before it; `back`: how many more of those. */
static void search_back(struct read_search *s, int b, V x, int back)
{
    struct guards guards = back == MAX_BACK ? *s->guards : guards_of_both(s, b);
    bool inside = back == MAX_BACK && s->apart;
    for (int i = 0; i < s->apart - 1; i++)
        inside |= s->guards->g[i].at == s->p->blocks[b];
    for (; x && s->reads < MAX_READS && s->steps < MAX_STEPS; x = LLVMGetPreviousInstruction(x), s->steps++) {
        struct plain_access read;
        if (is_wait(x))
            return;
        if (!access_of(s->p, &guards, x, &read) || read.writes)
            continue;
        s->reads++;
        if (is_hazard(s->p, &guards, &read, s->write)) {
            s->found = true;
            s->inside |= inside;
        }
    }
    for (int i = 0; i < s->p->into[b].n && back; i++) {
        int before = s->p->into[b].at[i];
        if (before < b)
            search_back(s, before, LLVMGetLastInstruction(s->p->blocks[before]), back - 1);
    }
}

/* ---- Meetings */

/* How many of the innermost guards part threads; -1: others do, too. */
static int guards_apart(const struct guards *all)
{
    int n = 0, apart = 0;
    while (n < all->n && depends(all->g[n].condition))
        n++;
    for (int i = 0; i < all->n; i++)
        apart += depends(all->g[i].condition) != 0;
    return apart == n ? n : -1;
}

/* Warps meet before the write; false: there is no place where they can. */
static bool meet_put(const struct read_search *s)
{
    if (s->inside)
        return ptx_branch_halve(s->guards->g, s->apart, s->write->x, PTX_SIMT_MEET);
    V at = s->apart ? LLVMGetBasicBlockTerminator(s->guards->g[s->apart - 1].at) : s->write->x;
    return ptx_branch_halve(NULL, 0, at, PTX_SIMT_MEET);
}

/* ---- All of it */

static struct ptx_edges edges_into(const void *graph, int node)
{
    const struct places *p = graph;
    return node == p->n ? p->ends : p->into[node];
}

static struct ptx_edges edges_onward(const void *graph, int node)
{
    const struct places *p = graph;
    return node == p->n ? (struct ptx_edges){ 0 } : p->onward[node];
}

/* Where blocks lead: those that return, to one node behind all, p->n. */
static bool onward_find(struct places *p)
{
    int *ends = AW_NEW_ARRAY(&p->arena, int, (size_t)p->n);
    p->onward = AW_NEW_ARRAY(&p->arena, struct ptx_edges, (size_t)p->n);
    for (int b = 0; ends && p->onward && b < p->n; b++) {
        V last = LLVMGetBasicBlockTerminator(p->blocks[b]);
        unsigned n = LLVMGetNumSuccessors(last);
        int *at = AW_NEW_ARRAY(&p->arena, int, n + 1);
        if (!at)
            return false;
        for (unsigned i = 0; i < n; i++)
            at[i] = (int)(uintptr_t)aw_ptrmap_find(&p->index, LLVMGetSuccessor(last, i)) - 1;
        if (LLVMIsAReturnInst(last)) {
            at[n++] = p->n;
            ends[p->ends.n++] = b;
        }
        p->onward[b] = (struct ptx_edges){ at, (int)n };
    }
    p->ends.at = ends;
    return ends && p->onward;
}

static bool dominators_find(struct places *p)
{
    int all = p->n + 1, reached;
    int *order = AW_NEW_ARRAY(&p->arena, int, (size_t)all), *number = AW_NEW_ARRAY(&p->arena, int, (size_t)all);
    p->idom = AW_NEW_ARRAY(&p->arena, int, (size_t)p->n);
    p->pdom = AW_NEW_ARRAY(&p->arena, int, (size_t)all);
    if (!order || !number || !p->idom || !p->pdom ||
        !ptx_graph_order(&p->arena, p, all, p->n, edges_into, order, number, &reached))
        return false;
    ptx_graph_dominators(p, p->n, NULL, NULL, edges_into, p->idom);
    for (int i = 0; i < all; i++)
        p->pdom[i] = -1;
    ptx_graph_dominators(p, reached, order, number, edges_onward, p->pdom);
    return true;
}

static bool places_init(struct places *p, V kernel, const uint32_t *block)
{
    *p = (struct places){ .kernel = kernel, .module = LLVMGetGlobalParent(kernel), .extent = { 2 * WARP, 8, 4 } };
    p->layout = LLVMGetModuleDataLayout(p->module);
    for (int d = 0; d < 3 && block[1]; d++)
        p->extent[d] = block[d];
    p->threads = block[1] ? p->extent[0] * p->extent[1] * p->extent[2] : 0;
    return ptx_blocks_order(LLVMGetEntryBasicBlock(kernel), &p->arena, &p->index, &p->blocks, &p->n) &&
           ptx_blocks_into(&p->arena, p->blocks, p->n, &p->index, &p->into) && onward_find(p) && dominators_find(p);
}

static void places_fini(struct places *p)
{
    aw_ptrmap_fini(&p->index);
    aw_arena_fini(&p->arena);
}

/* The first write that lacks a meeting, in `space` or any (0), which it gets where that is asked for; false: there is none. */
static bool meeting_find(const struct places *p, unsigned space, bool put)
{
    for (int b = 0; b < p->n; b++) {
        struct guards guards = { .n = -1 };
        for (V x = LLVMGetFirstInstruction(p->blocks[b]); x; x = LLVMGetNextInstruction(x)) {
            struct plain_access write;
            if (LLVMIsAStoreInst(x) && guards.n < 0)
                guards_find(p, b, &guards);
            if (!LLVMIsAStoreInst(x) || !access_of(p, &guards, x, &write) || (space && write.space != space))
                continue;
            write.indices = sum_depends(&write.at);
            if (write.indices & OTHER)
                continue;
            write.plain = is_plain(&write.at);
            struct read_search s = { .p = p, .write = &write, .guards = &guards, .apart = guards_apart(&guards) };
            if (s.apart < 0)
                break;
            search_back(&s, b, LLVMGetPreviousInstruction(x), MAX_BACK);
            if (s.found && (!put || meet_put(&s)))
                return true;
        }
    }
    return false;
}

/* False: none, or out of memory (*ret_ok). */
static bool kernel_search(V kernel, const uint32_t *block, unsigned space, bool put, bool *ret_ok)
{
    struct places p;
    bool found = false;
    *ret_ok = places_init(&p, kernel, block);
    if (*ret_ok)
        found = meeting_find(&p, space, put);
    places_fini(&p);
    return found;
}

static bool has_several_warps(const uint32_t *block)
{
    return !block[1] || block[0] * block[1] * block[2] > WARP;
}

int ptx_host_in_place(LLVMValueRef kernel, const uint32_t *block)
{
    bool ok = true, more = !ptx_tangle_is(kernel) && has_several_warps(block);
    for (int n = 0; more && n < MAX_MEETINGS; n++)
        more = kernel_search(kernel, block, 0, true, &ok);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

bool ptx_host_updates_common(LLVMValueRef kernel, const uint32_t *block)
{
    bool ok;
    return has_several_warps(block) && kernel_search(kernel, block, GLOBAL, false, &ok);
}
