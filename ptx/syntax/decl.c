/* Declarations: variables of all spaces with their initialisers, parameters, functions and their directives (PTX ISA 5, 11). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

#include <stdio.h>

#include "tab/form.h"

static const struct {
    const char *name;
    enum ptx_space space;
} spaces[] = {
    { ".reg", PTX_SPACE_REG }, { ".param", PTX_SPACE_PARAM }, { ".global", PTX_SPACE_GLOBAL }, { ".shared", PTX_SPACE_SHARED },
    { ".const", PTX_SPACE_CONST }, { ".local", PTX_SPACE_LOCAL }, { ".tex", PTX_SPACE_TEX }, { ".sreg", PTX_SPACE_REG },
};

static enum ptx_space space_from(struct aw_str s)
{
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (aw_str_is(s, spaces[i].name))
            return spaces[i].space;
    return PTX_SPACE_NONE;
}

/* "( ... )" verbatim; nothing in it nests deeper than one level. */
static bool parse_verbatim_parens(struct ptx_parser *p, struct aw_str *ret_text)
{
    const char *start = p->lx.tok.text.ptr;
    unsigned depth = 0;

    if (!ptx_at(p, '('))
        return ptx_unexpected(p, "'('");
    do {
        depth += ptx_at(p, '(');
        depth -= ptx_at(p, ')');
        if (ptx_at(p, PTX_T_EOF) || ptx_at(p, PTX_T_BAD) || ptx_at(p, ';') || ptx_at(p, '{'))
            return ptx_unexpected(p, "')'");
        *ret_text = (struct aw_str){ start, (size_t)(p->lx.p - start) };
        ptx_lex_next(&p->lx);
    } while (depth);
    return true;
}

bool ptx_parse_attribute(struct ptx_parser *p, struct aw_str *ret_text)
{
    return parse_verbatim_parens(p, ret_text);
}

/* .attribute(.managed), .attribute(.unified(u, u)): what we know becomes flags, the rest is kept as text. */
static void set_attribute(struct ptx_parser *p, struct ptx_var *var, struct aw_str text)
{
    static const char managed[] = "(.managed)", unified[] = "(.unified";
    char plain[32];
    size_t n = 0;

    for (size_t i = 0; i < text.len && n < sizeof plain - 1; i++)
        if (!ptx_is(text.ptr[i], PTX_CH_SPACE))
            plain[n++] = text.ptr[i];
    plain[n] = 0;
    if (strcmp(plain, managed) == 0) {
        var->managed = true;
        return;
    }
    if (strncmp(plain, unified, sizeof unified - 1) == 0)
        var->unified = true;
    var->attrs = ptx_join(p, var->attrs, var->attrs.len ? " .attribute" : ".attribute", text);
}

static bool parse_align(struct ptx_parser *p, uint32_t *ret_align)
{
    uint64_t align;

    if (!ptx_parse_uint(p, 1u << 20, &align))
        return false;
    if (!align || (align & (align - 1)))
        return ptx_fail(p, "an alignment must be a power of two");
    *ret_align = (uint32_t)align;
    return true;
}

/* ".ptr .global .align 8": the current token follows ".ptr". */
static bool parse_ptr(struct ptx_parser *p, struct ptx_var *var)
{
    var->is_ptr = true;
    while (ptx_at(p, PTX_T_DIRECTIVE)) {
        enum ptx_space space = space_from(p->lx.tok.text);
        if (ptx_at_directive(p, ".align")) {
            ptx_lex_next(&p->lx);
            if (!parse_align(p, &var->ptr_align))
                return false;
            continue;
        }
        if (!space)
            return true;
        var->ptr_space = space;
        ptx_lex_next(&p->lx);
    }
    return true;
}

/* .const[3] of PTX 1.x: bank 0 is plain .const. */
static bool parse_bank(struct ptx_parser *p)
{
    uint64_t bank;

    if (!ptx_accept(p, '['))
        return true;
    if (!ptx_parse_uint(p, 10, &bank) || !ptx_expect(p, ']', "']'"))
        return false;
    return bank == 0 || ptx_fail(p, "constant banks other than 0 are not supported");
}

