/* .loc and .file to LLVM's line information.
 *
 * A .loc holds for the statements that follow it.  With inlined_at, its function is one whose name stands in the text's
 * .debug_str section, and the place it was inlined at is that of an earlier .loc, which may have been inlined itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/line_table.h"
#include "lower/internal.h"
#include "lower/metadata.h"
#include "lower/variables.h"

#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

struct line_place {
    uint32_t file, line, column;
};

/* What a .loc that has been met became. */
struct known {
    LLVMMetadataRef loc;
    unsigned depth; /* of inlining */
    struct line_place outermost;
};

enum { DEPTH_MAX = 64 }; /* texts may go round in circles, and LLVM recurses */

struct ptx_lines {
    struct ptx_unit unit;
    enum aw_lines which;
    struct aw_ptrmap files;      /* struct ptx_file or struct ptx_module -> its metadata */
    struct aw_map scopes;        /* inlined functions by text, file and name */
    const struct ptx_func *func;
    LLVMMetadataRef scope, current;
    bool has_loc;                /* the function */
    bool marks;                  /* where lines begin, there is a call of aw.line, and variables go to their places */
    struct place {
        struct place *next;
        LLVMValueRef from, to;   /* a register, or a parameter's address; a variable for a debugger */
        LLVMTypeRef type;        /* of `from` */
        struct aw_str begins, ends; /* labels between which it is there; empty: it is everywhere */
        bool there;              /* at the statement at hand */
    } *variables;                /* of the function */
    struct aw_map places;        /* of the function: struct line_place's numbers -> the latest such location */
};

/* ---- Units. */

LLVMMetadataRef ptx_unit_file(struct ptx_unit *unit, struct aw_str path)
{
    size_t cut = path.len;
    while (cut > 0 && path.ptr[cut - 1] != '/')
        cut--;
    return LLVMDIBuilderCreateFile(unit->builder, path.ptr + cut, path.len - cut, path.ptr, cut > 1 ? cut - 1 : cut);
}

void ptx_unit_begin(struct ptx_unit *unit, LLVMModuleRef module, struct aw_str file)
{
    static const char producer[] = "anywarp";
    unit->context = LLVMGetModuleContext(module);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(unit->context);
    LLVMMetadataRef version = LLVMValueAsMetadata(LLVMConstInt(i32, LLVMDebugMetadataVersion(), 0));
    LLVMMetadataRef dwarf = LLVMValueAsMetadata(LLVMConstInt(i32, 4, 0)); /* what debuggers of ROCm 5 read, too */
    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18, version);
    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13, dwarf);
    unit->builder = LLVMCreateDIBuilder(module);
    /* Without a directory of the unit's own, the table names every file's in full.  The emission is the full one, though only
     * functions are told of: debuggers look for them in their namespaces. */
    LLVMMetadataRef main_file = LLVMDIBuilderCreateFile(unit->builder, file.ptr, file.len, "", 0);
    LLVMDIBuilderCreateCompileUnit(unit->builder, LLVMDWARFSourceLanguageC_plus_plus, main_file, producer, sizeof producer - 1,
                                   1, "", 0, 0, "", 0, LLVMDWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
    unit->type = LLVMDIBuilderCreateSubroutineType(unit->builder, NULL, NULL, 0, LLVMDIFlagZero);
}

void ptx_unit_end(struct ptx_unit *unit)
{
    LLVMDIBuilderFinalize(unit->builder);
    LLVMDisposeDIBuilder(unit->builder);
}

/* ---- Files. */

/* A text that is no file of its own is called by what it lies in. */
static LLVMMetadataRef text_file(struct ptx_lower *l, const struct ptx_module *text)
{
    struct ptx_lines *lines = l->lines;
    LLVMMetadataRef file = aw_ptrmap_find(&lines->files, text);
    if (file)
        return file;
    struct aw_str name = text->name.len ? text->name : AW_STR("<ptx>");
    bool is_ptx = name.len > 4 && memcmp(name.ptr + name.len - 4, ".ptx", 4) == 0;
    if (!is_ptx)
        name = aw_arena_printf(l->arena, "%.*s (PTX)", AW_STR_ARG(name));
    file = ptx_unit_file(&lines->unit, name.ptr ? name : AW_STR("<ptx>"));
    l->out_of_memory |= !aw_ptrmap_put(&lines->files, text, file);
    return file;
}

