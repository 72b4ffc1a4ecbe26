/* Reads a cubin: an ELF file of 64 bits whose sections .text.K, .nv.info.K, .nv.constantN.K and .nv.shared.K belong to kernel K.
 * Every offset and count of the file is checked where it is read; what does not fit makes the whole image invalid. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/cubin.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sass/insn.h"

enum { EM_GPU = 190, OSABI_12 = 0x33, OSABI_13 = 0x41, STO_ENTRY = 0x10, STT_CUDA_TEXTURE = 10, STT_CUDA_SURFACE = 12 };
enum { MAX_SECTIONS = 1 << 20, MAX_SYMBOLS = 1 << 24 };

/* Attributes of .nv.info; NVIDIA's names without EIATTR_. */
enum {
    ATTR_MAX_THREADS = 0x05, ATTR_PARAM_CBANK = 0x0a, ATTR_REQNTID = 0x10, ATTR_FRAME_SIZE = 0x11, ATTR_MIN_STACK_SIZE = 0x12,
    ATTR_KPARAM_INFO = 0x17, ATTR_EXIT_OFFSETS = 0x1c, ATTR_COOP_GROUP_OFFSETS = 0x28, ATTR_REGCOUNT = 0x2f,
    ATTR_INDIRECT_BRANCH_TARGETS = 0x34, ATTR_CTA_PER_CLUSTER = 0x3d,
    ATTR_KPARAM_INFO_V2 = 0x45, ATTR_SYSCALL_OFFSETS = 0x46, ATTR_NUM_BARRIERS = 0x4c,
};
/* How a value is stored. */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };

struct reader {
    struct sass_cubin *cubin;
    const char *why;
    enum aw_status status;
    uint32_t symtab, shstr; /* section indices */
};

static bool fail(struct reader *r, enum aw_status status, const char *why)
{
    if (r->status == AW_OK) {
        r->status = status;
        r->why = why;
    }
    return false;
}

static bool damaged(struct reader *r, const char *why)
{
    return fail(r, AW_ERR_INVALID_IMAGE, why);
}

static bool out_of_memory(struct reader *r)
{
    return fail(r, AW_ERR_OUT_OF_MEMORY, "out of memory");
}

/* Little endian, as both the file and every machine that we run on are. */
static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint16_t load16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool within(const struct sass_cubin *cubin, uint64_t offset, uint64_t size)
{
    return offset <= cubin->image_size && size <= cubin->image_size - offset;
}

/* A string of a string table; empty when it does not end in the table. */
static struct aw_str string_at(const struct sass_bytes *table, uint32_t offset)
{
    if (offset >= table->size)
        return (struct aw_str){ 0 };
    const char *begin = (const char *)table->ptr + offset;
    const char *end = memchr(begin, 0, table->size - offset);
    return end ? (struct aw_str){ begin, (size_t)(end - begin) } : (struct aw_str){ 0 };
}

/* ---- Sections */

static bool read_header(struct reader *r, Elf64_Ehdr *eh)
{
    struct sass_cubin *cubin = r->cubin;
    if (cubin->image_size < sizeof *eh)
        return damaged(r, "shorter than an ELF header");
    memcpy(eh, cubin->image, sizeof *eh);
    if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
        eh->e_machine != EM_GPU)
        return damaged(r, "no cubin");
    cubin->abi = eh->e_ident[EI_ABIVERSION];
    cubin->arch = eh->e_ident[EI_OSABI] == OSABI_13 ? eh->e_flags >> 8 & 255 : eh->e_flags & 255;
    if (cubin->arch < 70 || cubin->arch > 90)
        return fail(r, AW_ERR_NO_BINARY, "machine code of an architecture that is not sm_70 to sm_90");
    if (eh->e_shentsize != sizeof(Elf64_Shdr) || !within(cubin, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr)))
        return damaged(r, "the table of sections lies outside the file");
    return true;
}