/* One modifier of a declaration: space, type, .v4, .align, .ptr, .attribute. */
static bool parse_decl_mod(struct ptx_parser *p, struct ptx_var *var)
{
    struct aw_str text = p->lx.tok.text, word = { text.ptr + 1, text.len - 1 };
    enum ptx_space space;
    enum ptx_type type;

    if (var->type == PTX_NONE && ptx_type_from(word, &type)) {
        var->type = type;
        ptx_lex_next(&p->lx);
        return true;
    }
    if (!var->space && (space = space_from(text))) {
        var->space = space;
        ptx_lex_next(&p->lx);
        return space != PTX_SPACE_CONST || parse_bank(p);
    }
    if (word.len == 2 && word.ptr[0] == 'v' && (word.ptr[1] == '2' || word.ptr[1] == '4' || word.ptr[1] == '8')) {
        var->vec = (uint32_t)(word.ptr[1] - '0');
        ptx_lex_next(&p->lx);
        return true;
    }
    if (aw_str_is(text, ".align")) {
        ptx_lex_next(&p->lx);
        return parse_align(p, &var->align);
    }
    if (aw_str_is(text, ".ptr")) {
        ptx_lex_next(&p->lx);
        return parse_ptr(p, var);
    }
    if (aw_str_is(text, ".attribute")) {
        struct aw_str attr;
        ptx_lex_next(&p->lx);
        if (!ptx_parse_attribute(p, &attr))
            return false;
        set_attribute(p, var, attr);
        return true;
    }
    return ptx_unexpected(p, "a type, a state space or a name");
}

static bool parse_decl_mods(struct ptx_parser *p, struct ptx_var *var)
{
    while (ptx_at(p, PTX_T_DIRECTIVE))
        if (!parse_decl_mod(p, var))
            return false;
    if (!var->space)
        return ptx_fail(p, "a declaration needs a state space");
    if (var->type == PTX_NONE) {
        if (var->space != PTX_SPACE_TEX)
            return ptx_fail(p, "a declaration needs a type");
    }
    return true;
}

/* "[2][3]"; the first may be empty.  Checks that the whole size stays in bounds. */
static bool parse_dims(struct ptx_parser *p, struct ptx_var *var)
{
    uint64_t total = 1 + ptx_type_bits(var->type) / 8 * (uint64_t)var->vec;

    while (ptx_accept(p, '[')) {
        uint64_t dim = 0;
        if (var->n_dims == PTX_MAX_DIMS)
            return ptx_fail(p, "more than %d dimensions", PTX_MAX_DIMS);
        if (!ptx_at(p, ']') && !ptx_parse_uint(p, PTX_MAX_SIZE, &dim))
            return false;
        if (dim && (__builtin_mul_overflow(total, dim, &total) || total > PTX_MAX_SIZE))
            return ptx_fail(p, "the variable '%.*s' is too large", AW_STR_ARG(var->name));
        if (dim == 0 && var->n_dims > 0)
            return ptx_fail(p, "only the first dimension may be open");
        var->dims[var->n_dims++] = dim;
        if (!ptx_expect(p, ']', "']'"))
            return false;
    }
    return true;
}

static bool parse_name_and_shape(struct ptx_parser *p, struct ptx_var *var)
{
    var->loc = p->lx.tok.loc;
    var->name = p->lx.tok.text;
    if (!ptx_expect(p, PTX_T_IDENT, "a name"))
        return false;
    if (ptx_accept(p, '<')) {
        if (var->space != PTX_SPACE_REG)
            return ptx_fail(p, "only registers can be declared as a range");
        if (!ptx_at(p, PTX_T_INT) || p->lx.tok.value > UINT32_MAX)
            return ptx_fail(p, "expected a count of registers below 2^32");
        var->range = (uint32_t)p->lx.tok.value;
        if (!var->range)
            return ptx_fail(p, "a range of no registers");
        ptx_lex_next(&p->lx);
        if (!ptx_expect(p, '>', "'>'"))
            return false;
    }
    return parse_dims(p, var);
}

/* ---- Initialisers */
struct init_vec {
    struct ptx_init *at;
    size_t n, cap;
};

