/* One memory access of a warp: the ways to make it, tried in the order of access_way.def.  Not the ways themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum access_kind { LOAD, STORE, UPDATE, ACCESS_KINDS };

#define PTX_PASS_ALWAYS PTX_PASS_COUNT /* no pass leaves it out */
#define FUNCTION_NONE(name) NULL
#define FUNCTION_OWN(name) simt_##name
static const struct access_way {
    bool (*emit[ACCESS_KINDS])(struct simt_fn *f, LLVMValueRef inst);
    int pass; /* enum ptx_pass */
} ways[] = {
#define AW_ACCESS(name, load, store, update, pass, what) \
    { { FUNCTION_##load(name##_load), FUNCTION_##store(name##_store), FUNCTION_##update(name##_update) }, PTX_PASS_##pass },
#include "simt/emit/access_way.def"
#undef AW_ACCESS
};

static void emit(struct simt_fn *f, LLVMValueRef inst, enum access_kind kind)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        bool may = ways[i].pass == PTX_PASS_ALWAYS || simt_step(f->u, (enum ptx_pass)ways[i].pass);
        if (may && ways[i].emit[kind] && ways[i].emit[kind](f, inst))
            return;
    }
}

void simt_load_emit(struct simt_fn *f, LLVMValueRef inst)
{
    simt_prefetch_emit(f, inst);
    if (!simt_get(f, inst)->v) /* else it was made with another one */
        emit(f, inst, LOAD);
}

void simt_store_emit(struct simt_fn *f, LLVMValueRef inst)
{
    simt_prefetch_emit(f, inst);
    emit(f, inst, STORE);
}

void simt_update_emit(struct simt_fn *f, LLVMValueRef inst)
{
    emit(f, inst, UPDATE);
}
