/* Where lanes of a kernel end, for who asks which lanes can still come to a barrier (AW_HOST_SYNC_END): said as soon as it is
 * certain, that is, before the branch on which a lane goes to the kernel's end and nowhere else.  The vectoriser may run the
 * other side of that branch first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "base/map.h"
#include "base/vec.h"
#include <anywarp/hostabi.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

struct ends {
    LLVMBuilderRef b;
    LLVMModuleRef module;
    LLVMTypeRef i1;
    AW_VEC(BB) at; /* blocks in which nothing is done but to go to the kernel's end */
};

static bool is_end(const struct ends *e, BB bb)
{
    for (size_t i = 0; i < e->at.n; i++)
        if (e->at.at[i] == bb)
            return true;
    return false;
}

static bool is_empty(BB bb)
{
    V x = LLVMGetFirstInstruction(bb);
    while (LLVMIsAPHINode(x))
        x = LLVMGetNextInstruction(x);
    return x == LLVMGetBasicBlockTerminator(bb);
}

/* Adds a block that ends or goes to such ones alone; true: it was new. */
static bool end_add(struct ends *e, BB bb)
{
    V last = LLVMGetBasicBlockTerminator(bb);
    bool ends = LLVMIsAReturnInst(last) ||
                (LLVMIsABranchInst(last) && !LLVMIsConditional(last) && is_end(e, LLVMGetSuccessor(last, 0)));
    return ends && is_empty(bb) && !is_end(e, bb) && aw_vec_push(&e->at, bb);
}

static void say(struct ends *e, V before, V condition, bool common)
{
    LLVMPositionBuilderBefore(e->b, before);
    V args[2] = { condition, LLVMConstInt(LLVMInt32TypeInContext(LLVMGetModuleContext(e->module)), common, 0) };
    ptx_simt_call(e->b, e->module, PTX_SIMT_CHECK_END, args);
}

static unsigned ways_to_ends(const struct ends *e, V last)
{
    unsigned n = LLVMGetNumSuccessors(last), ends = 0;
    for (unsigned i = 0; i < n; i++)
        ends += is_end(e, LLVMGetSuccessor(last, i));
    return ends;
}

/* Does a block do something and then end? */
static bool is_last(const struct ends *e, BB bb)
{
    V last = LLVMGetBasicBlockTerminator(bb);
    unsigned n = LLVMGetNumSuccessors(last);
    return !is_end(e, bb) && (LLVMIsAReturnInst(last) || (n && ways_to_ends(e, last) == n));
}

/* What is said before the last instruction of a block that is no end itself. */
static void block_say(struct ends *e, BB bb, bool common)
{
    V last = LLVMGetBasicBlockTerminator(bb);
    if (is_last(e, bb)) {
        say(e, last, LLVMConstInt(e->i1, 1, 0), common);
    } else if (LLVMIsABranchInst(last) && ways_to_ends(e, last)) {
        LLVMPositionBuilderBefore(e->b, last);
        V condition = LLVMGetCondition(last);
        say(e, last, is_end(e, LLVMGetSuccessor(last, 0)) ? condition : LLVMBuildNot(e->b, condition, ""), false);
    }
}

/* Can a block be come to from itself? */
static bool is_in_loop(BB bb)
{
    AW_VEC(BB) work = { 0 };
    struct aw_ptrmap seen = { 0 };
    bool found = false, ok = aw_vec_push(&work, bb);
    while (ok && work.n && !found) {
        V last = LLVMGetBasicBlockTerminator(work.at[--work.n]);
        for (unsigned j = 0; ok && j < LLVMGetNumSuccessors(last); j++) {
            BB to = LLVMGetSuccessor(last, j);
            found |= to == bb;
            if (!aw_ptrmap_find(&seen, to))
                ok = aw_ptrmap_put(&seen, to, to) && aw_vec_push(&work, to);
        }
    }
    aw_vec_fini(&work);
    aw_ptrmap_fini(&seen);
    return found || !ok;
}

/* Says of what threads come to whether it is in a loop, which they may leave at different times. */
static void mark_loops(LLVMValueRef kernel)
{
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb)) {
        int loop = -1;
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            if (ptx_simt_called(x) != PTX_SIMT_CHECK_SYNC)
                continue;
            V what = LLVMGetOperand(x, 0);
            loop = loop < 0 ? is_in_loop(bb) : loop;
            uint64_t number = LLVMConstIntGetZExtValue(what) | (loop ? (uint64_t)AW_HOST_SYNC_AGAIN : 0);
            LLVMSetOperand(x, 0, LLVMConstInt(LLVMTypeOf(what), number, 0));
        }
    }
}

void ptx_host_lane_ends(LLVMValueRef kernel)
{
    mark_loops(kernel);
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(kernel));
    struct ends e = { .b = LLVMCreateBuilderInContext(c), .module = LLVMGetGlobalParent(kernel), .i1 = LLVMInt1TypeInContext(c) };
    for (bool more = true; more;) {
        more = false;
        for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb))
            more |= end_add(&e, bb);
    }
    unsigned last = 0;
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb))
        last += is_last(&e, bb);
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb))
        if (!is_end(&e, bb))
            block_say(&e, bb, last == 1);
    /* Of a switch it is said late. */
    for (size_t i = 0; i < e.at.n; i++)
        if (LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(e.at.at[i])))
            say(&e, LLVMGetBasicBlockTerminator(e.at.at[i]), LLVMConstInt(e.i1, 1, 0), false);
    aw_vec_fini(&e.at);
    LLVMDisposeBuilder(e.b);
}
