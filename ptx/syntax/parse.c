/* The parser's entry and the module level: header directives, variables, functions, aliases, debug sections. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_MAJOR 9 /* the newest PTX ISA whose grammar this parser was written for */

/* ---- Shared helpers */
bool ptx_out_of_memory(struct ptx_parser *p)
{
    if (!p->no_memory)
        ptx_error(p->lx.diags, p->lx.file, (struct ptx_loc){ 0 }, "out of memory");
    p->no_memory = true;
    return false;
}

bool ptx_unexpected(struct ptx_parser *p, const char *wanted)
{
    const struct ptx_token *tok = &p->lx.tok;

    if (tok->kind == PTX_T_BAD) /* the lexer has said what is wrong */
        return false;
    if (tok->kind == PTX_T_EOF)
        return ptx_fail(p, "expected %s before the end of the text", wanted);
    return ptx_fail(p, "expected %s before '%.*s'", wanted, (int)(tok->text.len > 60 ? 60 : tok->text.len), tok->text.ptr);
}

bool ptx_expect(struct ptx_parser *p, int kind, const char *what)
{
    if (p->lx.tok.kind != kind)
        return ptx_unexpected(p, what);
    ptx_lex_next(&p->lx);
    return true;
}

struct aw_str ptx_join(struct ptx_parser *p, struct aw_str a, const char *separator, struct aw_str b)
{
    struct aw_str middle = aw_str_from(separator);
    char *text = aw_arena_alloc(p->arena, a.len + middle.len + b.len + 1, 1);

    if (!text) {
        ptx_out_of_memory(p);
        return (struct aw_str){ 0 };
    }
    if (a.len)
        memcpy(text, a.ptr, a.len);
    memcpy(text + a.len, middle.ptr, middle.len);
    if (b.len)
        memcpy(text + a.len + middle.len, b.ptr, b.len);
    return (struct aw_str){ text, a.len + middle.len + b.len };
}

/* ---- Items */
static bool add_item(struct ptx_parser *p, int kind, void *node)
{
    struct ptx_item item = { .kind = kind, .node = node };

    return node && aw_vec_push(&p->items, item) ? true : ptx_out_of_memory(p);
}

static bool parse_version(struct ptx_parser *p)
{
    char number[16];
    unsigned major, minor;

    if (!ptx_at(p, PTX_T_FLOAT) || p->lx.tok.text.len >= sizeof number)
        return ptx_unexpected(p, "a version such as 8.0");
    memcpy(number, p->lx.tok.text.ptr, p->lx.tok.text.len);
    number[p->lx.tok.text.len] = 0;
    if (sscanf(number, "%2u.%2u", &major, &minor) != 2)
        return ptx_unexpected(p, "a version such as 8.0");
    ptx_lex_next(&p->lx);
    p->module->major = major;
    p->module->minor = minor;
    return true;
}

/* sm_90a -> 90, 'a' */
static void read_target_word(struct ptx_module *m, struct aw_str word)
{
    if (aw_str_starts(word, "sm_") || aw_str_starts(word, "compute_")) {
        size_t i = aw_str_starts(word, "sm_") ? 3 : 8;
        uint32_t sm = 0;
        for (; i < word.len && ptx_is(word.ptr[i], PTX_CH_DIGIT) && sm < 100000; i++)
            sm = sm * 10 + (uint32_t)(word.ptr[i] - '0');
        m->sm = sm;
        m->sm_suffix = i < word.len ? word.ptr[i] : 0;
    } else if (aw_str_is(word, "debug")) {
        m->debug = true;
    } else if (aw_str_is(word, "texmode_unified")) {
        m->texmode_unified = true;
    }
}

static bool parse_target(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    const char *start = p->lx.tok.text.ptr;

    m->texmode_unified = true; /* unless texmode_independent is said */
    do {
        struct aw_str word = p->lx.tok.text;
        if (!ptx_expect(p, PTX_T_IDENT, "a target such as sm_80"))
            return false;
        m->targets = (struct aw_str){ start, (size_t)(word.ptr + word.len - start) };
        read_target_word(m, word);
        if (aw_str_is(word, "texmode_independent"))
            m->texmode_unified = false;
    } while (ptx_accept(p, ','));
    return true;
}

