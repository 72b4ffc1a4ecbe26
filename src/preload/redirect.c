/* Redirection of a statically linked runtime: see redirect.h.
 *
 * Every redirected function begins with a jump to a stub of ours (stubs.S).  The stub jumps through a slot, which at first leads to
 * the resolver: our libcudart is opened at the first call, not while the loader is at work on the object. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/redirect.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct aw_redirect_row {
    const char *name;
    unsigned char mask;
} aw_redirect_rows[] = {
#define AW_REDIRECT(index, name, mask) { #name, mask },
#include "redirect_names.inc"
#undef AW_REDIRECT
};
enum { ROWS = sizeof aw_redirect_rows / sizeof aw_redirect_rows[0], RUNTIMES = 3, PATCH = 14, STUB = 16, STUB_LAZY = 6 };
_Static_assert(ROWS <= AW_REDIRECT_MAX, "AW_REDIRECT_MAX holds every row");

/* stubs.S: RUNTIMES * ROWS stubs of STUB bytes, and the slots they jump through. */
extern const unsigned char aw_redirect_stubs[] __attribute__((visibility("hidden")));
extern void *aw_redirect_slots[] __attribute__((visibility("hidden")));
extern const uint32_t aw_redirect_stub_count __attribute__((visibility("hidden")));

const char *aw_redirect_soname(int runtime)
{
    static const char *const names[RUNTIMES] = { "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13" };
    return names[runtime];
}

const char *aw_redirect_name(uint32_t index)
{
    return aw_redirect_rows[index].name;
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
        if (sym->st_size >= PATCH && aw_elf_code_segment(elf, sym->st_value, sym->st_size))
            plan->targets[plan->n++] = (struct aw_redirect_target){ (uint32_t)row, sym->st_value, sym->st_size };
    }
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

/* Does the object take `__cudaRegisterFatBinary` from elsewhere? */
static bool aw_redirect_imports(const struct aw_elf_symbols *table)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->syms[i].st_shndx == SHN_UNDEF && !strcmp(aw_elf_name(table, &table->syms[i]), "__cudaRegisterFatBinary"))
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
    } else if (elf->has_fatbin && !elf->symtab.n && !aw_redirect_imports(&elf->dynsym)) {
        ret_plan->kind = AW_REDIRECT_STRIPPED;
    }
}

/* Slots of one runtime start out at the second half of their stub. */
static void aw_redirect_init_slots(int runtime)
{
    for (uint32_t i = (uint32_t)runtime * ROWS; i < (uint32_t)(runtime + 1) * ROWS; i++)
        if (!aw_redirect_slots[i])
            aw_redirect_slots[i] = (void *)(aw_redirect_stubs + (size_t)i * STUB + STUB_LAZY);
}

static int aw_redirect_protection(const Elf64_Phdr *segment)
{
    return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) | PROT_EXEC;
}

/* jmp *0(%rip), then the address. */
static void aw_redirect_write(unsigned char *code, uint32_t slot)
{
    const void *stub = aw_redirect_stubs + (size_t)slot * STUB;
    static const unsigned char jump[6] = { 0xff, 0x25, 0, 0, 0, 0 };
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &stub, sizeof stub);
}

int aw_redirect_apply(const struct aw_elf *elf, const struct aw_redirect_plan *plan, uintptr_t base)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    int done = 0;
    if (aw_redirect_stub_count != RUNTIMES * ROWS)
        return -1;
    aw_redirect_init_slots(plan->runtime);
    for (size_t i = 0; i < elf->n_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        uintptr_t from = (base + segment->p_vaddr) & ~page, to = (base + segment->p_vaddr + segment->p_filesz + page) & ~page;
        bool open = false;
        for (size_t k = 0; k < plan->n; k++) {
            const struct aw_redirect_target *t = &plan->targets[k];
            if (aw_elf_code_segment(elf, t->address, t->size) != segment ||
                !(aw_redirect_rows[t->index].mask >> plan->runtime & 1))
                continue;
            if (!open && mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
                mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) != 0)
                return -1;
            open = true;
            aw_redirect_write((unsigned char *)(base + t->address), (uint32_t)plan->runtime * ROWS + t->index);
            done++;
        }
        if (open && mprotect((void *)from, to - from, aw_redirect_protection(segment)) != 0)
            return -1;
    }
    return done;
}
