/* Waits that LLVM forgets.  A release (a fence, or an atomic that is one) waits for the memory operations before it.  LLVM 22
 * (SIInsertWaitcnts) drops those waits that have nothing to wait for when it first comes to them; that operations of the loop's last
 * round may be under way it learns only later, at the loop's end.  So a barrier at a loop's head does not wait for the stores at its end:
 *
 *     for (;;) { __syncthreads(); ... s[t] = x; }
 *
 * Where operations reach a release only by way of such an edge, it gets waits that LLVM does not touch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "base/vec.h"
#include "target/amdgpu.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

/* What may be under way, by the machine's counters. */
enum { LDS = 1, LOADS = 2, STORES = 4, ALL = LDS | LOADS | STORES };

struct block {
    BB bb;
    bool open;               /* while blocks are numbered: not all its successors have been seen */
    unsigned n_succ, first;  /* in struct fences' edges */
    uint8_t fresh, old;      /* at its begin: under way at all, and by way of an edge back */
};

struct edge {
    unsigned to;
    bool back;
};

struct fences {
    struct amdgpu *a;
    struct aw_ptrmap index;  /* block -> 1 + number */
    AW_VEC(struct block) blocks;
    AW_VEC(struct edge) edges;
    unsigned wavefront, workgroup; /* scopes */
};

/* ---- Instructions */

static unsigned of_pointer(V pointer, unsigned global)
{
    switch (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer))) {
    case AS_SHARED: return LDS;
    case AS_GENERIC: return LDS | global;
    case AS_GLOBAL: return global;
    default: return 0; /* private, or never written */
    }
}

static unsigned of_call(V call)
{
    static const char *const memory[] = { "llvm.mem", "llvm.masked.", "llvm.amdgcn.raw.", "llvm.amdgcn.struct.", "llvm.amdgcn.image.",
                                          "llvm.amdgcn.global." };
    V callee = LLVMGetCalledValue(call);
    size_t len;
    if (LLVMIsAInlineAsm(callee))
        return 0;
    const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : "";
    bool touches = strncmp(name, "llvm.", 5) != 0;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        touches |= !strncmp(name, memory[i], strlen(memory[i]));
    return touches ? ALL : 0;
}

/* Is what it loads used in the same block, and so waited for there? */
static bool is_used_here(V load)
{
    for (LLVMUseRef use = LLVMGetFirstUse(load); use; use = LLVMGetNextUse(use)) {
        V user = LLVMGetUser(use);
        if (!LLVMIsAPHINode(user) && LLVMGetInstructionParent(user) == LLVMGetInstructionParent(load))
            return true;
    }
    return false;
}

/* What the instruction may leave under way at its block's end. */
static unsigned begins(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad: return is_used_here(x) ? 0 : of_pointer(LLVMGetOperand(x, 0), LOADS);
    case LLVMStore: return of_pointer(LLVMGetOperand(x, 1), STORES);
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg: return of_pointer(LLVMGetOperand(x, 0), LLVMGetFirstUse(x) ? LOADS : STORES);
    case LLVMCall: return of_call(x);
    default: return 0;
    }
}

/* What it waits for: nothing, when it is no release. */
static unsigned waits(const struct fences *f, V x)
{
    LLVMAtomicOrdering order = LLVMAtomicOrderingNotAtomic;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMStore: case LLVMAtomicRMW: case LLVMFence: order = LLVMGetOrdering(x); break;
    case LLVMAtomicCmpXchg: order = LLVMGetCmpXchgSuccessOrdering(x); break;
    default: break;
    }
    if (order != LLVMAtomicOrderingRelease && order != LLVMAtomicOrderingAcquireRelease &&
        order != LLVMAtomicOrderingSequentiallyConsistent)
        return 0;
    unsigned scope = LLVMGetAtomicSyncScopeID(x);
    if (scope == 0 || scope == f->wavefront) /* 0: the thread alone */
        return 0;
    return f->a->major == 9 && scope == f->workgroup ? LDS : ALL; /* a block runs on one compute unit there */
}

/* ---- Blocks */

