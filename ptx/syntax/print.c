/* The printer: a tree back to PTX text.  Works on parsed and on checked trees; in the latter, names are those of the nodes that
 * operands are bound to, so that what linking renamed prints right. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/print.h"

#include "tab/form.h"

#include <stdio.h>

#define ADD(out, literal) aw_buf_add((out), literal, sizeof(literal) - 1)

static void add_uint(struct aw_buf *out, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    aw_buf_add(out, digits + at, sizeof digits - at);
}

static void add_int(struct aw_buf *out, uint64_t bits)
{
    if (bits == (uint64_t)1 << 63) {
        ADD(out, "0x8000000000000000");
        return;
    }
    if ((int64_t)bits < 0) {
        ADD(out, "-");
        bits = 0 - bits;
    }
    add_uint(out, bits);
}

static void add_float(struct aw_buf *out, uint64_t bits, bool is_f32)
{
    char text[24];
    int n = is_f32 ? snprintf(text, sizeof text, "0f%08X", (unsigned)bits)
                   : snprintf(text, sizeof text, "0d%016llX", (unsigned long long)bits);

    aw_buf_add(out, text, (size_t)n);
}

static void add_cstr(struct aw_buf *out, const char *s)
{
    aw_buf_add(out, s, strlen(s));
}

/* "+-4": ptxas takes a negative offset in no other form. */
static void add_offset(struct aw_buf *out, int64_t offset)
{
    if (!offset)
        return;
    ADD(out, "+");
    add_int(out, (uint64_t)offset);
}

/* ---- Variables */
uint32_t ptx_natural_align(const struct ptx_var *var)
{
    uint32_t bytes = ptx_type_bits(var->type) / 8;

    return (bytes ? bytes : 1) * (var->vec ? var->vec : 1);
}

static void add_init(struct aw_buf *out, const struct ptx_init *init)
{
    const struct ptx_init_addr *a;
    char mask[24];

    switch ((enum ptx_init_kind)init->kind) {
    case PTX_INIT_LIST:
        ADD(out, "{");
        for (uint32_t i = 0; i < init->n_items; i++) {
            if (i)
                ADD(out, ", ");
            add_init(out, &init->items[i]);
        }
        ADD(out, "}");
        return;
    case PTX_INIT_INT:
        add_int(out, init->bits);
        return;
    case PTX_INIT_FLOAT:
        add_float(out, init->bits, init->is_f32);
        return;
    case PTX_INIT_ADDR:
        break;
    }
    a = init->addr;
    if (a->field.len) {
        aw_buf_str(out, a->field);
        ADD(out, " = ");
        if (!a->symbol.len) {
            add_int(out, (uint64_t)a->offset);
            return;
        }
    }
    if (a->mask) {
        aw_buf_add(out, mask, (size_t)snprintf(mask, sizeof mask, "0x%llX(", (unsigned long long)a->mask));
    }
    if (a->generic)
        ADD(out, "generic(");
    aw_buf_str(out, a->var ? a->var->name : a->func ? a->func->name : a->symbol);
    if (a->generic)
        ADD(out, ")");
    add_offset(out, a->offset);
    if (a->mask)
        ADD(out, ")");
}

static void add_linkage(struct aw_buf *out, enum ptx_linkage linkage)
{
    static const char *const words[] = { "", ".visible ", ".extern ", ".weak ", ".common " };

    add_cstr(out, words[linkage]);
}

/* Everything up to the name. */
static void add_decl_head(struct aw_buf *out, const struct ptx_var *v)
{
    add_linkage(out, v->linkage);
    ADD(out, ".");
    add_cstr(out, ptx_space_name(v->space));
    if (v->managed)
        ADD(out, " .attribute(.managed)");
    if (v->attrs.len) {
        ADD(out, " ");
        aw_buf_str(out, v->attrs);
    }
    if (v->align && v->align != ptx_natural_align(v)) {
        ADD(out, " .align ");
        add_uint(out, v->align);
    }
    if (v->vec > 1) {
        ADD(out, " .v");
        add_uint(out, v->vec);
    }
    if (v->type != PTX_NONE) {
        ADD(out, " .");
        add_cstr(out, ptx_type_name(v->type));
    }
    if (v->is_ptr) {
        ADD(out, " .ptr");
        if (v->ptr_space) {
            ADD(out, " .");
            add_cstr(out, ptx_space_name(v->ptr_space));
        }
        if (v->ptr_align) {
            ADD(out, " .align ");
            add_uint(out, v->ptr_align);
        }
    }
}

