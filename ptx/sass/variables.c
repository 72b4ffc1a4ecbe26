/* A cubin's variables as a PTX module: bytes and addresses as in the file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/lift.h"

unsigned sass_symbol_align(const struct sass_cubin *cubin, const struct sass_symbol *s)
{
    enum { MOST = 1 << 16 }; /* what a program may have stated; a section says more only where the file is damaged */
    uint64_t align = s->section < cubin->n_sections ? cubin->sections[s->section].align : 1;
    align = align && !(align & (align - 1)) ? align : 1;
    align = align > MOST ? MOST : align;
    while (align > 1 && s->value % align)
        align /= 2;
    return (unsigned)align;
}

/* Programs ask for which architecture a kernel was compiled: that of the machine code. */
void sass_head(const struct sass_cubin *cubin, struct aw_buf *out)
{
    aw_buf_printf(out, ".version 8.6\n.target sm_%u\n.address_size 64\n\n", cubin->arch);
}

static bool all_zero(const uint8_t *at, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        if (at[k])
            return false;
    return true;
}

/* Whether an address lies in these bytes. */
static bool has_address(const struct sass_section *section, uint64_t from, uint64_t to)
{
    for (uint32_t k = 0; k < section->relocs.n; k++)
        if (section->relocs.at[k].offset >= from && section->relocs.at[k].offset < to)
            return true;
    return false;
}

/* Has the variable addresses among its bytes?  Then it is an array of words. */
static bool has_addresses(const struct sass_cubin *cubin, const struct sass_symbol *s)
{
    const struct sass_section *section = &cubin->sections[s->section];
    bool bytes = section->bytes.ptr && s->value <= section->bytes.size && s->size <= section->bytes.size - s->value;
    return bytes && has_address(section, s->value, s->value + s->size);
}

static bool is_memory(const struct sass_symbol *s)
{
    return s->kind == SASS_SYMBOL_GLOBAL || s->kind == SASS_SYMBOL_CONSTANT;
}

static void declaration(const struct sass_cubin *cubin, const struct sass_symbol *s, const char *linkage, struct aw_buf *out)
{
    uint64_t size = s->size ? s->size : 1;
    bool words = has_addresses(cubin, s);
    aw_buf_printf(out, "%s .%s .align %u .%s %.*s[%" PRIu64 "]", linkage, s->kind == SASS_SYMBOL_GLOBAL ? "global" : "const",
                  sass_symbol_align(cubin, s), words ? "u64" : "b8", AW_STR_ARG(s->name), words ? size / 8 : size);
}

/* Words of 8 bytes where addresses are among them. */
static bool words(const struct sass_cubin *cubin, const struct sass_section *section, const struct sass_symbol *s,
                  struct aw_buf *out, struct aw_buf *error)
{
    for (uint64_t at = s->value; at < s->value + s->size; at += 8) {
        const struct sass_reloc *r = sass_reloc_at(&section->relocs, (uint32_t)at);
        uint64_t v = 0;
        memcpy(&v, section->bytes.ptr + at, 8);
        aw_buf_printf(out, "%s", at == s->value ? "" : ", ");
        if (!r) {
            aw_buf_printf(out, "%" PRIu64, v);
            continue;
        }
        const struct sass_symbol *to = &cubin->symbols[r->symbol];
        uint64_t address = sass_function_address(r->symbol);
        bool function = r->kind == SASS_RELOC_KERNEL64 ? sass_kernel_address(cubin, r->symbol, &address)
                                                       : r->kind == SASS_RELOC_ABS64 && to->kind == SASS_SYMBOL_FUNCTION;
        if (function && !r->addend && !v) {
            aw_buf_printf(out, "%" PRIu64, address);
            continue;
        }
        if (r->kind != SASS_RELOC_ABS64 || (to->kind != SASS_SYMBOL_GLOBAL && to->kind != SASS_SYMBOL_CONSTANT)) {
            aw_buf_printf(error, "%.*s+0x%" PRIx64 ": address of %.*s, relocation %" PRIu32, AW_STR_ARG(s->name), at - s->value,
                          AW_STR_ARG(to->name), r->type);
            return false;
        }
        aw_buf_printf(out, "generic(%.*s)+%" PRId64, AW_STR_ARG(to->name), r->addend + (int64_t)v);
    }
    return true;
}