static bool parse_address_size(struct ptx_parser *p)
{
    uint64_t bits;

    if (!ptx_parse_uint(p, 64, &bits))
        return false;
    if (bits != 32 && bits != 64)
        return ptx_fail(p, "the address size is 32 or 64");
    p->module->address_size = (uint32_t)bits;
    return true;
}

/* .file 1 "name", 1234, 567 */
static bool parse_file(struct ptx_parser *p)
{
    struct ptx_file *f = AW_NEW(p->arena, struct ptx_file);
    uint64_t index;

    if (!f)
        return ptx_out_of_memory(p);
    if (!ptx_parse_uint(p, UINT32_MAX, &index))
        return false;
    f->index = (uint32_t)index;
    f->name = p->lx.tok.text;
    if (!ptx_expect(p, PTX_T_STRING, "a file name"))
        return false;
    const char *start = NULL, *end = NULL;
    while (ptx_accept(p, ',')) {
        if (!start)
            start = p->lx.tok.text.ptr;
        end = p->lx.p;
        if (!ptx_expect(p, PTX_T_INT, "a number"))
            return false;
    }
    if (start)
        f->rest = (struct aw_str){ start, (size_t)(end - start) };
    return add_item(p, PTX_ITEM_FILE, f);
}

/* .section .debug_info { ... } */
static bool parse_section(struct ptx_parser *p)
{
    struct ptx_section *s = AW_NEW(p->arena, struct ptx_section);

    if (!s)
        return ptx_out_of_memory(p);
    s->name = p->lx.tok.text;
    if (!ptx_at(p, PTX_T_DIRECTIVE) && !ptx_at(p, PTX_T_IDENT))
        return ptx_unexpected(p, "a section's name");
    ptx_lex_next(&p->lx);
    if (!ptx_at(p, '{'))
        return ptx_unexpected(p, "'{'");
    if (!ptx_lex_verbatim_block(&p->lx, &s->text))
        return ptx_fail(p, "section '%.*s' has no end", AW_STR_ARG(s->name));
    ptx_lex_next(&p->lx);
    return add_item(p, PTX_ITEM_SECTION, s);
}

static bool parse_alias(struct ptx_parser *p)
{
    struct ptx_alias *a = AW_NEW(p->arena, struct ptx_alias);

    if (!a)
        return ptx_out_of_memory(p);
    a->loc = p->lx.tok.loc;
    a->name = p->lx.tok.text;
    if (!ptx_expect(p, PTX_T_IDENT, "a name") || !ptx_expect(p, ',', "','"))
        return false;
    a->target = p->lx.tok.text;
    return ptx_expect(p, PTX_T_IDENT, "a name") && ptx_expect(p, ';', "';'") && add_item(p, PTX_ITEM_ALIAS, a);
}

static bool parse_module_pragma(struct ptx_parser *p)
{
    struct aw_str *text = AW_NEW(p->arena, struct aw_str);

    if (!text)
        return ptx_out_of_memory(p);
    return ptx_parse_pragma(p, text) && add_item(p, PTX_ITEM_PRAGMA, text);
}

static bool parse_module_vars(struct ptx_parser *p, enum ptx_linkage linkage, struct aw_str attrs)
{
    struct ptx_var *vars;
    struct ptx_loc loc = p->lx.tok.loc;

    if (!ptx_parse_vars(p, linkage, attrs, &vars))
        return false;
    for (struct ptx_var *next; vars; vars = next) {
        next = vars->next;
        vars->next = NULL;
        if (vars->space == PTX_SPACE_REG || vars->space == PTX_SPACE_PARAM || vars->space == PTX_SPACE_LOCAL) {
            ptx_error(p->lx.diags, p->lx.file, loc, "a .%s variable outside of a function", ptx_space_name(vars->space));
            return true; /* its statement is read */
        }
        if (!add_item(p, PTX_ITEM_VAR, vars))
            return false;
    }
    return true;
}

