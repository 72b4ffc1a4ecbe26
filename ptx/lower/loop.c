/* Loops that are not to be unrolled: .pragma "nounroll" (PTX ISA, "Pragma Strings").  nvcc says so of the loops that its user
 * wants rolled and of what is left over beside the loops that it has unrolled itself.
 *
 * Before the first instruction after a label it speaks of the loop whose header that label is; on a function, of all its loops.
 * At module level it is not looked at. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"
#include <llvm-c/DebugInfo.h>

static bool says_nounroll(struct aw_str text)
{
    static const char word[] = "\"nounroll\"";
    return text.len >= sizeof word - 1 && memmem(text.ptr, text.len, word, sizeof word - 1);
}

/* !n = distinct !{!n, !{!"llvm.loop.unroll.disable"}} */
static LLVMValueRef loop_id(struct ptx_lower *l)
{
    static const char disable[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef name = LLVMMDStringInContext2(l->context, disable, sizeof disable - 1);
    LLVMMetadataRef parts[2] = { LLVMTemporaryMDNode(l->context, NULL, 0), LLVMMDNodeInContext2(l->context, &name, 1) };
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->context, parts, 2);
    LLVMMetadataReplaceAllUsesWith(parts[0], node); /* a node that refers to itself becomes distinct */
    return LLVMMetadataAsValue(l->context, node);
}

static void mark(struct ptx_lower *l, const struct ptx_stmt *label)
{
    if (!aw_ptrmap_put(&l->rolled, label->user, loop_id(l)))
        l->out_of_memory = true;
}

void ptx_loop_begin(struct ptx_lower *l, const struct ptx_func *f)
{
    l->all_rolled = false;
    l->labels = NULL;
    aw_ptrmap_fini(&l->rolled);
    for (uint32_t i = 0; i < f->n_pragmas; i++)
        l->all_rolled |= says_nounroll(f->pragmas[i]);
}

void ptx_loop_statement(struct ptx_lower *l, const struct ptx_stmt *s)
{
    if (s->kind == PTX_STMT_INSTR) {
        l->labels = NULL;
    } else if (s->kind == PTX_STMT_LABEL) {
        l->labels = l->labels ? l->labels : s;
        if (l->all_rolled)
            mark(l, s);
    } else if (s->kind == PTX_STMT_PRAGMA && says_nounroll(s->text)) {
        for (const struct ptx_stmt *label = l->labels; label && label != s; label = label->next)
            if (label->kind == PTX_STMT_LABEL)
                mark(l, label);
    }
}

void ptx_loop_branch(struct ptx_lower *l, LLVMValueRef branch, LLVMBasicBlockRef target)
{
    LLVMValueRef id = aw_ptrmap_find(&l->rolled, target);
    if (id)
        LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(l->context, "llvm.loop", 9), id);
}

void ptx_loop_end(struct ptx_lower *l)
{
    aw_ptrmap_fini(&l->rolled);
}
