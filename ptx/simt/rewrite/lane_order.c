/* Lane order: which index of a thread goes fastest through the lanes of a warp.
 *
 * On a card it is x.  Programs that take x for the row of a matrix,
 *
 *   i = blockIdx.x * blockDim.x + threadIdx.x;  j = blockIdx.y * blockDim.y + threadIdx.y;  c[i * n + j] = ...
 *
 * then access an element here and there in each lane, where lanes along y would be neighbours.  Which threads of a block are a
 * warp is nobody's business unless lanes ask or wait for each other; so such a kernel's x and y (or z) change places, in its
 * indices and in its block's shape, and nothing that comes later knows of it but the table of the object.
 *
 * Not where threads share memory or pass anything on within a warp; nor where a thread reads, from an array that the kernel
 * writes, what another one of its warp may write, which on cards happens in a known order: all of them read, then all write.  A
 * thread's own element is no such thing; nor is one that is read before anything is written and is the same for a whole row of
 * threads as lanes go then, as they read it together.  Where all such reads come before the first such write, and no loop goes
 * through either, the block's threads come to a barrier in between, and so read first, as a warp of a card does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"

#include "lower/branch_halves.h"
#include <string.h>

enum {
    LEAST_ROW = 8,     /* threads: shorter rows gain nothing */
    LINE = 64,         /* bytes */
    LOOP = 16,         /* times that an access in a loop counts, for each of the two outermost ones */
    MAX_ACCESSES = 256,
    MAX_INSTRUCTIONS = 4000, /* larger kernels are taken as they are */
    AT_LEAST = 2,      /* times less the accesses have to cost */
    AT_LEAST_MEETING = 6,
};

/* What an access is when one of the indices goes fastest. */
struct access_look {
    LLVMValueRef x, root; /* the access, and what its address is counted from */
    int loop;             /* the outermost one, or -1 */
    bool invariant;       /* the address is the same in all rounds of that */
    bool uniform;         /* one address for the lanes of a row */
};

struct looks {
    struct access_look at[MAX_ACCESSES];
    int n;
    uint64_t cost;
};

/* ---- May threads be dealt out to warps otherwise? */

static bool call_free(struct simt *u, LLVMValueRef x)
{
    enum ptx_simt id = simt_call_id(u, x);
    if (id == PTX_SIMT_NONE)
        return ptx_intrinsic_called(x) != PTX_INTRINSIC_NONE;
    if (id == PTX_SIMT_LANEID || id == PTX_SIMT_WARPID || id == PTX_SIMT_NWARPID)
        return false;
    return ptx_simt_info(id)->traits == PTX_SIMT_PURE || id == PTX_SIMT_MEET;
}

static bool instruction_free(struct simt *u, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW:
        return false;
    case LLVMLoad: case LLVMStore:
        return simt_access_plain(x, LLVMIsAStoreInst(x)) && !simt_is_shared_ptr(LLVMTypeOf(simt_access_address(x)));
    case LLVMCall:
        return call_free(u, x);
    default:
        return true;
    }
}

static bool threads_free(struct simt *u)
{
    unsigned instructions = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(u->in); g; g = LLVMGetNextGlobal(g))
        if (simt_is_shared_ptr(LLVMTypeOf(g)))
            return false;
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        if (!LLVMIsDeclaration(fn) && fn != u->kernel)
            return false;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
                if (!instruction_free(u, x) || ++instructions > MAX_INSTRUCTIONS)
                    return false;
    }
    return true;
}

/* ---- What accesses cost */

/* Lines of memory that the lanes touch, twice where they are no row, as they are then put together; at most one for each lane. */
static unsigned lines(struct simt_fn *f, const int64_t *off, int64_t size)
{
    int lanes = f->u->lanes, n = 0;
    bool row = true;
    for (int i = 0; i < lanes; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = off[j] / LINE == off[i] / LINE;
        n += !seen;
        row = row && off[i] == i * size;
    }
    n *= row ? 1 : 2;
    return (unsigned)(n < lanes ? n : lanes);
}

static unsigned access_cost(struct simt_fn *f, LLVMValueRef x, bool *ret_uniform)
{
    LLVMValueRef p = simt_access_address(x);
    int64_t size = (int64_t)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x));
    struct simt_likely likely;
    *ret_uniform = simt_uniform(f, p);
    if (*ret_uniform)
        return 1;
    if (!simt_varying(f, p))
        return lines(f, simt_offsets(f, p), size);
    if (simt_likely_row(f, p, (uint64_t)size, &likely) && !likely.scaled)
        return (unsigned)(f->u->lanes * size / LINE) + 1;
    return (unsigned)f->u->lanes;
}

