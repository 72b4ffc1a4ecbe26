/* One function's body: names bound to what they mean, instructions to their rows, and what the function refers to collected.
 *
 * One binder serves all bodies of a module in turn; its tables are emptied by undoing, so the work is linear in the text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"
#include "syntax/lex.h"
#include "tab/form.h"

#include <stdio.h>
#include <stdlib.h>

/* Registers one function may declare; a module's may grow with its text only, for a range costs nothing to write. */
#define MAX_REGS (1u << 20)
#define MAX_FUNC_ERRORS 20

enum name_kind { NAME_PLAIN, NAME_RANGE };

/* A name of the function: a variable or a label, in the block `depth` deep. */
struct local {
    uint64_t hash;
    struct aw_str name;
    enum name_kind kind;
    uint32_t depth;
    struct ptx_var *var;
    struct ptx_stmt *label;
    struct local *hidden;  /* the outer one of the same name */
    uint32_t slot;
};

/* A label found by the first walk, waiting for its block to open. */
struct pending {
    struct ptx_stmt *stmt;
    uint32_t block, next; /* next: index + 1 in the same block */
};

struct ptx_binder {
    struct ptx_module *module;
    struct ptx_func *func;
    uint64_t reg_budget;
    struct local **slots;
    uint32_t cap, n;             /* names bound now, including hidden ones */
    AW_VEC(struct local *) bound; /* in order, for undoing */
    AW_VEC(struct local *) spare;
    struct aw_arena arena;       /* of struct local */
    AW_VEC(struct pending) pending;
    AW_VEC(uint32_t) blocks;     /* block number -> first pending label + 1 */
    AW_VEC(uint32_t) open;       /* walking: stack of block numbers, or of `bound` sizes */
    AW_VEC(struct ptx_var *) reg_vars;
    AW_VEC(struct ptx_func *) callees, taken;
    AW_VEC(struct ptx_var *) vars;
    AW_VEC(const struct ptx_func *) protos;
    struct aw_buf errors;
    uint32_t depth, next_block, callee_mark, taken_mark;
    bool indirect, barrier, no_memory;
};

static void __attribute__((format(printf, 3, 0))) add_error(struct ptx_binder *b, struct ptx_loc loc, const char *fmt, va_list ap)
{
    struct aw_str file = b->func->origin->name;
    char text[512];

    if (b->func->n_errors++ >= MAX_FUNC_ERRORS)
        return;
    vsnprintf(text, sizeof text, fmt, ap);
    aw_buf_printf(&b->errors, "%.*s:%u:%u: error: %s\n", AW_STR_ARG(file), loc.line, loc.column, text);
}

/* The text is wrong. */
static void __attribute__((format(printf, 3, 4))) body_error(struct ptx_binder *b, struct ptx_loc loc, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_error(b, loc, fmt, ap);
    va_end(ap);
}

/* The text is right, and anywarp cannot do it. */
static void __attribute__((format(printf, 3, 4))) body_unsupported(struct ptx_binder *b, struct ptx_loc loc, const char *fmt, ...)
{
    va_list ap;

    b->func->n_unsupported++;
    va_start(ap, fmt);
    add_error(b, loc, fmt, ap);
    va_end(ap);
}

#define SHOWN(s) (int)((s).len > 100 ? 100 : (s).len), (s).ptr

/* ---- The function's names */
static uint32_t slot_of(const struct ptx_binder *b, uint64_t hash, enum name_kind kind)
{
    return (uint32_t)(((hash + kind) * 0x9e3779b97f4a7c15u) >> 40) & (b->cap - 1);
}

static struct local *find_local(const struct ptx_binder *b, const char *p, size_t len, uint64_t hash, enum name_kind kind)
{
    for (uint32_t at = slot_of(b, hash, kind); b->slots[at]; at = (at + 1) & (b->cap - 1)) {
        struct local *l = b->slots[at];
        if (l->hash == hash && l->kind == kind && l->name.len == len && memcmp(l->name.ptr, p, len) == 0)
            return l;
    }
    return NULL;
}

static void put_slot(struct ptx_binder *b, struct local *l)
{
    uint32_t at = slot_of(b, l->hash, l->kind);

    while (b->slots[at])
        at = (at + 1) & (b->cap - 1);
    b->slots[at] = l;
    l->slot = at;
}

