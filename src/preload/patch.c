/* Redirection of a statically linked runtime: see redirect.h.
 *
 * Every redirected function begins with a jump to a stub of ours (stubs.S).  The stub jumps through a slot, which at first leads
 * to the resolver: our libcudart is opened at the first call, not while the loader is at work on the object. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/redirect.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RUNTIMES = AW_REDIRECT_RUNTIMES, STUB = 16, STUB_LAZY = 6, ROWS = 0
#define AW_REDIRECT(index, name, mask) + 1
#include "redirect_names.inc"
#undef AW_REDIRECT
};

/* stubs.S: RUNTIMES * ROWS stubs of STUB bytes, and the slots they jump through. */
extern const unsigned char aw_redirect_stubs[] __attribute__((visibility("hidden")));
extern void *aw_redirect_slots[] __attribute__((visibility("hidden")));
extern const uint32_t aw_redirect_stub_count __attribute__((visibility("hidden")));

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
                !aw_redirect_has(t->index, plan->runtime))
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