static uint64_t weight(const struct simt_fn *f, int block)
{
    int l = f->blocks[block].loop, depth = l < 0 ? 0 : f->loops[l].depth;
    return depth > 1 ? LOOP * LOOP : depth ? LOOP : 1;
}

static bool is_of_program(LLVMValueRef x)
{
    if (!LLVMIsALoadInst(x) && !LLVMIsAStoreInst(x))
        return false;
    unsigned space = simt_space(LLVMTypeOf(simt_access_address(x)));
    return space == SIMT_SPACE_GLOBAL || space == 0;
}

/* Is it a number of elements or bytes, by what made it, and so no pointer? */
static bool is_count(LLVMValueRef v, int depth)
{
    if (!depth || !LLVMIsAInstruction(v))
        return LLVMIsAConstantInt(v);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSExt: case LLVMZExt: case LLVMShl: case LLVMMul:
        return true;
    case LLVMAdd: case LLVMSub: case LLVMOr:
        return is_count(LLVMGetOperand(v, 0), depth - 1) && is_count(LLVMGetOperand(v, 1), depth - 1);
    default:
        return false;
    }
}

/* The pointer that an address is counted from, an argument of the kernel as a rule; else where it is no more known. */
static LLVMValueRef root_of(LLVMValueRef v, int depth)
{
    if (!depth || !LLVMIsAInstruction(v))
        return v;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast: case LLVMGetElementPtr:
        return root_of(LLVMGetOperand(v, 0), depth - 1);
    case LLVMAdd: {
        LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1);
        return is_count(b, depth) ? root_of(a, depth - 1) : is_count(a, depth) ? root_of(b, depth - 1) : v;
    }
    default:
        return v;
    }
}

static bool accesses_look(struct simt_fn *f, struct looks *ret)
{
    ret->n = 0;
    ret->cost = 0;
    for (int b = 0; b < f->n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            if (!is_of_program(x))
                continue;
            if (ret->n == MAX_ACCESSES)
                return false;
            struct access_look *a = &ret->at[ret->n++];
            LLVMValueRef address = simt_access_address(x);
            *a = (struct access_look){ .x = x, .root = root_of(address, 8), .loop = simt_outermost(f, f->blocks[b].loop) };
            a->invariant = a->loop < 0 || !simt_defined_in(f, a->loop, address);
            ret->cost += weight(f, b) * access_cost(f, x, &a->uniform);
        }
    ret->cost *= SIMT_LANES / (unsigned)f->u->lanes;
    return true;
}

/* With threads of one row as a vector, which is how the warp will go where that pays. */
static bool look(struct simt *u, struct looks *ret)
{
    struct simt_fn f = { .u = u, .form = SIMT_FORM_FIXED, .src = u->kernel };
    bool ok = simt_lanes_set(u, simt_row_lanes(u->options->block[0])) && simt_cfg_build(&f) && simt_shape_estimate(&f) &&
              accesses_look(&f, ret);
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return ok && !u->status;
}

/* An argument of the kernel: where it lies among them; -1: it is none. */
static int64_t argument_at(LLVMValueRef root)
{
    int64_t at = 0;
    LLVMValueRef p = LLVMIsALoadInst(root) ? LLVMGetOperand(root, 0) : NULL;
    if (p && LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_int_const(LLVMGetOperand(p, 1), &at))
        p = LLVMGetOperand(p, 0);
    return p && LLVMIsAArgument(p) ? at : -1;
}

static bool may_be_one(LLVMValueRef a, LLVMValueRef b)
{
    int64_t at = argument_at(a), other = argument_at(b);
    return a == b || at < 0 || other < 0 || at == other;
}

enum order { SAFE, READS_FIRST /* where the read comes before the write in all threads */, UNSAFE };

/* Accesses are in the order of the program, but for loops. */
static enum order order_of(const struct looks *now, int read, int write)
{
    const struct access_look *r = &now->at[read], *w = &now->at[write];
    bool same = simt_access_address(r->x) == simt_access_address(w->x);
    if (!may_be_one(r->root, w->root))
        return SAFE;
    if (r->loop >= 0 && r->loop == w->loop)
        return same && r->invariant ? SAFE : UNSAFE;
    if (same || (read < write && r->uniform))
        return SAFE;
    return read < write && r->loop < 0 && w->loop < 0 ? READS_FIRST : UNSAFE;
}

