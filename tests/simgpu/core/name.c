/* A kernel's name from the address of its descriptor: code objects are loaded with their dynamic symbols, so those of the image
 * around the descriptor name it.  The image is not trusted: every read is checked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>

#include "../inst.h"
#include "lines.h"

#define PAGE 4096u
#define MAX_IMAGE (256u << 20)
#define CACHED 64u

struct image {
    struct sim_view view;
    uint64_t base, symbols, strings, strings_size, n_symbols;
};

static bool fetch(struct image *im, uint64_t address, void *to, size_t size)
{
    const void *p = sim_at(&im->view, address, size);
    if (p)
        memcpy(to, p, size);
    return p != NULL;
}

/* The image's beginning: the first page at or below `address` that holds an ELF header. */
static bool find_base(struct image *im, uint64_t address)
{
    for (uint64_t page = address & ~(uint64_t)(PAGE - 1); address - page < MAX_IMAGE; page -= PAGE) {
        char magic[SELFMAG];
        if (!fetch(im, page, magic, sizeof magic))
            return false;
        if (!memcmp(magic, ELFMAG, SELFMAG)) {
            im->base = page;
            return true;
        }
        if (page < PAGE)
            return false;
    }
    return false;
}

static bool find_dynamic(struct image *im, uint64_t *ret_address, uint64_t *ret_size)
{
    Elf64_Ehdr ehdr;
    if (!fetch(im, im->base, &ehdr, sizeof ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_machine != EM_AMDGPU)
        return false;
    for (unsigned i = 0; i < ehdr.e_phnum; i++) {
        Elf64_Phdr ph;
        if (!fetch(im, im->base + ehdr.e_phoff + i * sizeof ph, &ph, sizeof ph))
            return false;
        if (ph.p_type == PT_DYNAMIC) {
            *ret_address = im->base + ph.p_vaddr;
            *ret_size = ph.p_memsz;
            return true;
        }
    }
    return false;
}

static bool read_dynamic(struct image *im)
{
    uint64_t address, size;
    if (!find_dynamic(im, &address, &size))
        return false;
    uint64_t hash = 0;
    for (uint64_t i = 0; i < size / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn dyn;
        if (!fetch(im, address + i * sizeof dyn, &dyn, sizeof dyn))
            return false;
        switch (dyn.d_tag) {
        case DT_SYMTAB:
            im->symbols = im->base + dyn.d_un.d_ptr;
            break;
        case DT_STRTAB:
            im->strings = im->base + dyn.d_un.d_ptr;
            break;
        case DT_STRSZ:
            im->strings_size = dyn.d_un.d_val;
            break;
        case DT_HASH:
            hash = im->base + dyn.d_un.d_ptr;
            break;
        }
    }
    uint32_t counts[2];
    if (!hash || !im->symbols || !im->strings || !fetch(im, hash, counts, sizeof counts))
        return false;
    im->n_symbols = counts[1];
    return true;
}

static bool copy_name(struct image *im, uint64_t offset, char *ret_name, size_t size)
{
    size_t n = 0;
    for (; offset + n < im->strings_size && n + 1 < size; n++)
        if (!fetch(im, im->strings + offset + n, &ret_name[n], 1) || !ret_name[n])
            break;
    ret_name[n] = 0;
    if (n > 3 && !strcmp(ret_name + n - 3, ".kd"))
        ret_name[n -= 3] = 0;
    return n > 0;
}

static bool find_name(uint32_t node, uint64_t descriptor, char *ret_name, size_t size)
{
    struct image im = { .view.node = node };
    if (!find_base(&im, descriptor) || !read_dynamic(&im))
        return false;
    for (uint64_t i = 0; i < im.n_symbols; i++) {
        Elf64_Sym sym;
        if (!fetch(&im, im.symbols + i * sizeof sym, &sym, sizeof sym))
            return false;
        if (sym.st_shndx != SHN_UNDEF && im.base + sym.st_value == descriptor)
            return copy_name(&im, sym.st_name, ret_name, size);
    }
    return false;
}

bool sim_image_base(uint32_t node, uint64_t address, uint64_t *ret_base)
{
    struct image im = { .view.node = node };
    if (!find_base(&im, address))
        return false;
    *ret_base = im.base;
    return true;
}

void sim_kernel_name(uint32_t node, uint64_t descriptor, char *ret_name, size_t size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        uint64_t descriptor, generation; /* of the map: other code may lie there later */
        char name[256];
    } cache[CACHED];
    pthread_mutex_lock(&lock);
    size_t slot = (descriptor >> 6) % CACHED;
    uint64_t generation = sim_map_generation;
    if (cache[slot].descriptor != descriptor || cache[slot].generation != generation) {
        if (!find_name(node, descriptor, cache[slot].name, sizeof cache[slot].name))
            snprintf(cache[slot].name, sizeof cache[slot].name, "at 0x%llx", (unsigned long long)descriptor);
        cache[slot].descriptor = descriptor;
        cache[slot].generation = generation;
    }
    snprintf(ret_name, size, "%s", cache[slot].name);
    pthread_mutex_unlock(&lock);
}
