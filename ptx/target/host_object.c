/* The last look at the machine code before it is linked: nothing undefined, and how much stack it takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "target/host.h"
#include <anywarp/hostabi.h>
#include <elf.h>
#include <string.h>

struct object {
    char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned n;
};

static bool open_object(struct object *o)
{
    const Elf64_Ehdr *h = (const void *)o->bytes;
    if (o->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    o->n = h->e_shnum;
    if (h->e_shoff > o->size || (o->size - h->e_shoff) / sizeof(Elf64_Shdr) < o->n)
        return false;
    o->sections = (const void *)(o->bytes + h->e_shoff);
    return true;
}

static const char *name_at(const struct object *o, unsigned section, uint32_t at)
{
    if (section >= o->n || o->sections[section].sh_offset > o->size)
        return "?";
    const Elf64_Shdr *s = &o->sections[section];
    return at < s->sh_size && s->sh_size <= o->size - s->sh_offset ? o->bytes + s->sh_offset + at : "?";
}

int ptx_host_object_finish(char *bytes, size_t size, uint32_t stack_bytes, const char *kernel, struct aw_buf *diags)
{
    struct object o = { bytes, size, NULL, 0 };
    bool patched = false, missing = false;
    if (!open_object(&o)) {
        aw_buf_printf(diags, "%s: error: internal: LLVM made no ELF object\n", kernel);
        return AW_ERR_NOT_SUPPORTED;
    }
    for (unsigned i = 0; i < o.n; i++) {
        const Elf64_Shdr *s = &o.sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_offset > size || s->sh_size > size - s->sh_offset)
            continue;
        const Elf64_Sym *sym = (const void *)(bytes + s->sh_offset);
        for (size_t j = 1; j < s->sh_size / sizeof *sym; j++) {
            const char *name = name_at(&o, s->sh_link, sym[j].st_name);
            if (sym[j].st_shndx == SHN_UNDEF && strcmp(name, "_GLOBAL_OFFSET_TABLE_")) {
                aw_buf_printf(diags, "%s: error: this CPU has no instruction for an operation of the kernel, and the host "
                              "target no code (symbol %s)\n", kernel, name);
                missing = true;
            } else if (!strcmp(name, AW_HOST_OBJECT_SYMBOL) && sym[j].st_shndx < o.n) {
                uint64_t at = o.sections[sym[j].st_shndx].sh_offset + sym[j].st_value;
                if (at <= size && size - at >= sizeof(struct aw_host_object)) {
                    memcpy(bytes + at + offsetof(struct aw_host_object, stack_bytes), &stack_bytes, sizeof stack_bytes);
                    patched = true;
                }
            }
        }
    }
    if (!patched && !missing)
        aw_buf_printf(diags, "%s: error: internal: no object table in the machine code\n", kernel);
    return patched && !missing ? AW_OK : AW_ERR_NOT_SUPPORTED;
}
