/* Graphs as text for Graphviz. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/graph.h"

/* CU_GRAPH_DEBUG_DOT_FLAGS_*. */
enum { DOT_VERBOSE = 1, DOT_KERNEL = 1 << 2, DOT_COPY = 1 << 3, DOT_FILL = 1 << 4, DOT_HOST = 1 << 5, DOT_EVENT = 1 << 6,
       DOT_HANDLES = 1 << 10, DOT_ALLOC = 1 << 11, DOT_FREE = 1 << 12 };

static const char *type_name(enum aw_node_type type)
{
    switch (type) {
    case AW_NODE_KERNEL: return "KERNEL";
    case AW_NODE_MEMCPY: return "MEMCPY";
    case AW_NODE_MEMSET: return "MEMSET";
    case AW_NODE_HOST: return "HOST";
    case AW_NODE_GRAPH: return "GRAPH";
    case AW_NODE_EMPTY: return "EMPTY";
    case AW_NODE_EVENT_WAIT: return "EVENT_WAIT";
    case AW_NODE_EVENT_RECORD: return "EVENT_RECORD";
    case AW_NODE_ALLOC: return "MEM_ALLOC";
    case AW_NODE_FREE: return "MEM_FREE";
    case AW_NODE_CONDITION: return "CONDITIONAL";
    }
    return "UNKNOWN";
}

/* A kernel's name comes from the program's PTX; quotes would end the label. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= ' ')
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void put_kernel(FILE *out, const struct aw_node_kernel *kernel, unsigned flags)
{
    fputs("\\n", out);
    put_text(out,
             aw_slab_valid(&aw_func_slab, kernel->func) && kernel->func->kernel == kernel->desc ? kernel->func->name : "(gone)");
    if (flags & (DOT_VERBOSE | DOT_KERNEL))
        fprintf(out, "\\n<<<(%u,%u,%u), (%u,%u,%u), %zu>>>", kernel->grid[0], kernel->grid[1], kernel->grid[2], kernel->block[0],
                kernel->block[1], kernel->block[2], kernel->shared_bytes);
}

static void put_params(FILE *out, const struct aw_node_params *params, unsigned flags)
{
    const struct aw_copy3d *copy = &params->copy.work;
    switch (params->type) {
    case AW_NODE_KERNEL:
        put_kernel(out, &params->kernel, flags);
        break;
    case AW_NODE_MEMCPY:
        if (flags & (DOT_VERBOSE | DOT_COPY))
            fprintf(out, "\\n%p -> %p, %zu x %zu x %zu bytes", copy->src, copy->dst, copy->width, copy->height, copy->depth);
        break;
    case AW_NODE_MEMSET:
        if (flags & (DOT_VERBOSE | DOT_FILL))
            fprintf(out, "\\n0x%zx = 0x%x, %zu x %zu of %u bytes", (size_t)params->fill.dst, params->fill.value,
                    params->fill.count, params->fill.height, params->fill.element_bytes);
        break;
    case AW_NODE_HOST:
        if (flags & (DOT_VERBOSE | DOT_HOST))
            fprintf(out, "\\n%p(%p)", (void *)(uintptr_t)params->host.fn, params->host.user);
        break;
    case AW_NODE_EVENT_WAIT:
    case AW_NODE_EVENT_RECORD:
        if (flags & (DOT_VERBOSE | DOT_EVENT))
            fprintf(out, "\\n%p", (void *)params->event);
        break;
    case AW_NODE_ALLOC:
    case AW_NODE_FREE:
        if (flags & (DOT_VERBOSE | DOT_ALLOC | DOT_FREE))
            fprintf(out, "\\n0x%zx, %zu bytes", (size_t)params->alloc.address, params->alloc.size);
        break;
    case AW_NODE_GRAPH:
    case AW_NODE_CONDITION:
    case AW_NODE_EMPTY:
        break;
    }
}

static void put_graph(FILE *out, const struct aw_graph *graph, unsigned flags)
{
    unsigned long long id = graph->id;
    fprintf(out, "subgraph cluster_%llu {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n", id, id);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct aw_graph_node *node = graph->nodes.at[i];
        fprintf(out, "\"graph_%llu_node_%u\"[shape=\"rectangle\" label=\"%u\\n%s", id, node->local_id, node->local_id,
                type_name(node->params.type));
        put_params(out, &node->params, flags);
        if (flags & (DOT_VERBOSE | DOT_HANDLES))
            fprintf(out, "\\n%p", (const void *)node);
        fputs("\"];\n", out);
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct aw_graph_node *node = graph->nodes.at[i];
        for (size_t k = 0; k < node->in.n; k++)
            fprintf(out, "\"graph_%llu_node_%u\" -> \"graph_%llu_node_%u\"%s;\n", id, node->in.at[k].node->local_id, id,
                    node->local_id, aw_edge_plain(&node->in.at[k].data) ? "" : "[style=\"dashed\"]");
    }
    fputs("}\n", out);
    for (size_t i = 0; i < graph->nodes.n; i++) {
        size_t n;
        struct aw_graph *const *inner = aw_node_graphs(&graph->nodes.at[i]->params, &n);
        for (size_t k = 0; k < n; k++)
            put_graph(out, inner[k], flags);
    }
}

enum aw_status aw_graph_dot(const struct aw_graph *graph, const char *path, unsigned flags)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return AW_ERR_OS;
    fputs("digraph dot {\n", out);
    put_graph(out, graph, flags);
    fputs("}\n", out);
    bool failed = ferror(out) != 0;
    return fclose(out) || failed ? AW_ERR_OS : AW_OK;
}
