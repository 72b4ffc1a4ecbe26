/* The control-flow graph of one function: blocks in reverse postorder, dominators (lower/graph.h), natural loops.
 *
 * LLVM's C interface has none of these.  Not a transformation: the graph must be reducible and free of switches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

#include "lower/copy.h"

bool simt_leads_to(const struct simt_block *from, int to)
{
    for (int j = 0; j < from->n_succ; j++)
        if (from->succ[j] == to)
            return true;
    return false;
}

int simt_block_of(const struct simt_fn *f, LLVMBasicBlockRef bb)
{
    return (int)(intptr_t)aw_ptrmap_find(&f->block_index, bb) - 1;
}

static int successors(LLVMBasicBlockRef bb, LLVMBasicBlockRef ret[2])
{
    LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
    unsigned n = term ? LLVMGetNumSuccessors(term) : 0;
    if (n > 2)
        return -1;
    for (unsigned i = 0; i < n; i++)
        ret[i] = LLVMGetSuccessor(term, i);
    return n == 2 && ret[0] == ret[1] ? 1 : (int)n;
}

static bool order_blocks(struct simt_fn *f)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef *order;
    if (!ptx_blocks_order(LLVMGetEntryBasicBlock(f->src), &u->arena, &f->block_index, &order, &f->n_blocks))
        return simt_memory(u);
    f->blocks = AW_NEW_ARRAY(&u->arena, struct simt_block, (size_t)f->n_blocks);
    for (int i = 0; f->blocks && i < f->n_blocks; i++)
        f->blocks[i].bb = order[i];
    return f->blocks ? true : (simt_memory(u), false);
}

static bool link_edges(struct simt_fn *f)
{
    for (int i = 0; i < f->n_blocks; i++) {
        LLVMBasicBlockRef succ[2];
        struct simt_block *b = &f->blocks[i];
        b->n_succ = successors(b->bb, succ);
        if (b->n_succ < 0)
            return simt_fail(f->u, "switch left in the control flow");
        for (int j = 0; j < b->n_succ; j++) {
            b->succ[j] = simt_block_of(f, succ[j]);
            f->blocks[b->succ[j]].n_preds++;
        }
    }
    for (int i = 0; i < f->n_blocks; i++) {
        struct simt_block *b = &f->blocks[i];
        b->preds = AW_NEW_ARRAY(&f->u->arena, int, (size_t)b->n_preds + 1);
        if (!b->preds)
            return simt_memory(f->u);
        b->n_preds = 0;
        b->loop = -1;
    }
    for (int i = 0; i < f->n_blocks; i++)
        for (int j = 0; j < f->blocks[i].n_succ; j++) {
            struct simt_block *s = &f->blocks[f->blocks[i].succ[j]];
            s->preds[s->n_preds++] = i;
        }
    return true;
}

struct ptx_edges simt_edges_into(const void *blocks, int block)
{
    const struct simt_block *b = &((const struct simt_block *)blocks)[block];
    return (struct ptx_edges){ b->preds, b->n_preds };
}

struct ptx_edges simt_edges_out(const void *blocks, int block)
{
    const struct simt_block *b = &((const struct simt_block *)blocks)[block];
    return (struct ptx_edges){ b->succ, b->n_succ };
}

static bool find_dominators(struct simt_fn *f)
{
    if (!ptx_dominators_find(&f->u->arena, f->blocks, f->n_blocks, simt_edges_into, &f->dominators))
        return simt_memory(f->u);
    for (int i = 0; i < f->n_blocks; i++)
        f->blocks[i].idom = f->dominators.idom[i];
    return true;
}

bool simt_dominates(const struct simt_fn *f, int a, int b)
{
    return ptx_dominates(&f->dominators, a, b);
}

bool simt_loop_has(const struct simt_fn *f, int loop, int block)
{
    for (int l = f->blocks[block].loop; l >= 0 && l <= loop; l = f->loops[l].parent)
        if (l == loop)
            return true;
    return false;
}

int simt_loop_headed(const struct simt_fn *f, int b)
{
    int l = f->blocks[b].loop;
    return l >= 0 && f->loops[l].header == b ? l : -1;
}

bool simt_there_before(const struct simt_fn *f, int b, LLVMValueRef x)
{
    int at = LLVMIsAInstruction(x) ? simt_block_of(f, LLVMGetInstructionParent(x)) : -1;
    return !LLVMIsAInstruction(x) || (at >= 0 && simt_dominates(f, at, b));
}

bool simt_known_before(const struct simt_fn *f, int b, LLVMValueRef x, int *left)
{
    if (simt_there_before(f, b, x))
        return true;
    if (--*left < 0 || !ptx_arithmetic(x))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!simt_known_before(f, b, LLVMGetOperand(x, i), left))
            return false;
    return true;
}

int simt_outermost(const struct simt_fn *f, int loop)
{
    while (loop >= 0 && f->loops[loop].parent >= 0)
        loop = f->loops[loop].parent;
    return loop;
}

/* Collects the body of the loop with header `h` backwards from its latches; inner loops are known already. */
static bool collect_loop(struct simt_fn *f, int h, int self)
{
    AW_VEC(int) work = { 0 };
    bool ok = true;
    for (int j = 0; j < f->blocks[h].n_preds; j++)
        if (simt_dominates(f, h, f->blocks[h].preds[j]))
            ok = ok && aw_vec_push(&work, f->blocks[h].preds[j]);
    while (ok && work.n) {
        int x = work.at[--work.n], inner = simt_outermost(f, f->blocks[x].loop);
        if (inner == self)
            continue;
        int from = x;
        if (inner < 0) {
            f->blocks[x].loop = self;
        } else {
            f->loops[inner].parent = self;
            from = f->loops[inner].header;
        }
        if (from == h)
            continue;
        for (int j = 0; ok && j < f->blocks[from].n_preds; j++)
            if (simt_outermost(f, f->blocks[f->blocks[from].preds[j]].loop) != self)
                ok = aw_vec_push(&work, f->blocks[from].preds[j]);
    }
    f->blocks[h].loop = f->blocks[h].loop < 0 ? self : f->blocks[h].loop;
    aw_vec_fini(&work);
    if (!ok)
        simt_memory(f->u);
    return ok;
}