/* Files with 65,280 sections and more say their number, and where names are, in the first section's header. */
static bool read_counts(struct reader *r, const Elf64_Ehdr *eh, uint64_t *ret_n, uint32_t *ret_names)
{
    Elf64_Shdr first;
    *ret_n = eh->e_shnum;
    *ret_names = eh->e_shstrndx;
    if (eh->e_shnum != 0 && eh->e_shstrndx != SHN_XINDEX)
        return true;
    if (!within(r->cubin, eh->e_shoff, sizeof first))
        return eh->e_shoff ? damaged(r, "the table of sections lies outside the file") : true;
    memcpy(&first, r->cubin->image + eh->e_shoff, sizeof first);
    if (eh->e_shnum == 0)
        *ret_n = first.sh_size;
    if (eh->e_shstrndx == SHN_XINDEX)
        *ret_names = first.sh_link;
    if (*ret_n > MAX_SECTIONS || !within(r->cubin, eh->e_shoff, *ret_n * sizeof(Elf64_Shdr)))
        return damaged(r, "the table of sections lies outside the file");
    return true;
}

static bool read_sections(struct reader *r, const Elf64_Ehdr *eh)
{
    struct sass_cubin *cubin = r->cubin;
    uint64_t n;
    if (!read_counts(r, eh, &n, &r->shstr))
        return false;
    cubin->n_sections = (uint32_t)n;
    cubin->sections = AW_NEW_ARRAY(&cubin->arena, struct sass_section, n + 1);
    if (!cubin->sections)
        return out_of_memory(r);
    for (uint32_t i = 0; i < n; i++) {
        Elf64_Shdr sh;
        struct sass_section *s = &cubin->sections[i];
        memcpy(&sh, cubin->image + eh->e_shoff + i * sizeof sh, sizeof sh);
        *s = (struct sass_section){ .type = sh.sh_type, .info = sh.sh_info, .link = sh.sh_link, .flags = sh.sh_flags,
                                    .align = sh.sh_addralign,
                                    .size = sh.sh_size, .name_at = sh.sh_name };
        if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL)
            continue;
        if (!within(cubin, sh.sh_offset, sh.sh_size) || sh.sh_size > UINT32_MAX)
            return damaged(r, "a section lies outside the file");
        s->bytes = (struct sass_bytes){ cubin->image + sh.sh_offset, (uint32_t)sh.sh_size };
    }
    if (r->shstr >= n)
        return damaged(r, "no names of sections");
    for (uint32_t i = 0; i < n; i++) {
        cubin->sections[i].name = string_at(&cubin->sections[r->shstr].bytes, cubin->sections[i].name_at);
        if (cubin->sections[i].type == SHT_SYMTAB)
            r->symtab = i;
    }
    return true;
}

/* ---- Symbols */

static enum sass_symbol_kind kind_of(const struct sass_cubin *cubin, const Elf64_Sym *sym)
{
    unsigned type = ELF64_ST_TYPE(sym->st_info);
    if (type == STT_SECTION)
        return SASS_SYMBOL_SECTION;
    if (type == STT_CUDA_TEXTURE || type == STT_CUDA_SURFACE)
        return type == STT_CUDA_TEXTURE ? SASS_SYMBOL_TEXTURE : SASS_SYMBOL_SURFACE;
    if (sym->st_shndx == SHN_UNDEF)
        return SASS_SYMBOL_NONE;
    if (type == STT_FUNC)
        return sym->st_other & STO_ENTRY ? SASS_SYMBOL_KERNEL : SASS_SYMBOL_FUNCTION;
    if (sym->st_shndx >= cubin->n_sections)
        return SASS_SYMBOL_OTHER;
    struct aw_str name = cubin->sections[sym->st_shndx].name;
    if (aw_str_starts(name, ".nv.global"))
        return SASS_SYMBOL_GLOBAL;
    if (aw_str_starts(name, ".nv.constant3"))
        return SASS_SYMBOL_CONSTANT;
    return aw_str_starts(name, ".nv.shared") ? SASS_SYMBOL_SHARED : SASS_SYMBOL_OTHER;
}