static bool grow_slots(struct ptx_binder *b)
{
    uint32_t cap = b->cap * 2;
    struct local **slots = calloc(cap, sizeof *slots), **old = b->slots;
    uint32_t old_cap = b->cap;

    if (!slots)
        return false;
    b->slots = slots;
    b->cap = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i])
            put_slot(b, old[i]);
    free(old);
    return true;
}

/* Removing from a table with linear probing: what follows in the run moves back. */
static void clear_slot(struct ptx_binder *b, uint32_t hole)
{
    uint32_t mask = b->cap - 1, at = hole;

    b->slots[hole] = NULL;
    for (;;) {
        at = (at + 1) & mask;
        struct local *l = b->slots[at];
        if (!l)
            return;
        uint32_t home = slot_of(b, l->hash, l->kind);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        b->slots[hole] = l;
        l->slot = hole;
        b->slots[at] = NULL;
        hole = at;
    }
}

static struct local *find_range(const struct ptx_binder *b, struct aw_str name, uint32_t *ret_element);

/* Is `name` one of prefix0, prefix1 … prefix(count - 1)? */
static bool in_range(struct aw_str name, struct aw_str prefix, uint32_t count)
{
    uint64_t number = 0;
    size_t n = name.len - prefix.len;
    if (name.len <= prefix.len || n > 10 || memcmp(name.ptr, prefix.ptr, prefix.len) != 0 ||
        (n > 1 && name.ptr[prefix.len] == '0'))
        return false;
    for (size_t i = prefix.len; i < name.len; i++) {
        if (!ptx_is(name.ptr[i], PTX_CH_DIGIT))
            return false;
        number = number * 10 + (uint64_t)(name.ptr[i] - '0');
    }
    return number < count;
}

/* Does this block have a range of registers with that name in it, or for a range a name that is in it? */
static bool range_clashes(const struct ptx_binder *b, struct aw_str name, enum name_kind kind, const struct ptx_var *var)
{
    uint32_t element;
    if (kind == NAME_PLAIN) {
        const struct local *l = find_range(b, name, &element);
        return l && l->depth == b->depth;
    }
    for (size_t i = b->bound.n; i-- > 0;) {
        const struct local *l = b->bound.at[i];
        if (l->kind == NAME_PLAIN && l->depth == b->depth && in_range(l->name, name, var->range))
            return true;
    }
    return false;
}

static void bind_local(struct ptx_binder *b, struct aw_str name, enum name_kind kind, struct ptx_var *var,
                       struct ptx_stmt *label, struct ptx_loc loc)
{
    uint64_t hash = ptx_hash_name(name.ptr, name.len);
    struct local *outer = find_local(b, name.ptr, name.len, hash, kind), *l;

    if (name.len == 1 && name.ptr[0] == '_') /* parameters nobody reads */
        return;
    if ((outer && outer->depth == b->depth) || range_clashes(b, name, kind, var)) {
        body_error(b, loc, "'%.*s' is already declared in this block", SHOWN(name));
        return;
    }
    if (b->n * 2 >= b->cap && !grow_slots(b)) {
        b->no_memory = true;
        return;
    }
    l = b->spare.n ? b->spare.at[--b->spare.n] : AW_NEW(&b->arena, struct local);
    if (!l || !aw_vec_push(&b->bound, l)) {
        b->no_memory = true;
        return;
    }
    *l = (struct local){ .hash = hash, .name = name, .kind = kind, .depth = b->depth, .var = var, .label = label,
                         .hidden = outer };
    if (outer) {
        l->slot = outer->slot;
        b->slots[l->slot] = l;
    } else {
        put_slot(b, l);
        b->n++;
    }
}

static void unbind_to(struct ptx_binder *b, size_t n)
{
    while (b->bound.n > n) {
        struct local *l = b->bound.at[--b->bound.n];
        if (l->hidden) {
            l->hidden->slot = l->slot;
            b->slots[l->slot] = l->hidden;
        } else {
            clear_slot(b, l->slot);
            b->n--;
        }
        if (!aw_vec_push(&b->spare, l))
            b->no_memory = true; /* the node stays in the arena */
    }
}

