/* Loading a code object without a runtime: see object.h.  Nothing is executed or mapped here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"
#include "sim.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (512u << 20)
#define MAX_IMAGE (1u << 30)
#define NOTE_METADATA 32 /* NT_AMDGPU_METADATA */
enum { RELOC_ABS32_LO = 1, RELOC_ABS32_HI = 2, RELOC_ABS64 = 3, RELOC_RELATIVE64 = 13 };

struct file {
    uint8_t *bytes;
    size_t size;
};

struct text {
    char *to;
    size_t size;
};

static bool fail(struct text problem, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct text problem, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(problem.to, problem.size, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- The file ---- */

static bool read_file(const char *name, struct file *f, struct text problem)
{
    FILE *in = fopen(name, "rb");
    if (!in)
        return fail(problem, "%s cannot be opened", name);
    bool ok = false;
    if (fseek(in, 0, SEEK_END) == 0) {
        long size = ftell(in);
        rewind(in);
        if (size > 0 && (unsigned long)size <= MAX_FILE && (f->bytes = malloc((size_t)size))) {
            f->size = fread(f->bytes, 1, (size_t)size, in);
            ok = f->size == (size_t)size;
        }
    }
    fclose(in);
    return ok || fail(problem, "%s cannot be read", name);
}

/* `count` things of `each` bytes at `offset` of a block of `size` bytes, or NULL when they do not all lie in it. */
static const void *within(const uint8_t *bytes, size_t size, uint64_t offset, uint64_t count, size_t each)
{
    if (offset > size || count > (size - offset) / each)
        return NULL;
    return bytes + offset;
}

static const Elf64_Ehdr *header(const struct file *f)
{
    const Elf64_Ehdr *e = within(f->bytes, f->size, 0, 1, sizeof *e);
    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_AMDGPU)
        return NULL;
    return e;
}

static const Elf64_Phdr *segments(const struct file *f)
{
    const Elf64_Ehdr *e = header(f);
    return within(f->bytes, f->size, e->e_phoff, e->e_phnum, sizeof(Elf64_Phdr));
}

/* ---- Segments and relocations ---- */

static bool load_segments(struct object *o, const struct file *f, struct text problem)
{
    const Elf64_Phdr *ph = segments(f);
    unsigned n = header(f)->e_phnum;
    uint64_t end = 0;
    if (!ph)
        return fail(problem, "the program headers lie outside the file");
    for (unsigned i = 0; i < n; i++) {
        if (ph[i].p_type != PT_LOAD)
            continue;
        if (ph[i].p_vaddr > MAX_IMAGE || ph[i].p_memsz > MAX_IMAGE || ph[i].p_filesz > ph[i].p_memsz ||
            !within(f->bytes, f->size, ph[i].p_offset, ph[i].p_filesz, 1))
            return fail(problem, "segment %u lies outside the file", i);
        if (ph[i].p_vaddr + ph[i].p_memsz > end)
            end = ph[i].p_vaddr + ph[i].p_memsz;
    }
    if (!end)
        return fail(problem, "there is nothing to load in it");
    o->size = (end + 4095) & ~(size_t)4095;
    o->image = calloc(1, o->size);
    if (!o->image)
        return fail(problem, "no memory for its segments");
    for (unsigned i = 0; i < n; i++)
        if (ph[i].p_type == PT_LOAD)
            memcpy(o->image + ph[i].p_vaddr, f->bytes + ph[i].p_offset, ph[i].p_filesz);
    return true;
}

struct dynamic {
    const Elf64_Sym *symbols;
    uint64_t n_symbols;
    const char *strings;
    uint64_t strings_size;
    const Elf64_Rela *relocations;
    uint64_t n_relocations;
};

static uint64_t tag(const Elf64_Dyn *dyn, size_t n, int64_t which)
{
    for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++)
        if (dyn[i].d_tag == which)
            return dyn[i].d_un.d_val;
    return 0;
}