/* sym, sym+4, generic(sym)+4, 0xff00(sym); fields of opaque types: name = word. */
static bool parse_init_symbol(struct ptx_parser *p, struct ptx_init *init, uint64_t mask)
{
    struct ptx_init_addr *a = AW_NEW(p->arena, struct ptx_init_addr);
    bool closing = mask != 0;

    if (!a)
        return ptx_out_of_memory(p);
    init->kind = PTX_INIT_ADDR;
    init->addr = a;
    a->mask = mask;
    a->symbol = p->lx.tok.text;
    if (!ptx_expect(p, PTX_T_IDENT, "a symbol"))
        return false;
    if (aw_str_is(a->symbol, "generic") && ptx_accept(p, '(')) {
        a->generic = true;
        a->symbol = p->lx.tok.text;
        if (!ptx_expect(p, PTX_T_IDENT, "a symbol"))
            return false;
        if (!ptx_expect(p, ')', "')'"))
            return false;
    }
    if (ptx_at(p, '+') || ptx_at(p, '-')) {
        struct ptx_value v;
        if (ptx_at(p, '+'))
            ptx_lex_next(&p->lx);
        if (!ptx_parse_expr(p, &v))
            return false;
        if (v.is_float)
            return ptx_fail(p, "an offset must be an integer");
        a->offset = (int64_t)v.bits;
    }
    return !closing || ptx_expect(p, ')', "')'");
}

static bool parse_init_constant(struct ptx_parser *p, struct ptx_init *init)
{
    struct ptx_value v;

    if (!ptx_parse_expr(p, &v))
        return false;
    if (ptx_at(p, '(') && !v.is_float && v.bits) {
        ptx_lex_next(&p->lx);
        return parse_init_symbol(p, init, v.bits);
    }
    init->kind = v.is_float ? PTX_INIT_FLOAT : PTX_INIT_INT;
    init->is_f32 = v.is_f32;
    init->bits = v.bits;
    return true;
}

static bool parse_init(struct ptx_parser *p, struct ptx_init *init);

static bool parse_init_list(struct ptx_parser *p, struct ptx_init *init)
{
    struct init_vec items = { 0 };
    bool ok = true;

    init->kind = PTX_INIT_LIST;
    while (ok && !ptx_at(p, '}')) {
        struct ptx_init item = { 0 };
        ok = parse_init(p, &item) && (aw_vec_push(&items, item) || ptx_out_of_memory(p));
        if (!ok || !ptx_accept(p, ','))
            break;
    }
    ok = ok && ptx_expect(p, '}', "',' or '}'");
    if (ok && items.n) {
        init->items = AW_NEW_ARRAY(p->arena, struct ptx_init, items.n);
        if (init->items)
            memcpy(init->items, items.at, items.n * sizeof *items.at);
        else
            ok = ptx_out_of_memory(p);
        init->n_items = (uint32_t)items.n;
    }
    aw_vec_fini(&items);
    return ok;
}

static bool parse_init(struct ptx_parser *p, struct ptx_init *init)
{
    bool ok;

    init->loc = p->lx.tok.loc;
    if (ptx_at(p, '{')) {
        if (p->depth >= PTX_MAX_NESTING)
            return ptx_fail(p, "initialiser nested too deeply");
        p->depth++;
        ptx_lex_next(&p->lx);
        ok = parse_init_list(p, init);
        p->depth--;
        return ok;
    }
    if (ptx_at(p, PTX_T_IDENT) && !aw_str_is(p->lx.tok.text, "WARP_SZ")) {
        struct aw_str word = p->lx.tok.text;
        if (!parse_init_symbol(p, init, 0))
            return false;
        if (!ptx_accept(p, '='))
            return true;
        struct ptx_init value = { .loc = p->lx.tok.loc };
        if (ptx_at(p, PTX_T_IDENT) ? !parse_init_symbol(p, &value, 0) : !parse_init_constant(p, &value))
            return false;
        if (value.kind == PTX_INIT_INT) { /* normalized_coords = 1 */
            init->addr->offset = (int64_t)value.bits;
            init->addr->symbol = (struct aw_str){ 0 };
        } else if (value.kind == PTX_INIT_ADDR) {
            init->addr->symbol = value.addr->symbol;
        } else {
            return ptx_fail(p, "a field's value is a word or an integer");
        }
        init->addr->field = word;
        return true;
    }
    return parse_init_constant(p, init);
}