/* ---- What may stand at module level, with .visible and the like read first */
static bool parse_linked(struct ptx_parser *p)
{
    static const struct {
        const char *name;
        enum ptx_linkage linkage;
    } words[] = { { ".visible", PTX_VISIBLE }, { ".extern", PTX_EXTERN }, { ".weak", PTX_WEAK }, { ".common", PTX_COMMON } };
    enum ptx_linkage linkage = PTX_LOCAL;
    struct aw_str attrs = { 0 };

    while (ptx_at(p, PTX_T_DIRECTIVE)) {
        bool found = false;
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !found; i++) {
            if (ptx_at_directive(p, words[i].name)) {
                linkage = words[i].linkage;
                found = true;
            }
        }
        if (found) {
            ptx_lex_next(&p->lx);
        } else if (ptx_at_directive(p, ".attribute")) {
            ptx_lex_next(&p->lx);
            if (!ptx_parse_attribute(p, &attrs))
                return false;
        } else {
            break;
        }
    }
    if (ptx_at_directive(p, ".entry") || ptx_at_directive(p, ".func")) {
        bool is_entry = p->lx.tok.text.ptr[1] == 'e';
        struct ptx_func *func = NULL;
        ptx_lex_next(&p->lx);
        bool ok = ptx_parse_func(p, is_entry, linkage, attrs, &func);
        return (func == NULL || add_item(p, PTX_ITEM_FUNC, func)) && ok;
    }
    return parse_module_vars(p, linkage, attrs);
}

static bool parse_item(struct ptx_parser *p)
{
    static const struct {
        const char *name;
        bool (*parse)(struct ptx_parser *p);
    } directives[] = {
        { ".version", parse_version }, { ".target", parse_target },  { ".address_size", parse_address_size },
        { ".file", parse_file },       { ".section", parse_section }, { ".alias", parse_alias },
        { ".pragma", parse_module_pragma },
    };

    if (ptx_accept(p, ';'))
        return true;
    if (ptx_at(p, PTX_T_IDENT) && *p->lx.p == ':') { /* labels that debug information leaves between functions */
        ptx_lex_next(&p->lx);
        ptx_lex_next(&p->lx);
        return true;
    }
    if (!ptx_at(p, PTX_T_DIRECTIVE))
        return ptx_unexpected(p, "a directive");
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        if (ptx_at_directive(p, directives[i].name)) {
            ptx_lex_next(&p->lx);
            return directives[i].parse(p);
        }
    }
    return parse_linked(p);
}

/* After an error at module level: past the next ';' or over one {...}, or to a directive that begins an item. */
static void skip_item(struct ptx_parser *p)
{
    static const char *const starts[] = { ".visible", ".entry", ".func", ".global", ".extern", ".weak" };
    uint64_t depth = 0;

    for (bool first = true; !ptx_at(p, PTX_T_EOF); first = false) {
        if (ptx_at(p, '{'))
            depth++;
        bool closes = ptx_at(p, '}') && (depth == 0 || --depth == 0);
        bool ends = closes || (ptx_at(p, ';') && depth == 0);
        if (!first && depth == 0 && ptx_at(p, PTX_T_DIRECTIVE))
            for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
                if (ptx_at_directive(p, starts[i]))
                    return;
        ptx_lex_next(&p->lx);
        if (ends)
            return;
    }
}

/* ---- The whole */
#define APPEND(tail, type, node)      \
    do {                              \
        *(tail) = (type *)(node);     \
        (tail) = &((type *)(node))->next; \
    } while (0)

/* Chains the items into their lists. */
static bool finish_items(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    struct ptx_var **vars = &m->vars;
    struct ptx_func **funcs = &m->funcs;
    struct ptx_alias **aliases = &m->aliases;
    struct ptx_file **files = &m->files;
    struct ptx_section **sections = &m->sections;

    m->items = AW_NEW_ARRAY(p->arena, struct ptx_item, p->items.n + 1);
    if (!m->items)
        return ptx_out_of_memory(p);
    if (p->items.n)
        memcpy(m->items, p->items.at, p->items.n * sizeof *m->items);
    m->n_items = (uint32_t)p->items.n;
    for (uint32_t i = 0; i < m->n_items; i++) {
        void *node = m->items[i].node;
        switch (m->items[i].kind) {
        case PTX_ITEM_VAR: APPEND(vars, struct ptx_var, node); break;
        case PTX_ITEM_FUNC: APPEND(funcs, struct ptx_func, node); break;
        case PTX_ITEM_ALIAS: APPEND(aliases, struct ptx_alias, node); break;
        case PTX_ITEM_FILE: APPEND(files, struct ptx_file, node); break;
        case PTX_ITEM_SECTION: APPEND(sections, struct ptx_section, node); break;
        default: break;
        }
    }
    return true;
}

