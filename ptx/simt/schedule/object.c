/* The table by which a kernel's code is found in its object, as a constant of the module.  Not its code. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/vectorise.h"
#include <anywarp/hostabi.h>
#include <string.h>

static LLVMValueRef name_emit(LLVMModuleRef m, const char *kernel)
{
    LLVMValueRef text = LLVMConstStringInContext2(LLVMGetModuleContext(m), kernel, strlen(kernel), 0);
    LLVMValueRef name = LLVMAddGlobal(m, LLVMTypeOf(text), "name");
    LLVMSetInitializer(name, text);
    LLVMSetGlobalConstant(name, 1);
    LLVMSetLinkage(name, LLVMInternalLinkage);
    return name;
}

void simt_object_emit(LLVMModuleRef m, const struct simt_object *o)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
#define WORD(x) LLVMConstInt(i32, (x), 0)
    LLVMValueRef shape[3] = { WORD(o->block[0]), WORD(o->block[1]), WORD(o->block[2]) };
    LLVMValueRef none = LLVMConstNull(LLVMPointerTypeInContext(c, 0)), later = WORD(0);
    /* struct aw_host_object, field by field */
    LLVMValueRef field[] = {
        WORD(AW_HOST_ABI), WORD(o->flags), WORD(o->static_shared), later, WORD(o->kernarg_size), WORD(o->warps_per_call),
        LLVMConstArray2(i32, shape, 3), WORD(o->local_bytes), o->blocks ? o->blocks : none, o->warp, name_emit(m, o->kernel),
        later, WORD(0),
    };
#undef WORD
    LLVMValueRef init = LLVMConstStructInContext(c, field, sizeof field / sizeof *field, 0);
    LLVMValueRef object = LLVMAddGlobal(m, LLVMTypeOf(init), AW_HOST_OBJECT_SYMBOL);
    LLVMSetInitializer(object, init);
    LLVMSetGlobalConstant(object, 1);
    LLVMSetAlignment(object, 16);
}
