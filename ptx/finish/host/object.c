/* The last look at the machine code before it is linked: nothing undefined, and how much stack it takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <anywarp/hostabi.h>
#include <elf.h>
#include <string.h>

struct object {
    const char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned n;
};

static bool open_object(struct object *o)
{
    const Elf64_Ehdr *h = (const void *)o->bytes;
    if (o->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_shentsize != sizeof(Elf64_Shdr))
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

/* The next symbol table after *section; NULL: none. */
static const Elf64_Sym *symbols_next(const struct object *o, unsigned *section, size_t *ret_n)
{
    while (++*section < o->n) {
        const Elf64_Shdr *s = &o->sections[*section];
        if (s->sh_type != SHT_SYMTAB || s->sh_offset > o->size || s->sh_size > o->size - s->sh_offset)
            continue;
        *ret_n = s->sh_size / sizeof(Elf64_Sym);
        return (const void *)(o->bytes + s->sh_offset);
    }
    return NULL;
}

static bool soft_defines(const char *name)
{
    struct ptx_bytes soft = ptx_host_soft();
    struct object o = { soft.bytes, soft.size, NULL, 0 };
    size_t n;
    const Elf64_Sym *sym;
    for (unsigned section = 0; open_object(&o) && (sym = symbols_next(&o, &section, &n));)
        for (size_t i = 1; i < n; i++)
            if (sym[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(sym[i].st_info) == STB_GLOBAL &&
                !strcmp(name_at(&o, o.sections[section].sh_link, sym[i].st_name), name))
                return true;
    return false;
}

int ptx_host_object_finish(char *bytes, size_t size, uint32_t stack_bytes, uint32_t local_stack, const char *kernel,
                           bool *ret_soft, struct aw_buf *diags)
{
    struct object o = { bytes, size, NULL, 0 };
    bool patched = false, missing = false;
    if (!open_object(&o)) {
        aw_buf_printf(diags, "%s: error: internal: LLVM made no ELF object\n", kernel);
        return AW_ERR_NOT_SUPPORTED;
    }
    *ret_soft = false;
    size_t n;
    const Elf64_Sym *sym;
    for (unsigned section = 0; (sym = symbols_next(&o, &section, &n));)
        for (size_t i = 1; i < n; i++) {
            const char *name = name_at(&o, o.sections[section].sh_link, sym[i].st_name);
            if (sym[i].st_shndx == SHN_UNDEF && soft_defines(name)) {
                *ret_soft = true;
            } else if (sym[i].st_shndx == SHN_UNDEF && strcmp(name, "_GLOBAL_OFFSET_TABLE_") != 0) {
                aw_buf_printf(diags, "%s: error: this CPU has no instruction for an operation of the kernel, and the host "
                              "target no code (symbol %s)\n", kernel, name);
                missing = true;
            } else if (!strcmp(name, AW_HOST_OBJECT_SYMBOL) && sym[i].st_shndx < o.n) {
                uint64_t at = o.sections[sym[i].st_shndx].sh_offset + sym[i].st_value;
                if (at <= size && size - at >= sizeof(struct aw_host_object)) {
                    memcpy(bytes + at + offsetof(struct aw_host_object, stack_bytes), &stack_bytes, sizeof stack_bytes);
                    memcpy(bytes + at + offsetof(struct aw_host_object, local_stack), &local_stack, sizeof local_stack);
                    patched = true;
                }
            }
        }
    if (!patched && !missing)
        aw_buf_printf(diags, "%s: error: internal: no object table in the machine code\n", kernel);
    return patched && !missing ? AW_OK : AW_ERR_NOT_SUPPORTED;
}
