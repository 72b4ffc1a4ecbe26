/* _dl_find_object for systems whose C library is older than the one that packages are made with: the unwinder that is linked
 * into the compiler process asks for it, and glibc has it from 2.35 on (Red Hat's 9 and its kin have 2.34).  It is all that is
 * asked of a glibc so new.  For portable builds alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

struct search {
    uintptr_t address;
    struct dl_find_object *result;
};

/* dl_iterate_phdr's callback: 1 ends the walk. */
static int look_at(struct dl_phdr_info *object, size_t size, void *user)
{
    struct search *s = user;
    uintptr_t begin = UINTPTR_MAX, end = 0, frame = 0;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t at = object->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            frame = at;
        if (p->p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + p->p_memsz > end ? at + p->p_memsz : end;
    }
    if (s->address < begin || s->address >= end || !frame)
        return 0;
    memset(s->result, 0, sizeof *s->result);
    s->result->dlfo_map_start = (void *)begin;
    s->result->dlfo_map_end = (void *)end;
    s->result->dlfo_eh_frame = (void *)frame;
    return 1;
}

/* As glibc's manual has it ("Dynamic Linker Introspection"): 0 and *ret_result, or -1 where no object with
 * tables for unwinding has the address.  Unlike glibc's it names no link map, for which the unwinder does not ask, and takes a
 * lock. */
__attribute__((visibility("default"))) int _dl_find_object(void *address, struct dl_find_object *ret_result)
{
    struct search s = { (uintptr_t)address, ret_result };
    return dl_iterate_phdr(look_at, &s) ? 0 : -1;
}
