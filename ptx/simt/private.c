/* The vectoriser's private intrinsics.  Their table is private.def. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "aw.host."
enum { PRIVATE_ARGS = 5 }; /* none has more */
enum appended { NONE, WIDTH, SPACE, NUMBER };

#define UNIFORM SIMT_PRIVATE_UNIFORM
#define ADDRESS SIMT_PRIVATE_ADDRESS
#define VOTE SIMT_PRIVATE_VOTE
#define MEET SIMT_PRIVATE_MEETING
#define ONE_LANE SIMT_PRIVATE_ONE_LANE
static const struct private_row {
    const char *name, *result;
    enum appended appended;
    unsigned traits;
} rows[SIMT_PRIVATE_COUNT] = {
#define AW_PRIVATE(id, name, result, appended, traits) [SIMT_PRIVATE_##id] = { name, #result, appended, traits },
#include "simt/private.def"
#undef AW_PRIVATE
};

/* Is `name` the row's, or that with ".N"? */
static bool fits(const struct private_row *row, const char *name)
{
    size_t n = strlen(row->name);
    if (strncmp(name, row->name, n) != 0)
        return false;
    return row->appended == NONE ? !name[n] : name[n] == '.' && isdigit((unsigned char)name[n + 1]);
}

enum simt_private simt_private_of(LLVMValueRef function)
{
    size_t len;
    const char *name = function && LLVMIsAFunction(function) ? LLVMGetValueName2(function, &len) : "";
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return SIMT_PRIVATE_NONE;
    for (int i = SIMT_PRIVATE_NONE + 1; i < SIMT_PRIVATE_COUNT; i++)
        if (fits(&rows[i], name))
            return (enum simt_private)i;
    return SIMT_PRIVATE_NONE;
}

enum simt_private simt_private_called(LLVMValueRef instruction)
{
    return instruction && LLVMIsACallInst(instruction) ? simt_private_of(LLVMGetCalledValue(instruction)) : SIMT_PRIVATE_NONE;
}

bool simt_private_has(enum simt_private id, unsigned traits)
{
    return rows[id].traits & traits;
}

static LLVMTypeRef result_type(LLVMModuleRef module, const struct private_row *row, LLVMValueRef *args)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    switch (*row->result) {
    case 'b': return LLVMInt1TypeInContext(context);
    case 'i': return LLVMInt32TypeInContext(context);
    case 's': return LLVMTypeOf(args[0]);
    default: return LLVMVoidTypeInContext(context);
    }
}

LLVMValueRef simt_private_call(LLVMBuilderRef b, LLVMModuleRef module, enum simt_private id, LLVMValueRef *args, unsigned n)
{
    const struct private_row *row = &rows[id];
    char name[64];
    LLVMTypeRef types[PRIVATE_ARGS];
    snprintf(name, sizeof name, "%s", row->name);
    if (row->appended == WIDTH)
        snprintf(name, sizeof name, "%s.%u", row->name, LLVMGetIntTypeWidth(LLVMTypeOf(args[0])));
    else if (row->appended == SPACE)
        snprintf(name, sizeof name, "%s.%u", row->name, LLVMGetPointerAddressSpace(LLVMTypeOf(args[0])));
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result_type(module, row, args), types, n, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(module, name);
    fn = fn ? fn : LLVMAddFunction(module, name, type);
    return LLVMBuildCall2(b, type, fn, args, n, "");
}

LLVMValueRef simt_private_declare(LLVMModuleRef module, enum simt_private id, int n, LLVMTypeRef type)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%d", rows[id].name, n);
    return LLVMAddFunction(module, name, type);
}

LLVMValueRef simt_private_find(LLVMModuleRef module, enum simt_private id)
{
    return LLVMGetNamedFunction(module, rows[id].name);
}
