/* Any bytes as an ELF file that may hold fatbins, and as a static library: what is handed out must lie inside. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <anywarp/fatbin.h>

#include "fuzz.h"
#include "unit/fatbin/make_fatbin.h"

struct file {
    const uint8_t *data;
    size_t size;
    unsigned n;
};

static bool see(void *user, const void *container, size_t size)
{
    struct file *file = user;
    size_t offset = (size_t)((const uint8_t *)container - file->data);
    if ((const uint8_t *)container < file->data || offset > file->size || size > file->size - offset)
        abort();
    if (aw_fatbin_size(container, size) != size)
        abort();
    return ++file->n < 1000;
}

static bool see_member(void *user, const char *name, const void *member, size_t size)
{
    struct file *file = user;
    size_t offset = (size_t)((const uint8_t *)member - file->data);
    if ((const uint8_t *)member < file->data || offset > file->size || size > file->size - offset || !name)
        abort();
    return ++file->n < 1000;
}

static void see_registers(void *user, const char *name, uint32_t registers)
{
    struct file *file = user;
    if (registers > 255 || memchr(name, 0, file->size) == NULL)
        abort();
    file->n++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = { data, size, 0 };
    if (aw_fatbin_each_in_archive(data, size, see_member, &file) > 0 || aw_fatbin_elf_size(data, size) > size)
        abort();
    file.n = 0;
    if (aw_fatbin_each_in_elf(data, size, see, &file) > 0 ||
        aw_fatbin_cubin_registers(data, size, see_registers, &file) > 0)
        abort();
    return 0;
}

static void add_container(struct aw_buf *out)
{
    static const char ptx[] = ".version 9.0\n.target sm_80\n";
    size_t begin = out->len;
    make_begin(out);
    make_add(out, &(struct make_entry){ .kind = 1, .sm = 80, .text = ptx, .len = sizeof ptx });
    make_end(out, begin);
}

/* Head, one segment, and, in the first seed, sections. */
static struct aw_fuzz_seed make(bool sections)
{
    struct aw_buf data = { 0 }, out = { 0 };
    add_container(&data);
    add_container(&data);
    size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), names = at + data.len;
    Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
                      .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof eh, .e_ehsize = sizeof eh,
                      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr) };
    Elf64_Phdr ph = { .p_type = PT_LOAD, .p_offset = at, .p_filesz = data.len, .p_memsz = data.len };
    Elf64_Shdr sh[3] = { { 0 }, { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = data.len },
                         { .sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = 16 } };
    if (sections) {
        eh.e_shoff = names + 16;
        eh.e_shnum = 3;
        eh.e_shstrndx = 2;
    }
    aw_buf_add(&out, &eh, sizeof eh);
    aw_buf_add(&out, &ph, sizeof ph);
    aw_buf_add(&out, data.ptr, data.len);
    if (sections) {
        aw_buf_add(&out, "\0.nv_fatbin\0\0\0\0", 16);
        aw_buf_add(&out, sh, sizeof sh);
    }
    aw_buf_fini(&data);
    return (struct aw_fuzz_seed){ out.ptr, out.len };
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    unsigned n = 0;
    for (; n < 2 && n < max; n++)
        ret_seeds[n] = make(n == 0);
    return n;
}
