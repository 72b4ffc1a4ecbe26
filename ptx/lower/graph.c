/* Orders and dominators of control-flow graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/graph.h"

#include "base/vec.h"
#include <stdint.h>
#include <string.h>

/* Depth-first without recursion: a graph may be tens of thousands of blocks deep. */
typedef AW_VEC(LLVMBasicBlockRef) block_list;

static bool blocks_visit(LLVMBasicBlockRef entry, struct aw_ptrmap *seen, block_list *post)
{
    struct frame {
        LLVMBasicBlockRef bb;
        unsigned next;
    };
    AW_VEC(struct frame) stack = { 0 };
    bool ok = aw_vec_push(&stack, (struct frame){ entry, 0 }) && aw_ptrmap_put(seen, entry, (void *)1);
    while (ok && stack.n) {
        struct frame *top = &stack.at[stack.n - 1];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(top->bb);
        if (top->next == (end ? LLVMGetNumSuccessors(end) : 0)) {
            ok = aw_vec_push(post, top->bb);
            stack.n--;
            continue;
        }
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, top->next++);
        if (!aw_ptrmap_find(seen, next))
            ok = aw_ptrmap_put(seen, next, (void *)1) && aw_vec_push(&stack, (struct frame){ next, 0 });
    }
    aw_vec_fini(&stack);
    return ok;
}

bool ptx_blocks_order(LLVMBasicBlockRef entry, struct aw_arena *arena, struct aw_ptrmap *ret_index,
                      LLVMBasicBlockRef **ret_blocks, int *ret_n)
{
    block_list post = { 0 };
    bool ok = blocks_visit(entry, ret_index, &post);
    LLVMBasicBlockRef *blocks = ok ? AW_NEW_ARRAY(arena, LLVMBasicBlockRef, post.n) : NULL;
    ok = blocks != NULL;
    for (size_t i = 0; ok && i < post.n; i++) {
        blocks[i] = post.at[post.n - 1 - i];
        ok = aw_ptrmap_put(ret_index, blocks[i], (void *)(intptr_t)(i + 1));
    }
    if (ok) {
        *ret_blocks = blocks;
        *ret_n = (int)post.n;
    }
    aw_vec_fini(&post);
    return ok;
}

static bool edges_into(struct aw_arena *arena, LLVMBasicBlockRef block, const struct aw_ptrmap *index, struct ptx_edges *ret)
{
    LLVMUseRef first = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    int most = 0, n = 0;
    for (LLVMUseRef use = first; use; use = LLVMGetNextUse(use))
        most++;
    int *from = AW_NEW_ARRAY(arena, int, (size_t)most + 1);
    for (LLVMUseRef use = first; from && use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        int number = LLVMIsATerminatorInst(user) ? (int)(intptr_t)aw_ptrmap_find(index, LLVMGetInstructionParent(user)) : 0;
        if (number)
            from[n++] = number - 1;
    }
    *ret = (struct ptx_edges){ from, n };
    return from != NULL;
}

bool ptx_blocks_into(struct aw_arena *arena, const LLVMBasicBlockRef *blocks, int n, const struct aw_ptrmap *index,
                     struct ptx_edges **ret_into)
{
    struct ptx_edges *into = AW_NEW_ARRAY(arena, struct ptx_edges, (size_t)n);
    bool ok = into != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = edges_into(arena, blocks[i], index, &into[i]);
    *ret_into = into;
    return ok;
}

bool ptx_graph_order(struct aw_arena *arena, const void *graph, int n, int root, ptx_edges_of *out, int *ret_order,
                     int *ret_number, int *ret_n)
{
    int *stack = AW_NEW_ARRAY(arena, int, (size_t)n), *next = AW_NEW_ARRAY(arena, int, (size_t)n), top = 0, at = n;
    if (!stack || !next)
        return false;
    for (int i = 0; i < n; i++)
        ret_number[i] = -1;
    stack[top++] = root;
    ret_number[root] = n;
    while (top) {
        int x = stack[top - 1];
        struct ptx_edges edges = out(graph, x);
        if (next[x] == edges.n) {
            ret_order[--at] = x;
            top--;
            continue;
        }
        int to = edges.at[next[x]++];
        if (ret_number[to] < 0) {
            ret_number[to] = n;
            stack[top++] = to;
        }
    }
    for (int i = at; i < n; i++) {
        ret_order[i - at] = ret_order[i];
        ret_number[ret_order[i]] = i - at;
    }
    *ret_n = n - at;
    return true;
}

bool ptx_graph_walk(const void *graph, int n, ptx_edges_of *edges, bool *seen, ptx_graph_enter *enter, void *data)
{
    AW_VEC(int) work = { 0 };
    bool ok = true;
    for (int i = 0; i < n; i++)
        ok = ok && (!seen[i] || aw_vec_push(&work, i));
    while (ok && work.n) {
        int from = work.at[--work.n];
        struct ptx_edges e = edges(graph, from);
        for (int j = 0; ok && j < e.n; j++)
            if (!seen[e.at[j]] && (!enter || enter(data, from, e.at[j]))) {
                seen[e.at[j]] = true;
                ok = aw_vec_push(&work, e.at[j]);
            }
    }
    aw_vec_fini(&work);
    return ok;
}