/* ---- Variables */
bool ptx_parse_vars(struct ptx_parser *p, enum ptx_linkage linkage, struct aw_str attrs, struct ptx_var **ret_list)
{
    struct ptx_var common = { .linkage = linkage, .vec = 1, .origin = p->module }, **tail = ret_list;

    *ret_list = NULL;
    if (attrs.len)
        set_attribute(p, &common, attrs);
    if (!parse_decl_mods(p, &common))
        return false;
    do {
        struct ptx_var *var = AW_NEW(p->arena, struct ptx_var);
        if (!var)
            return ptx_out_of_memory(p);
        *var = common;
        if (!parse_name_and_shape(p, var))
            return false;
        if (ptx_accept(p, '=')) {
            var->init = AW_NEW(p->arena, struct ptx_init);
            if (!var->init)
                return ptx_out_of_memory(p);
            if (!parse_init(p, var->init))
                return false;
        }
        *tail = var;
        tail = &var->next;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "',' or ';'");
}

bool ptx_parse_param_list(struct ptx_parser *p, struct ptx_var **ret_list)
{
    struct ptx_var **tail = ret_list;

    *ret_list = NULL;
    ptx_lex_next(&p->lx);
    if (ptx_accept(p, ')'))
        return true;
    do {
        struct ptx_var *var = AW_NEW(p->arena, struct ptx_var);
        if (!var)
            return ptx_out_of_memory(p);
        *var = (struct ptx_var){ .vec = 1, .origin = p->module };
        if (!parse_decl_mods(p, var) || !parse_name_and_shape(p, var))
            return false;
        if (var->space != PTX_SPACE_PARAM && var->space != PTX_SPACE_REG)
            return ptx_fail(p, "a parameter is in .param or .reg");
        *tail = var;
        tail = &var->next;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ')', "',' or ')'");
}

/* ---- Functions */
static bool parse_three(struct ptx_parser *p, uint32_t ret[3])
{
    for (int i = 0; i < 3; i++) {
        uint64_t n = 1;
        if ((i == 0 || ptx_accept(p, ',')) && !ptx_parse_uint(p, UINT32_MAX, &n))
            return false;
        ret[i] = (uint32_t)n;
    }
    return true;
}

static bool parse_one(struct ptx_parser *p, uint32_t *ret)
{
    uint64_t n;

    if (!ptx_parse_uint(p, UINT32_MAX, &n))
        return false;
    *ret = (uint32_t)n;
    return true;
}

bool ptx_parse_pragma(struct ptx_parser *p, struct aw_str *ret_text)
{
    const char *start = p->lx.tok.text.ptr - 1; /* with the quote */

    do {
        if (!ptx_at(p, PTX_T_STRING))
            return ptx_unexpected(p, "a string");
        *ret_text = (struct aw_str){ start, (size_t)(p->lx.p - start) };
        ptx_lex_next(&p->lx);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "';'");
}

static bool add_pragma(struct ptx_parser *p, struct ptx_func *func)
{
    struct aw_str text, *more = AW_NEW_ARRAY(p->arena, struct aw_str, (size_t)func->n_pragmas + 1);

    if (!more)
        return ptx_out_of_memory(p);
    if (func->n_pragmas >= 16)
        return ptx_fail(p, "more than 16 pragmas on one function");
    if (!ptx_parse_pragma(p, &text))
        return false;
    if (func->n_pragmas)
        memcpy(more, func->pragmas, func->n_pragmas * sizeof *more);
    more[func->n_pragmas++] = text;
    func->pragmas = more;
    return true;
}

static void add_attr(struct ptx_parser *p, struct ptx_func *func, const char *name, struct aw_str text)
{
    struct aw_str with_name = ptx_join(p, aw_str_from(name), "", text);

    func->attrs = func->attrs.len ? ptx_join(p, func->attrs, " ", with_name) : with_name;
}

/* ".abi_preserve 4": kept as text; it says nothing that matters where there is no such calling convention. */
static bool parse_abi_preserve(struct ptx_parser *p, struct ptx_func *func, bool control)
{
    char number[16];
    uint32_t n;

    if (!parse_one(p, &n))
        return false;
    snprintf(number, sizeof number, " %u", n);
    add_attr(p, func, control ? ".abi_preserve_control" : ".abi_preserve", aw_arena_str(p->arena, aw_str_from(number)));
    return true;
}

