/* Where instructions come from: lines of the source, where the cubin has a line table (nvcc -lineinfo), and else, where that is
 * asked for, places in the machine code.  Both become .loc directives.  A table is not trusted, and what is wrong with it is no
 * fault of the kernel's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <inttypes.h>

#include "base/linetable.h"
#include "sass/lift.h"

enum { FILES_MAX = 4096, SEQUENCES_MAX = 64 };

/* A run of rows, and whose code they are of. */
struct sequence {
    size_t at; /* in the table, of its first address */
    const struct sass_code_part *part;
    uint64_t plus; /* bytes, to be added to addresses */
};

struct line_search {
    struct sass_lift *l;
    struct sequence sequences[SEQUENCES_MAX];
    unsigned n;
    uint64_t work; /* how many instructions rows may still be told of */
};

static const struct sass_section *section_named(const struct sass_cubin *cubin, const char *name)
{
    for (uint32_t k = 0; k < cubin->n_sections; k++)
        if (aw_str_is(cubin->sections[k].name, name))
            return &cubin->sections[k];
    return NULL;
}

/* ---- Files: numbers from 1 on, as in the text. */

static uint32_t file_number(struct sass_lift *l, size_t list, uint64_t file)
{
    for (uint32_t k = l->n_files; k; k--)
        if (l->files[k - 1].list == list && l->files[k - 1].file == file)
            return k;
    return 0;
}

/* 0: no memory, or too many. */
static uint32_t file_add(struct sass_lift *l, size_t list, uint64_t file, const char *before, struct aw_str name)
{
    struct sass_file *files = l->n_files % 64 == 0 && l->n_files < FILES_MAX
                                  ? AW_NEW_ARRAY(&l->arena, struct sass_file, l->n_files + 64)
                                  : l->files;
    char *text = aw_arena_alloc(&l->arena, strlen(before) + name.len + 1, 1);
    if (!files || !text || l->n_files >= FILES_MAX)
        return 0;
    if (files != l->files && l->n_files)
        memcpy(files, l->files, l->n_files * sizeof *files);
    memcpy(text, before, strlen(before));
    for (size_t k = 0; k < name.len; k++) {
        char c = name.ptr[k];
        text[strlen(before) + k] = c == '"' || c == '\\' || (c >= 0 && c < ' ') || c == 127 ? '?' : c;
    }
    l->files = files;
    l->files[l->n_files++] = (struct sass_file){ list, file, { text, strlen(before) + name.len } };
    return l->n_files;
}

/* ---- The table */

static bool row(void *user, const struct aw_line_row *r)
{
    struct line_search *s = user;
    char name[AW_PLACE_FILE];
    const struct sequence *q = NULL;
    for (unsigned k = 0; k < s->n && !q; k++)
        q = s->sequences[k].at == r->sequence ? &s->sequences[k] : NULL;
    uint64_t size = q ? q->part->code->text.size : 0, plus = q ? q->plus : 0;
    if (!q || r->begin >= size || plus >= size - r->begin)
        return true;
    uint32_t number = file_number(s->l, r->files, r->file);
    if (!number && aw_linetable_file(r, name))
        number = file_add(s->l, r->files, r->file, "", aw_str_from(name));
    uint64_t end = r->end < size - plus ? r->end + plus : size;
    for (uint64_t k = (r->begin + plus) / SASS_INSN_SIZE; k * SASS_INSN_SIZE < end && number; k++) {
        if (!s->work--)
            return false;
        s->l->lines[q->part->first + k] = (struct sass_line){ number, r->line };
    }
    return true;
}

/* The runs that relocations say are of the parts' code. */
static void sequences(struct line_search *s, const struct sass_section *relocs)
{
    const struct sass_lift *l = s->l;
    size_t size = relocs->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (size_t at = 0; at + size <= relocs->bytes.size; at += size) {
        Elf64_Rela rela = { 0 };
        memcpy(&rela, relocs->bytes.ptr + at, size);
        if (ELF64_R_SYM(rela.r_info) >= l->cubin->n_symbols)
            return;
        const struct sass_symbol *symbol = &l->cubin->symbols[ELF64_R_SYM(rela.r_info)];
        for (uint32_t k = 0; k < l->n_parts && s->n < SEQUENCES_MAX; k++)
            if (l->parts[k].code->section == symbol->section)
                s->sequences[s->n++] = (struct sequence){ rela.r_offset, &l->parts[k], symbol->value + (uint64_t)rela.r_addend };
    }
}

/* ---- Places in the machine code */

static void offsets(struct sass_lift *l)
{
    for (uint32_t p = 0; p < l->n_parts; p++) {
        const struct sass_code_part *part = &l->parts[p];
        uint32_t number = 0;
        for (uint32_t k = 0; k < part->code->text.size / SASS_INSN_SIZE; k++) {
            if (l->lines[part->first + k].file)
                continue;
            number = number ? number : file_add(l, SIZE_MAX, p, AW_LINES_OF_CODE, part->code->name);
            l->lines[part->first + k] = (struct sass_line){ number, k * SASS_INSN_SIZE };
        }
    }
}

void sass_find_lines(struct sass_lift *l, bool all)
{
    const struct sass_section *table = section_named(l->cubin, ".debug_line");
    const struct sass_section *relocs = table ? section_named(l->cubin, ".rel.debug_line") : NULL;
    if (table && !relocs)
        relocs = section_named(l->cubin, ".rela.debug_line");
    if (!relocs && !all)
        return;
    l->lines = AW_NEW_ARRAY(&l->arena, struct sass_line, l->n + 1);
    if (!l->lines)
        return;
    struct line_search s = { .l = l, .work = 64 * (uint64_t)l->n };
    if (relocs) {
        sequences(&s, relocs);
        aw_linetable_walk(table->bytes.ptr, table->bytes.size, row, &s);
    }
    if (all)
        offsets(l);
}

/* ---- Text */

void sass_line_begin(struct sass_lift *l, uint32_t k)
{
    if (!l->lines || !l->lines[k].file || (l->lines[k].file == l->line.file && l->lines[k].line == l->line.line))
        return;
    l->line = l->lines[k];
    aw_buf_printf(&l->body, "\t.loc %" PRIu32 " %" PRIu32 " 0\n", l->line.file, l->line.line);
}

void sass_line_files(const struct sass_lift *l, struct aw_buf *out)
{
    for (uint32_t k = 0; k < l->n_files; k++)
        aw_buf_printf(out, ".file %" PRIu32 " \"%.*s\"\n", k + 1, AW_STR_ARG(l->files[k].name));
}