static bool read_dynamic(const struct object *o, const struct file *f, struct dynamic *d, struct text problem)
{
    const Elf64_Phdr *ph = segments(f);
    const Elf64_Dyn *dyn = NULL;
    size_t n = 0;
    for (unsigned i = 0; i < header(f)->e_phnum; i++) {
        if (ph[i].p_type == PT_DYNAMIC) {
            n = ph[i].p_memsz / sizeof *dyn;
            dyn = within(o->image, o->size, ph[i].p_vaddr, n, sizeof *dyn);
        }
    }
    const uint32_t *hash = dyn ? within(o->image, o->size, tag(dyn, n, DT_HASH), 2, 4) : NULL;
    if (!hash || !tag(dyn, n, DT_HASH))
        return fail(problem, "it has no dynamic symbols");
    d->n_symbols = hash[1];
    d->symbols = within(o->image, o->size, tag(dyn, n, DT_SYMTAB), d->n_symbols, sizeof *d->symbols);
    d->strings_size = tag(dyn, n, DT_STRSZ);
    d->strings = within(o->image, o->size, tag(dyn, n, DT_STRTAB), d->strings_size, 1);
    d->n_relocations = tag(dyn, n, DT_RELASZ) / sizeof *d->relocations;
    d->relocations = within(o->image, o->size, tag(dyn, n, DT_RELA), d->n_relocations, sizeof *d->relocations);
    if (!d->symbols || !d->strings || !d->strings_size || d->strings[d->strings_size - 1] || !d->relocations)
        return fail(problem, "its dynamic symbols lie outside its segments");
    return true;
}

static bool relocate(struct object *o, const struct dynamic *d, struct text problem)
{
    for (uint64_t i = 0; i < d->n_relocations; i++) {
        const Elf64_Rela *r = &d->relocations[i];
        uint64_t symbol = ELF64_R_SYM(r->r_info), value = o->base + (uint64_t)r->r_addend;
        uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
        bool wide = type == RELOC_ABS64 || type == RELOC_RELATIVE64;
        if (type != RELOC_RELATIVE64) {
            if (symbol >= d->n_symbols || d->symbols[symbol].st_shndx == SHN_UNDEF)
                return fail(problem, "it needs a symbol that it does not define");
            value += d->symbols[symbol].st_value;
        }
        if (type == RELOC_ABS32_HI)
            value >>= 32;
        if (!wide && type != RELOC_ABS32_LO && type != RELOC_ABS32_HI)
            return fail(problem, "its relocation %u is not known", type);
        if (!within(o->image, o->size, r->r_offset, 1, wide ? 8 : 4))
            return fail(problem, "a relocation lies outside its segments");
        memcpy(o->image + r->r_offset, &value, wide ? 8 : 4);
    }
    return true;
}

static bool find_kernel(struct object *o, const struct dynamic *d, const char *kernel, struct text problem)
{
    size_t length = strlen(kernel);
    for (uint64_t i = 0; i < d->n_symbols; i++) {
        const Elf64_Sym *s = &d->symbols[i];
        if (s->st_name >= d->strings_size || s->st_shndx == SHN_UNDEF)
            continue;
        const char *name = d->strings + s->st_name;
        if (strncmp(name, kernel, length) || strcmp(name + length, ".kd"))
            continue;
        const uint8_t *descriptor = within(o->image, o->size, s->st_value, 1, 64);
        if (!descriptor)
            return fail(problem, "the descriptor of %s lies outside its segments", kernel);
        o->descriptor = o->base + s->st_value;
        memcpy(&o->lds_bytes, descriptor, 4);
        memcpy(&o->private_bytes, descriptor + 4, 4);
        memcpy(&o->kernarg_size, descriptor + 8, 4);
        return true;
    }
    return fail(problem, "it has no kernel %s", kernel);
}

/* ---- Metadata: MessagePack in a note ---- */

struct pack {
    const uint8_t *p, *end;
    bool bad;
};

enum pack_kind { PACK_NUMBER, PACK_TEXT, PACK_ARRAY, PACK_MAP, PACK_OTHER };

struct item {
    enum pack_kind kind;
    uint64_t number;   /* or count of elements, or bytes of text */
    const char *text;
};

static uint64_t big_endian(struct pack *m, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(m->end - m->p) < bytes) {
        m->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | *m->p++;
    return value;
}

static const char *take(struct pack *m, uint64_t bytes)
{
    const char *text = (const char *)m->p;
    if (m->bad || (uint64_t)(m->end - m->p) < bytes) {
        m->bad = true;
        return "";
    }
    m->p += bytes;
    return text;
}