static bool is_local(const struct sass_symbol *s)
{
    return ELF64_ST_BIND(s->info) == STB_LOCAL;
}

static bool is_variable(const struct sass_symbol *s)
{
    return (s->kind == SASS_SYMBOL_GLOBAL || s->kind == SASS_SYMBOL_CONSTANT) && s->name.len;
}

/* A name that nobody has: the symbol's number behind its own. */
static bool rename_apart(struct sass_cubin *cubin, struct aw_map *names, uint32_t i)
{
    struct sass_symbol *s = &cubin->symbols[i];
    struct aw_str name = s->name;
    do
        name = aw_arena_printf(&cubin->arena, "%.*s$%" PRIu32, AW_STR_ARG(name), i);
    while (name.ptr && aw_map_find(names, name));
    if (!name.ptr || !aw_map_put(names, name, s))
        return false;
    s->name = name;
    return true;
}

/* Variables of several files linked to one may have one name, each its file's own: all but one get another, as in the text they
 * are of one module. */
static bool name_apart(struct reader *r)
{
    struct sass_cubin *cubin = r->cubin;
    struct aw_map names = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < 2 * cubin->n_symbols && ok; i++) { /* those that other files may name keep theirs */
        struct sass_symbol *s = &cubin->symbols[i % cubin->n_symbols];
        if (is_variable(s) && is_local(s) == (i >= cubin->n_symbols) && !aw_map_find(&names, s->name))
            ok = aw_map_put(&names, s->name, s);
    }
    for (uint32_t i = 0; i < cubin->n_symbols && ok; i++) {
        struct sass_symbol *s = &cubin->symbols[i];
        if (is_variable(s) && is_local(s) && aw_map_find(&names, s->name) != s)
            ok = rename_apart(cubin, &names, i);
    }
    aw_map_fini(&names);
    return ok ? true : out_of_memory(r);
}

static bool read_symbols(struct reader *r)
{
    struct sass_cubin *cubin = r->cubin;
    if (!r->symtab)
        return true;
    const struct sass_section *table = &cubin->sections[r->symtab];
    uint32_t n = table->bytes.size / sizeof(Elf64_Sym);
    if (table->link >= cubin->n_sections || n > MAX_SYMBOLS)
        return damaged(r, "the symbols have no names");
    cubin->symbols = AW_NEW_ARRAY(&cubin->arena, struct sass_symbol, (size_t)n + 1);
    if (!cubin->symbols)
        return out_of_memory(r);
    cubin->n_symbols = n;
    for (uint32_t i = 0; i < n; i++) {
        Elf64_Sym sym;
        memcpy(&sym, table->bytes.ptr + i * sizeof sym, sizeof sym);
        struct sass_symbol *s = &cubin->symbols[i];
        s->name = string_at(&cubin->sections[table->link].bytes, sym.st_name);
        s->kind = (uint8_t)kind_of(cubin, &sym);
        s->info = sym.st_info;
        s->other = sym.st_other;
        s->section = sym.st_shndx;
        s->value = sym.st_value;
        s->size = sym.st_size;
        if (s->kind == SASS_SYMBOL_SECTION && s->section < cubin->n_sections)
            s->name = cubin->sections[s->section].name;
    }
    return name_apart(r);
}

/* ---- Relocations */

static enum sass_reloc_kind reloc_kind(uint32_t type)
{
    switch (type) { /* R_CUDA_… */
    case 1: /* 32 */
    case 3: /* G32 */
        return SASS_RELOC_ABS32;
    case 2: /* 64 */
    case 4: /* G64 */
        return SASS_RELOC_ABS64;
    case 35: /* FUNC_DESC_64 */
        return SASS_RELOC_KERNEL64;
    case 56: /* ABS32_LO_32 */
        return SASS_RELOC_ABS32_LO;
    case 57: /* ABS32_HI_32 */
        return SASS_RELOC_ABS32_HI;
    case 58: /* ABS47_34 */
    case 75: /* the same from sm_90 on */
        return SASS_RELOC_CODE;
    case 59: /* ABS16_32 */
        return SASS_RELOC_PLACE;
    case 62: /* FUNC_DESC32_LO_32 */
        return SASS_RELOC_KERNEL32_LO;
    case 63: /* FUNC_DESC32_HI_32 */
        return SASS_RELOC_KERNEL32_HI;
    }
    return SASS_RELOC_OTHER;
}