bool ptx_components_init(struct aw_arena *arena, int n, struct ptx_components *ret)
{
    *ret = (struct ptx_components){ .calls = AW_NEW_ARRAY(arena, struct ptx_visit, (size_t)n + 1) };
    int **const arrays[] = { &ret->component, &ret->set, &ret->index, &ret->low, &ret->stack, &ret->sorted };
    bool ok = ret->calls != NULL;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ok = ok && (*arrays[i] = AW_NEW_ARRAY(arena, int, (size_t)n + 1));
    return ok;
}

struct component_search {
    int next, n_stack, depth;
    int end; /* of what is still to be sorted */
};

static void node_enter(struct ptx_components *c, struct component_search *s, int node)
{
    c->index[node] = c->low[node] = ++s->next;
    c->stack[s->n_stack++] = node;
    c->calls[s->depth++] = (struct ptx_visit){ node, 0 };
}

/* One component more, of the nodes on the stack from `root` on. */
static void component_take(struct ptx_components *c, struct component_search *s, int root)
{
    int x;
    do {
        x = c->stack[--s->n_stack];
        c->component[x] = c->n;
        c->sorted[--s->end] = x;
    } while (x != root);
    c->n++;
}

static void components_from(struct ptx_components *c, struct component_search *s, const void *graph, ptx_edges_of *out, int root)
{
    node_enter(c, s, root);
    while (s->depth) {
        struct ptx_visit *v = &c->calls[s->depth - 1];
        struct ptx_edges e = out(graph, v->node);
        c->steps++;
        if (v->edge < e.n) {
            int to = e.at[v->edge++];
            if (c->set[to] != c->sets || c->component[to] >= 0)
                continue;
            if (!c->index[to])
                node_enter(c, s, to);
            else if (c->index[to] < c->low[v->node])
                c->low[v->node] = c->index[to];
            continue;
        }
        int done = v->node;
        if (c->low[done] == c->index[done])
            component_take(c, s, done);
        if (--s->depth && c->low[done] < c->low[c->calls[s->depth - 1].node])
            c->low[c->calls[s->depth - 1].node] = c->low[done];
    }
}

void ptx_components_find(struct ptx_components *c, const void *graph, ptx_edges_of *out, int *nodes, int n)
{
    struct component_search s = { .end = n };
    c->sets++;
    c->n = 0;
    for (int i = 0; i < n; i++) {
        c->index[nodes[i]] = 0;
        c->component[nodes[i]] = -1;
        c->set[nodes[i]] = c->sets;
    }
    for (int i = 0; i < n; i++)
        if (!c->index[nodes[i]])
            components_from(c, &s, graph, out, nodes[i]);
    if (n)
        memcpy(nodes, c->sorted, (size_t)n * sizeof *nodes);
}

static int place(const int *number, int node)
{
    return number ? number[node] : node;
}

void ptx_graph_dominators(const void *graph, int n, const int *order, const int *number, ptx_edges_of *into, int *ret_idom)
{
    for (int i = 0; i < n; i++)
        ret_idom[order ? order[i] : i] = -1;
    ret_idom[order ? order[0] : 0] = order ? order[0] : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 1; i < n; i++) {
            int x = order ? order[i] : i, idom = -1;
            struct ptx_edges from = into(graph, x);
            for (int j = 0; j < from.n; j++) {
                int p = from.at[j];
                if ((number && number[p] < 0) || ret_idom[p] < 0)
                    continue;
                while (idom >= 0 && idom != p)
                    if (place(number, idom) > place(number, p))
                        idom = ret_idom[idom];
                    else
                        p = ret_idom[p];
                idom = p;
            }
            changed |= ret_idom[x] != idom;
            ret_idom[x] = idom;
        }
    }
}

/* A child has a greater number than its parent, so sizes of subtrees come from one sweep backwards and places from one
 * forwards. */
bool ptx_dominators_find(struct aw_arena *arena, const void *graph, int n, ptx_edges_of *into, struct ptx_dominators *ret)
{
    int *size = AW_NEW_ARRAY(arena, int, (size_t)n), *used = AW_NEW_ARRAY(arena, int, (size_t)n);
    struct ptx_dominators d = { AW_NEW_ARRAY(arena, int, (size_t)n), AW_NEW_ARRAY(arena, int, (size_t)n),
                                AW_NEW_ARRAY(arena, int, (size_t)n) };
    if (!size || !used || !d.idom || !d.in || !d.out)
        return false;
    ptx_graph_dominators(graph, n, NULL, NULL, into, d.idom);
    for (int i = n - 1; i > 0; i--)
        size[d.idom[i]] += size[i] + 1;
    d.out[0] = size[0];
    for (int i = 1; i < n; i++) {
        int parent = d.idom[i];
        d.in[i] = d.in[parent] + 1 + used[parent];
        d.out[i] = d.in[i] + size[i];
        used[parent] += size[i] + 1;
    }
    *ret = d;
    return true;
}

bool ptx_dominates(const struct ptx_dominators *d, int a, int b)
{
    return d->in[a] <= d->in[b] && d->in[b] <= d->out[a];
}

LLVMBasicBlockRef ptx_only_way_to(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef found = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsATerminatorInst(user))
            continue;
        if (found)
            return NULL;
        found = LLVMGetInstructionParent(user);
    }
    return found;
}
