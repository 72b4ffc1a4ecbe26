/* The table of private intrinsics: calls are built and recognised by number, and no other function is taken for one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/private.h"

#include <criterion/criterion.h>

static struct {
    LLVMContextRef c;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMValueRef fn;
} t;

static void begin(void)
{
    t.c = LLVMContextCreate();
    t.m = LLVMModuleCreateWithNameInContext("m", t.c);
    t.b = LLVMCreateBuilderInContext(t.c);
    LLVMTypeRef types[4] = { LLVMInt1TypeInContext(t.c), LLVMInt32TypeInContext(t.c), LLVMPointerTypeInContext(t.c, 1),
                             LLVMPointerTypeInContext(t.c, 3) };
    t.fn = LLVMAddFunction(t.m, "f", LLVMFunctionType(LLVMVoidTypeInContext(t.c), types, 4, 0));
    LLVMPositionBuilderAtEnd(t.b, LLVMAppendBasicBlockInContext(t.c, t.fn, ""));
}

static void end(void)
{
    LLVMDisposeBuilder(t.b);
    LLVMDisposeModule(t.m);
    LLVMContextDispose(t.c);
}

/* Of the function's parameters from number `first` on. */
static LLVMValueRef call(enum simt_private id, unsigned first, unsigned n)
{
    LLVMValueRef args[4];
    LLVMGetParams(t.fn, args);
    LLVMValueRef r = simt_private_call(t.b, t.m, id, args + first, n);
    cr_expect_eq(simt_private_called(r), id);
    return r;
}

Test(private, calls, .init = begin, .fini = end)
{
    LLVMTypeRef i1 = LLVMInt1TypeInContext(t.c), i32 = LLVMInt32TypeInContext(t.c);
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_ALWAYS, 0, 0)), i1);
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_ALL, 0, 1)), i1);
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_TOGETHER, 0, 1)), i1);
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_MEET_TOGETHER, 0, 1)), i1);
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_MEET, 0, 2)), LLVMVoidTypeInContext(t.c));
    cr_expect_eq(LLVMTypeOf(call(SIMT_PRIVATE_MEET_REDUCE, 0, 2)), i32);
    LLVMValueRef bit = call(SIMT_PRIVATE_FIRST, 0, 1), word = call(SIMT_PRIVATE_FIRST, 1, 1);
    cr_expect_eq(LLVMTypeOf(bit), i1);
    cr_expect_eq(LLVMTypeOf(word), i32);
    cr_expect_neq(LLVMGetCalledValue(bit), LLVMGetCalledValue(word));
    LLVMValueRef global = call(SIMT_PRIVATE_EXACT, 2, 1), shared = call(SIMT_PRIVATE_EXACT, 3, 1);
    cr_expect_eq(LLVMGetPointerAddressSpace(LLVMTypeOf(global)), 1);
    cr_expect_eq(LLVMGetPointerAddressSpace(LLVMTypeOf(shared)), 3);
    cr_expect_eq(LLVMGetCalledValue(call(SIMT_PRIVATE_EXACT, 3, 1)), LLVMGetCalledValue(shared)); /* declared once */
    cr_expect_eq(simt_private_find(t.m, SIMT_PRIVATE_ALL), LLVMGetNamedFunction(t.m, "aw.host.all"));
}

Test(private, others, .init = begin, .fini = end)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMInt1TypeInContext(t.c), NULL, 0, 0);
    LLVMValueRef single = simt_private_declare(t.m, SIMT_PRIVATE_SINGLE, 12, type);
    cr_expect_eq(simt_private_of(single), SIMT_PRIVATE_SINGLE);
    static const char *const names[] = { "aw.host.", "aw.host.alls", "aw.host.all.1", "aw.host.first", "aw.host.first.",
                                         "aw.host.first.x",
                                         "aw.host.single", "aw.host.meet.1", "aw.tid.x", "all" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_eq(simt_private_of(LLVMAddFunction(t.m, names[i], type)), SIMT_PRIVATE_NONE, "%s", names[i]);
    cr_expect_eq(simt_private_of(NULL), SIMT_PRIVATE_NONE);
    cr_expect_eq(simt_private_called(LLVMGetParam(t.fn, 0)), SIMT_PRIVATE_NONE);
    cr_expect(!simt_private_has(SIMT_PRIVATE_NONE, ~0u));
    cr_expect(simt_private_has(SIMT_PRIVATE_ALL, SIMT_PRIVATE_VOTE) &&
              !simt_private_has(SIMT_PRIVATE_EXACT, SIMT_PRIVATE_UNIFORM));
}