static int by_offset(const void *a, const void *b)
{
    const struct sass_reloc *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool read_relocs_of(struct reader *r, const struct sass_section *from)
{
    struct sass_cubin *cubin = r->cubin;
    size_t size = from->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    uint32_t n = (uint32_t)(from->bytes.size / size), target = from->info & 0xffffff, kept = 0;
    if (target >= cubin->n_sections)
        return damaged(r, "relocations of no section");
    struct sass_section *to = &cubin->sections[target];
    struct sass_reloc *relocs = AW_NEW_ARRAY(&cubin->arena, struct sass_reloc, (size_t)n + to->relocs.n + 1);
    if (!relocs)
        return out_of_memory(r);
    for (; kept < to->relocs.n; kept++) /* a section may have two tables: .rel and .rela */
        relocs[kept] = to->relocs.at[kept];
    for (uint32_t i = 0; i < n; i++) {
        Elf64_Rela rela = { 0 };
        memcpy(&rela, from->bytes.ptr + i * size, size);
        if (rela.r_offset > UINT32_MAX || ELF64_R_SYM(rela.r_info) >= cubin->n_symbols)
            return damaged(r, "a relocation of no place or symbol");
        relocs[kept++] = (struct sass_reloc){ .offset = (uint32_t)rela.r_offset,
                                              .kind = (uint8_t)reloc_kind((uint32_t)rela.r_info),
                                              .type = (uint32_t)rela.r_info,
                                              .symbol = (uint32_t)ELF64_R_SYM(rela.r_info),
                                              .addend = rela.r_addend };
    }
    qsort(relocs, kept, sizeof *relocs, by_offset);
    to->relocs = (struct sass_relocs){ relocs, kept };
    return true;
}

static bool read_relocs(struct reader *r)
{
    for (uint32_t i = 0; i < r->cubin->n_sections; i++) {
        const struct sass_section *s = &r->cubin->sections[i];
        bool debug = aw_str_starts(s->name, ".rel.debug") || aw_str_starts(s->name, ".rela.debug") ||
                     aw_str_starts(s->name, ".rel.nv_debug");
        if ((s->type == SHT_REL || s->type == SHT_RELA) && !debug && !read_relocs_of(r, s))
            return false;
    }
    return true;
}

const struct sass_reloc *sass_reloc_at(const struct sass_relocs *relocs, uint32_t offset)
{
    uint32_t low = 0, high = relocs->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (relocs->at[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < relocs->n && relocs->at[low].offset == offset ? &relocs->at[low] : NULL;
}

/* ---- Attributes */

struct attr {
    uint8_t id;
    const uint8_t *value;
    uint32_t size; /* bytes of value */
};

/* Takes the next one; false at the end, and where the rest is damaged. */
static bool next_attr(const struct sass_bytes *info, uint32_t *at, struct attr *ret)
{
    if (info->size - *at < 4)
        return false;
    const uint8_t *p = info->ptr + *at;
    *ret = (struct attr){ p[1], p + 2, p[0] == FORMAT_BYTE ? 1 : p[0] == FORMAT_HALF ? 2 : 0 };
    *at += 4;
    if (p[0] != FORMAT_SIZED)
        return true;
    *ret = (struct attr){ p[1], p + 4, load16(p + 2) };
    if (ret->size > info->size - *at)
        return false;
    *at += ret->size;
    return true;
}

/* Words of an attribute, which need not be aligned in the file. */
static bool copy_words(struct reader *r, const struct attr *attr, const uint32_t **ret, uint32_t *ret_n)
{
    uint32_t n = attr->size / 4, *words = AW_NEW_ARRAY(&r->cubin->arena, uint32_t, (size_t)n + 1);
    if (!words)
        return out_of_memory(r);
    memcpy(words, attr->value, n * sizeof *words);
    *ret = words;
    *ret_n = n;
    return true;
}

static void read_ntid(const struct attr *attr, uint32_t ret[3])
{
    for (uint32_t i = 0; i < 3 && 4 * i + 4 <= attr->size; i++)
        ret[i] = load32(attr->value + 4 * i);
}

/* KPARAM_INFO: index, ordinal and offset of 16 bits, and a word with the size above bit 18.  V2, of kernels
 * with more than 4 KiB of parameters, has the size alone there. */
static void read_param(struct sass_code *code, const struct attr *attr)
{
    const uint8_t *p = attr->value;
    if (attr->id == ATTR_KPARAM_INFO && attr->size >= 12)
        code->params[code->n_params++] = (struct sass_param){ load16(p + 4), load16(p + 6), load32(p + 8) >> 18 };
    else if (attr->id == ATTR_KPARAM_INFO_V2 && attr->size >= 12)
        code->params[code->n_params++] = (struct sass_param){ load16(p + 4), load16(p + 6), load32(p + 8) };
}

static int by_param(const void *a, const void *b)
{
    const struct sass_param *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool read_attr(struct reader *r, struct sass_code *code, const struct attr *attr)
{
    switch (attr->id) {
    case ATTR_MAX_THREADS:
        read_ntid(attr, code->max_ntid);
        return true;
    case ATTR_REQNTID:
        read_ntid(attr, code->req_ntid);
        return true;
    case ATTR_CTA_PER_CLUSTER:
        read_ntid(attr, code->req_cluster);
        return true;
    case ATTR_PARAM_CBANK: /* symbol; place in bank 0 and size */
        if (attr->size >= 8) {
            code->param_base = load16(attr->value + 4);
            code->param_size = load16(attr->value + 6);
        }
        return true;
    case ATTR_NUM_BARRIERS:
        code->n_barriers = attr->size ? attr->value[0] : 0;
        return true;
    case ATTR_KPARAM_INFO:
    case ATTR_KPARAM_INFO_V2:
        read_param(code, attr);
        return true;
    case ATTR_EXIT_OFFSETS:
        return copy_words(r, attr, &code->exits, &code->n_exits);
    case ATTR_SYSCALL_OFFSETS:
        return copy_words(r, attr, &code->syscalls, &code->n_syscalls);
    case ATTR_COOP_GROUP_OFFSETS:
        return copy_words(r, attr, &code->coop_groups, &code->n_coop_groups);
    case ATTR_INDIRECT_BRANCH_TARGETS:
        return copy_words(r, attr, &code->indirect, &code->n_indirect);
    }
    return true;
}

static bool read_info(struct reader *r, struct sass_code *code, const struct sass_bytes *info)
{
    struct attr attr;
    uint32_t n = 0;
    for (uint32_t at = 0; next_attr(info, &at, &attr);)
        n += attr.id == ATTR_KPARAM_INFO || attr.id == ATTR_KPARAM_INFO_V2;
    code->params = AW_NEW_ARRAY(&r->cubin->arena, struct sass_param, (size_t)n + 1);
    if (!code->params)
        return out_of_memory(r);
    for (uint32_t at = 0; next_attr(info, &at, &attr);)
        if (!read_attr(r, code, &attr))
            return false;
    qsort(code->params, code->n_params, sizeof *code->params, by_param);
    return true;
}

/* The file's own .nv.info: a symbol and a number each. */
static void read_sizes(struct reader *r, const struct sass_bytes *info, uint32_t *code_of)
{
    struct attr attr;
    for (uint32_t at = 0; next_attr(info, &at, &attr);) {
        if (attr.size < 8 || load32(attr.value) >= r->cubin->n_symbols)
            continue;
        uint32_t section = r->cubin->symbols[load32(attr.value)].section,
                 which = section < r->cubin->n_sections ? code_of[section] : 0;
        if (!which)
            continue;
        struct sass_code *code = which & 1 ? &r->cubin->kernels[(which - 1) / 2] : &r->cubin->functions[(which - 2) / 2];
        uint32_t value = load32(attr.value + 4);
        if (attr.id == ATTR_REGCOUNT)
            code->registers = value;
        else if (attr.id == ATTR_FRAME_SIZE && value != UINT32_MAX)
            code->frame_size = value;
        else if (attr.id == ATTR_MIN_STACK_SIZE && value != UINT32_MAX)
            code->min_stack_size = value;
    }
}

/* ---- Code */

static struct sass_section *section_named(struct aw_map *names, const char *prefix, struct aw_str name)
{
    char text[4096];
    struct aw_str head = aw_str_from(prefix);
    if (head.len + name.len > sizeof text)
        return NULL;
    memcpy(text, head.ptr, head.len);
    memcpy(text + head.len, name.ptr, name.len);
    return aw_map_find(names, (struct aw_str){ text, head.len + name.len });
}

/* The words of bank 2 that can be places in the code but its beginning, each once. */
static uint32_t places_in_constants(const struct sass_code *code, uint32_t *ret)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at + 4 <= code->bank2.size; at += 4) {
        uint32_t word = load32(code->bank2.ptr + at);
        bool new = word && word % SASS_INSN_SIZE == 0 && word < code->text.size;
        for (uint32_t k = 0; k < n && new; k++)
            new = ret[k] != word;
        if (new)
            ret[n++] = word;
    }
    return n;
}

static bool are_zeros(const uint32_t *words, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (words[k])
            return false;
    return true;
}

enum { INDIRECT_HEAD = 3 }; /* words before a branch's targets: offset, flags, count */

bool sass_indirect_next(const struct sass_code *code, struct sass_indirect *i)
{
    uint32_t at = i->end;
    if (code->n_indirect < INDIRECT_HEAD || at > code->n_indirect - INDIRECT_HEAD)
        return false;
    i->offset = code->indirect[at];
    i->n = code->indirect[at + INDIRECT_HEAD - 1];
    i->targets = code->indirect + at + INDIRECT_HEAD;
    if (i->n > code->n_indirect - INDIRECT_HEAD - at)
        return false;
    i->end = at + INDIRECT_HEAD + i->n;
    return true;
}

/* The assembler of CUDA 11 leaves the targets of branches by a register 0 on sm_90: they are those that the constants have. */
static bool complete_targets(struct reader *r, struct sass_code *code)
{
    uint32_t kept = 0, most = code->bank2.size / 4, zeros = 0;
    struct sass_indirect i = { 0 };
    while (sass_indirect_next(code, &i))
        zeros += are_zeros(i.targets, i.n);
    if (!zeros || !most)
        return true;
    uint32_t *all = AW_NEW_ARRAY(&r->cubin->arena, uint32_t, code->n_indirect + (size_t)zeros * most),
             *places = AW_NEW_ARRAY(&r->cubin->arena, uint32_t, most);
    if (!all || !places)
        return out_of_memory(r);
    uint32_t n_places = places_in_constants(code, places);
    for (i = (struct sass_indirect){ 0 }; sass_indirect_next(code, &i);) {
        bool lacks = are_zeros(i.targets, i.n);
        uint32_t count = lacks ? n_places : i.n;
        memcpy(all + kept, i.targets - INDIRECT_HEAD, INDIRECT_HEAD * sizeof *all);
        all[kept + INDIRECT_HEAD - 1] = count;
        memcpy(all + kept + INDIRECT_HEAD, lacks ? places : i.targets, count * sizeof *all);
        kept += INDIRECT_HEAD + count;
    }
    code->indirect = all;
    code->n_indirect = kept;
    return true;
}

static bool read_code(struct reader *r, struct aw_map *names, uint32_t section, struct sass_code *code)
{
    const struct sass_section *text = &r->cubin->sections[section];
    *code = (struct sass_code){ .name = { text->name.ptr + 6, text->name.len - 6 }, .text = text->bytes, .symbol = UINT32_MAX,
                                .section = (uint16_t)section, .relocs = text->relocs, .param_base = 0x160,
                                .registers = text->info >> 24 };
    code->text.size -= code->text.size % SASS_INSN_SIZE;
    struct {
        const char *prefix;
        struct sass_bytes *bytes;
        struct sass_relocs *relocs;
    } banks[] = { { ".nv.constant0.", &code->bank0, &code->bank0_relocs },
                  { ".nv.constant2.", &code->bank2, &code->bank2_relocs },
                  { ".nv.constant4.", &code->bank4, &code->bank4_relocs } };
    for (size_t i = 0; i < sizeof banks / sizeof banks[0]; i++) {
        const struct sass_section *s = section_named(names, banks[i].prefix, code->name);
        if (!s && i == 2) /* from 13.0 on, one for all */
            s = aw_map_find(names, AW_STR(".nv.constant4"));
        if (!s)
            continue;
        *banks[i].bytes = s->bytes;
        if (banks[i].relocs)
            *banks[i].relocs = s->relocs;
    }
    const struct sass_section *shared = section_named(names, ".nv.shared.", code->name),
                              *info = section_named(names, ".nv.info.", code->name);
    code->shared_size = shared && shared->size <= UINT32_MAX ? (uint32_t)shared->size : 0;
    return !info || (read_info(r, code, &info->bytes) && complete_targets(r, code));
}

static bool is_text(const struct sass_section *s)
{
    return s->type == SHT_PROGBITS && aw_str_starts(s->name, ".text.") && s->name.len > 6;
}

/* One for each .text section, in the order of their symbols. */
static bool read_codes(struct reader *r, struct aw_map *names, uint32_t *code_of)
{
    struct sass_cubin *cubin = r->cubin;
    uint32_t n = 0;
    for (uint32_t i = 0; i < cubin->n_sections; i++)
        n += is_text(&cubin->sections[i]);
    cubin->kernels = AW_NEW_ARRAY(&cubin->arena, struct sass_code, (size_t)n + 1);
    cubin->functions = AW_NEW_ARRAY(&cubin->arena, struct sass_code, (size_t)n + 1);
    if (!cubin->kernels || !cubin->functions)
        return out_of_memory(r);
    for (uint32_t i = 0; i < cubin->n_symbols; i++) {
        const struct sass_symbol *s = &cubin->symbols[i];
        bool kernel = s->kind == SASS_SYMBOL_KERNEL;
        if ((!kernel && s->kind != SASS_SYMBOL_FUNCTION) || s->section >= cubin->n_sections || code_of[s->section])
            continue;
        const struct sass_section *text = &cubin->sections[s->section];
        struct aw_str own = { text->name.ptr + 6, text->name.len - 6 };
        if (!is_text(text) || !aw_str_eq(own, s->name)) /* a function inside a kernel's code */
            continue;
        struct sass_code *code = kernel ? &cubin->kernels[cubin->n_kernels] : &cubin->functions[cubin->n_functions];
        if (!read_code(r, names, s->section, code))
            return false;
        code->symbol = i;
        code_of[s->section] = kernel ? 2 * cubin->n_kernels++ + 1 : 2 * cubin->n_functions++ + 2;
    }
    return true;
}

static bool is_code(const struct sass_cubin *cubin, const struct sass_symbol *s)
{
    return (s->kind == SASS_SYMBOL_KERNEL || s->kind == SASS_SYMBOL_FUNCTION) && s->section < cubin->n_sections;
}

static bool sort_code_symbols(struct reader *r)
{
    struct sass_cubin *cubin = r->cubin;
    uint32_t *first = AW_NEW_ARRAY(&cubin->arena, uint32_t, (size_t)cubin->n_sections + 2); /* of each section one place on */
    cubin->code_symbols = AW_NEW_ARRAY(&cubin->arena, uint32_t, (size_t)cubin->n_symbols + 1);
    if (!first || !cubin->code_symbols)
        return out_of_memory(r);
    for (uint32_t i = 0; i < cubin->n_symbols; i++)
        if (is_code(cubin, &cubin->symbols[i]))
            first[cubin->symbols[i].section + 2]++;
    for (uint32_t s = 2; s < cubin->n_sections + 2; s++)
        first[s] += first[s - 1];
    for (uint32_t i = 0; i < cubin->n_symbols; i++)
        if (is_code(cubin, &cubin->symbols[i]))
            cubin->code_symbols[first[cubin->symbols[i].section + 1]++] = i;
    cubin->first_code_symbol = first;
    return true;
}

static bool read_all(struct reader *r)
{
    struct sass_cubin *cubin = r->cubin;
    struct aw_map names = { 0 };
    uint32_t *code_of = NULL;
    Elf64_Ehdr eh;
    bool done = read_header(r, &eh) && read_sections(r, &eh) && read_symbols(r) && read_relocs(r);

    if (!done)
        return false;
    /* 2k + 1: kernel k, 2f + 2: function f, 0: none */
    code_of = AW_NEW_ARRAY(&cubin->arena, uint32_t, (size_t)cubin->n_sections + 1);
    done = code_of || out_of_memory(r);
    for (uint32_t i = 0; i < cubin->n_sections && done; i++)
        if (cubin->sections[i].name.len && !aw_map_put(&names, cubin->sections[i].name, &cubin->sections[i]))
            done = out_of_memory(r);
    if (done)
        done = read_codes(r, &names, code_of) && sort_code_symbols(r);
    if (done) {
        const struct sass_section *info = aw_map_find(&names, AW_STR(".nv.info"));
        if (info)
            read_sizes(r, &info->bytes, code_of);
        cubin->bank3 = aw_map_find(&names, AW_STR(".nv.constant3"));
    }
    aw_map_fini(&names);
    return done;
}

/* ---- The public half */

enum aw_status sass_open(const void *image, size_t size, struct sass_cubin **ret_cubin, const char **ret_why)
{
    *ret_cubin = NULL;
    struct sass_cubin *cubin = calloc(1, sizeof *cubin);
    struct reader r = { .cubin = cubin };
    if (!cubin) {
        *ret_why = "out of memory";
        return AW_ERR_OUT_OF_MEMORY;
    }
    cubin->image = image;
    cubin->image_size = size;
    if (!read_all(&r)) {
        sass_close(cubin);
        *ret_why = r.why;
        return r.status;
    }
    *ret_cubin = cubin;
    return AW_OK;
}

void sass_close(struct sass_cubin *cubin)
{
    if (!cubin)
        return;
    aw_arena_fini(&cubin->arena);
    free(cubin);
}

unsigned sass_arch(const struct sass_cubin *cubin)
{
    return cubin->arch;
}

uint32_t sass_kernel_count(const struct sass_cubin *cubin)
{
    return cubin->n_kernels;
}

void sass_kernel_info(const struct sass_cubin *cubin, uint32_t index, struct sass_kernel_info *ret_info)
{
    const struct sass_code *code = &cubin->kernels[index];
    *ret_info = (struct sass_kernel_info){ .name = code->name, .code_size = code->text.size, .registers = code->registers,
                                           .shared_size = code->shared_size,
                                           .local_size = code->frame_size,
                                           .param_size = code->param_size,
                                           .n_params = code->n_params, .n_barriers = code->n_barriers };
    memcpy(ret_info->max_ntid, code->max_ntid, sizeof ret_info->max_ntid);
    memcpy(ret_info->req_ntid, code->req_ntid, sizeof ret_info->req_ntid);
}

uint32_t sass_kernel_find(const struct sass_cubin *cubin, struct aw_str name)
{
    for (uint32_t i = 0; i < cubin->n_kernels; i++)
        if (aw_str_eq(cubin->kernels[i].name, name))
            return i;
    return UINT32_MAX;
}
