/* %smid and %nsmid on AMDGPU.
 *
 * A hardware register says where a wave runs: in which compute unit, or on gfx10 and later in which processor of two units, over
 * which a block's waves spread and of which HIP counts multiprocessors; in which shader array, engine and, on gfx94x and gfx950,
 * die.  Such numbers have gaps, as cards are sold with units switched off, and programs index arrays of
 * cudaDeviceProp.multiProcessorCount elements by %smid.  So each unit has a place in a table of so many, shared by all the
 * device's kernels: whoever finds it first takes the place for it, and keeps it.  %smid is the place.
 *
 * Fields are as ROCm's HIP headers and the Linux kernel's register headers have them; gfx12's are taken to be gfx11's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <stddef.h>

#include <anywarp/env.h>

typedef LLVMValueRef V;

enum { HW_ID = 4, XCC_ID = 20, HW_ID1 = 23 };

/* `bits` bits from `offset` on of a hardware register. */
struct unit_field {
    uint8_t hwreg, offset, bits;
};

/* The fields that make up a unit's number on the cards whose names begin so, most significant first. */
static const struct {
    const char *cards;
    struct unit_field fields[3];
} layouts[] = {
    { "gfx94", { { XCC_ID, 0, 4 }, { HW_ID, 8, 7 } } }, /* HW_ID: unit, array, engine from bit 8 on */
    { "gfx95", { { XCC_ID, 0, 4 }, { HW_ID, 8, 7 } } },
    { "gfx9-4", { { XCC_ID, 0, 4 }, { HW_ID, 8, 7 } } },
    { "gfx908", { { HW_ID, 8, 8 } } },
    { "gfx90a", { { HW_ID, 8, 8 } } },
    { "gfx9", { { HW_ID, 8, 7 } } },
    { "gfx10", { { HW_ID1, 18, 2 }, { HW_ID1, 16, 1 }, { HW_ID1, 10, 4 } } }, /* engine, array, processor */
    { "gfx", { { HW_ID1, 18, 3 }, { HW_ID1, 16, 1 }, { HW_ID1, 10, 4 } } },
};

static V hardware_number(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    const struct unit_field *f = NULL;
    V number = NULL;
    for (size_t i = 0; !f; i++)
        if (strncmp(a->finish->options->target, layouts[i].cards, strlen(layouts[i].cards)) == 0)
            f = layouts[i].fields;
    for (unsigned i = 0; i < 3 && f[i].bits; i++) {
        V which = b_i32(b, (uint32_t)(f[i].bits - 1) << 11 | (uint32_t)f[i].offset << 6 | f[i].hwreg);
        V part = b_intrinsic(b, "llvm.amdgcn.s.getreg", NULL, 0, &which, 1);
        number = number ? b_or(b, b_shl(b, number, b_i32(b, f[i].bits)), part) : part;
    }
    return number;
}

/* A field of struct aw_units.  Until it is written there is one unit, and no table. */
static V units(struct amdgpu *a, LLVMTypeRef type, uint64_t offset)
{
    struct ptx_lower *b = &a->b;
    return ptx_amdgpu_variable_field(a, AW_UNITS_SYMBOL, (V[]){ b_i64(b, 0), b_i64(b, 1) }, 2, type, offset);
}

V ptx_amdgpu_units(struct amdgpu *a)
{
    return units(a, a->b.i32, offsetof(struct aw_units, count));
}

/* Looks for the unit's place from where its number would be without gaps; an empty one becomes its own.  There are enough, but
 * should the register say more than is known here, the search ends where it began. */
V ptx_amdgpu_unit(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef begin = ptx_block_new(b, ""), look = ptx_block_new(b, "look"), take = ptx_block_new(b, "take");
    LLVMBasicBlockRef other = ptx_block_new(b, ""), next = ptx_block_new(b, "next"), done = ptx_block_new(b, "");
    unsigned scope = LLVMGetSyncScopeID(b->context, "agent", 5);
    V table = units(a, b->i64, offsetof(struct aw_units, numbers)), count = ptx_amdgpu_units(a), zero = b_i32(b, 0);
    LLVMBuildCondBr(b->builder, b_eq(b, table, b_i64(b, 0)), done, begin);

    LLVMPositionBuilderAtEnd(b->builder, begin);
    V number = hardware_number(a), mine = b_add(b, number, b_i32(b, 1)), first = LLVMBuildURem(b->builder, number, count, "");
    LLVMBuildBr(b->builder, look);

    LLVMPositionBuilderAtEnd(b->builder, look);
    V place = LLVMBuildPhi(b->builder, b->i32, "");
    V word = b_inttoptr(b, b_add(b, table, b_shl(b, b_zext(b, place, b->i64), b_i64(b, 2))), b->ptr[AS_GLOBAL]);
    V there = LLVMBuildLoad2(b->builder, b->i32, word, "");
    LLVMSetAlignment(there, 4);
    LLVMSetOrdering(there, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(there, scope);
    LLVMBuildCondBr(b->builder, b_eq(b, there, zero), take, other);

    LLVMPositionBuilderAtEnd(b->builder, take);
    LLVMAtomicOrdering order = LLVMAtomicOrderingMonotonic;
    V was = b_field(b, LLVMBuildAtomicCmpXchgSyncScope(b->builder, word, zero, mine, order, order, scope), 0);
    LLVMBuildCondBr(b->builder, b_eq(b, was, zero), done, other);

    LLVMPositionBuilderAtEnd(b->builder, other);
    V found = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMAddIncoming(found, (V[]){ there, was }, (LLVMBasicBlockRef[]){ look, take }, 2);
    LLVMBuildCondBr(b->builder, b_eq(b, found, mine), done, next);

    LLVMPositionBuilderAtEnd(b->builder, next);
    V after = b_add(b, place, b_i32(b, 1));
    after = b_select(b, b_icmp(b, LLVMIntUGE, after, count), zero, after);
    LLVMAddIncoming(place, (V[]){ first, after }, (LLVMBasicBlockRef[]){ begin, next }, 2);
    LLVMBuildCondBr(b->builder, b_eq(b, after, first), done, look);

    LLVMPositionBuilderAtEnd(b->builder, done);
    V unit = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMAddIncoming(unit, (V[]){ zero, place, place, first }, (LLVMBasicBlockRef[]){ entry, take, other, next }, 4);
    return unit;
}