static LLVMMetadataRef source_file(struct ptx_lower *l, const struct ptx_module *text, uint32_t index)
{
    for (const struct ptx_file *f = text->files; f; f = f->next) {
        if (f->index != index)
            continue;
        LLVMMetadataRef file = aw_ptrmap_find(&l->lines->files, f);
        if (!file) {
            file = ptx_unit_file(&l->lines->unit, f->name);
            l->out_of_memory |= !aw_ptrmap_put(&l->lines->files, f, file);
        }
        return file;
    }
    return text_file(l, text);
}

/* ---- Inlined functions. */

/* Bytes written as numbers, up to a zero: ".b8 102, 111, 0".  What stands right behind a letter is no byte. */
static void bytes_read(const char *p, const char *end, struct aw_buf *ret)
{
    while (p < end) {
        bool is_byte = p[-1] != 'b';
        unsigned byte = 0;
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            byte = (byte * 10 + (unsigned)(*p - '0')) & 0xffff;
        if (!is_byte)
            continue;
        if (!byte)
            return;
        aw_buf_add(ret, &(char){ (char)byte }, 1);
    }
}

/* The string behind `label` in the text's .debug_str section; the label itself where there is none. */
static struct aw_str debug_string(struct ptx_lower *l, const struct ptx_module *text, struct aw_str label)
{
    struct aw_buf name = { 0 };
    for (const struct ptx_section *s = text->sections; s; s = s->next) {
        if (!aw_str_is(s->name, ".debug_str"))
            continue;
        const char *at = s->text.ptr, *end = at + s->text.len;
        while (!name.len && (at = memmem(at, (size_t)(end - at), label.ptr, label.len))) {
            at += label.len;
            if (at < end && *at == ':')
                bytes_read(at + 1, end, &name);
        }
    }
    struct aw_str copy = aw_arena_str(l->arena, name.len ? aw_buf_view(&name) : label);
    aw_buf_fini(&name);
    return copy.ptr ? copy : AW_STR("inlined");
}

/* " function_name LABEL [+ n], inlined_at FILE LINE COLUMN": false when it is something else. */
static bool parse_inlined(struct aw_str text, struct aw_str *ret_label, struct line_place *ret_at)
{
    char copy[512], label[256];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    const char *name = strstr(copy, "function_name"), *at = strstr(copy, "inlined_at");
    *ret_at = (struct line_place){ 0 };
    if (!name || !at || sscanf(name, "function_name %255[^,+ \t]", label) != 1 ||
        sscanf(at, "inlined_at %u %u %u", &ret_at->file, &ret_at->line, &ret_at->column) != 3)
        return false;
    const char *in_text = memmem(text.ptr, text.len, label, strlen(label));
    *ret_label = (struct aw_str){ in_text, strlen(label) };
    return in_text != NULL;
}

/* One scope per inlined function of a text, wherever it is inlined. */
static LLVMMetadataRef inlined_scope(struct ptx_lower *l, const struct ptx_stmt *s, struct aw_str label)
{
    const struct ptx_module *text = l->lines->func->origin;
    struct aw_str key = aw_arena_printf(l->arena, "%p %u %.*s", (const void *)text, s->file, AW_STR_ARG(label));
    LLVMMetadataRef scope = key.ptr ? aw_map_find(&l->lines->scopes, key) : NULL;
    if (!scope) {
        scope = ptx_unit_scope(&l->lines->unit, debug_string(l, text, label), source_file(l, text, s->file), s->line);
        l->out_of_memory |= !key.ptr || !aw_map_put(&l->lines->scopes, key, scope);
    }
    return scope;
}

