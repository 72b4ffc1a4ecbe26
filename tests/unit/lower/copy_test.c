/* Copies of instructions (lower/copy.c): what stands for what, and edges of phis, on a loop of one block that adds up an
 * index. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/copy.h"

#include <criterion/criterion.h>
#include <llvm-c/Analysis.h>
#include <stdlib.h>

/* entry: to loop; loop: i = phi, sum = phi, next = i + 1, more = sum + i, back while next < n; out: return more. */
struct example {
    LLVMContextRef c;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i32;
    LLVMValueRef fn, n, i, sum, next, more, cond;
    LLVMBasicBlockRef entry, loop, out;
};

static struct example make(void)
{
    struct example e = { .c = LLVMContextCreate() };
    e.m = LLVMModuleCreateWithNameInContext("m", e.c);
    e.b = LLVMCreateBuilderInContext(e.c);
    e.i32 = LLVMInt32TypeInContext(e.c);
    e.fn = LLVMAddFunction(e.m, "f", LLVMFunctionType(e.i32, &e.i32, 1, 0));
    e.n = LLVMGetParam(e.fn, 0);
    e.entry = LLVMAppendBasicBlockInContext(e.c, e.fn, "entry");
    e.loop = LLVMAppendBasicBlockInContext(e.c, e.fn, "loop");
    e.out = LLVMAppendBasicBlockInContext(e.c, e.fn, "out");
    LLVMPositionBuilderAtEnd(e.b, e.entry);
    LLVMBuildBr(e.b, e.loop);
    LLVMPositionBuilderAtEnd(e.b, e.loop);
    e.i = LLVMBuildPhi(e.b, e.i32, "i");
    e.sum = LLVMBuildPhi(e.b, e.i32, "sum");
    e.next = LLVMBuildAdd(e.b, e.i, LLVMConstInt(e.i32, 1, 0), "next");
    e.more = LLVMBuildAdd(e.b, e.sum, e.i, "more");
    e.cond = LLVMBuildICmp(e.b, LLVMIntULT, e.next, e.n, "cond");
    LLVMBuildCondBr(e.b, e.cond, e.loop, e.out);
    for (int k = 0; k < 2; k++) {
        LLVMValueRef phi = k ? e.sum : e.i;
        ptx_phi_add(phi, LLVMConstInt(e.i32, 0, 0), e.entry);
        ptx_phi_add(phi, k ? e.more : e.next, e.loop);
    }
    LLVMPositionBuilderAtEnd(e.b, e.out);
    LLVMBuildRet(e.b, e.more);
    return e;
}

static void check(struct example *e)
{
    char *why = NULL;
    cr_expect(!LLVMVerifyModule(e->m, LLVMReturnStatusAction, &why), "%s", why);
    LLVMDisposeMessage(why);
    LLVMDisposeBuilder(e->b);
    LLVMDisposeModule(e->m);
    LLVMContextDispose(e->c);
}

/* A round of the loop before it, for which `i` is what comes from the entry. */
Test(copy, body_by_one_way)
{
    struct example e = make();
    struct ptx_copy c = { .b = e.b };
    LLVMPositionBuilderBefore(e.b, LLVMGetBasicBlockTerminator(e.entry));
    ptx_copy_body(&c, e.loop, e.entry);
    LLVMValueRef next = ptx_copied(&c, e.next), cond = ptx_copied(&c, e.cond);
    cr_assert(!c.failed);
    cr_expect(LLVMIsConstant(ptx_copied(&c, e.i)) && LLVMIsConstant(ptx_copied(&c, e.sum)), "no phis are left");
    cr_expect_neq(next, e.next);
    cr_expect_eq(LLVMGetInstructionParent(next), e.entry);
    cr_expect(LLVMGetOperand(cond, 0) == next && LLVMGetOperand(cond, 1) == e.n,
              "copies use copies, and what is from elsewhere as it is");
    cr_expect_eq(ptx_copied(&c, e.n), e.n);
    cr_expect_eq(ptx_copied(&c, e.out), e.out);
    ptx_copy_fini(&c);
    cr_expect_eq(ptx_copied(&c, e.next), e.next, "the map is forgotten");
    check(&e);
}

/* Copies of which each still has its operands. */
Test(copy, body_with_empty_phis)
{
    struct example e = make();
    struct ptx_copy c = { .b = e.b };
    LLVMBasicBlockRef once = LLVMInsertBasicBlockInContext(e.c, e.out, "once");
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(e.loop), 1, once);
    LLVMPositionBuilderAtEnd(e.b, once);
    ptx_copy_body(&c, e.loop, NULL);
    LLVMBuildBr(e.b, e.out);
    LLVMValueRef i = ptx_copied(&c, e.i), sum = ptx_copied(&c, e.sum);
    cr_assert(LLVMIsAPHINode(i) && !LLVMCountIncoming(i) && LLVMIsAPHINode(sum));
    ptx_phi_add(i, e.next, e.loop);
    ptx_phi_add(sum, e.more, e.loop);
    cr_expect_eq(ptx_phi_value(i, e.loop), e.next);
    cr_expect_null(ptx_phi_value(i, e.entry));
    ptx_copy_note(&c, e.next, ptx_copied(&c, e.more));
    cr_expect_eq(ptx_copied(&c, e.next), ptx_copied(&c, e.more), "what was noted last stands for it");
    LLVMValueRef as_is = ptx_copy_as_is(&c, e.cond);
    cr_expect_eq(LLVMGetOperand(as_is, 0), e.next);
    LLVMInstructionEraseFromParent(as_is);
    ptx_copy_fini(&c);
    check(&e);
}

static bool is_phi_or_none(const void *data, LLVMValueRef x)
{
    ++*(int *)data;
    return LLVMIsAPHINode(x) || !LLVMIsAInstruction(x);
}

Test(copy, computation_once)
{
    struct example e = make();
    struct ptx_copy c = { .b = e.b };
    int asked = 0;
    LLVMPositionBuilderBefore(e.b, LLVMGetBasicBlockTerminator(e.loop));
    LLVMValueRef cond = ptx_copy_computation(&c, e.cond, is_phi_or_none, &asked), next = LLVMGetOperand(cond, 0);
    cr_expect(cond != e.cond && next != e.next && LLVMGetOperand(next, 0) == e.i);
    cr_expect_eq(LLVMGetNextInstruction(next), cond, "operands come first");
    int before = asked;
    cr_expect_eq(ptx_copy_computation(&c, e.cond, is_phi_or_none, &asked), cond);
    cr_expect_eq(asked, before, "what is noted is not asked for");
    ptx_copy_fini(&c);
    check(&e);
}

Test(copy, edges_get_another_name)
{
    struct example e = make();
    LLVMBasicBlockRef between = LLVMInsertBasicBlockInContext(e.c, e.loop, "between");
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(e.entry), 0, between);
    LLVMPositionBuilderAtEnd(e.b, between);
    LLVMBuildBr(e.b, e.loop);
    ptx_phis_rename(e.b, e.loop, e.entry, between);
    LLVMValueRef i = LLVMGetFirstInstruction(e.loop);
    cr_expect(LLVMIsAPHINode(i) && LLVMCountIncoming(i) == 2);
    cr_expect(ptx_phi_value(i, between) && !ptx_phi_value(i, e.entry));
    cr_expect_eq(ptx_phi_value(i, e.loop), e.next);
    cr_expect_eq(LLVMGetOperand(e.next, 0), i, "who used the old phi uses the new one");
    check(&e);
}