/* The head of the next item; what is in an array or a map follows. */
static struct item next(struct pack *m)
{
    uint8_t c = (uint8_t)big_endian(m, 1);
    struct item it = { .kind = PACK_OTHER };
    if (m->bad)
        return it;
    if (c < 0x80 || c >= 0xe0) {
        it = (struct item){ PACK_NUMBER, c, NULL };
    } else if (c < 0xa0) {
        it = (struct item){ c < 0x90 ? PACK_MAP : PACK_ARRAY, c & 15, NULL };
    } else if (c < 0xc0 || (c >= 0xd9 && c <= 0xdb)) {
        it = (struct item){ PACK_TEXT, c < 0xc0 ? c & 31 : big_endian(m, 1u << (c - 0xd9)), NULL };
        it.text = take(m, it.number);
    } else if (c >= 0xc4 && c <= 0xc6) {
        take(m, big_endian(m, 1u << (c - 0xc4)));
    } else if (c >= 0xc7 && c <= 0xc9) {
        take(m, big_endian(m, 1u << (c - 0xc7)) + 1);
    } else if (c == 0xca || c == 0xcb) {
        take(m, c == 0xca ? 4 : 8);
    } else if (c >= 0xcc && c <= 0xd3) {
        it = (struct item){ PACK_NUMBER, big_endian(m, 1u << ((c - 0xcc) & 3)), NULL };
    } else if (c >= 0xd4 && c <= 0xd8) {
        take(m, (1u << (c - 0xd4)) + 1);
    } else if (c >= 0xdc) {
        it = (struct item){ c < 0xde ? PACK_ARRAY : PACK_MAP, big_endian(m, c & 1 ? 4 : 2), NULL };
    } /* 0xc0 to 0xc3: nothing, false, true */
    return it;
}

static void skip(struct pack *m)
{
    for (uint64_t left = 1; left && !m->bad; left--) {
        struct item it = next(m);
        if (it.kind == PACK_ARRAY || it.kind == PACK_MAP) {
            uint64_t more = it.kind == PACK_MAP ? 2 * it.number : it.number;
            if (more > (uint64_t)(m->end - m->p)) /* each is a byte at least */
                m->bad = true;
            left += more;
        }
    }
}

static bool is(const struct item *it, const char *text)
{
    return it->kind == PACK_TEXT && it->number == strlen(text) && !memcmp(it->text, text, it->number);
}

static void read_arg(struct pack *m, struct object_arg *arg)
{
    struct item map = next(m);
    for (uint64_t i = 0; map.kind == PACK_MAP && i < map.number && !m->bad; i++) {
        struct item key = next(m);
        if (is(&key, ".offset")) {
            arg->offset = (uint32_t)next(m).number;
        } else if (is(&key, ".size")) {
            arg->size = (uint32_t)next(m).number;
        } else if (is(&key, ".value_kind")) {
            struct item kind = next(m);
            if (kind.kind == PACK_TEXT)
                snprintf(arg->kind, sizeof arg->kind, "%.*s", (int)kind.number, kind.text);
        } else {
            skip(m);
        }
    }
}

/* One kernel's map: taken into `o` when its symbol is `symbol`. */
static void read_kernel(struct pack *m, struct object *o, const char *symbol)
{
    struct item map = next(m);
    struct object *k = calloc(1, sizeof *k);
    bool ours = false;
    if (!k || map.kind != PACK_MAP) {
        m->bad = true;
        free(k);
        return;
    }
    for (uint64_t i = 0; i < map.number && !m->bad; i++) {
        struct item key = next(m);
        if (is(&key, ".symbol")) {
            struct item value = next(m);
            ours = is(&value, symbol);
        } else if (is(&key, ".args")) {
            struct item list = next(m);
            for (uint64_t j = 0; list.kind == PACK_ARRAY && j < list.number && !m->bad; j++) {
                if (k->n_args < OBJECT_MAX_ARGS)
                    read_arg(m, &k->args[k->n_args++]);
                else
                    skip(m);
            }
        } else if (is(&key, ".sgpr_count")) {
            k->sgprs = (unsigned)next(m).number;
        } else if (is(&key, ".sgpr_spill_count")) {
            k->sgpr_spills = (unsigned)next(m).number;
        } else if (is(&key, ".vgpr_spill_count")) {
            k->vgpr_spills = (unsigned)next(m).number;
        } else {
            skip(m);
        }
    }
    if (ours && !m->bad) {
        memcpy(o->args, k->args, sizeof o->args);
        o->n_args = k->n_args;
        o->sgprs = k->sgprs;
        o->sgpr_spills = k->sgpr_spills;
        o->vgpr_spills = k->vgpr_spills;
    }
    free(k);
}

static void read_metadata(struct object *o, const uint8_t *bytes, size_t size, const char *symbol)
{
    struct pack m = { bytes, bytes + size, false };
    struct item map = next(&m);
    for (uint64_t i = 0; map.kind == PACK_MAP && i < map.number && !m.bad; i++) {
        struct item key = next(&m);
        if (!is(&key, "amdhsa.kernels")) {
            skip(&m);
            continue;
        }
        struct item list = next(&m);
        for (uint64_t j = 0; list.kind == PACK_ARRAY && j < list.number && !m.bad; j++)
            read_kernel(&m, o, symbol);
    }
}