/* The latest .loc with these numbers: where it was inlined, so is what is inlined there. */
static struct known known_place(struct ptx_lines *lines, const struct line_place *at)
{
    const struct known *known = aw_map_find(&lines->places, (struct aw_str){ (const char *)at, sizeof *at });
    if (known && known->depth < DEPTH_MAX)
        return *known;
    return (struct known){ ptx_unit_place(&lines->unit, at->line, at->column, lines->scope, NULL), 0, *at };
}

/* ---- Statements. */

static bool has_loc(const struct ptx_func *f)
{
    for (const struct ptx_stmt *s = f->body; s; s = s->next)
        if (s->kind == PTX_STMT_LOC)
            return true;
    return false;
}

static void set_place(struct ptx_lower *l, LLVMMetadataRef place)
{
    l->lines->current = place;
    LLVMSetCurrentDebugLocation2(l->builder, place);
}

/* A file that is not the function's own, as of an included header, is a scope of its own within it. */
static LLVMMetadataRef plain_scope(struct ptx_lower *l, const struct ptx_stmt *s)
{
    LLVMMetadataRef file = source_file(l, l->lines->func->origin, s->file);
    if (file == LLVMDIScopeGetFile(l->lines->scope))
        return l->lines->scope;
    return LLVMDIBuilderCreateLexicalBlockFile(l->lines->unit.builder, l->lines->scope, file, 0);
}

static struct aw_str file_name(const struct ptx_module *text, uint32_t index)
{
    for (const struct ptx_file *f = text->files; f; f = f->next)
        if (f->index == index)
            return f->name;
    return AW_STR("<ptx>");
}

/* For a person to read: see AW_LINES_TOLD. */
static LLVMMetadataRef told_place(struct ptx_lower *l, const struct ptx_stmt *s, const struct line_place *outermost)
{
    struct ptx_lines *lines = l->lines;
    struct aw_str here = file_name(lines->func->origin, s->file), there = file_name(lines->func->origin, outermost->file);
    struct aw_str both = aw_arena_printf(l->arena, "%.*s:%u, inlined at %.*s", AW_STR_ARG(here), s->line, AW_STR_ARG(there));
    if (!both.ptr) {
        l->out_of_memory = true;
        return lines->current;
    }
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(lines->unit.builder, both.ptr, both.len, "", 0);
    LLVMMetadataRef scope = LLVMDIBuilderCreateLexicalBlockFile(lines->unit.builder, lines->scope, file, 0);
    return ptx_unit_place(&lines->unit, outermost->line, outermost->column, scope, NULL);
}

/* ---- Variables, for a debugger. */

static LLVMValueRef register_find(struct ptx_lower *l, const struct ptx_func *f, struct aw_str name, LLVMTypeRef *ret_type)
{
    char text[64];
    for (uint32_t i = 0; i < f->n_regs; i++) {
        const struct ptx_var *var = f->reg_vars[i];
        int n = var->range ? snprintf(text, sizeof text, "%.*s%u", AW_STR_ARG(var->name), i - var->index)
                           : snprintf(text, sizeof text, "%.*s", AW_STR_ARG(var->name));
        if ((size_t)n != name.len || n >= (int)sizeof text || memcmp(text, name.ptr, name.len) != 0)
            continue;
        *ret_type = l->reg_types[i];
        return l->regs[i];
    }
    return NULL;
}

static unsigned type_bits(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    default: return LLVMGetTypeKind(t) == LLVMDoubleTypeKind ? 64 : 0;
    }
}

static LLVMValueRef parameter_find(struct ptx_lower *l, const struct ptx_func *f, struct aw_str name)
{
    for (const struct ptx_var *p = f->is_entry ? f->params : NULL; p; p = p->next)
        if (aw_str_eq(p->name, name))
            return b_gep(l, l->kernarg, b_i64(l, p->offset));
    return NULL;
}

static LLVMMetadataRef string_node(struct ptx_lower *l, struct aw_str s)
{
    return LLVMMDStringInContext2(l->context, s.ptr, s.len);
}

