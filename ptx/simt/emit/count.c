/* Counting, for `anywarp profile --counters`: each block of code counts how often warps run it, and for how many lanes.  All else
 * is known when compiling and goes into a table beside the code: how many instructions of which line a block has, and how many
 * bytes a lane asks for there.  (struct aw_host_counts of anywarp/hostabi.h has both.)
 *
 * An access to a generic address counts its lanes by itself, as each may be elsewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

#include <anywarp/hostabi.h>
#include <stddef.h>
#include <string.h>

/* ---- Counters, two words each: times, lanes. */

static LLVMValueRef word(struct simt_fn *f, uint32_t counter, int at)
{
    LLVMValueRef counts = simt_field(f->u, f->block, offsetof(struct aw_host_block, counts), f->u->ptr, true);
    return simt_advance(f->u, counts, 16 * (int64_t)counter + 8 * at);
}

static void add(struct simt_fn *f, LLVMValueRef to, LLVMValueRef more)
{
    struct simt *u = f->u;
    LLVMValueRef old = LLVMBuildLoad2(u->b, u->i64, to, "");
    LLVMValueRef store = LLVMBuildStore(u->b, LLVMBuildAdd(u->b, old, more, ""), to);
    simt_mark_own(u, old);
    simt_mark_own(u, store);
}

static void count(struct simt_fn *f, uint32_t counter, LLVMValueRef mask)
{
    struct simt *u = f->u;
    LLVMTypeRef t = u->i32;
    LLVMValueRef bits = simt_bits(u, mask), lanes = simt_intrinsic(u, "llvm.ctpop", &t, 1, &bits, 1);
    add(f, word(f, counter, 0), simt_c64(u, 1));
    add(f, word(f, counter, 1), LLVMBuildZExt(u->b, lanes, u->i64, ""));
}

/* ---- The table. */

static bool row_is(const struct simt_count *row, uint32_t counter, enum aw_host_counted what, LLVMMetadataRef file, uint32_t line)
{
    return row->counter == counter && row->what == what && row->file == file && row->line == line;
}

/* What the instruction adds to each time that the counter counts. */
static void row_add(struct simt *u, uint32_t counter, enum aw_host_counted what, LLVMValueRef inst, uint32_t amount)
{
    LLVMMetadataRef place = u->lines.on ? LLVMInstructionGetDebugLoc(inst) : NULL;
    uint32_t line = place ? LLVMDILocationGetLine(place) : 0;
    LLVMMetadataRef file = line ? LLVMDIScopeGetFile(LLVMDILocationGetScope(place)) : NULL;
    for (size_t i = u->counts.rows.n; i-- > 0 && u->counts.rows.at[i].counter >= u->counts.first;)
        if (row_is(&u->counts.rows.at[i], counter, what, file, line)) {
            u->counts.rows.at[i].amount += amount;
            return;
        }
    if (!aw_vec_push(&u->counts.rows, (struct simt_count){ counter, what, amount, line, file }))
        simt_memory(u);
}

/* ---- Accesses. */

/* Which lanes of a generic address are in a window of memory. */
static LLVMValueRef inside(struct simt_fn *f, LLVMValueRef at, LLVMValueRef base, LLVMValueRef size)
{
    struct simt *u = f->u;
    return LLVMBuildICmp(u->b, LLVMIntULT, LLVMBuildSub(u->b, at, simt_splat(u, base), ""), simt_splat(u, size), "");
}

static LLVMValueRef stack_low(struct simt_fn *f, LLVMValueRef top, LLVMValueRef size)
{
    return LLVMBuildSub(f->u->b, LLVMBuildPtrToInt(f->u->b, top, f->u->i64, ""), size, "");
}

static void generic(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef ptr, const uint32_t bytes[2])
{
    struct simt *u = f->u;
    LLVMValueRef at = simt_vector(f, ptr), all = simt_full(u, f->mask);
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(at))) == LLVMPointerTypeKind)
        at = LLVMBuildPtrToInt(u->b, at, u->i64v, "");
    LLVMValueRef window = simt_field(u, f->launch, offsetof(struct aw_host_launch, total_shared), u->i32, true);
    LLVMValueRef shared = inside(f, at, LLVMBuildPtrToInt(u->b, f->shared, u->i64, ""), LLVMBuildZExt(u->b, window, u->i64, ""));
    LLVMValueRef size = simt_field(u, f->block, offsetof(struct aw_host_block, local_size), u->i64, true);
    LLVMValueRef local = inside(f, at, stack_low(f, simt_field(u, f->state, 0, u->ptr, false), size), size);
    LLVMValueRef elsewhere = LLVMBuildNot(u->b, LLVMBuildOr(u->b, shared, local, ""), "");
    static const enum aw_host_counted kinds[2][2] = { { AW_HOST_COUNTED_LOAD, AW_HOST_COUNTED_STORE },
                                                      { AW_HOST_COUNTED_SHARED_LOAD, AW_HOST_COUNTED_SHARED_STORE } };
    for (int in_shared = 0; in_shared < 2; in_shared++) {
        uint32_t counter = u->counts.n++;
        count(f, counter, LLVMBuildAnd(u->b, all, in_shared ? shared : elsewhere, ""));
        for (int i = 0; i < 2; i++)
            if (bytes[i])
                row_add(u, counter, kinds[in_shared][i], inst, bytes[i]);
    }
}