static int merge(int old, int x)
{
    return old == -1 || old == x ? x : -2;
}

static void describe_loops(struct simt_fn *f)
{
    for (int l = f->n_loops - 1; l >= 0; l--) {
        struct simt_loop *loop = &f->loops[l];
        loop->depth = loop->parent < 0 ? 1 : f->loops[loop->parent].depth + 1;
        const struct simt_block *h = &f->blocks[loop->header];
        for (int j = 0; j < h->n_preds; j++) {
            if (simt_loop_has(f, l, h->preds[j]))
                loop->latch = merge(loop->latch, h->preds[j]);
            else
                loop->preheader = merge(loop->preheader, h->preds[j]);
        }
    }
    for (int l = 0; l < f->n_loops; l++)
        f->loops[l].first = -1;
    for (int i = f->n_blocks - 1; i >= 0; i--)
        if (f->blocks[i].loop >= 0) {
            f->blocks[i].next_in_loop = f->loops[f->blocks[i].loop].first;
            f->loops[f->blocks[i].loop].first = i;
        }
    for (int i = 0; i < f->n_blocks; i++)
        for (int j = 0; j < f->blocks[i].n_succ; j++)
            for (int l = f->blocks[i].loop; l >= 0 && !simt_loop_has(f, l, f->blocks[i].succ[j]); l = f->loops[l].parent)
                f->loops[l].exit = merge(f->loops[l].exit, f->blocks[i].succ[j]);
}

/* Inner headers come later in reverse postorder, so going backwards finds inner loops first. */
static bool find_loops(struct simt_fn *f)
{
    int n = 0;
    for (int h = 0; h < f->n_blocks; h++)
        for (int j = 0; j < f->blocks[h].n_preds; j++)
            if (f->blocks[h].preds[j] >= h) {
                if (!simt_dominates(f, h, f->blocks[h].preds[j]))
                    return simt_fail(f->u, "irreducible control flow left");
                n++;
                break;
            }
    f->loops = AW_NEW_ARRAY(&f->u->arena, struct simt_loop, (size_t)n + 1);
    if (!f->loops)
        return simt_memory(f->u);
    for (int h = f->n_blocks - 1; h >= 0; h--) {
        bool header = false;
        for (int j = 0; j < f->blocks[h].n_preds; j++)
            header |= f->blocks[h].preds[j] >= h;
        if (!header)
            continue;
        int l = f->n_loops++;
        f->loops[l] = (struct simt_loop){ .header = h, .parent = -1, .latch = -1, .preheader = -1, .exit = -1 };
        if (!collect_loop(f, h, l))
            return false;
    }
    describe_loops(f);
    return true;
}

bool simt_cfg_order(struct simt_fn *f)
{
    return order_blocks(f) && link_edges(f);
}

bool simt_cfg_build(struct simt_fn *f)
{
    return simt_cfg_order(f) && find_dominators(f) && find_loops(f);
}

void simt_cfg_fini(struct simt_fn *f)
{
    aw_ptrmap_fini(&f->block_index);
    for (int l = 0; l < f->n_loops; l++)
        aw_vec_fini(&f->loops[l].outs);
}