/* ---- Declarations */
static void declare_reg(struct ptx_binder *b, struct ptx_var *v)
{
    uint64_t n = (uint64_t)(v->range ? v->range : 1) * v->vec;
    size_t have = b->reg_vars.n;

    if (n > MAX_REGS || have + n > MAX_REGS || n > b->reg_budget) {
        body_error(b, v->loc, "too many registers: '%.*s<%u>'", SHOWN(v->name), v->range);
        v->range = v->range ? 1 : 0;
        n = v->vec;
    }
    if (!aw_vec_reserve(&b->reg_vars, n)) {
        b->no_memory = true;
        return;
    }
    b->reg_budget -= n;
    v->index = (uint32_t)have;
    for (uint64_t i = 0; i < n; i++)
        b->reg_vars.at[b->reg_vars.n++] = v;
}

/* Which component ".x" or ".r" names; -1: none of a vector so long. */
static int component_of(struct aw_str suffix, uint32_t vec)
{
    static const char names[] = "xyzw", colours[] = "rgba";

    for (uint32_t i = 0; i < vec && i < 4; i++)
        if (suffix.len == 1 && (suffix.ptr[0] == names[i] || suffix.ptr[0] == colours[i]))
            return (int)i;
    return -1;
}

/* Vector registers are as many plain ones: v.y is the second, v alone all of them. */
static void bind_vector(struct ptx_binder *b, struct ptx_operand *op)
{
    static const char *const names[] = { "x", "y", "z", "w" };
    uint32_t vec = op->var->vec;
    int component = component_of(op->suffix, vec);

    if (op->suffix.len) {
        if (component < 0)
            body_error(b, op->loc, "'%.*s' has no component '%.*s'", SHOWN(op->name), SHOWN(op->suffix));
        op->reg += component < 0 ? 0 : (uint32_t)component;
        return;
    }
    struct ptx_operand whole = { .kind = PTX_OP_VECTOR, .loc = op->loc, .n_items = vec };
    whole.items = AW_NEW_ARRAY(&b->module->arena, struct ptx_operand, vec);
    if (!whole.items || vec > 4) {
        b->no_memory |= !whole.items;
        body_error(b, op->loc, "a vector register of %u components cannot be used whole", vec);
        return;
    }
    for (uint32_t i = 0; i < vec; i++) {
        whole.items[i] = *op;
        whole.items[i].suffix = aw_str_from(names[i]);
        whole.items[i].reg += i;
    }
    *op = whole;
}