static void parse_items(struct ptx_parser *p)
{
    while (!ptx_at(p, PTX_T_EOF) && !p->no_memory) {
        p->depth = 0;
        if (!parse_item(p) && !p->no_memory)
            skip_item(p);
    }
}

static enum aw_status check_header(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    struct ptx_loc top = { 1, 1 };

    if (m->major > MAX_MAJOR) {
        ptx_error(p->lx.diags, p->lx.file, top, "PTX version %u.%u is newer than %d.x", m->major, m->minor, MAX_MAJOR);
        return AW_ERR_UNSUPPORTED_PTX;
    }
    if (!m->major)
        ptx_error(p->lx.diags, p->lx.file, top, "no .version directive");
    else if (!m->sm && !m->targets.len)
        ptx_error(p->lx.diags, p->lx.file, top, "no .target directive");
    return AW_OK;
}

enum aw_status ptx_parse(const char *text, size_t len, const char *name, struct ptx_diags *diags,
                         struct ptx_module **ret_module)
{
    struct ptx_module *m = calloc(1, sizeof *m);
    struct ptx_parser p = { .module = m };
    uint32_t errors_before = diags->n_errors;
    enum aw_status status;

    *ret_module = NULL;
    if (!m)
        return AW_ERR_OUT_OF_MEMORY;
    p.arena = &m->arena;
    m->address_size = 64; /* what ptxas takes when none is stated */
    m->name = aw_arena_str(p.arena, aw_str_from(name ? name : "<ptx>"));
    while (len && text[len - 1] == 0)
        len--;
    if (len > PTX_MAX_TEXT) {
        ptx_error(diags, m->name, (struct ptx_loc){ 0 }, "the text is larger than 2 GiB");
        ptx_module_destroy(m);
        return AW_ERR_INVALID_PTX;
    }
    struct aw_str copy = aw_arena_str(p.arena, (struct aw_str){ text, len });
    status = AW_ERR_OUT_OF_MEMORY;
    if (!copy.ptr || !m->name.ptr)
        goto done;
    ptx_lex_init(&p.lx, copy, m->name, diags);
    parse_items(&p);
    status = p.no_memory ? AW_ERR_OUT_OF_MEMORY : check_header(&p);
    if (status == AW_OK && !finish_items(&p))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK && (diags->n_errors != errors_before))
        status = AW_ERR_INVALID_PTX;
done:
    ptx_opcodes_fini(&p.opcodes);
    aw_vec_fini(&p.scratch);
    aw_vec_fini(&p.items);
    if (status == AW_OK || status == AW_ERR_INVALID_PTX)
        *ret_module = m;
    else
        ptx_module_destroy(m);
    return status;
}

void ptx_module_destroy(struct ptx_module *module)
{
    while (module) { /* absorbed modules form a chain */
        struct ptx_module *next = module->absorbed;
        struct aw_arena arena = module->arena;
        aw_arena_fini(&arena);
        free(module);
        module = next;
    }
}

struct ptx_call ptx_call_parts(const struct ptx_instr *in)
{
    struct ptx_call c = { 0 };
    uint32_t i = 0;

    if (i < in->n_ops && in->ops[i].kind == PTX_OP_LIST)
        c.rets = &in->ops[i++];
    if (i < in->n_ops)
        c.callee = &in->ops[i++];
    if (i < in->n_ops && in->ops[i].kind == PTX_OP_LIST)
        c.args = &in->ops[i++];
    if (i < in->n_ops)
        c.table = &in->ops[i++];
    return c;
}