static bool parse_func_directive(struct ptx_parser *p, struct ptx_func *func)
{
    struct aw_str name = p->lx.tok.text, attr;
    struct ptx_loc loc = p->lx.tok.loc;

    ptx_lex_next(&p->lx);
    if (aw_str_is(name, ".maxntid"))
        return parse_three(p, func->max_ntid);
    if (aw_str_is(name, ".reqntid"))
        return parse_three(p, func->req_ntid);
    if (aw_str_is(name, ".minnctapersm"))
        return parse_one(p, &func->min_ctas);
    if (aw_str_is(name, ".maxnctapersm"))
        return parse_one(p, &func->max_ctas);
    if (aw_str_is(name, ".maxnreg"))
        return parse_one(p, &func->max_regs);
    if (aw_str_is(name, ".maxclusterrank"))
        return parse_one(p, &func->max_cluster_rank);
    if (aw_str_is(name, ".reqnctapercluster"))
        return parse_three(p, func->req_cluster);
    if (aw_str_is(name, ".explicitcluster"))
        return func->explicit_cluster = true;
    if (aw_str_is(name, ".blocksareclusters"))
        return func->blocks_are_clusters = true;
    if (aw_str_is(name, ".noreturn"))
        return func->noreturn = true;
    if (aw_str_is(name, ".pragma"))
        return add_pragma(p, func);
    if (aw_str_is(name, ".abi_preserve") || aw_str_is(name, ".abi_preserve_control"))
        return parse_abi_preserve(p, func, name.len > sizeof ".abi_preserve" - 1);
    if (aw_str_is(name, ".attribute")) {
        if (!ptx_parse_attribute(p, &attr))
            return false;
        add_attr(p, func, ".attribute", attr);
        return true;
    }
    ptx_error(p->lx.diags, p->lx.file, loc, "unknown directive '%.*s' on a function", AW_STR_ARG(name));
    return false;
}

/* (rets) name (params) directives: all but the body. */
static bool parse_signature(struct ptx_parser *p, struct ptx_func *func, bool allow_rets)
{
    while (ptx_at_directive(p, ".attribute"))
        if (!parse_func_directive(p, func))
            return false;
    if (allow_rets && ptx_at(p, '(') && !ptx_parse_param_list(p, &func->rets))
        return false;
    while (ptx_at_directive(p, ".attribute"))
        if (!parse_func_directive(p, func))
            return false;
    func->loc = p->lx.tok.loc;
    func->name = p->lx.tok.text;
    if (!ptx_expect(p, PTX_T_IDENT, "the function's name"))
        return false;
    if (ptx_at(p, '(') && !ptx_parse_param_list(p, &func->params))
        return false;
    while (ptx_at(p, PTX_T_DIRECTIVE))
        if (!parse_func_directive(p, func))
            return false;
    return true;
}

bool ptx_parse_prototype(struct ptx_parser *p, struct ptx_func **ret_func)
{
    struct ptx_func *func = AW_NEW(p->arena, struct ptx_func);

    if (!func)
        return ptx_out_of_memory(p);
    func->is_prototype = true;
    func->origin = p->module;
    *ret_func = func;
    return parse_signature(p, func, true) && ptx_expect(p, ';', "';'");
}

bool ptx_parse_func(struct ptx_parser *p, bool is_entry, enum ptx_linkage linkage, struct aw_str attrs,
                    struct ptx_func **ret_func)
{
    struct ptx_func *func = AW_NEW(p->arena, struct ptx_func);

    if (!func)
        return ptx_out_of_memory(p);
    *func = (struct ptx_func){ .is_entry = is_entry, .linkage = linkage, .origin = p->module };
    if (attrs.len)
        add_attr(p, func, ".attribute", attrs);
    *ret_func = NULL;
    if (!parse_signature(p, func, !is_entry))
        return false;
    *ret_func = func;
    if (ptx_accept(p, ';')) {
        func->is_prototype = true;
        return true;
    }
    if (!ptx_at(p, '{'))
        return ptx_unexpected(p, "';' or the function's body");
    return ptx_parse_body(p, func);
}
