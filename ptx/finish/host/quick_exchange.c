/* Exchanges in place, which quick code leaves to the good form: a loop reads and writes memory behind one argument at places that
 * differ by more than a constant, as a warp's sort does there (CuPy's partition).  Lanes in step have all read and written before
 * the next round; cards have them so, and programs count on it without a barrier of the warp.  One lane after another, they read
 * what others write later.  Loops of one lane's own data look the same; they wait for the good form, and that is all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/quick.h"
#include "lower/graph.h"
#include "lower/internal.h"

typedef LLVMValueRef V;
enum { DEPTH = 24, COMPUTED = 10, ACCESSES = 1024 };

struct quick_access {
    uint64_t base; /* of an argument; 0: not known */
    V root;        /* the address but for constants */
    int component;
    bool store;
};

static V without_constants(V p)
{
    for (int i = 0; i < DEPTH; i++) {
        V from = LLVMIsAInstruction(p) ? p : NULL;
        LLVMOpcode op = from ? LLVMGetInstructionOpcode(p) : LLVMUnreachable;
        bool cast = op == LLVMIntToPtr || op == LLVMPtrToInt || op == LLVMAddrSpaceCast || op == LLVMBitCast;
        bool moved = (op == LLVMAdd || op == LLVMGetElementPtr) && LLVMGetNumOperands(p) == 2 &&
                     LLVMIsConstant(LLVMGetOperand(p, 1));
        if (!cast && !moved)
            break;
        p = LLVMGetOperand(p, 0);
    }
    return p;
}

/* Where in the kernel's arguments the address begins, plus one; of a function's, its number above all such places. */
static uint64_t base_of(V p, V fn, int depth)
{
    if (depth == 0)
        return 0;
    if (LLVMIsAArgument(p)) {
        for (unsigned i = 1; i < LLVMCountParams(fn); i++)
            if (LLVMGetParam(fn, i) == p)
                return (UINT64_C(1) << 32) + i;
        return 0;
    }
    if (!LLVMIsAInstruction(p))
        return 0;
    switch (LLVMGetInstructionOpcode(p)) {
    case LLVMLoad: {
        V from = LLVMGetOperand(p, 0);
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(from)) != AS_CONST)
            return 0;
        if (LLVMIsAArgument(from))
            return 1;
        if (!LLVMIsAGetElementPtrInst(from) || LLVMGetNumOperands(from) != 2 || !LLVMIsAArgument(LLVMGetOperand(from, 0)))
            return 0; /* a constant variable */
        V by = LLVMGetOperand(from, 1);
        return LLVMIsAConstantInt(by) ? LLVMConstIntGetZExtValue(by) + 1 : 0;
    }
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast: case LLVMBitCast: case LLVMGetElementPtr: case LLVMFreeze:
        return base_of(LLVMGetOperand(p, 0), fn, depth - 1);
    case LLVMAdd: {
        uint64_t first = base_of(LLVMGetOperand(p, 0), fn, depth - 1);
        return first ? first : base_of(LLVMGetOperand(p, 1), fn, depth / 2);
    }
    case LLVMPHI: return base_of(LLVMGetIncomingValue(p, 0), fn, depth / 2);
    default: return 0;
    }
}

/* Is it made of indices and arguments alone?  What comes out of memory, a number of a list, say, leads a lane to its own data. */
static bool is_computed(V p, int depth)
{
    if (!LLVMIsAInstruction(p) || depth == 0)
        return true;
    if (LLVMIsALoadInst(p))
        return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(p, 0))) == AS_CONST;
    if (LLVMIsAAtomicRMWInst(p))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(p); i++)
        if (!is_computed(LLVMGetOperand(p, i), LLVMIsAPHINode(p) ? depth / 2 : depth - 1))
            return false;
    return true;
}

static int accesses_of(LLVMBasicBlockRef bb, V fn, int component, struct quick_access *to, int n)
{
    for (V x = LLVMGetFirstInstruction(bb); x && n < ACCESSES; x = LLVMGetNextInstruction(x)) {
        bool store = LLVMIsAStoreInst(x);
        V p = store ? LLVMGetOperand(x, 1) : LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : NULL;
        unsigned space = p ? LLVMGetPointerAddressSpace(LLVMTypeOf(p)) : AS_CONST;
        uint64_t base = space == AS_GENERIC || space == AS_GLOBAL ? base_of(p, fn, DEPTH) : 0;
        if (base && is_computed(p, COMPUTED))
            to[n++] = (struct quick_access){ base, without_constants(p), component, store };
    }
    return n;
}

static struct ptx_edges edges_of(const void *graph, int node)
{
    return ((const struct ptx_edges *)graph)[node];
}

static bool among(const struct quick_access *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; a[i].store && k < n; k++)
            if (!a[k].store && a[k].base == a[i].base && a[k].component == a[i].component && a[k].root != a[i].root)
                return true;
    return false;
}

/* A block of a loop has one before it that is of the same component: itself, where it is a loop alone. */
static bool in_loop(const struct ptx_edges *into, const int *component, int block)
{
    for (int i = 0; i < into[block].n; i++)
        if (component[into[block].at[i]] == component[block])
            return true;
    return false;
}

bool ptx_quick_exchanges(struct quick *q, V fn)
{
    struct aw_ptrmap index = { 0 };
    struct ptx_edges *into;
    struct ptx_components parts;
    LLVMBasicBlockRef *order;
    int n, found = 0;
    bool ok = ptx_blocks_order(LLVMGetEntryBasicBlock(fn), &q->arena, &index, &order, &n) &&
              ptx_blocks_into(&q->arena, order, n, &index, &into) && ptx_components_init(&q->arena, n, &parts);
    int *nodes = ok ? AW_NEW_ARRAY(&q->arena, int, (size_t)n) : NULL;
    struct quick_access *a = ok ? AW_NEW_ARRAY(&q->arena, struct quick_access, ACCESSES) : NULL;
    aw_ptrmap_fini(&index);
    if (!nodes || !a) {
        q->status = AW_ERR_OUT_OF_MEMORY;
        return false;
    }
    for (int b = 0; b < n; b++)
        nodes[b] = b;
    ptx_components_find(&parts, into, edges_of, nodes, n); /* the same along edges and against them */
    for (int b = 0; b < n; b++)
        if (in_loop(into, parts.component, b))
            found = accesses_of(order[b], fn, parts.component[b], a, found);
    return among(a, found);
}
