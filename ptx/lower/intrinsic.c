/* LLVM's intrinsics by number.  Their table is intrinsic.def. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/intrinsic.h"

#include <pthread.h>
#include <string.h>

#define HINT PTX_INTRINSIC_HINT
#define IMMEDIATE PTX_INTRINSIC_IMMEDIATE
#define LIFETIME PTX_INTRINSIC_LIFETIME
#define MASKED PTX_INTRINSIC_MASKED
#define WRITES PTX_INTRINSIC_WRITES
#define STAYS PTX_INTRINSIC_STAYS
#define INT_MINMAX PTX_INTRINSIC_INT_MINMAX
#define ANY_NAN PTX_INTRINSIC_ANY_NAN
#define AW_INTRINSIC(id, name, types, traits) { name, types, traits },
static const struct ptx_intrinsic_info infos[] = {
#include "lower/intrinsic.def"
};
#undef AW_INTRINSIC

/* LLVM numbers its intrinsics anew with every version, and tells a number by name only: once, for all. */
static unsigned numbers[PTX_INTRINSIC_COUNT];
static pthread_once_t numbered = PTHREAD_ONCE_INIT;

static void number(void)
{
    for (int i = 0; i < PTX_INTRINSIC_COUNT; i++)
        numbers[i] = LLVMLookupIntrinsicID(infos[i].name, strlen(infos[i].name));
}

const struct ptx_intrinsic_info *ptx_intrinsic_info(enum ptx_intrinsic id)
{
    return &infos[id];
}

unsigned ptx_intrinsic_llvm_id(enum ptx_intrinsic id)
{
    pthread_once(&numbered, number);
    return numbers[id];
}

enum ptx_intrinsic ptx_intrinsic_called(LLVMValueRef instruction)
{
    LLVMValueRef callee = instruction && LLVMIsACallInst(instruction) ? LLVMGetCalledValue(instruction) : NULL;
    unsigned id = callee && LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
    pthread_once(&numbered, number);
    for (int i = 0; id && i < PTX_INTRINSIC_COUNT; i++)
        if (numbers[i] == id)
            return (enum ptx_intrinsic)i;
    return PTX_INTRINSIC_NONE;
}

bool ptx_intrinsic_has(LLVMValueRef instruction, unsigned traits)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(instruction);
    return id != PTX_INTRINSIC_NONE && infos[id].traits & traits;
}