/* Its value's place, which is `to` where that is not NULL; NULL: it is nowhere. */
static LLVMValueRef variable_place(struct ptx_lower *l, const struct ptx_func *f, const struct ptx_variable *v, LLVMValueRef to)
{
    LLVMTypeRef type = ptx_int_type(l, 8 * v->bytes), from_type = type;
    LLVMValueRef from = v->is_parameter ? parameter_find(l, f, v->place) : register_find(l, f, v->place, &from_type);
    unsigned bits = from ? type_bits(from_type) : 0;
    struct place *place = from && (bits == 1 || bits >= 8 * v->bytes) ? AW_NEW(l->arena, struct place) : NULL;
    if (!place)
        return to;
    *place = (struct place){ l->lines->variables, from, to ? to : LLVMBuildAlloca(l->builder, type, ""), from_type, v->from,
                             v->to,
                             !v->from.len };
    l->lines->variables = place;
    if (to)
        return place->to;
    LLVMMetadataRef node[] = { string_node(l, f->name), string_node(l, v->name), LLVMValueAsMetadata(b_i32(l, v->encoding)),
                               LLVMValueAsMetadata(b_i32(l, v->bytes)) };
    ptx_metadata_set(place->to, PTX_VARIABLE, node, sizeof node / sizeof *node);
    return place->to;
}

void ptx_lines_registers(struct ptx_lower *l, const struct ptx_func *f)
{
    struct ptx_lines *lines = l->lines;
    if (!lines || !lines->marks)
        return;
    lines->variables = NULL;
    LLVMValueRef to = NULL;
    for (const struct ptx_variable *v = ptx_variables_read(l->arena, f->origin, f->name); v; v = v->next)
        to = variable_place(l, f, v, v->same ? to : NULL);
}

static void label_passed(struct ptx_lines *lines, struct aw_str label)
{
    for (struct place *p = lines->variables; p; p = p->next)
        p->there = p->begins.len ? (p->there || aw_str_eq(p->begins, label)) && !aw_str_eq(p->ends, label) : p->there;
}

/* The stores are volatile, as nobody reads them, and of no line: who stops at the line stops behind them. */
static void line_begins(struct ptx_lower *l)
{
    LLVMSetCurrentDebugLocation2(l->builder, ptx_unit_place(&l->lines->unit, 0, 0, l->lines->scope, NULL));
    for (const struct place *p = l->lines->variables; p; p = p->next) {
        if (!p->there)
            continue;
        LLVMTypeRef to = LLVMGetAllocatedType(p->to), whole = ptx_int_type(l, type_bits(p->type));
        LLVMValueRef value = LLVMBuildLoad2(l->builder, p->type, p->from, "");
        value = LLVMBuildBitCast(l->builder, value, whole, "");
        LLVMSetVolatile(LLVMBuildStore(l->builder, LLVMBuildIntCast2(l->builder, value, to, 0, ""), p->to), 1);
    }
    set_place(l, l->lines->current);
    b_simt(l, PTX_SIMT_LINE, NULL);
}

static void loc_stmt(struct ptx_lower *l, const struct ptx_stmt *s)
{
    struct ptx_lines *lines = l->lines;
    struct line_place here = { s->file, s->line, s->column }, at;
    struct aw_str label, key = aw_arena_str(l->arena, (struct aw_str){ (const char *)&here, sizeof here });
    struct known *known = AW_NEW(l->arena, struct known);
    if (!key.ptr || !known) {
        l->out_of_memory = true;
        return;
    }
    if (s->text.len && parse_inlined(s->text, &label, &at)) {
        struct known outer = known_place(lines, &at);
        bool told = lines->which == AW_LINES_TOLD;
        known->loc = told ? told_place(l, s, &outer.outermost)
                          : ptx_unit_place(&lines->unit, s->line, s->column, inlined_scope(l, s, label), outer.loc);
        known->depth = outer.depth + 1;
        known->outermost = outer.outermost;
    } else {
        known->loc = ptx_unit_place(&lines->unit, s->line, s->column, plain_scope(l, s), NULL);
        known->outermost = here;
    }
    l->out_of_memory |= !aw_map_put(&lines->places, key, known);
    bool new_line = known->loc != lines->current;
    set_place(l, known->loc);
    if (new_line && lines->marks && !LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(l->builder)))
        line_begins(l);
}