/* A file without metadata, or with broken ones, is as good as one that says nothing of its arguments. */
static void find_metadata(struct object *o, const struct file *f, const char *kernel)
{
    const Elf64_Phdr *ph = segments(f);
    char symbol[1024];
    snprintf(symbol, sizeof symbol, "%s.kd", kernel);
    for (unsigned i = 0; i < header(f)->e_phnum; i++) {
        if (ph[i].p_type != PT_NOTE)
            continue;
        const uint8_t *notes = within(f->bytes, f->size, ph[i].p_offset, ph[i].p_filesz, 1);
        uint64_t at = 0, end = notes ? ph[i].p_filesz : 0;
        while (at + sizeof(Elf64_Nhdr) <= end) {
            Elf64_Nhdr n;
            memcpy(&n, notes + at, sizeof n);
            uint64_t desc = at + sizeof n + ((n.n_namesz + 3ull) & ~3ull);
            if (desc > end || n.n_descsz > end - desc)
                break;
            if (n.n_type == NOTE_METADATA)
                read_metadata(o, notes + desc, n.n_descsz, symbol);
            at = desc + ((n.n_descsz + 3ull) & ~3ull);
        }
    }
}

/* Takes the file's bytes, in any case. */
static bool load(struct object *o, struct file f, const char *kernel, uint64_t base, struct text problem)
{
    struct dynamic d = { 0 };
    *o = (struct object){ .base = base };
    bool ok = header(&f) || fail(problem, "it is no AMD code object");
    ok = ok && load_segments(o, &f, problem) && read_dynamic(o, &f, &d, problem) && relocate(o, &d, problem) &&
         find_kernel(o, &d, kernel, problem);
    if (ok)
        find_metadata(o, &f, kernel);
    o->file = f.bytes;
    o->file_size = f.size;
    if (!ok)
        object_fini(o);
    return ok;
}

bool object_load(struct object *o, const char *file, const char *kernel, uint64_t base, char *ret_problem, size_t size)
{
    struct text problem = { ret_problem, size };
    struct file f = { 0 };
    if (read_file(file, &f, problem))
        return load(o, f, kernel, base, problem);
    *o = (struct object){ 0 };
    free(f.bytes);
    return false;
}

bool object_load_bytes(struct object *o, const void *bytes, size_t n, const char *kernel, uint64_t base, char *ret_problem,
                       size_t size)
{
    struct text problem = { ret_problem, size };
    struct file f = { malloc(n), n };
    *o = (struct object){ 0 };
    if (!f.bytes)
        return fail(problem, "no memory for it");
    memcpy(f.bytes, bytes, n);
    return load(o, f, kernel, base, problem);
}

/* The value of a hidden argument; false when it is one that stays zero. */
static bool hidden(const struct object_launch *l, const char *kind, uint64_t *ret_value)
{
    static const char *const axes[3] = { "_x", "_y", "_z" };
    unsigned dims = l->grid[2] * l->block[2] > 1 ? 3 : l->grid[1] * l->block[1] > 1 ? 2 : 1;
    for (int i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof name, "hidden_block_count%s", axes[i]);
        if (!strcmp(kind, name))
            return *ret_value = l->grid[i], true;
        snprintf(name, sizeof name, "hidden_group_size%s", axes[i]);
        if (!strcmp(kind, name))
            return *ret_value = l->block[i], true;
    }
    if (!strcmp(kind, "hidden_grid_dims"))
        return *ret_value = dims, true;
    if (!strcmp(kind, "hidden_shared_base"))
        return *ret_value = SIM_LDS_APERTURE >> 32, true;
    if (!strcmp(kind, "hidden_private_base"))
        return *ret_value = SIM_SCRATCH_APERTURE >> 32, true;
    if (!strcmp(kind, "hidden_dynamic_lds_size"))
        return *ret_value = l->lds, true;
    return false;
}

void object_fill_hidden(const struct object *o, const struct object_launch *l, uint8_t *kernarg, size_t room)
{
    for (unsigned i = 0; i < o->n_args; i++) {
        const struct object_arg *a = &o->args[i];
        uint64_t value;
        if (a->size <= 8 && (uint64_t)a->offset + a->size <= room && hidden(l, a->kind, &value))
            memcpy(kernarg + a->offset, &value, a->size);
    }
}

void object_fini(struct object *o)
{
    free(o->image);
    free(o->file);
    o->image = o->file = NULL;
}