static void add_declarator(struct aw_buf *out, const struct ptx_var *v)
{
    ADD(out, " ");
    aw_buf_str(out, v->name);
    if (v->range) {
        ADD(out, "<");
        add_uint(out, v->range);
        ADD(out, ">");
    }
    for (uint32_t i = 0; i < v->n_dims; i++) {
        ADD(out, "[");
        if (v->dims[i])
            add_uint(out, v->dims[i]);
        ADD(out, "]");
    }
    if (v->init) {
        ADD(out, " = ");
        add_init(out, v->init);
    }
}

/* One statement: `list` shares its head. */
static void add_decl(struct aw_buf *out, const struct ptx_var *list)
{
    add_decl_head(out, list);
    for (const struct ptx_var *v = list; v; v = v->next) {
        if (v != list)
            ADD(out, ",");
        add_declarator(out, v);
    }
    ADD(out, ";");
}

void ptx_print_var(const struct ptx_var *var, struct aw_buf *out)
{
    add_decl_head(out, var);
    add_declarator(out, var);
    ADD(out, ";");
}

static void add_params(struct aw_buf *out, const struct ptx_var *list, const char *separator)
{
    ADD(out, "(");
    for (const struct ptx_var *v = list; v; v = v->next) {
        add_cstr(out, separator);
        add_decl_head(out, v);
        add_declarator(out, v);
        if (v->next)
            ADD(out, ",");
    }
    ADD(out, ")");
}

/* ---- Operands */
static void add_operand(struct aw_buf *out, const struct ptx_operand *op);

struct aw_str ptx_operand_name(const struct ptx_operand *op)
{
    switch (op->kind) {
    case PTX_OP_SYMBOL: return op->var ? op->var->name : op->name;
    case PTX_OP_FUNC: return op->func ? op->func->name : op->name;
    default: return op->name;
    }
}

/* a[r] or a[r+2] */
static void add_element(struct aw_buf *out, const struct ptx_operand *op)
{
    add_operand(out, &op->items[0]);
    ADD(out, "[");
    add_operand(out, &op->items[1]);
    add_offset(out, op->offset);
    ADD(out, "]");
}

static void add_items(struct aw_buf *out, const struct ptx_operand *op, const char *open, const char *close)
{
    add_cstr(out, open);
    for (uint32_t i = 0; i < op->n_items; i++) {
        if (i)
            ADD(out, ", ");
        add_operand(out, &op->items[i]);
        if (i == 0 && op->kind == PTX_OP_ADDR && op->indexed) {
            ADD(out, "[");
            add_int(out, (uint64_t)op->offset);
            ADD(out, "]");
        } else if (i == 0 && op->kind == PTX_OP_ADDR) {
            add_offset(out, op->offset);
        }
    }
    add_cstr(out, close);
}

static void add_named(struct aw_buf *out, const struct ptx_operand *op)
{
    aw_buf_str(out, ptx_operand_name(op));
    if (op->suffix.len) {
        ADD(out, ".");
        aw_buf_str(out, op->suffix);
    }
    if (op->indexed) {
        ADD(out, "[");
        add_int(out, (uint64_t)op->offset);
        ADD(out, "]");
    } else {
        add_offset(out, op->offset);
    }
}

static void add_operand(struct aw_buf *out, const struct ptx_operand *op)
{
    switch (op->kind) {
    case PTX_OP_NONE: return;
    case PTX_OP_INT: add_int(out, op->bits); return;
    case PTX_OP_FLOAT: add_float(out, op->bits, op->is_f32); return;
    case PTX_OP_SINK: ADD(out, "_"); return;
    case PTX_OP_VECTOR: add_items(out, op, "{", "}"); return;
    case PTX_OP_LIST: add_items(out, op, "(", ")"); return;
    case PTX_OP_ADDR:
        if (op->by_register) {
            add_element(out, op);
            return;
        }
        add_items(out, op, "[", "]");
        if (op->suffix.len) {
            ADD(out, ".");
            aw_buf_str(out, op->suffix);
        }
        return;
    case PTX_OP_PAIR:
        add_operand(out, &op->items[0]);
        ADD(out, "|");
        add_operand(out, &op->items[1]);
        return;
    default:
        break;
    }
    if (op->negate == PTX_MINUS)
        ADD(out, "-");
    else if (op->negate)
        ADD(out, "!");
    add_named(out, op);
}

