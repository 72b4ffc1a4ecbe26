/* Structural equality of two trees: what the round-trip tests hold the printer to.  Places in the text are not compared. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/print.h"

#include <stdio.h>

struct diff {
    char *why;
    size_t size;
    struct aw_str where; /* the function or variable we are in */
};

static bool differ(struct diff *d, const char *what, struct ptx_loc loc)
{
    if (d->size)
        snprintf(d->why, d->size, "%s differs in '%.*s' at %u:%u", what, (int)(d->where.len > 200 ? 200 : d->where.len),
                 d->where.ptr, loc.line, loc.column);
    return false;
}

#define CHECK(what, condition, loc)           \
    do {                                      \
        if (!(condition))                     \
            return differ(d, (what), (loc));  \
    } while (0)

static bool equal_init(struct diff *d, const struct ptx_init *a, const struct ptx_init *b)
{
    if (!a || !b)
        return a == b || differ(d, "presence of an initialiser", a ? a->loc : b->loc);
    CHECK("kind of initialiser", a->kind == b->kind && a->n_items == b->n_items, a->loc);
    if (a->kind == PTX_INIT_LIST) {
        for (uint32_t i = 0; i < a->n_items; i++)
            if (!equal_init(d, &a->items[i], &b->items[i]))
                return false;
        return true;
    }
    if (a->kind != PTX_INIT_ADDR) {
        CHECK("initial value", a->bits == b->bits && a->is_f32 == b->is_f32, a->loc);
        return true;
    }
    const struct ptx_init_addr *x = a->addr, *y = b->addr;
    struct aw_str xs = x->var ? x->var->name : x->func ? x->func->name : x->symbol;
    struct aw_str ys = y->var ? y->var->name : y->func ? y->func->name : y->symbol;
    CHECK("initial address", aw_str_eq(xs, ys) && aw_str_eq(x->field, y->field) && x->offset == y->offset &&
          x->mask == y->mask && x->generic == y->generic, a->loc);
    return true;
}

static bool equal_var(struct diff *d, const struct ptx_var *a, const struct ptx_var *b)
{
    uint32_t align_a = a->align ? a->align : ptx_natural_align(a), align_b = b->align ? b->align : ptx_natural_align(b);

    CHECK("name of a variable", aw_str_eq(a->name, b->name), a->loc);
    CHECK("declaration", a->space == b->space && a->type == b->type && a->linkage == b->linkage && a->vec == b->vec &&
          align_a == align_b && a->n_dims == b->n_dims && a->range == b->range, a->loc);
    CHECK("attributes", a->managed == b->managed && a->unified == b->unified && aw_str_eq(a->attrs, b->attrs), a->loc);
    CHECK(".ptr", a->is_ptr == b->is_ptr && a->ptr_space == b->ptr_space && a->ptr_align == b->ptr_align, a->loc);
    for (uint32_t i = 0; i < a->n_dims; i++)
        CHECK("dimension", a->dims[i] == b->dims[i], a->loc);
    return equal_init(d, a->init, b->init);
}

static bool equal_vars(struct diff *d, const struct ptx_var *a, const struct ptx_var *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (!equal_var(d, a, b))
            return false;
    return a == b || differ(d, "number of variables", a ? a->loc : b->loc);
}

/* Names before and after checking are alike. */
static enum ptx_operand_kind plain_kind(enum ptx_operand_kind kind)
{
    switch (kind) {
    case PTX_OP_REG: case PTX_OP_SYMBOL: case PTX_OP_FUNC: case PTX_OP_LABEL: return PTX_OP_NAME;
    default: return kind;
    }
}

static bool equal_operands(struct diff *d, const struct ptx_operand *a, const struct ptx_operand *b, uint32_t n)
{
    for (; n; n--, a++, b++) {
        CHECK("kind of operand", plain_kind(a->kind) == plain_kind(b->kind), a->loc);
        CHECK("operand",
              aw_str_eq(ptx_operand_name(a), ptx_operand_name(b)) && aw_str_eq(a->suffix, b->suffix) && a->negate == b->negate &&
                  a->is_f32 == b->is_f32 && a->indexed == b->indexed && a->by_register == b->by_register && a->sreg == b->sreg &&
              a->bits == b->bits && a->offset == b->offset && a->n_items == b->n_items, a->loc);
        if (!equal_operands(d, a->items, b->items, a->n_items))
            return false;
    }
    return true;
}

static bool equal_instr(struct diff *d, const struct ptx_instr *a, const struct ptx_instr *b)
{
    CHECK("instruction", aw_str_eq(a->mnemonic, b->mnemonic) && a->n_mods == b->n_mods, a->loc);
    for (uint32_t i = 0; i < a->n_mods; i++)
        CHECK("modifier", aw_str_eq(a->mods[i], b->mods[i]), a->loc);
    CHECK("guard", !a->guard == !b->guard, a->loc);
    if (a->guard && !equal_operands(d, a->guard, b->guard, 1))
        return false;
    CHECK("number of operands", a->n_ops == b->n_ops, a->loc);
    return equal_operands(d, a->ops, b->ops, a->n_ops);
}