void ptx_lines_stmt(struct ptx_lower *l, const struct ptx_stmt *s)
{
    if (!l->lines || !l->lines->scope)
        return;
    if (s->kind == PTX_STMT_LABEL && l->lines->marks)
        label_passed(l->lines, s->label);
    if (s->kind == PTX_STMT_LOC)
        loc_stmt(l, s);
    else if (s->kind == PTX_STMT_INSTR && !l->lines->has_loc)
        set_place(l, ptx_unit_place(&l->lines->unit, s->loc.line, s->loc.column, l->lines->scope, NULL));
    else
        set_place(l, l->lines->current); /* the builder may have been elsewhere */
}

/* The first .loc says which file the function is of. */
void ptx_lines_func(struct ptx_lower *l, const struct ptx_func *f)
{
    struct ptx_lines *lines = l->lines;
    if (!lines)
        return;
    const struct ptx_stmt *first = f->body;
    while (first && first->kind != PTX_STMT_LOC)
        first = first->next;
    lines->func = f;
    aw_map_fini(&lines->places);
    lines->has_loc = first != NULL;
    lines->scope = NULL;
    LLVMSetCurrentDebugLocation2(l->builder, NULL);
    if (!first && lines->which == AW_LINES_LOC)
        return;
    LLVMMetadataRef file = first ? source_file(l, f->origin, first->file) : text_file(l, f->origin);
    unsigned line = first ? first->line : f->loc.line;
    lines->scope = ptx_unit_scope(&lines->unit, f->name, file, line);
    LLVMSetSubprogram(l->fn, lines->scope);
    set_place(l, ptx_unit_place(&lines->unit, line, 0, lines->scope, NULL));
}

/* ---- A lowering. */

/* May the function be waiting for other threads?  How it does so is seen in the form that optimising gives it, which marks of
 * lines would keep it from. */
static bool may_wait(const struct ptx_func *f)
{
    static const char *const words[] = { "atom", "red", "fence", "membar", "nanosleep", "mbarrier" };
    for (const struct ptx_stmt *s = f->body; s; s = s->next)
        for (size_t i = 0; s->kind == PTX_STMT_INSTR && i < sizeof words / sizeof *words; i++)
            if (aw_str_is(s->instr->mnemonic, words[i]) || ptx_has(s->instr, PTX_MOD_VOLATILE) ||
                ptx_has(s->instr, PTX_MOD_ACQUIRE))
                return true;
    return false;
}

bool ptx_lines_begin(struct ptx_lower *l, enum aw_lines which)
{
    bool any = which != AW_LINES_LOC;
    for (uint32_t i = 0; i < l->closure->n_funcs && !any; i++)
        any = has_loc(l->closure->funcs[i]);
    l->lines = NULL;
    if (!any)
        return true;
    l->lines = AW_NEW(l->arena, struct ptx_lines);
    if (!l->lines)
        return false;
    l->lines->which = which;
    l->lines->marks = l->target->features & PTX_TARGET_DEBUG;
    for (uint32_t i = 0; i < l->closure->n_funcs && l->lines->marks; i++)
        l->lines->marks = !may_wait(l->closure->funcs[i]);
    ptx_unit_begin(&l->lines->unit, l->module, l->ptx->name.len ? l->ptx->name : AW_STR("<ptx>"));
    return true;
}

void ptx_lines_end(struct ptx_lower *l)
{
    if (!l->lines)
        return;
    ptx_unit_end(&l->lines->unit);
    aw_ptrmap_fini(&l->lines->files);
    aw_map_fini(&l->lines->scopes);
    aw_map_fini(&l->lines->places);
    l->lines = NULL;
}