/* May the block's threads meet between all of these reads and writes?  *ret_at is then the first of the writes, NULL where there
 * is none and no need. */
static bool reads_are_safe(const struct looks *now, LLVMValueRef *ret_at)
{
    int last = -1, first = now->n;
    for (int i = 0; i < now->n; i++)
        for (int j = 0; j < now->n && LLVMIsALoadInst(now->at[i].x); j++) {
            enum order order = LLVMIsAStoreInst(now->at[j].x) ? order_of(now, i, j) : SAFE;
            if (order == UNSAFE)
                return false;
            last = order == READS_FIRST && i > last ? i : last;
            first = order == READS_FIRST && j < first ? j : first;
        }
    *ret_at = last < 0 ? NULL : now->at[first].x;
    return last < first;
}

/* ---- Places are changed */

static void index_swap(struct simt *u, enum ptx_simt id, int a, int b)
{
    LLVMValueRef to[2] = { ptx_simt_declare(u->in, id + (unsigned)a), ptx_simt_declare(u->in, id + (unsigned)b) };
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(u->kernel); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef called = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
            if (called && (called == to[0] || called == to[1]))
                LLVMSetOperand(x, (unsigned)LLVMGetNumOperands(x) - 1, to[called == to[0]]);
        }
}

/* In the kernel and in its block's shape; twice is as before. */
static void axes_swap(struct simt *u, uint32_t block[3], int a, int b)
{
    uint32_t threads = block[a];
    block[a] = block[b];
    block[b] = threads;
    index_swap(u, PTX_SIMT_TID_X, a, b);
    index_swap(u, PTX_SIMT_NTID_X, a, b);
}

/* Can threads meet before the access?  All that comes before it must be on its one way there. */
static bool can_meet(LLVMValueRef at)
{
    struct ptx_way_guard guards[PTX_MAX_GUARDS];
    int n = ptx_way_guards(LLVMGetInstructionParent(at), guards);
    return n >= 0 && ptx_branch_halves(guards, n, at);
}

/* A barrier, not a meeting that may be left out: the program needs it now. */
static void meet(LLVMValueRef at)
{
    struct ptx_way_guard guards[PTX_MAX_GUARDS];
    ptx_branch_halve(guards, ptx_way_guards(LLVMGetInstructionParent(at), guards), at, PTX_SIMT_BARRIER);
}

/* Does it pay, and may it be, that lanes go as `now` has it? */
static bool is_better(const struct looks *old, const struct looks *now, LLVMValueRef *ret_meeting)
{
    return now->cost * AT_LEAST <= old->cost && reads_are_safe(now, ret_meeting) &&
           (!*ret_meeting || (now->cost * AT_LEAST_MEETING <= old->cost && can_meet(*ret_meeting)));
}

static bool order_choose(struct simt *u, uint32_t block[3])
{
    struct looks old, now;
    LLVMValueRef meeting = NULL, at;
    int best = 0;
    if (!look(u, &old))
        return !u->status;
    uint64_t least = old.cost;
    for (int axis = 1; axis < 3 && !u->status; axis++) {
        if (block[axis] < LEAST_ROW)
            continue;
        axes_swap(u, block, 0, axis);
        if (look(u, &now) && now.cost < least && is_better(&old, &now, &at)) {
            least = now.cost;
            best = axis;
            meeting = at;
        }
        axes_swap(u, block, 0, axis);
    }
    if (best)
        axes_swap(u, block, 0, best);
    if (best && meeting)
        meet(meeting);
    return !u->status;
}

int simt_lane_order(LLVMModuleRef module, struct simt_options *options, struct aw_buf *diags)
{
    struct simt u = { .options = options, .diags = diags, .in = module, .kernel = LLVMGetNamedFunction(module, options->kernel) };
    uint32_t *block = options->block;
    if (!u.kernel || LLVMIsDeclaration(u.kernel) || !block[1] || block[0] * block[1] * block[2] <= SIMT_LANES ||
        (block[1] < LEAST_ROW && block[2] < LEAST_ROW))
        return AW_OK;
    if (simt_begin(&u) && threads_free(&u))
        order_choose(&u, block);
    simt_end(&u);
    return u.status;
}