/* An atomic update is a load and a store. */
static void access_count(struct simt_fn *f, LLVMValueRef inst, uint32_t counter)
{
    struct simt *u = f->u;
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    bool load = op == LLVMLoad, store = op == LLVMStore, update = op == LLVMAtomicRMW || op == LLVMAtomicCmpXchg;
    if (!(load || store || update) || ptx_metadata(inst, PTX_OWN_READ))
        return;
    LLVMValueRef ptr = LLVMGetOperand(inst, store);
    LLVMTypeRef type = load ? LLVMTypeOf(inst) : LLVMTypeOf(LLVMGetOperand(inst, store ? 0 : 1));
    uint32_t size = (uint32_t)LLVMStoreSizeOfType(u->in_layout, type);
    const uint32_t bytes[2] = { store ? 0 : size, load ? 0 : size };
    unsigned space = simt_space(LLVMTypeOf(ptr));
    if (space == 0) {
        generic(f, inst, ptr, bytes);
        return;
    }
    if (space != SIMT_SPACE_GLOBAL && space != SIMT_SPACE_SHARED)
        return;
    bool shared = space == SIMT_SPACE_SHARED;
    for (int i = 0; i < 2; i++)
        if (bytes[i])
            row_add(u, counter, (enum aw_host_counted)((shared ? AW_HOST_COUNTED_SHARED_LOAD : AW_HOST_COUNTED_LOAD) + i), inst,
                    bytes[i]);
}

/* So that it is known how long a warp takes to its first barrier. */
void simt_count_warp(struct simt_fn *f)
{
    struct simt *u = f->u;
    static const enum ptx_simt barriers[] = { PTX_SIMT_BARRIER, PTX_SIMT_BARRIER_REDUCE };
    bool any = false;
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++)
        any |= LLVMGetNamedFunction(u->in, ptx_simt_info(barriers[i])->name) != NULL;
    if (u->options->count && f->form != SIMT_FORM_DEVICE && any)
        simt_service(f, offsetof(struct aw_host_services, count_warp), u->v_void, &f->block, 1);
}

void simt_count_block(struct simt_fn *f)
{
    if (!f->u->options->count)
        return;
    f->counter = f->u->counts.first = f->u->counts.n++;
    count(f, f->counter, simt_full(f->u, f->mask));
}

void simt_count_instruction(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    if (!u->options->count || LLVMIsAPHINode(inst))
        return;
    row_add(u, f->counter, AW_HOST_COUNTED_INSTRUCTIONS, inst, 1);
    access_count(f, inst, f->counter);
}

/* ---- The table as data. */

/* Behind the code, which must not move where the table is another (src/core/code.c): so there is nothing to relocate in it,
 * either. */
static LLVMValueRef global(struct simt *u, const char *name, LLVMTypeRef type)
{
    LLVMValueRef it = LLVMAddGlobal(u->out, type, name);
    LLVMSetLinkage(it, LLVMInternalLinkage);
    LLVMSetSection(it, ".data.counted");
    LLVMSetAlignment(it, 16);
    return it;
}

static LLVMValueRef text_of(struct simt *u, LLVMMetadataRef file)
{
    unsigned dir_len = 0, name_len = 0;
    LLVMValueRef known = aw_ptrmap_find(&u->counts.texts, file);
    if (known)
        return known;
    const char *dir = LLVMDIFileGetDirectory(file, &dir_len), *name = LLVMDIFileGetFilename(file, &name_len);
    struct aw_str path = aw_arena_printf(&u->arena, "%.*s%s%.*s", (int)dir_len, dir, dir_len ? "/" : "", (int)name_len, name);
    LLVMValueRef text = LLVMConstStringInContext2(u->ctx, path.ptr ? path.ptr : "", path.len, 0);
    known = global(u, "file", LLVMTypeOf(text));
    LLVMSetInitializer(known, text);
    if (!path.ptr || !aw_ptrmap_put(&u->counts.texts, file, known))
        simt_memory(u);
    return known;
}

static LLVMValueRef row_value(struct simt *u, const struct simt_count *row, LLVMValueRef table)
{
    LLVMValueRef file = simt_c64(u, 0);
    if (row->file)
        file = LLVMConstSub(LLVMConstPtrToInt(text_of(u, row->file), u->i64), LLVMConstPtrToInt(table, u->i64));
    LLVMValueRef value[5] = { simt_c32(u, row->counter), simt_c32(u, (int64_t)row->what), simt_c32(u, row->amount),
                              simt_c32(u, row->line), file };
    return LLVMConstStructInContext(u->ctx, value, 5, 0);
}

void simt_count_table(struct simt *u)
{
    size_t n = u->counts.rows.n;
    LLVMTypeRef fields[5] = { u->i32, u->i32, u->i32, u->i32, u->i64 };
    LLVMTypeRef type = LLVMStructTypeInContext(u->ctx, fields, 5, 0);
    LLVMValueRef *rows = u->options->count ? AW_NEW_ARRAY(&u->arena, LLVMValueRef, n + 1) : NULL;
    if (!u->options->count)
        return;
    if (!rows) {
        simt_memory(u);
        return;
    }
    LLVMValueRef table = global(u, "counted", LLVMArrayType2(type, n));
    for (size_t i = 0; i < n; i++)
        rows[i] = row_value(u, &u->counts.rows.at[i], table);
    LLVMSetInitializer(table, LLVMConstArray2(type, rows, n));
    LLVMValueRef field[3] = { simt_c32(u, u->counts.n), simt_c32(u, (int64_t)n), table };
    LLVMValueRef head = LLVMConstStructInContext(u->ctx, field, 3, 0);
    LLVMValueRef object = global(u, AW_HOST_COUNTS_SYMBOL, LLVMTypeOf(head));
    LLVMSetLinkage(object, LLVMExternalLinkage);
    LLVMSetInitializer(object, head);
}
