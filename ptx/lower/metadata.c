/* Metadata of instructions; see metadata.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/metadata.h"

#include <string.h>

static LLVMContextRef context_of(LLVMValueRef x)
{
    return LLVMGetTypeContext(LLVMTypeOf(x));
}

static unsigned kind_of(LLVMValueRef x, const char *kind)
{
    return LLVMGetMDKindIDInContext(context_of(x), kind, (unsigned)strlen(kind));
}

LLVMValueRef ptx_metadata(LLVMValueRef x, const char *kind)
{
    return LLVMGetMetadata(x, kind_of(x, kind));
}

void ptx_metadata_set(LLVMValueRef x, const char *kind, LLVMMetadataRef *parts, unsigned n)
{
    LLVMContextRef c = context_of(x);
    LLVMSetMetadata(x, kind_of(x, kind), LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, parts, n)));
}

void ptx_mark(LLVMValueRef x, const char *kind)
{
    ptx_metadata_set(x, kind, NULL, 0);
}

static LLVMMetadataRef number(LLVMTypeRef type, uint64_t x)
{
    return LLVMValueAsMetadata(LLVMConstInt(type, x, 0));
}

void ptx_range_set(LLVMValueRef x, uint64_t lo, uint64_t hi)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    ptx_metadata_set(x, "range", (LLVMMetadataRef[]){ number(type, lo), number(type, hi) }, 2);
}

void ptx_own_read(LLVMValueRef load)
{
    ptx_metadata_set(load, PTX_OWN_READ, (LLVMMetadataRef[]){ number(LLVMInt32TypeInContext(context_of(load)), 1) }, 1);
}

void ptx_never_merge(LLVMValueRef call)
{
    static const char name[] = "nomerge";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(context_of(call), kind, 0));
}

void ptx_weights_set(LLVMValueRef branch, uint32_t often, uint32_t seldom)
{
    static const char what[] = "branch_weights";
    LLVMContextRef c = context_of(branch);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMMetadataRef name = LLVMMDStringInContext2(c, what, sizeof what - 1);
    ptx_metadata_set(branch, "prof", (LLVMMetadataRef[]){ name, number(i32, often), number(i32, seldom) }, 3);
}

LLVMBasicBlockRef ptx_way_all_but_never(LLVMValueRef branch)
{
    LLVMValueRef node = ptx_metadata(branch, "prof"), parts[3];
    if (!node || LLVMGetMDNodeNumOperands(node) != 3 || LLVMGetNumSuccessors(branch) != 2)
        return NULL;
    LLVMGetMDNodeOperands(node, parts);
    for (unsigned way = 0; way < 2; way++)
        if (parts[1 + way] && LLVMIsAConstantInt(parts[1 + way]) &&
            LLVMConstIntGetZExtValue(parts[1 + way]) == PTX_ALL_BUT_NEVER)
            return LLVMGetSuccessor(branch, 1 - way);
    return NULL;
}

static void copy(LLVMValueRef from, LLVMValueRef to, const char *kind)
{
    LLVMValueRef node = ptx_metadata(from, kind);
    if (node)
        LLVMSetMetadata(to, kind_of(to, kind), node);
}

void ptx_metadata_scopes_copy(LLVMValueRef from, LLVMValueRef to)
{
    copy(from, to, "alias.scope");
    copy(from, to, "noalias");
}

void ptx_metadata_access_copy(LLVMValueRef from, LLVMValueRef to)
{
    ptx_metadata_scopes_copy(from, to);
    copy(from, to, PTX_INVARIANT);
}