/* ---- Statements */
void ptx_print_instr(const struct ptx_instr *in, struct aw_buf *out)
{
    aw_buf_str(out, in->mnemonic);
    for (uint32_t i = 0; i < in->n_mods; i++)
        aw_buf_str(out, in->mods[i]);
    for (uint32_t i = 0; i < in->n_ops; i++) {
        if (i)
            ADD(out, ", ");
        else
            ADD(out, " ");
        add_operand(out, &in->ops[i]);
    }
}

/* ".attribute(...)" parts stand before the name, the others after the parameters. */
static size_t split_attrs(struct aw_str attrs)
{
    size_t at = 0;
    int depth = 0;

    while (attrs.len > at && aw_str_starts((struct aw_str){ attrs.ptr + at, attrs.len - at }, ".attribute")) {
        for (; at < attrs.len; at++) {
            depth += attrs.ptr[at] == '(';
            if (attrs.ptr[at] == ')' && --depth == 0)
                break;
        }
        at += at < attrs.len;
        at += at < attrs.len && attrs.ptr[at] == ' ';
    }
    return at;
}

static void add_signature(struct aw_buf *out, const struct ptx_func *f, const char *separator)
{
    size_t before = split_attrs(f->attrs);

    if (before) {
        aw_buf_add(out, f->attrs.ptr, before);
        ADD(out, " ");
    }
    if (f->rets) {
        add_params(out, f->rets, "");
        ADD(out, " ");
    }
    aw_buf_str(out, f->name);
    add_params(out, f->params, separator);
    if (f->attrs.len > before) {
        ADD(out, " ");
        aw_buf_add(out, f->attrs.ptr + before, f->attrs.len - before);
    }
    if (f->noreturn)
        ADD(out, " .noreturn");
}

static void add_targets(struct aw_buf *out, const struct ptx_stmt *s, const char *directive)
{
    aw_buf_str(out, s->label);
    add_cstr(out, directive);
    for (uint32_t i = 0; i < s->n_targets; i++) {
        if (i)
            ADD(out, ", ");
        aw_buf_str(out, ptx_operand_name(&s->targets[i]));
    }
    ADD(out, ";\n");
}

static void add_loc(struct aw_buf *out, const struct ptx_stmt *s)
{
    ADD(out, "\t.loc ");
    add_uint(out, s->file);
    ADD(out, " ");
    add_uint(out, s->line);
    ADD(out, " ");
    add_uint(out, s->column);
    if (s->text.len) {
        ADD(out, ", ");
        aw_buf_str(out, s->text);
    }
    ADD(out, "\n");
}

static void add_instr_stmt(struct aw_buf *out, const struct ptx_instr *in)
{
    ADD(out, "\t");
    if (in->guard) {
        if (in->guard->negate)
            ADD(out, "@!");
        else
            ADD(out, "@");
        add_named(out, in->guard);
        ADD(out, " ");
    }
    ptx_print_instr(in, out);
    ADD(out, ";\n");
}

void ptx_print_stmt(const struct ptx_stmt *s, struct aw_buf *out)
{
    switch (s->kind) {
    case PTX_STMT_LABEL:
        aw_buf_str(out, s->label);
        ADD(out, ":\n");
        return;
    case PTX_STMT_INSTR:
        add_instr_stmt(out, s->instr);
        return;
    case PTX_STMT_DECL:
        ADD(out, "\t");
        add_decl(out, s->decl);
        ADD(out, "\n");
        return;
    case PTX_STMT_OPEN: ADD(out, "\t{\n"); return;
    case PTX_STMT_CLOSE: ADD(out, "\t}\n"); return;
    case PTX_STMT_LOC: add_loc(out, s); return;
    case PTX_STMT_PRAGMA:
        ADD(out, "\t.pragma ");
        aw_buf_str(out, s->text);
        ADD(out, ";\n");
        return;
    case PTX_STMT_BRANCHTARGETS: add_targets(out, s, ": .branchtargets "); return;
    case PTX_STMT_CALLTARGETS: add_targets(out, s, ": .calltargets "); return;
    case PTX_STMT_CALLPROTOTYPE:
        aw_buf_str(out, s->label);
        ADD(out, ": .callprototype ");
        add_signature(out, s->proto, "");
        ADD(out, ";\n");
        return;
    }
}