static bool variable(const struct sass_cubin *cubin, const struct sass_symbol *s, struct aw_buf *out, struct aw_buf *error)
{
    const struct sass_section *section = &cubin->sections[s->section];
    bool bytes = section->bytes.ptr && s->value <= section->bytes.size && s->size <= section->bytes.size - s->value;
    bool addresses = has_addresses(cubin, s);
    if (addresses && (s->size % 8 || s->value % 8)) {
        aw_buf_printf(error, "%.*s: addresses in a variable of odd size", AW_STR_ARG(s->name));
        return false;
    }
    declaration(cubin, s, ".visible", out);
    if (bytes && s->size && (addresses || !all_zero(section->bytes.ptr + s->value, s->size))) {
        aw_buf_printf(out, " = {");
        if (addresses) {
            if (!words(cubin, section, s, out, error))
                return false;
        } else {
            for (uint64_t k = 0; k < s->size; k++)
                aw_buf_printf(out, "%s%u", k ? "," : "", section->bytes.ptr[s->value + k]);
        }
        aw_buf_printf(out, "}");
    }
    aw_buf_printf(out, ";\n");
    return true;
}

static bool is_texture(const struct sass_symbol *s)
{
    return s->kind == SASS_SYMBOL_TEXTURE || s->kind == SASS_SYMBOL_SURFACE;
}

static void texture(const struct sass_symbol *s, const char *linkage, struct aw_buf *out)
{
    aw_buf_printf(out, "%s .global .%s %.*s;\n", linkage, s->kind == SASS_SYMBOL_TEXTURE ? "texref" : "surfref",
                  AW_STR_ARG(s->name));
}

struct sass_text sass_bank2_name(const struct sass_cubin *cubin, const struct sass_code *code)
{
    return sass_format("bank2$%u", (unsigned)(code - cubin->kernels));
}

/* No .const variable: of these a module has 64 KiB at most, of bank 2 each kernel. */
static void bank2(const struct sass_cubin *cubin, const struct sass_code *code, struct aw_buf *out)
{
    if (!code->bank2.size)
        return;
    aw_buf_printf(out, ".visible .global .align 16 .b8 %s[%" PRIu32 "] = {", sass_bank2_name(cubin, code).s, code->bank2.size);
    for (uint32_t k = 0; k < code->bank2.size; k++)
        aw_buf_printf(out, "%s%u", k ? "," : "", code->bank2.ptr[k]);
    aw_buf_printf(out, "};\n");
}

static bool is_function(const struct sass_symbol *s)
{
    return s->kind == SASS_SYMBOL_FUNCTION || s->kind == SASS_SYMBOL_NONE || s->kind == SASS_SYMBOL_KERNEL;
}

bool sass_has_bank4(const struct sass_cubin *cubin, const struct sass_code *code)
{
    for (uint32_t k = 0; k < code->bank4_relocs.n; k++) {
        const struct sass_reloc *r = &code->bank4_relocs.at[k];
        const struct sass_symbol *to = &cubin->symbols[r->symbol];
        if (r->kind != SASS_RELOC_ABS64 || r->offset % 8 || r->offset + 8 > code->bank4.size ||
            (!is_function(to) && to->kind != SASS_SYMBOL_GLOBAL && to->kind != SASS_SYMBOL_CONSTANT))
            return false;
    }
    return code->bank4.size >= 8;
}

/* The first kernel that has the same bank 4. */
static uint32_t bank4_owner(const struct sass_cubin *cubin, const struct sass_code *code)
{
    uint32_t k = 0;
    while (&cubin->kernels[k] != code && cubin->kernels[k].bank4.ptr != code->bank4.ptr)
        k++;
    return k;
}

struct sass_text sass_bank4_name(const struct sass_cubin *cubin, const struct sass_code *code)
{
    return sass_format("bank4$%" PRIu32, bank4_owner(cubin, code));
}

static void bank4(const struct sass_cubin *cubin, uint32_t kernel, struct aw_buf *out)
{
    const struct sass_code *code = &cubin->kernels[kernel];
    if (!sass_has_bank4(cubin, code) || bank4_owner(cubin, code) != kernel)
        return;
    aw_buf_printf(out, ".visible .global .align 16 .u64 %s[%" PRIu32 "] = {", sass_bank4_name(cubin, code).s,
                  code->bank4.size / 8);
    for (uint32_t at = 0; at + 8 <= code->bank4.size; at += 8) {
        const struct sass_reloc *r = sass_reloc_at(&code->bank4_relocs, at);
        aw_buf_printf(out, "%s", at ? "," : "");
        if (!r)
            aw_buf_printf(out, "0");
        else if (is_function(&cubin->symbols[r->symbol]))
            aw_buf_printf(out, "%" PRIu64, sass_function_address(r->symbol));
        else
            aw_buf_printf(out, "generic(%.*s)+%" PRId64, AW_STR_ARG(cubin->symbols[r->symbol].name), r->addend);
    }
    aw_buf_printf(out, "};\n");
}

