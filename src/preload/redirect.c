/* Which functions of a statically linked runtime are to be redirected: see redirect.h.  Not how (patch.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/redirect.h"

#include <string.h>

#include "preload/nameless.h"

static const struct aw_redirect_row {
    const char *name;
    unsigned char mask;
} aw_redirect_rows[] = {
#define AW_REDIRECT(index, name, mask) { #name, mask },
#include "redirect_names.inc"
#undef AW_REDIRECT
};
enum { ROWS = sizeof aw_redirect_rows / sizeof aw_redirect_rows[0], RUNTIMES = AW_REDIRECT_RUNTIMES };
_Static_assert(ROWS <= AW_REDIRECT_MAX, "AW_REDIRECT_MAX holds every row");

const char *aw_redirect_soname(int runtime)
{
    static const char *const names[RUNTIMES] = { "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13" };
    return names[runtime];
}

const char *aw_redirect_name(uint32_t index)
{
    return aw_redirect_rows[index].name;
}

const char *aw_redirect_hindrance(enum aw_redirect_kind kind)
{
    switch (kind) {
    case AW_REDIRECT_STRIPPED:
        return "has the CUDA runtime linked into it, no symbol table (it was stripped), and code in which the runtime's "
               "functions cannot be told (those of CUDA 11.8, 12.4, 12.9, 13.0 and 13.5 can), so its calls cannot be led to "
               "anywarp. "
               "Link it with `nvcc -cudart shared`, or keep its symbol table (no `-s`, no `strip`).";
    case AW_REDIRECT_CUT:
        return "has the CUDA runtime linked into it and is cut off: the end of the file is missing, with its section headers and "
               "symbol table, so "
               "its calls cannot be led to anywarp. Build or copy it again.";
    case AW_REDIRECT_NONE: case AW_REDIRECT_STATIC: break;
    }
    return NULL;
}

bool aw_redirect_has(uint32_t index, int runtime)
{
    return aw_redirect_rows[index].mask >> runtime & 1;
}

/* Row of a name, or -1.  Rows are sorted. */
static int aw_redirect_find(const char *name)
{
    size_t low = 0, high = ROWS;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(aw_redirect_rows[mid].name, name);
        if (order == 0)
            return (int)mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

static void aw_redirect_add(const struct aw_elf *elf, struct aw_redirect_plan *plan, int row, uint64_t address, uint64_t size)
{
    if (plan->n < AW_REDIRECT_MAX && size >= AW_REDIRECT_PATCH && aw_elf_code_segment(elf, address, size))
        plan->targets[plan->n++] = (struct aw_redirect_target){ (uint32_t)row, address, size };
}

static void aw_redirect_collect(const struct aw_elf *elf, const struct aw_elf_symbols *table, struct aw_redirect_plan *plan,
                                bool *ret_registers)
{
    for (size_t i = 0; i < table->n && plan->n < AW_REDIRECT_MAX; i++) {
        const Elf64_Sym *sym = &table->syms[i];
        if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF)
            continue;
        const char *name = aw_elf_name(table, sym);
        if (strncmp(name, "cuda", 4) != 0 && strncmp(name, "__cuda", 6) != 0)
            continue;
        int row = aw_redirect_find(name);
        if (row < 0)
            continue;
        if (!strcmp(name, "__cudaRegisterFatBinary"))
            *ret_registers = true;
        aw_redirect_add(elf, plan, row, sym->st_value, sym->st_size);
    }
}

struct aw_redirect_gather {
    const struct aw_elf *elf;
    struct aw_redirect_plan *plan;
};

static void aw_redirect_found(void *arg, const char *name, uint64_t address, uint64_t size)
{
    struct aw_redirect_gather *gather = arg;
    int row = aw_redirect_find(name);
    if (row >= 0)
        aw_redirect_add(gather->elf, gather->plan, row, address, size);
}

/* The runtime that lacks fewest of the names, the newest of equals: a static runtime defines all of its own. */
static int aw_redirect_choose(const struct aw_redirect_plan *plan)
{
    size_t lacks[RUNTIMES] = { 0 };
    int best = RUNTIMES - 1;
    for (size_t i = 0; i < plan->n; i++)
        for (int r = 0; r < RUNTIMES; r++)
            lacks[r] += !(aw_redirect_rows[plan->targets[i].index].mask >> r & 1);
    for (int r = RUNTIMES - 2; r >= 0; r--)
        if (lacks[r] < lacks[best])
            best = r;
    return best;
}

/* Does the object take a function from elsewhere? */
static bool aw_redirect_imports(const struct aw_elf_symbols *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->syms[i].st_shndx == SHN_UNDEF && !strcmp(aw_elf_name(table, &table->syms[i]), name))
            return true;
    return false;
}

/* Does the object hand its device code to the driver by itself?  It may have a runtime as well, which shows in its variables. */
static bool aw_redirect_drives(const struct aw_elf *elf)
{
    static const char *const names[] = { "cuModuleLoad",          "cuModuleLoadData",  "cuModuleLoadDataEx",
                                         "cuModuleLoadFatBinary", "cuLibraryLoadData", "cuLibraryLoadFromFile" };
    for (size_t i = 0; !elf->has_page_tls && i < sizeof names / sizeof *names; i++)
        if (aw_redirect_imports(&elf->dynsym, names[i]))
            return true;
    return false;
}

void aw_redirect_plan(const struct aw_elf *elf, struct aw_redirect_plan *ret_plan)
{
    static const char mark[] = "__cudaRegisterFatBinary";
    ret_plan->kind = AW_REDIRECT_NONE;
    ret_plan->runtime = RUNTIMES - 1;
    ret_plan->n = 0;
    /* A stripped object may still export its runtime. */
    const struct aw_elf_symbols *table = elf->symtab.n ? &elf->symtab : &elf->dynsym;
    bool registers = false;
    if (table->n && memmem(table->strings, table->strings_size, mark, sizeof mark))
        aw_redirect_collect(elf, table, ret_plan, &registers);
    if (registers && ret_plan->n) {
        ret_plan->kind = AW_REDIRECT_STATIC;
        ret_plan->runtime = aw_redirect_choose(ret_plan);
    } else if ((elf->has_fatbin || elf->has_page_tls) && !elf->symtab.n && !aw_redirect_imports(&elf->dynsym, mark)) {
        struct aw_redirect_gather gather = { elf, ret_plan };
        ret_plan->n = 0;
        bool told = !elf->cut && aw_nameless_find(elf, aw_redirect_found, &gather) && ret_plan->n;
        /* Without device code, or with the driver's help, what is not known need not be a runtime. */
        bool none = !elf->has_fatbin || aw_redirect_drives(elf);
        enum aw_redirect_kind other = none ? AW_REDIRECT_NONE : elf->cut ? AW_REDIRECT_CUT : AW_REDIRECT_STRIPPED;
        ret_plan->kind = told ? AW_REDIRECT_STATIC : other;
        ret_plan->runtime = told ? aw_redirect_choose(ret_plan) : RUNTIMES - 1;
    }
}
