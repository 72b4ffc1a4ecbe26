/* Writes the sections that the reader looks for, nothing more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "make_cubin.h"

#include <elf.h>

enum { NAMES = 1, STRINGS, SYMBOLS, INFO, INFO_K, CONST0, CONST2, CONST4, REL4, SHARED, GLOBAL, TEXT, LINES, LINES_REL,
       SECTIONS };

static const char *const names[SECTIONS] = {
    [NAMES] = ".shstrtab",        [STRINGS] = ".strtab",        [SYMBOLS] = ".symtab",        [INFO] = ".nv.info",
    [INFO_K] = ".nv.info.k",      [CONST0] = ".nv.constant0.k", [CONST2] = ".nv.constant2.k", [CONST4] = ".nv.constant4",
    [REL4] = ".rel.nv.constant4", [SHARED] = ".nv.shared.k",    [GLOBAL] = ".nv.global",      [TEXT] = ".text.k",
    [LINES] = ".debug_line",      [LINES_REL] = ".rel.debug_line",
};

/* Attributes: format, number, size of the value, value. */
static const unsigned char info[] = {
    4, 0x2f, 8, 0, 1, 0, 0, 0, 24, 0, 0, 0, /* REGCOUNT of symbol 1 */
    4, 0x11, 8, 0, 1, 0, 0, 0, 16, 0, 0, 0, /* FRAME_SIZE */
};
static const unsigned char info_k[] = {
    4, 0x0a, 8, 0, 1, 0, 0, 0, 0x60, 1, 12, 0,                /* PARAM_CBANK: at 0x160, 12 bytes */
    4, 0x45, 12, 0, 0, 0, 0, 0, 1, 0, 8, 0, 4, 0, 0, 0,       /* KPARAM_INFO_V2: second, at 8, 4 bytes */
    4, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x21, 0, /* KPARAM_INFO: first, at 0, 8 bytes */
    3, 0x1b, 0xff, 0,                                         /* MAXREG_COUNT, which nobody asks for */
    4, 0x05, 12, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,       /* MAX_THREADS */
    2, 0x4c, 2, 0,                                            /* NUM_BARRIERS */
    4, 0x1c, 4, 0, 0x10, 0, 0, 0,                             /* EXIT_INSTR_OFFSETS */
};
/* DWARF 2, as ptxas writes it. */
static const unsigned char lines[] = {
    56, 0, 0, 0, 2, 0, 29, 0, 0, 0,             /* sizes of all and of the head, version between */
    1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1,
    '/', 's', 'r', 'c', 0, 0,                   /* directories */
    'k', '.', 'c', 'u', 0, 1, 0, 0, 0,          /* files */
    0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0,            /* the address, which is relocated */
    3, 6, 1, 241,                               /* line 7; 16 bytes on line 9 */
    2, 0x80, 2, 0, 1, 1,                        /* which is that of 256 bytes */
};
enum { LINES_ADDRESS = 42 };
static const char strings[] = "\0k\0v";

struct writer {
    struct aw_buf *out;
    size_t begin;
    Elf64_Shdr heads[SECTIONS];
};

static void put(struct writer *w, unsigned section, unsigned type, const void *bytes, size_t size)
{
    static const char zeros[8];
    aw_buf_add(w->out, zeros, -(w->out->len - w->begin) & 7);
    w->heads[section].sh_type = type;
    w->heads[section].sh_offset = w->out->len - w->begin;
    w->heads[section].sh_size = size;
    if (type != SHT_NOBITS)
        aw_buf_add(w->out, bytes, size);
}

static void put_symbols(struct writer *w)
{
    Elf64_Sym symbols[3] = {
        { 0 },
        { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10, .st_shndx = TEXT },
        { .st_name = 3, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = GLOBAL, .st_size = 32 }
    };
    Elf64_Rel address = { .r_offset = 8, .r_info = ELF64_R_INFO(2, 2) };
    Elf64_Rel code = { .r_offset = LINES_ADDRESS, .r_info = ELF64_R_INFO(1, 2) };
    put(w, STRINGS, SHT_STRTAB, strings, sizeof strings);
    put(w, SYMBOLS, SHT_SYMTAB, symbols, sizeof symbols);
    put(w, REL4, SHT_REL, &address, sizeof address);
    put(w, LINES_REL, SHT_REL, &code, sizeof code);
    w->heads[LINES_REL].sh_info = LINES;
    w->heads[SYMBOLS].sh_link = STRINGS;
    w->heads[REL4].sh_info = CONST4;
}

static void put_names(struct writer *w)
{
    struct aw_buf text = { 0 };
    aw_buf_add(&text, "", 1);
    for (unsigned i = 1; i < SECTIONS; i++) {
        w->heads[i].sh_name = (Elf64_Word)text.len;
        aw_buf_add(&text, names[i], strlen(names[i]) + 1);
    }
    put(w, NAMES, SHT_STRTAB, text.ptr, text.len);
    aw_buf_fini(&text);
}

void make_cubin(struct aw_buf *out, const struct make_cubin *what)
{
    struct writer w = { .out = out, .begin = out->len };
    static const char zeros[0x16c];
    static const uint32_t literals[4] = { 1, 2, 3, 4 };
    Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, what->old ? 0x33 : 0x41,
                                     what->old ? 7 : 8 },
                        .e_type = ET_EXEC, .e_machine = 190, .e_version = EV_CURRENT, .e_ehsize = sizeof head,
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = SECTIONS,
                        .e_shstrndx = NAMES,
                        .e_flags = what->old ? what->arch | what->arch << 16 : what->arch << 8 | 4 };
    aw_buf_add(out, &head, sizeof head);
    put_names(&w);
    put_symbols(&w);
    put(&w, INFO, 0x70000000, info, sizeof info);
    put(&w, INFO_K, 0x70000000, info_k, sizeof info_k);
    put(&w, CONST0, SHT_PROGBITS, zeros, sizeof zeros);
    put(&w, CONST2, SHT_PROGBITS, literals, sizeof literals);
    put(&w, CONST4, SHT_PROGBITS, zeros, 16);
    put(&w, TEXT, SHT_PROGBITS, what->code, 16ul * what->n);
    put(&w, LINES, SHT_PROGBITS, lines, what->lines ? sizeof lines : 0);
    put(&w, SHARED, SHT_NOBITS, NULL, 64);
    put(&w, GLOBAL, SHT_NOBITS, NULL, 32);
    w.heads[TEXT].sh_info = 24u << 24 | 1;
    head.e_shoff = out->len - w.begin;
    aw_buf_add(out, w.heads, sizeof w.heads);
    if (!out->failed)
        memcpy(out->ptr + w.begin, &head, sizeof head);
}
