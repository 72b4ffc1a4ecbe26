/* What a code object's file says of its kernel: the marks that the compiler leaves, and how much private memory it asks for.
 * The file comes from the cache on disk: nothing in it is trusted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <string.h>

#include <anywarp/env.h>

#include "provider/hip/internal.h"

/* The kernel's descriptor: LLVM's "User Guide for AMDGPU Backend", Code Object V3 Kernel Descriptor. */
enum { DESCRIPTOR = 64, DESCRIPTOR_PRIVATE = 4 };

struct file {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr head;
};

static bool file_part(const struct file *f, uint64_t offset, uint64_t size, void *ret)
{
    if (offset > f->size || size > f->size - offset)
        return false;
    memcpy(ret, f->bytes + offset, size);
    return true;
}

/* The number in the object's note, which HIP 5 goes by: MessagePack, key and value. */
static void note_find(const struct file *f, struct aw_hip_image *ret)
{
    static const char key[] = ".private_segment_fixed_size";
    const unsigned char *at = memmem(f->bytes, f->size, key, sizeof key - 1);
    size_t value = at ? (size_t)(at - f->bytes) + sizeof key - 1 : f->size;
    ret->note_bytes = f->size - value < 5 ? 0 : f->bytes[value] == 0xcd ? 2 : f->bytes[value] == 0xce ? 4 : 0;
    ret->note = value + 1;
}

/* The symbol's name, NULL when it does not end inside the file. */
static const char *name_of(const struct file *f, const Elf64_Shdr *strings, uint32_t at)
{
    uint64_t offset = strings->sh_offset + at;
    if (at >= strings->sh_size || offset < at || offset >= f->size || !memchr(f->bytes + offset, 0, f->size - offset))
        return NULL;
    return (const char *)f->bytes + offset;
}

/* Where the address lies in the file; 0: nowhere. */
static size_t offset_of(const struct file *f, uint64_t address, uint64_t size)
{
    Elf64_Phdr p;
    for (unsigned i = 0; i < f->head.e_phnum && f->head.e_phentsize == sizeof p; i++) {
        if (!file_part(f, f->head.e_phoff + (uint64_t)i * sizeof p, sizeof p, &p))
            return 0;
        if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr > p.p_filesz ||
            size > p.p_filesz - (address - p.p_vaddr))
            continue;
        uint64_t offset = p.p_offset + (address - p.p_vaddr);
        return offset >= p.p_offset && offset <= f->size && size <= f->size - offset ? (size_t)offset : 0;
    }
    return 0;
}

static void table_read(const struct file *f, const Elf64_Shdr *table, const Elf64_Shdr *strings, struct aw_hip_image *ret)
{
    for (uint64_t at = 0; table->sh_size - at >= sizeof(Elf64_Sym) && at < table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!file_part(f, table->sh_offset + at, sizeof symbol, &symbol))
            break;
        const char *name = name_of(f, strings, symbol.st_name);
        size_t n = name ? strlen(name) : 0;
        if (!n)
            continue;
        ret->uses |= strcmp(name, AW_ENV_SYMBOL) == 0 ? AW_HIP_USES_ENV : 0;
        ret->uses |= strcmp(name, AW_ENV_HEAP_SYMBOL) == 0 ? AW_HIP_USES_HEAP : 0;
        ret->uses |= strcmp(name, AW_PARTS_SYMBOL) == 0 ? AW_HIP_TAKES_PARTS : 0;
        ret->uses |= strcmp(name, AW_STACK_SYMBOL) == 0 ? AW_HIP_USES_STACK : 0;
        if (strcmp(name, AW_CLOCK_SYMBOL) == 0 && symbol.st_size == sizeof(struct aw_clock_scale))
            ret->clock = offset_of(f, symbol.st_value, sizeof(struct aw_clock_scale));
        if (strcmp(name, AW_UNITS_SYMBOL) == 0 && symbol.st_size == sizeof(struct aw_units))
            ret->units = offset_of(f, symbol.st_value, sizeof(struct aw_units));
        if (strcmp(name, AW_COUNTERS_SYMBOL) == 0 && symbol.st_size == sizeof(struct aw_counters))
            ret->counters = offset_of(f, symbol.st_value, sizeof(struct aw_counters));
        if (n > 3 && strcmp(name + n - 3, ".kd") == 0 && symbol.st_size == DESCRIPTOR)
            ret->descriptor = offset_of(f, symbol.st_value, DESCRIPTOR);
    }
}

bool aw_hip_image_read(const void *bytes, size_t size, struct aw_hip_image *ret)
{
    struct file f = { .bytes = bytes, .size = size };
    Elf64_Shdr table, strings;
    *ret = (struct aw_hip_image){ 0 };
    if (!file_part(&f, 0, sizeof f.head, &f.head) || memcmp(f.head.e_ident, ELFMAG, SELFMAG) != 0 ||
        f.head.e_ident[EI_CLASS] != ELFCLASS64 || (f.head.e_shnum && f.head.e_shentsize != sizeof table))
        return false;
    for (unsigned i = 0; i < f.head.e_shnum; i++) {
        if (!file_part(&f, f.head.e_shoff + (uint64_t)i * sizeof table, sizeof table, &table))
            return false;
        if (table.sh_type != SHT_DYNSYM || table.sh_link >= f.head.e_shnum ||
            !file_part(&f, f.head.e_shoff + (uint64_t)table.sh_link * sizeof strings, sizeof strings, &strings))
            continue;
        table_read(&f, &table, &strings, ret);
    }
    if (ret->descriptor)
        memcpy(&ret->private_bytes, f.bytes + ret->descriptor + DESCRIPTOR_PRIVATE, 4);
    else
        ret->uses &= ~(uint32_t)AW_HIP_USES_STACK;
    note_find(&f, ret);
    return true;
}

uint32_t aw_hip_image_stack_most(const struct aw_hip_image *image)
{
    return image->note_bytes == 4 ? UINT32_MAX : image->note_bytes == 2 ? UINT16_MAX : image->private_bytes;
}

void aw_hip_image_stack(const struct aw_hip_image *image, unsigned char *bytes, uint32_t private_bytes)
{
    memcpy(bytes + image->descriptor + DESCRIPTOR_PRIVATE, &private_bytes, 4);
    for (unsigned i = 0; i < image->note_bytes; i++) /* the most significant first */
        bytes[image->note + i] = (unsigned char)(private_bytes >> 8 * (image->note_bytes - 1 - i));
}
