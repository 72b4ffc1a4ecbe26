/* The aw.* functions of SIMT IR: declaring and recognising them.  Their table is simt.def. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/simt.h"

#include <stdint.h>
#include <string.h>

static const struct ptx_simt_info infos[] = {
#define AW_SIMT(id, name, ret, args, traits) { name, ret, args, PTX_SIMT_##traits },
#include "lower/simt.def"
#undef AW_SIMT
};

const struct ptx_simt_info *ptx_simt_info(enum ptx_simt id)
{
    return &infos[id];
}

static LLVMTypeRef letter_type(LLVMContextRef context, char letter)
{
    switch (letter) {
    case 'b': return LLVMInt1TypeInContext(context);
    case 'i': return LLVMInt32TypeInContext(context);
    case 'l': return LLVMInt64TypeInContext(context);
    case 'q': return LLVMInt128TypeInContext(context);
    case 'f': return LLVMFloatTypeInContext(context);
    case 'd': return LLVMDoubleTypeInContext(context);
    case 'p': return LLVMPointerTypeInContext(context, 0);
    default: return LLVMVoidTypeInContext(context);
    }
}

static void attribute_add(LLVMModuleRef module, LLVMValueRef fn, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, value));
}

/* LLVM's encoding of memory(...): two bits (1 read, 2 write) per location; location 1 is memory no one else sees. */
enum { MEMORY_NONE = 0, MEMORY_INACCESSIBLE = 3 << 2 };

static void traits_apply(LLVMModuleRef module, LLVMValueRef fn, enum ptx_simt_traits traits)
{
    attribute_add(module, fn, "nounwind", 0);
    switch (traits) {
    case PTX_SIMT_PURE:
        attribute_add(module, fn, "memory", MEMORY_NONE);
        attribute_add(module, fn, "speculatable", 0);
        attribute_add(module, fn, "willreturn", 0);
        break;
    case PTX_SIMT_CONVERGENT:
        attribute_add(module, fn, "memory", MEMORY_NONE);
        attribute_add(module, fn, "convergent", 0);
        attribute_add(module, fn, "willreturn", 0);
        break;
    case PTX_SIMT_SYNC:
        attribute_add(module, fn, "convergent", 0);
        break;
    case PTX_SIMT_TIME:
        attribute_add(module, fn, "memory", MEMORY_INACCESSIBLE);
        attribute_add(module, fn, "willreturn", 0);
        break;
    case PTX_SIMT_MARK:
        attribute_add(module, fn, "memory", MEMORY_INACCESSIBLE);
        attribute_add(module, fn, "convergent", 0);
        attribute_add(module, fn, "willreturn", 0);
        break;
    case PTX_SIMT_EFFECT:
        break;
    case PTX_SIMT_NORETURN:
        attribute_add(module, fn, "noreturn", 0);
        attribute_add(module, fn, "cold", 0);
        break;
    }
}

LLVMValueRef ptx_simt_declare(LLVMModuleRef module, enum ptx_simt id)
{
    const struct ptx_simt_info *info = &infos[id];
    LLVMValueRef fn = LLVMGetNamedFunction(module, info->name);
    if (fn)
        return fn;
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef ret = letter_type(context, info->ret[0]), args[PTX_SIMT_ARGS], fields[PTX_SIMT_ARGS];
    unsigned n = 0;
    for (const char *p = info->ret; info->ret[1] && *p; p++)
        fields[n++] = letter_type(context, *p);
    if (n)
        ret = LLVMStructTypeInContext(context, fields, n, 0);
    n = 0;
    for (const char *p = info->args; *p; p++)
        args[n++] = letter_type(context, *p);
    fn = LLVMAddFunction(module, info->name, LLVMFunctionType(ret, args, n, 0));
    traits_apply(module, fn, info->traits);
    return fn;
}

enum ptx_simt ptx_simt_of(LLVMValueRef function)
{
    if (!function || !LLVMIsAFunction(function))
        return PTX_SIMT_NONE;
    size_t len;
    const char *name = LLVMGetValueName2(function, &len);
    if (len < 3 || memcmp(name, "aw.", 3) != 0)
        return PTX_SIMT_NONE;
    for (int i = 0; i < PTX_SIMT_COUNT; i++)
        if (strlen(infos[i].name) == len && memcmp(infos[i].name, name, len) == 0)
            return (enum ptx_simt)i;
    return PTX_SIMT_NONE;
}

enum ptx_simt ptx_simt_called(LLVMValueRef instruction)
{
    if (!instruction || !LLVMIsACallInst(instruction))
        return PTX_SIMT_NONE;
    return ptx_simt_of(LLVMGetCalledValue(instruction));
}

LLVMValueRef ptx_simt_call(LLVMBuilderRef builder, LLVMModuleRef module, enum ptx_simt id, LLVMValueRef *args)
{
    LLVMValueRef fn = ptx_simt_declare(module, id);
    unsigned n = (unsigned)strlen(infos[id].args);
    return LLVMBuildCall2(builder, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

/* ---- Operations that nobody reads */

static LLVMValueRef with_mask(LLVMModuleRef module, unsigned id)
{
    bool other = infos[id].traits != PTX_SIMT_CONVERGENT || id == PTX_SIMT_ACTIVEMASK || id == PTX_SIMT_LOWEST;
    return other ? NULL : LLVMGetNamedFunction(module, infos[id].name);
}

bool ptx_simt_may_pair(LLVMModuleRef module)
{
    unsigned n = 0;
    for (unsigned id = 0; id < PTX_SIMT_COUNT; id++) {
        LLVMValueRef fn = with_mask(module, id);
        for (LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL; use; use = LLVMGetNextUse(use))
            n += LLVMIsACallInst(LLVMGetUser(use)) != NULL;
    }
    return n > 1;
}

void ptx_simt_keep(LLVMModuleRef module, bool keep)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("willreturn", 10);
    for (unsigned id = 0; id < PTX_SIMT_COUNT; id++) {
        LLVMValueRef fn = with_mask(module, id);
        if (fn && keep)
            LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
        else if (fn)
            attribute_add(module, fn, "willreturn", 0);
    }
}
