/* The code that a kernel can reach: its own section, and behind it those of device functions that were linked to it, as one run
 * of instructions.  Places in it are offsets in that run.  A function's address, which may lie in memory, is a number of ours
 * instead (SASS_FUNCTION_ADDRESS). */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sass/lift.h"

static const struct sass_code *function_of(const struct sass_cubin *cubin, uint32_t symbol)
{
    for (uint32_t k = 0; k < cubin->n_functions; k++)
        if (cubin->functions[k].symbol == symbol)
            return &cubin->functions[k];
    return NULL;
}

/* Those that start kernels are replaced, wherever they are. */
static bool is_function(const struct sass_cubin *cubin, uint32_t symbol)
{
    return cubin->symbols[symbol].kind == SASS_SYMBOL_FUNCTION && !sass_starter(cubin->symbols[symbol].name);
}

static void include(struct sass_lift *l, const struct sass_code *code)
{
    for (uint32_t k = 0; k < l->n_parts; k++)
        if (l->parts[k].code == code)
            return;
    l->parts[l->n_parts++] = (struct sass_code_part){ code, l->n };
    l->n += code->text.size / SASS_INSN_SIZE;
}

/* Bits 0 to 11 of CALL with a register and an absolute address. */
static bool calls_addresses(const struct sass_code *code)
{
    for (uint32_t at = 0; at + SASS_INSN_SIZE <= code->text.size; at += SASS_INSN_SIZE)
        if (code->text.ptr[at] == 0x43 && (code->text.ptr[at + 1] & 15) == 3)
            return true;
    return false;
}

/* Functions whose address data or code of the file holds. */
static void find_taken(struct sass_lift *l)
{
    for (uint32_t k = 0; k < l->cubin->n_sections; k++) {
        const struct sass_relocs *r = &l->cubin->sections[k].relocs;
        for (uint32_t j = 0; j < r->n; j++) {
            bool address = r->at[j].kind == SASS_RELOC_ABS64 || (r->at[j].kind == SASS_RELOC_ABS32_LO && !r->at[j].addend);
            if (address && is_function(l->cubin, r->at[j].symbol))
                l->taken[r->at[j].symbol] = 1;
        }
    }
}

static void include_called(struct sass_lift *l, const struct sass_code *code, bool *addresses)
{
    for (uint32_t j = 0; j < code->relocs.n; j++) {
        const struct sass_reloc *r = &code->relocs.at[j];
        bool called = r->kind == SASS_RELOC_CODE && is_function(l->cubin, r->symbol);
        const struct sass_code *to = called ? function_of(l->cubin, r->symbol) : NULL;
        if (to)
            include(l, to);
    }
    if (*addresses || !calls_addresses(code))
        return;
    *addresses = true;
    for (uint32_t s = 0; s < l->cubin->n_symbols; s++) {
        const struct sass_code *to = l->taken[s] ? function_of(l->cubin, s) : NULL;
        if (to)
            include(l, to);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void find_functions(struct sass_lift *l)
{
    const uint32_t *first = l->cubin->first_code_symbol;
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->n_parts; k++)
        n += first[l->parts[k].code->section + 1] - first[l->parts[k].code->section];
    l->functions = AW_NEW_ARRAY(&l->arena, uint32_t, (size_t)n + 1);
    for (uint32_t k = 0; k < l->n_parts && l->functions; k++)
        for (uint32_t s = first[l->parts[k].code->section]; s < first[l->parts[k].code->section + 1]; s++)
            l->functions[l->n_functions++] = l->cubin->code_symbols[s];
    if (l->n_parts > 1 && l->functions)
        qsort(l->functions, l->n_functions, sizeof *l->functions, by_number);
}

bool sass_find_parts(struct sass_lift *l)
{
    bool addresses = false;
    l->parts = AW_NEW_ARRAY(&l->arena, struct sass_code_part, (size_t)l->cubin->n_functions + 1);
    l->taken = AW_NEW_ARRAY(&l->arena, uint8_t, (size_t)l->cubin->n_symbols + 1);
    if (l->arena.failed) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return false;
    }
    if (l->cubin->n_functions)
        find_taken(l);
    include(l, l->code);
    for (uint32_t k = 0; k < l->n_parts && l->cubin->n_functions; k++)
        include_called(l, l->parts[k].code, &addresses);
    find_functions(l);
    return true;
}

const struct sass_code_part *sass_part_of(const struct sass_lift *l, uint32_t index)
{
    uint32_t k = l->n_parts - 1;
    while (k && l->parts[k].first > index)
        k--;
    return &l->parts[k];
}

const struct sass_reloc *sass_reloc_of(const struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_code_part *part = sass_part_of(l, i->offset / SASS_INSN_SIZE);
    return part->code->relocs.n ? sass_reloc_at(&part->code->relocs, i->offset - part->first * SASS_INSN_SIZE) : NULL;
}

bool sass_place_of(const struct sass_lift *l, uint32_t symbol, int64_t addend, uint32_t *ret_offset)
{
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    if (s->kind != SASS_SYMBOL_FUNCTION && s->kind != SASS_SYMBOL_KERNEL)
        return false;
    for (uint32_t k = 0; k < l->n_parts; k++) {
        int64_t at = (int64_t)s->value + addend;
        if (l->parts[k].code->section != s->section)
            continue;
        if (at < 0 || at >= l->parts[k].code->text.size)
            return false;
        *ret_offset = l->parts[k].first * SASS_INSN_SIZE + (uint32_t)at;
        return true;
    }
    return false;
}

static bool has_word(const struct sass_bytes *bytes, uint64_t wanted)
{
    for (uint32_t at = 0; at + 8 <= bytes->size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes->ptr + at, sizeof word);
        if (word == wanted)
            return true;
    }
    return false;
}

/* Whether a section's own constants, or the module's variables, have the place of a function in it: from there registers get what
 * CALL.REL takes. */
static bool has_place(const struct sass_cubin *cubin, const struct sass_code *code, uint64_t place)
{
    bool has = has_word(&code->bank2, place);
    for (uint32_t k = 0; k < cubin->n_sections && !has; k++) {
        const struct sass_section *s = &cubin->sections[k];
        bool data = aw_str_is(s->name, ".nv.global.init") || aw_str_is(s->name, ".nv.constant3");
        has = data && s->bytes.ptr && has_word(&s->bytes, place);
    }
    return has;
}

/* What a register can hold that is called: of CALL.REL the places of functions in its own section, of CALL.ABS functions by their
 * address. */
bool sass_is_target(const struct sass_lift *l, const struct sass_insn *call, uint32_t symbol, uint32_t *ret_index,
                    uint32_t *ret_value)
{
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    bool relative = call->opnd[SASS_J].kind == SASS_TARGET;
    const struct sass_code *own = sass_part_of(l, call->offset / SASS_INSN_SIZE)->code;
    uint32_t offset;
    if (s->kind != SASS_SYMBOL_FUNCTION || s->value % SASS_INSN_SIZE)
        return false;
    if (relative ? s->section != own->section || !has_place(l->cubin, own, s->value) : !l->taken[symbol])
        return false;
    if (!sass_place_of(l, symbol, 0, &offset))
        return false;
    *ret_index = offset / SASS_INSN_SIZE;
    *ret_value = relative ? offset - (uint32_t)call->opnd[SASS_J].value : symbol + 1;
    return true;
}