static bool number(struct fences *f, V fn)
{
    struct frame { unsigned block, next; };
    AW_VEC(struct frame) stack = { 0 };
    BB entry = LLVMGetEntryBasicBlock(fn);
    bool ok = aw_vec_push(&f->blocks, (struct block){ .bb = entry, .open = true }) && aw_ptrmap_put(&f->index, entry, (void *)1) &&
              aw_vec_push(&stack, (struct frame){ 0, 0 });
    while (ok && stack.n) {
        struct frame *top = &stack.at[stack.n - 1];
        struct block *b = &f->blocks.at[top->block];
        V end = LLVMGetBasicBlockTerminator(b->bb);
        if (!top->next) {
            b->n_succ = LLVMGetNumSuccessors(end);
            b->first = (unsigned)f->edges.n;
            for (unsigned j = 0; ok && j < b->n_succ; j++)
                ok = aw_vec_push(&f->edges, (struct edge){ 0 });
        }
        if (!ok || top->next == b->n_succ) {
            b->open = false;
            stack.n--;
            continue;
        }
        BB next = LLVMGetSuccessor(end, top->next);
        struct edge *e = &f->edges.at[b->first + top->next++];
        unsigned known = (unsigned)(uintptr_t)aw_ptrmap_find(&f->index, next);
        e->to = known ? known - 1 : (unsigned)f->blocks.n;
        e->back = known && f->blocks.at[e->to].open;
        if (!known)
            ok = aw_ptrmap_put(&f->index, next, (void *)(uintptr_t)(f->blocks.n + 1)) &&
                 aw_vec_push(&f->blocks, (struct block){ .bb = next, .open = true }) &&
                 aw_vec_push(&stack, (struct frame){ e->to, 0 });
    }
    aw_vec_fini(&stack);
    return ok;
}

/* Follows a block's instructions; at a release `found` is called with what is under way only from an earlier round. */
static void follow(const struct fences *f, const struct block *b, uint8_t *fresh, uint8_t *old,
                   void (*found)(const struct fences *f, V x, unsigned old))
{
    *fresh = b->fresh;
    *old = b->old;
    for (V x = LLVMGetFirstInstruction(b->bb); x; x = LLVMGetNextInstruction(x)) {
        unsigned ends = waits(f, x);
        if (found && (*old & ends))
            found(f, x, *old & ends);
        *fresh &= (uint8_t)~ends;
        *old &= (uint8_t)~ends;
        *fresh |= (uint8_t)begins(x);
    }
}

static void solve(struct fences *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < f->blocks.n; i++) {
            const struct block *b = &f->blocks.at[i];
            uint8_t fresh, old;
            follow(f, b, &fresh, &old, NULL);
            for (unsigned j = 0; j < b->n_succ; j++) {
                const struct edge *e = &f->edges.at[b->first + j];
                struct block *to = &f->blocks.at[e->to];
                uint8_t new_fresh = to->fresh | (e->back ? 0 : fresh), new_old = to->old | old | (e->back ? fresh : 0);
                changed |= new_fresh != to->fresh || new_old != to->old;
                to->fresh = new_fresh;
                to->old = new_old;
            }
        }
    }
}

/* ---- The waits */

static void insert_text(const struct fences *f, V before, const char *text)
{
    static const char clobbers[] = "~{memory}";
    struct ptx_lower *b = &f->a->b;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->context), NULL, 0, 0);
    V body = LLVMGetInlineAsm(type, text, strlen(text), clobbers, sizeof clobbers - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMPositionBuilderBefore(b->builder, before);
    LLVMBuildCall2(b->builder, type, body, NULL, 0, "");
}

static void insert(const struct fences *f, V before, unsigned old)
{
    static const char *const texts[][3] = { /* of LDS, LOADS, STORES */
        { "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)" },
        { "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0" },
        { "s_wait_dscnt 0x0", "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0" },
    };
    const char *const *text = texts[f->a->major >= 12 ? 2 : f->a->major >= 10];
    if (f->a->major == 9 && old & LOADS)
        old &= ~(unsigned)STORES; /* one counter for both */
    for (unsigned i = 0; i < 3; i++)
        if (old >> i & 1)
            insert_text(f, before, text[i]);
}

static unsigned scope_of(const struct amdgpu *a, const char *name)
{
    return LLVMGetSyncScopeID(a->b.context, name, strlen(name));
}

bool ptx_amdgpu_releases(struct amdgpu *a)
{
    bool ok = true;
    for (V fn = LLVMGetFirstFunction(a->b.module); fn && ok; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        struct fences f = { .a = a, .wavefront = scope_of(a, "wavefront"), .workgroup = scope_of(a, "workgroup") };
        ok = number(&f, fn);
        if (ok)
            solve(&f);
        for (size_t i = 0; ok && i < f.blocks.n; i++) {
            uint8_t fresh, old;
            follow(&f, &f.blocks.at[i], &fresh, &old, insert);
        }
        aw_ptrmap_fini(&f.index);
        aw_vec_fini(&f.blocks);
        aw_vec_fini(&f.edges);
    }
    return ok;
}