static bool equal_func(struct diff *d, const struct ptx_func *a, const struct ptx_func *b);

static bool equal_stmt(struct diff *d, const struct ptx_stmt *a, const struct ptx_stmt *b)
{
    CHECK("kind of statement", a->kind == b->kind, a->loc);
    CHECK("statement", aw_str_eq(a->label, b->label) && aw_str_eq(a->text, b->text) && a->n_targets == b->n_targets &&
          a->file == b->file && a->line == b->line && a->column == b->column, a->loc);
    switch (a->kind) {
    case PTX_STMT_INSTR: return equal_instr(d, a->instr, b->instr);
    case PTX_STMT_DECL: return equal_vars(d, a->decl, b->decl);
    case PTX_STMT_CALLPROTOTYPE: return equal_func(d, a->proto, b->proto);
    default: return equal_operands(d, a->targets, b->targets, a->n_targets);
    }
}

static bool equal_func(struct diff *d, const struct ptx_func *a, const struct ptx_func *b)
{
    CHECK("name of a function", aw_str_eq(a->name, b->name), a->loc);
    CHECK("function head", a->is_entry == b->is_entry && a->noreturn == b->noreturn && a->is_prototype == b->is_prototype &&
          a->linkage == b->linkage && aw_str_eq(a->attrs, b->attrs), a->loc);
    CHECK("directives", memcmp(a->max_ntid, b->max_ntid, sizeof a->max_ntid) == 0 &&
          memcmp(a->req_ntid, b->req_ntid, sizeof a->req_ntid) == 0 &&
          memcmp(a->req_cluster, b->req_cluster, sizeof a->req_cluster) == 0 && a->max_cluster_rank == b->max_cluster_rank &&
          a->min_ctas == b->min_ctas && a->max_ctas == b->max_ctas && a->max_regs == b->max_regs &&
          a->explicit_cluster == b->explicit_cluster && a->blocks_are_clusters == b->blocks_are_clusters, a->loc);
    CHECK("pragmas", a->n_pragmas == b->n_pragmas, a->loc);
    for (uint32_t i = 0; i < a->n_pragmas; i++)
        CHECK("pragma", aw_str_eq(a->pragmas[i], b->pragmas[i]), a->loc);
    if (!equal_vars(d, a->rets, b->rets) || !equal_vars(d, a->params, b->params))
        return false;
    const struct ptx_stmt *s = a->body, *t = b->body;
    for (; s && t; s = s->next, t = t->next)
        if (!equal_stmt(d, s, t))
            return false;
    return s == t || differ(d, "number of statements", a->loc);
}

static bool equal_item(struct diff *d, const struct ptx_item *a, const struct ptx_item *b)
{
    const struct ptx_loc nowhere = { 0 };

    CHECK("kind of item", a->kind == b->kind, nowhere);
    switch (a->kind) {
    case PTX_ITEM_VAR:
        d->where = ((const struct ptx_var *)a->node)->name;
        return equal_var(d, a->node, b->node);
    case PTX_ITEM_FUNC:
        d->where = ((const struct ptx_func *)a->node)->name;
        return equal_func(d, a->node, b->node);
    case PTX_ITEM_ALIAS: {
        const struct ptx_alias *x = a->node, *y = b->node;
        CHECK("alias", aw_str_eq(x->name, y->name) && aw_str_eq(x->target, y->target), x->loc);
        return true;
    }
    case PTX_ITEM_FILE: {
        const struct ptx_file *x = a->node, *y = b->node;
        CHECK(".file", x->index == y->index && aw_str_eq(x->name, y->name) && aw_str_eq(x->rest, y->rest), nowhere);
        return true;
    }
    case PTX_ITEM_SECTION: {
        const struct ptx_section *x = a->node, *y = b->node;
        CHECK(".section", aw_str_eq(x->name, y->name) && aw_str_eq(x->text, y->text), nowhere);
        return true;
    }
    default:
        CHECK("pragma", aw_str_eq(*(const struct aw_str *)a->node, *(const struct aw_str *)b->node), nowhere);
        return true;
    }
}

bool ptx_equal(const struct ptx_module *a, const struct ptx_module *b, char *why, size_t why_size)
{
    struct diff diff = { why, why_size, AW_STR("the module") }, *d = &diff;
    const struct ptx_loc nowhere = { 0 };

    CHECK("header", a->major == b->major && a->minor == b->minor && aw_str_eq(a->targets, b->targets) &&
          a->address_size == b->address_size, nowhere);
    CHECK("number of items", a->n_items == b->n_items, nowhere);
    for (uint32_t i = 0; i < a->n_items; i++)
        if (!equal_item(d, &a->items[i], &b->items[i]))
            return false;
    return true;
}