static void declare(struct ptx_binder *b, struct ptx_var *v)
{
    struct ptx_diags diags = { 0 };

    v->func = b->func;
    if (v->space == PTX_SPACE_REG)
        declare_reg(b, v);
    else if (!ptx_layout_var(v, &diags))
        body_error(b, v->loc, "'%.*s' cannot have this type or size", SHOWN(v->name));
    else if (v->linkage != PTX_LOCAL && v->space != PTX_SPACE_SHARED)
        body_error(b, v->loc, "'%.*s': what is declared in a function has no linkage", SHOWN(v->name));
    else if (v->init && v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
        body_error(b, v->loc, "a .%s variable cannot be initialised", ptx_space_name(v->space));
    else if (v->space == PTX_SPACE_TEX)
        body_unsupported(b, v->loc, ".%s variables inside functions: not supported by anywarp", ptx_space_name(v->space));
    if (v->space == PTX_SPACE_LOCAL)
        b->func->local_bytes = ptx_align_up(b->func->local_bytes, v->align ? v->align : 1) + v->size;
    ptx_diags_fini(&diags);
    bind_local(b, v->name, v->range ? NAME_RANGE : NAME_PLAIN, v, NULL, v->loc);
}

/* ---- Labels: bound when their block opens, as they may be used before they stand. */
static bool collect_labels(struct ptx_binder *b)
{
    uint32_t block = 0;

    b->pending.n = b->blocks.n = b->open.n = 0;
    if (!aw_vec_push(&b->blocks, 0))
        return false;
    for (struct ptx_stmt *s = b->func->body; s; s = s->next) {
        if (s->kind == PTX_STMT_OPEN) {
            if (!aw_vec_push(&b->open, block) || !aw_vec_push(&b->blocks, 0))
                return false;
            block = (uint32_t)b->blocks.n - 1;
        } else if (s->kind == PTX_STMT_CLOSE && b->open.n) {
            block = b->open.at[--b->open.n];
        } else if (s->label.len) {
            struct pending p = { s, block, b->blocks.at[block] };
            if (!aw_vec_push(&b->pending, p))
                return false;
            b->blocks.at[block] = (uint32_t)b->pending.n;
        }
    }
    b->open.n = 0;
    return true;
}

static void bind_labels(struct ptx_binder *b, uint32_t block)
{
    for (uint32_t i = b->blocks.at[block]; i; i = b->pending.at[i - 1].next) {
        struct ptx_stmt *s = b->pending.at[i - 1].stmt;
        bind_local(b, s->label, NAME_PLAIN, NULL, s, s->loc);
    }
}

/* ---- Looking up */
struct found {
    struct local *local;
    uint32_t element; /* of a register range */
    struct ptx_symbol *symbol;
};

/* name = prefix + number, for a declared prefix<count>; the number has no leading zero. */
static struct local *find_range(const struct ptx_binder *b, struct aw_str name, uint32_t *ret_element)
{
    uint64_t hash = 0xcbf29ce484222325u, number = 0, scale = 1;
    size_t digits = name.len;
    struct local *best = NULL;

    while (digits > 1 && ptx_is(name.ptr[digits - 1], PTX_CH_DIGIT))
        digits--;
    if (digits == name.len)
        return NULL;
    hash = ptx_hash_name(name.ptr, digits);
    for (size_t at = digits; at < name.len; at++) {
        if (name.ptr[at] != '0' || at + 1 == name.len) { /* the number begins here */
            size_t n = name.len - at;
            struct local *l = n <= 10 ? find_local(b, name.ptr, at, hash, NAME_RANGE) : NULL;
            if (l && (!best || l->depth > best->depth)) {
                for (number = 0, scale = at; scale < name.len; scale++)
                    number = number * 10 + (uint64_t)(name.ptr[scale] - '0');
                if (number < l->var->range) {
                    best = l;
                    *ret_element = (uint32_t)number;
                }
            }
        }
        hash = (hash ^ (unsigned char)name.ptr[at]) * 0x100000001b3u;
    }
    return best;
}

static bool look_up(const struct ptx_binder *b, struct aw_str name, struct found *ret)
{
    uint64_t hash = ptx_hash_name(name.ptr, name.len);

    *ret = (struct found){ 0 };
    ret->local = find_range(b, name, &ret->element);
    struct local *plain = find_local(b, name.ptr, name.len, hash, NAME_PLAIN);
    if (plain && (!ret->local || plain->depth > ret->local->depth)) {
        ret->local = plain;
        ret->element = 0;
    }
    if (ret->local)
        return true;
    ret->symbol = ptx_resolve(b->func->origin, name, hash);
    return ret->symbol != NULL;
}

/* ---- What the function refers to */
static void use_var(struct ptx_binder *b, struct ptx_var *v)
{
    if ((v->func && (v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM)) || v->mark == b->callee_mark)
        return;
    v->mark = b->callee_mark;
    b->no_memory |= !aw_vec_push(&b->vars, v);
}

static void use_func(struct ptx_binder *b, struct ptx_func *f, bool is_callee)
{
    if (f->mark == (is_callee ? b->callee_mark : b->taken_mark) || f->mark > b->taken_mark)
        return;
    bool was_other = f->mark >= b->callee_mark;
    /* Marks: callee_mark = called, taken_mark = its address taken, taken_mark + 1 = both. */
    f->mark = was_other ? b->taken_mark + 1 : is_callee ? b->callee_mark : b->taken_mark;
    if (is_callee)
        b->no_memory |= !aw_vec_push(&b->callees, f);
    else
        b->no_memory |= !aw_vec_push(&b->taken, f);
}

static void bind_symbol(struct ptx_binder *b, struct ptx_operand *op, struct ptx_symbol *s, bool is_callee)
{
    if (s->func || s->proto) {
        op->kind = PTX_OP_FUNC;
        op->func = s->func ? s->func : s->proto;
        use_func(b, op->func, is_callee);
        return;
    }
    op->kind = PTX_OP_SYMBOL;
    op->var = s->var ? s->var : s->extern_var;
    use_var(b, op->var);
}

/* Elements become bytes. */
static void scale_index(struct ptx_binder *b, struct ptx_operand *op, const struct ptx_operand *base)
{
    if (!op->indexed)
        return;
    op->indexed = false;
    if (base->kind != PTX_OP_SYMBOL) {
        body_error(b, op->loc, "'%.*s' is no array", SHOWN(base->name));
        return;
    }
    op->offset = (int64_t)((uint64_t)op->offset * (ptx_type_bits(base->var->type) / 8) * base->var->vec);
}

/* PTX's registers that this implementation has no table entry for are named as what they are. */
static bool is_special_name(struct aw_str name)
{
    static const char *const prefixes[] = { "%pm", "%envreg", "%reserved_smem", "%tid", "%ntid", "%ctaid", "%nctaid",
                                            "%cluster", "%current_graph_exec", "%globaltimer", "%clock" };

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (aw_str_starts(name, prefixes[i]))
            return true;
    return false;
}

/* %tid alone is all four of its components. */
static bool bind_sreg_vector(struct ptx_binder *b, struct ptx_operand *op)
{
    static const char *const names[] = { "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
                                         "%cluster_nctaid" };
    static const char *const components[] = { ".x", ".y", ".z", ".w" };
    bool known = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        known |= !op->suffix.len && aw_str_is(op->name, names[i]);
    if (!known)
        return false;
    if (op->offset || op->indexed || op->negate) {
        body_error(b, op->loc, "'%.*s' is a vector: it has no offset, element or negative", SHOWN(op->name));
        return true;
    }
    struct ptx_operand whole = { .kind = PTX_OP_VECTOR, .loc = op->loc, .n_items = 4 };
    whole.items = AW_NEW_ARRAY(&b->module->arena, struct ptx_operand, 4);
    for (uint32_t i = 0; whole.items && i < 4; i++) {
        struct aw_str name = aw_arena_printf(&b->module->arena, "%.*s%s", AW_STR_ARG(op->name), components[i]);
        b->no_memory |= !name.ptr;
        whole.items[i] = (struct ptx_operand){ .kind = PTX_OP_SREG, .loc = op->loc, .name = name };
        whole.items[i].sreg = name.ptr ? ptx_sreg_from(name) : PTX_SREG_NONE;
    }
    b->no_memory |= !whole.items;
    if (whole.items)
        *op = whole;
    return true;
}

/* "r + 4" is a sum where one integer register is read, as ptxas has it; not in a vector, and not where a part of it is meant. */
static bool takes_offset(const struct ptx_operand *op)
{
    char class = ptx_type_class(op->var->type);
    return class != 'F' && class != 'P' && op->var->vec == 1 && !op->suffix.len;
}

static void bind_name(struct ptx_binder *b, struct ptx_operand *op, bool is_callee)
{
    struct found f;

    if (!look_up(b, op->name, &f)) {
        if (bind_sreg_vector(b, op))
            return;
        if (is_special_name(op->name))
            body_unsupported(b, op->loc, "special register '%.*s': not supported by anywarp", SHOWN(op->name));
        else
            body_error(b, op->loc, "unknown name '%.*s'", SHOWN(op->name));
        return;
    }
    if (f.symbol) {
        bind_symbol(b, op, f.symbol, is_callee);
    } else if (f.local->label) {
        op->kind = PTX_OP_LABEL;
        op->label = f.local->label;
    } else if (f.local->var->space == PTX_SPACE_REG) {
        op->kind = PTX_OP_REG;
        op->var = f.local->var;
        op->reg = op->var->index + f.element * op->var->vec;
        if (op->offset && !op->indexed && (is_callee || !takes_offset(op)))
            body_error(b, op->loc, "this register cannot have an offset");
        else if (op->var->vec > 1)
            bind_vector(b, op);
    } else {
        op->kind = PTX_OP_SYMBOL;
        op->var = f.local->var;
        use_var(b, op->var);
    }
    scale_index(b, op, op);
}

/* a[r]: of an array, by a register of 32 bits or more, of which the assembler takes 32. */
static void check_element(struct ptx_binder *b, struct ptx_operand *op)
{
    const struct ptx_operand *array = &op->items[0], *index = &op->items[1];
    if (array->kind != PTX_OP_SYMBOL || array->var->n_dims != 1)
        body_error(b, op->loc, "'%.*s' is no array of one dimension", SHOWN(array->name));
    else if (index->kind != PTX_OP_REG || !takes_offset(index) || ptx_type_bits(index->var->type) < 32 ||
             ptx_type_bits(index->var->type) > 64)
        body_error(b, index->loc, "an element's number must be an integer of 32 or 64 bits");
}

/* Nesting of operands is bounded by the parser. */
static void bind_operand(struct ptx_binder *b, struct ptx_operand *op, bool is_callee)
{
    if (op->kind == PTX_OP_NAME) {
        bind_name(b, op, is_callee);
        return;
    }
    struct ptx_operand written = op->n_items ? op->items[0] : (struct ptx_operand){ 0 };
    for (uint32_t i = 0; i < op->n_items; i++) {
        bind_operand(b, &op->items[i], false);
        if (op->items[i].kind == PTX_OP_REG && op->items[i].offset)
            body_error(b, op->items[i].loc, "a register in a list cannot have an offset");
    }
    if (op->kind != PTX_OP_ADDR || !op->n_items)
        return;
    struct ptx_operand *base = &op->items[0];
    if (base->kind == PTX_OP_VECTOR) {
        *base = written; /* what was a name prints as one */
        body_error(b, op->loc, "a vector is no address");
        return;
    }
    if (op->by_register)
        check_element(b, op);
    scale_index(b, op, base);
    if (op->suffix.len && !aw_str_is(op->suffix, "unified"))
        body_error(b, op->loc, "'.%.*s' behind an address is not known", SHOWN(op->suffix));
    if (base->kind == PTX_OP_REG && ptx_type_bits(base->var->type) != 32 && ptx_type_bits(base->var->type) != 64)
        body_error(b, op->loc, "register '%.*s' cannot hold an address", SHOWN(base->name));
    else if (base->kind == PTX_OP_FUNC || base->kind == PTX_OP_LABEL || base->kind == PTX_OP_FLOAT)
        body_error(b, op->loc, "this is not an address of data");
}

/* ---- Calls */
static uint32_t count(const struct ptx_var *list)
{
    uint32_t n = 0;

    for (; list; list = list->next)
        n++;
    return n;
}

static void check_args(struct ptx_binder *b, const struct ptx_instr *in, const struct ptx_func *f, const struct ptx_call *call)
{
    uint32_t rets = call->rets ? call->rets->n_items : 0, args = call->args ? call->args->n_items : 0;

    if (rets != count(f->rets))
        body_error(b, in->loc, "'%.*s' returns %u values, the call takes %u", SHOWN(f->name), count(f->rets), rets);
    if (args != count(f->params))
        body_error(b, in->loc, "'%.*s' takes %u arguments, the call has %u", SHOWN(f->name), count(f->params), args);
}

static void use_proto(struct ptx_binder *b, const struct ptx_func *f)
{
    b->no_memory |= !aw_vec_push(&b->protos, f);
}

static void check_call(struct ptx_binder *b, struct ptx_instr *in)
{
    struct ptx_call call = ptx_call_parts(in);
    const struct ptx_stmt *table = call.table && call.table->kind == PTX_OP_LABEL ? call.table->label : NULL;

    if (!call.callee) {
        body_error(b, in->loc, "a call of nothing");
        return;
    }
    if (call.callee->kind == PTX_OP_FUNC) {
        check_args(b, in, call.callee->func, &call);
        return;
    }
    if (call.callee->kind != PTX_OP_REG) {
        if (call.callee->kind != PTX_OP_NAME) /* unknown names are reported already */
            body_error(b, in->loc, "only functions and registers can be called");
        return;
    }
    b->indirect = true;
    if (table && table->kind == PTX_STMT_CALLPROTOTYPE) {
        check_args(b, in, table->proto, &call);
        use_proto(b, table->proto);
    } else if (table && table->kind == PTX_STMT_CALLTARGETS) {
        for (uint32_t i = 0; i < table->n_targets; i++)
            if (table->targets[i].kind == PTX_OP_FUNC)
                use_proto(b, table->targets[i].func);
    } else if (call.table && call.table->kind == PTX_OP_FUNC) {
        check_args(b, in, call.table->func, &call);
        use_proto(b, call.table->func);
    } else {
        body_error(b, in->loc, "an indirect call needs a .callprototype or .calltargets");
    }
}

/* ---- Statements */
static void check_instr(struct ptx_binder *b, struct ptx_instr *in)
{
    bool is_call = aw_str_is(in->mnemonic, "call");
    uint32_t callee = is_call && in->n_ops && in->ops[0].kind == PTX_OP_LIST ? 1 : 0;
    uint32_t errors = b->func->n_errors;

    if (in->guard) {
        struct ptx_operand written = *in->guard;
        bind_operand(b, in->guard, false);
        if (in->guard->kind == PTX_OP_REG && in->guard->var->type != PTX_PRED) {
            body_error(b, in->guard->loc, "the guard '%.*s' is no predicate", SHOWN(in->guard->name));
        } else if (in->guard->kind != PTX_OP_REG && in->guard->kind != PTX_OP_NAME) {
            *in->guard = written; /* a vector, say, would no longer print as a guard */
            body_error(b, written.loc, "a guard must be a predicate register");
        }
    }
    for (uint32_t i = 0; i < in->n_ops; i++)
        bind_operand(b, &in->ops[i], is_call && (i == callee || i > callee + 1 || in->ops[i].kind != PTX_OP_LIST));
    if (is_call)
        check_call(b, in);
    if (!ptx_match_instr(b->module, in)) {
        char name[128];
        ptx_instr_name(in, name, sizeof name);
        if (b->func->n_errors != errors) /* what is wrong has been said */
            return;
        if (in->foreign)
            body_unsupported(b, in->loc, "instruction '%s': not supported by anywarp: %.*s", name, AW_STR_ARG(in->why));
        else
            body_error(b, in->loc, "instruction '%s': %.*s", name, AW_STR_ARG(in->why));
        return;
    }
    b->barrier |= (in->form->traits & PTX_BARRIER) != 0;
}

static void bind_targets(struct ptx_binder *b, struct ptx_stmt *s)
{
    for (uint32_t i = 0; i < s->n_targets; i++) {
        struct ptx_operand *op = &s->targets[i];
        bind_operand(b, op, false);
        if (op->kind != (s->kind == PTX_STMT_BRANCHTARGETS ? PTX_OP_LABEL : PTX_OP_FUNC) && op->kind != PTX_OP_NAME)
            body_error(b, op->loc, "'%.*s' cannot be a target here", SHOWN(op->name));
    }
}

static void check_stmt(struct ptx_binder *b, struct ptx_stmt *s)
{
    struct ptx_diags diags = { 0 };

    switch (s->kind) {
    case PTX_STMT_DECL:
        for (struct ptx_var *v = s->decl; v; v = v->next)
            declare(b, v);
        return;
    case PTX_STMT_INSTR:
        check_instr(b, s->instr);
        return;
    case PTX_STMT_CALLPROTOTYPE:
        if (!ptx_layout_params(s->proto, &diags))
            body_error(b, s->loc, "the prototype's parameters are too large");
        ptx_diags_fini(&diags);
        return;
    case PTX_STMT_OPEN:
        b->no_memory |= !aw_vec_push(&b->open, (uint32_t)b->bound.n);
        b->depth++;
        bind_labels(b, ++b->next_block);
        return;
    case PTX_STMT_CLOSE:
        if (!b->open.n)
            return;
        unbind_to(b, b->open.at[--b->open.n]);
        b->depth--;
        return;
    default:
        return;
    }
}

/* Tables come before the calls and branches that use them only by habit, so they are bound first. */
static void walk(struct ptx_binder *b)
{
    struct ptx_func *f = b->func;

    b->depth = b->next_block = 0; /* parameters and what the body declares outside of inner blocks are in one */
    for (int list = 0; list < 2; list++) {
        for (struct ptx_var *v = list ? f->params : f->rets; v; v = v->next) {
            if (v->space == PTX_SPACE_REG)
                declare(b, v);
            else
                bind_local(b, v->name, NAME_PLAIN, v, NULL, v->loc);
        }
    }
    bind_labels(b, 0);
    for (uint32_t i = 0; i < b->pending.n; i++)
        if (b->pending.at[i].stmt->kind == PTX_STMT_CALLTARGETS)
            bind_targets(b, b->pending.at[i].stmt);
    for (struct ptx_stmt *s = f->body; s && !b->no_memory; s = s->next) {
        if (s->kind == PTX_STMT_BRANCHTARGETS)
            bind_targets(b, s);
        else
            check_stmt(b, s);
    }
    b->open.n = 0;
    unbind_to(b, 0);
}

#define TAKE(b, vec, type, ret, ret_n)                                          \
    do {                                                                        \
        (ret) = AW_NEW_ARRAY(&(b)->module->arena, type, (b)->vec.n);            \
        (ret_n) = (uint32_t)(b)->vec.n;                                         \
        if ((b)->vec.n && !(ret))                                               \
            (b)->no_memory = true;                                              \
        else if ((b)->vec.n)                                                    \
            memcpy((void *)(ret), (b)->vec.at, (b)->vec.n * sizeof *(b)->vec.at); \
    } while (0)

static void finish(struct ptx_binder *b)
{
    struct ptx_func *f = b->func;
    struct ptx_uses *u = AW_NEW(&b->module->arena, struct ptx_uses);

    if (!u) {
        b->no_memory = true;
        return;
    }
    TAKE(b, callees, struct ptx_func *, u->callees, u->n_callees);
    TAKE(b, taken, struct ptx_func *, u->taken, u->n_taken);
    TAKE(b, vars, struct ptx_var *, u->vars, u->n_vars);
    TAKE(b, protos, const struct ptx_func *, u->protos, u->n_protos);
    TAKE(b, reg_vars, struct ptx_var *, f->reg_vars, f->n_regs);
    u->indirect = b->indirect;
    u->barrier = b->barrier;
    f->uses = u;
    if (f->n_errors > MAX_FUNC_ERRORS)
        aw_buf_printf(&b->errors, "%.*s:%u:%u: error: %u more errors in '%.*s'\n", AW_STR_ARG(f->origin->name), f->loc.line,
                      f->loc.column, f->n_errors - MAX_FUNC_ERRORS, SHOWN(f->name));
    if (b->errors.len)
        f->errors = aw_arena_str(&b->module->arena, aw_buf_view(&b->errors));
    b->no_memory |= b->errors.failed;
}

bool ptx_check_body(struct ptx_binder *b, struct ptx_func *func)
{
    struct ptx_state *program = b->module->state;

    b->func = func;
    b->reg_vars.n = b->callees.n = b->taken.n = b->vars.n = b->protos.n = 0;
    b->indirect = b->barrier = false;
    b->errors.len = 0;
    b->callee_mark = program->mark + 1;
    b->taken_mark = program->mark + 2;
    program->mark += 3;
    if (!collect_labels(b))
        return false;
    walk(b);
    finish(b);
    return !b->no_memory;
}

struct ptx_binder *ptx_binder_create(struct ptx_module *module)
{
    struct ptx_binder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->module = module;
    b->cap = 256;
    b->slots = calloc(b->cap, sizeof *b->slots);
    b->reg_budget = MAX_REGS + (uint64_t)module->arena.total / 4;
    for (struct ptx_module *m = module->absorbed; m; m = m->absorbed)
        b->reg_budget += (uint64_t)m->arena.total / 4;
    if (!b->slots) {
        free(b);
        return NULL;
    }
    return b;
}

void ptx_binder_destroy(struct ptx_binder *b)
{
    if (!b)
        return;
    free(b->slots);
    aw_vec_fini(&b->bound);
    aw_vec_fini(&b->spare);
    aw_arena_fini(&b->arena);
    aw_vec_fini(&b->pending);
    aw_vec_fini(&b->blocks);
    aw_vec_fini(&b->open);
    aw_vec_fini(&b->reg_vars);
    aw_vec_fini(&b->callees);
    aw_vec_fini(&b->taken);
    aw_vec_fini(&b->vars);
    aw_vec_fini(&b->protos);
    aw_buf_fini(&b->errors);
    free(b);
}
