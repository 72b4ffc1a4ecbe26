/* Metadata by the name of its kind (lower/metadata.c): what was said of an access is said of its parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/metadata.h"

#include <criterion/criterion.h>
#include <string.h>

struct loads {
    LLVMContextRef c;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMValueRef from, to, branch;
};

static struct loads make(void)
{
    struct loads l = { .c = LLVMContextCreate() };
    l.m = LLVMModuleCreateWithNameInContext("m", l.c);
    l.b = LLVMCreateBuilderInContext(l.c);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(l.c, 0), i32 = LLVMInt32TypeInContext(l.c);
    LLVMValueRef fn = LLVMAddFunction(l.m, "f", LLVMFunctionType(LLVMVoidTypeInContext(l.c), &ptr, 1, 0));
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(l.c, fn, ""), end = LLVMAppendBasicBlockInContext(l.c, fn, "");
    LLVMPositionBuilderAtEnd(l.b, entry);
    l.from = LLVMBuildLoad2(l.b, i32, LLVMGetParam(fn, 0), "");
    l.to = LLVMBuildLoad2(l.b, i32, LLVMGetParam(fn, 0), "");
    l.branch = LLVMBuildCondBr(l.b, LLVMBuildICmp(l.b, LLVMIntEQ, l.from, l.to, ""), end, entry);
    LLVMPositionBuilderAtEnd(l.b, end);
    LLVMBuildRetVoid(l.b);
    return l;
}

static void fini(struct loads *l)
{
    LLVMDisposeBuilder(l->b);
    LLVMDisposeModule(l->m);
    LLVMContextDispose(l->c);
}

static bool says(LLVMValueRef x, const char *text)
{
    char *printed = LLVMPrintModuleToString(LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(x))));
    bool found = strstr(printed, text) != NULL;
    LLVMDisposeMessage(printed);
    return found;
}

Test(metadata, copies_of_what_an_access_says)
{
    struct loads l = make();
    LLVMMetadataRef part = LLVMMDStringInContext2(l.c, "a", 1);
    cr_expect_null(ptx_metadata(l.from, PTX_INVARIANT));
    ptx_mark(l.from, PTX_INVARIANT);
    ptx_mark(l.from, "aw.ours");
    ptx_metadata_set(l.from, "noalias", &part, 1);
    cr_expect(ptx_metadata(l.from, PTX_INVARIANT) && LLVMGetMDNodeNumOperands(ptx_metadata(l.from, PTX_INVARIANT)) == 0);
    cr_expect_eq(LLVMGetMDNodeNumOperands(ptx_metadata(l.from, "noalias")), 1);
    ptx_metadata_scopes_copy(l.from, l.to);
    cr_expect_eq(ptx_metadata(l.to, "noalias"), ptx_metadata(l.from, "noalias"));
    cr_expect(!ptx_metadata(l.to, PTX_INVARIANT) && !ptx_metadata(l.to, "alias.scope"));
    ptx_metadata_access_copy(l.from, l.to);
    cr_expect(ptx_metadata(l.to, PTX_INVARIANT) && !ptx_metadata(l.to, "aw.ours"), "of the access alone");
    fini(&l);
}

Test(metadata, ranges_and_weights)
{
    struct loads l = make();
    ptx_range_set(l.from, 1, 1025);
    ptx_weights_set(l.branch, 4000, 1);
    cr_expect(says(l.from, "!range !") && says(l.from, "!{i32 1, i32 1025}"));
    cr_expect(says(l.branch, "!prof !") && says(l.branch, "!{!\"branch_weights\", i32 4000, i32 1}"));
    fini(&l);
}