/* ---- Beside one kernel */

void sass_declare_variables(const struct sass_lift *l, struct aw_buf *out)
{
    for (uint32_t k = 0; k < l->cubin->n_symbols; k++) {
        const struct sass_symbol *s = &l->cubin->symbols[k];
        if (!l->symbols[k])
            continue;
        if (is_memory(s)) {
            declaration(l->cubin, s, ".extern", out);
            aw_buf_printf(out, ";\n");
        } else if (is_texture(s)) {
            texture(s, ".extern", out);
        }
    }
    if (l->bank2)
        aw_buf_printf(out, ".extern .global .align 16 .b8 %s[%" PRIu32 "];\n", sass_bank2_name(l->cubin, l->code).s,
                      l->code->bank2.size);
    if (l->bank4)
        aw_buf_printf(out, ".extern .global .align 16 .u64 %s[%" PRIu32 "];\n", sass_bank4_name(l->cubin, l->code).s,
                      l->code->bank4.size / 8);
}

/* Marks the variables whose addresses these relocations have, from one offset to before another; true when there is a new one. */
static bool mark(const struct sass_cubin *cubin, const struct sass_relocs *relocs, uint64_t from, uint64_t to, uint8_t *marks)
{
    bool any = false;
    for (uint32_t k = 0; k < relocs->n; k++) {
        uint32_t symbol = relocs->at[k].symbol;
        if (relocs->at[k].offset < from || relocs->at[k].offset >= to || marks[symbol] || !is_memory(&cubin->symbols[symbol]))
            continue;
        marks[symbol] = 1;
        any = true;
    }
    return any;
}

/* Whose address is in a variable that the text has must be there as well. */
static void mark_all(struct sass_lift *l)
{
    const struct sass_cubin *cubin = l->cubin;
    bool any = true;
    if (l->bank4)
        (void)mark(cubin, &l->code->bank4_relocs, 0, UINT64_MAX, l->symbols);
    while (any) {
        any = false;
        for (uint32_t k = 0; k < cubin->n_symbols; k++) {
            const struct sass_symbol *s = &cubin->symbols[k];
            if (l->symbols[k] && is_memory(s))
                any |= mark(cubin, &cubin->sections[s->section].relocs, s->value, s->value + s->size, l->symbols);
        }
    }
}

void sass_define_variables(struct sass_lift *l, struct aw_buf *out)
{
    const struct sass_cubin *cubin = l->cubin;
    mark_all(l);
    sass_declare_variables(l, out); /* addresses in initial bytes are of variables that may come later */
    for (uint32_t k = 0; k < cubin->n_symbols; k++) {
        const struct sass_symbol *s = &cubin->symbols[k];
        if (l->symbols[k] && is_memory(s) && !variable(cubin, s, out, &l->error))
            l->status = AW_ERR_NOT_SUPPORTED;
        if (l->symbols[k] && is_texture(s))
            texture(s, ".visible", out);
    }
    if (l->bank2)
        bank2(cubin, l->code, out);
    if (l->bank4)
        bank4(cubin, bank4_owner(cubin, l->code), out);
}

enum aw_status sass_lift_variables(const struct sass_cubin *cubin, struct aw_buf *ret_ptx, struct aw_buf *ret_error)
{
    size_t before = ret_ptx->len;
    sass_head(cubin, ret_ptx);
    /* Addresses in initial bytes are of variables that may come later. */
    for (uint32_t k = 0; k < cubin->n_symbols; k++) {
        const struct sass_symbol *s = &cubin->symbols[k];
        if (is_memory(s) && !variable(cubin, s, ret_ptx, ret_error)) {
            ret_ptx->len = before;
            ret_ptx->ptr[before] = 0;
            return AW_ERR_NOT_SUPPORTED;
        }
        if (is_texture(s))
            texture(s, ".visible", ret_ptx);
    }
    for (uint32_t k = 0; k < cubin->n_kernels; k++) {
        bank2(cubin, &cubin->kernels[k], ret_ptx);
        bank4(cubin, k, ret_ptx);
    }
    return ret_ptx->failed ? AW_ERR_OUT_OF_MEMORY : AW_OK;
}