/* ---- Functions */
static void add_count(struct aw_buf *out, const char *directive, uint32_t n)
{
    if (!n)
        return;
    add_cstr(out, directive);
    add_uint(out, n);
    ADD(out, "\n");
}

static void add_three(struct aw_buf *out, const char *directive, const uint32_t n[3])
{
    if (!n[0] && !n[1] && !n[2])
        return;
    add_cstr(out, directive);
    for (int i = 0; i < 3; i++) {
        if (i)
            ADD(out, ", ");
        add_uint(out, n[i]);
    }
    ADD(out, "\n");
}

void ptx_print_func_head(const struct ptx_func *f, struct aw_buf *out)
{
    add_linkage(out, f->linkage);
    if (f->is_entry)
        ADD(out, ".entry ");
    else
        ADD(out, ".func ");
    add_signature(out, f, "\n\t");
    ADD(out, "\n");
    add_three(out, ".maxntid ", f->max_ntid);
    add_three(out, ".reqntid ", f->req_ntid);
    add_count(out, ".minnctapersm ", f->min_ctas);
    add_count(out, ".maxnctapersm ", f->max_ctas);
    add_count(out, ".maxnreg ", f->max_regs);
    add_count(out, ".maxclusterrank ", f->max_cluster_rank);
    if (f->explicit_cluster)
        ADD(out, ".explicitcluster\n");
    add_three(out, ".reqnctapercluster ", f->req_cluster);
    if (f->blocks_are_clusters)
        ADD(out, ".blocksareclusters\n");
    for (uint32_t i = 0; i < f->n_pragmas; i++) {
        ADD(out, ".pragma ");
        aw_buf_str(out, f->pragmas[i]);
        ADD(out, ";\n");
    }
}

void ptx_print_func(const struct ptx_func *f, struct aw_buf *out)
{
    ptx_print_func_head(f, out);
    if (f->is_prototype) {
        ADD(out, ";\n");
        return;
    }
    ADD(out, "{\n");
    for (const struct ptx_stmt *s = f->body; s; s = s->next)
        ptx_print_stmt(s, out);
    ADD(out, "}\n");
}

/* ---- The module */
static void add_file(struct aw_buf *out, const struct ptx_file *f)
{
    ADD(out, ".file ");
    add_uint(out, f->index);
    ADD(out, " \"");
    aw_buf_str(out, f->name);
    ADD(out, "\"");
    if (f->rest.len) {
        ADD(out, ", ");
        aw_buf_str(out, f->rest);
    }
    ADD(out, "\n");
}

static void add_item(struct aw_buf *out, const struct ptx_item *item)
{
    const struct ptx_alias *alias = item->node;
    const struct ptx_section *section = item->node;

    switch (item->kind) {
    case PTX_ITEM_VAR:
        ptx_print_var(item->node, out);
        ADD(out, "\n");
        return;
    case PTX_ITEM_FUNC:
        ptx_print_func(item->node, out);
        ADD(out, "\n");
        return;
    case PTX_ITEM_ALIAS:
        ADD(out, ".alias ");
        aw_buf_str(out, alias->name);
        ADD(out, ", ");
        aw_buf_str(out, alias->target);
        ADD(out, ";\n");
        return;
    case PTX_ITEM_FILE: add_file(out, item->node); return;
    case PTX_ITEM_SECTION:
        ADD(out, ".section ");
        aw_buf_str(out, section->name);
        ADD(out, " {");
        aw_buf_str(out, section->text);
        ADD(out, "}\n");
        return;
    case PTX_ITEM_PRAGMA:
        ADD(out, ".pragma ");
        aw_buf_str(out, *(const struct aw_str *)item->node);
        ADD(out, ";\n");
        return;
    }
}

void ptx_print(const struct ptx_module *m, struct aw_buf *out)
{
    ADD(out, ".version ");
    add_uint(out, m->major);
    ADD(out, ".");
    add_uint(out, m->minor);
    ADD(out, "\n.target ");
    aw_buf_str(out, m->targets);
    ADD(out, "\n.address_size ");
    add_uint(out, m->address_size);
    ADD(out, "\n\n");
    for (uint32_t i = 0; i < m->n_items; i++)
        add_item(out, &m->items[i]);
}
