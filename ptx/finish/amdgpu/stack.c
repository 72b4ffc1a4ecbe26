/* Does a kernel's need of stack have an end that is known?  Where functions call each other in circles, or memory is taken from
 * the stack by a size, whoever loads the object decides how much there is; a symbol tells it so (include/anywarp/env.h).  LLVM's
 * own mark is in objects of version 5 and later only, and written when no more symbols can be added. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "finish/amdgpu/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;

struct call_node {
    V fn;
    unsigned calls; /* of functions that may still lie on a circle */
};

struct call_graph {
    struct call_node *nodes;
    size_t n;
};

static struct call_node *node_of(const struct call_graph *g, V fn)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->nodes[i].fn == fn)
            return &g->nodes[i];
    return NULL;
}

/* The function in which `use` is a call of `callee`, or NULL. */
static struct call_node *caller_of(const struct call_graph *g, LLVMUseRef use, V callee)
{
    V user = LLVMGetUser(use);
    if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != callee)
        return NULL;
    return node_of(g, LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)));
}

/* Takes away functions that call none that is left; what remains lies on a circle, or leads to one. */
static bool has_circle(const struct call_graph *g)
{
    struct call_node *caller;
    size_t left = g->n, before;
    for (size_t i = 0; i < g->n; i++)
        for (LLVMUseRef use = LLVMGetFirstUse(g->nodes[i].fn); use; use = LLVMGetNextUse(use))
            if ((caller = caller_of(g, use, g->nodes[i].fn)) != NULL)
                caller->calls++;
    do {
        before = left;
        for (size_t i = 0; i < g->n; i++) {
            V fn = g->nodes[i].fn;
            if (g->nodes[i].calls || !fn)
                continue;
            for (LLVMUseRef use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use))
                if ((caller = caller_of(g, use, fn)) != NULL)
                    caller->calls--;
            g->nodes[i].fn = NULL;
            left--;
        }
    } while (left && left < before);
    return left != 0;
}

static bool takes_by_size(V fn)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
        for (V i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAAllocaInst(i) && (block != entry || !LLVMIsAConstantInt(LLVMGetOperand(i, 0))))
                return true;
    return false;
}

bool ptx_amdgpu_stack(struct amdgpu *a)
{
    struct call_graph g = { 0 };
    bool open = false;
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        g.n += !LLVMIsDeclaration(fn);
    g.nodes = calloc(g.n + 1, sizeof *g.nodes);
    if (!g.nodes)
        return false;
    g.n = 0;
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        g.nodes[g.n++].fn = fn;
        open |= takes_by_size(fn);
    }
    open |= has_circle(&g);
    free(g.nodes);
    if (open)
        ptx_amdgpu_env_mark(a, AW_STACK_SYMBOL);
    return true;
}
