/* A cubin's sections, taken apart once and checked: code, attributes, constants, symbols, relocations.  Nothing here reads
 * outside the image, whatever its bytes are.  Inside the room; sass.h is for others. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_CUBIN_H
#define AW_PTX_SASS_CUBIN_H

#include "base/arena.h"
#include "base/map.h"
#include "sass/sass.h"

/* A run of the image's bytes; {NULL, 0} when there is none. */
struct sass_bytes {
    const uint8_t *ptr;
    uint32_t size;
};

enum sass_symbol_kind {
    SASS_SYMBOL_NONE,     /* undefined: defined in another image, or by the driver (vprintf, __assertfail) */
    SASS_SYMBOL_KERNEL,
    SASS_SYMBOL_FUNCTION, /* a device function: code of its own section, or inside a kernel's */
    SASS_SYMBOL_GLOBAL,   /* .nv.global, .nv.global.init */
    SASS_SYMBOL_CONSTANT, /* bank 3 */
    SASS_SYMBOL_SHARED,
    SASS_SYMBOL_TEXTURE,  /* .texref, .surfref: words of bank 0 are relocated by them */
    SASS_SYMBOL_SURFACE,
    SASS_SYMBOL_SECTION,
    SASS_SYMBOL_OTHER,
};

struct sass_symbol {
    struct aw_str name;         /* of a SECTION: the section's */
    uint8_t kind;               /* enum sass_symbol_kind */
    uint8_t info, other;        /* st_info, st_other */
    uint16_t section;           /* index in the file; 0 = undefined */
    uint64_t value, size;       /* offset in the section, bytes */
};

/* Relocations of code (12.x) and of constants and data (all versions).  R_CUDA_ names are NVIDIA's. */
enum sass_reloc_kind {
    SASS_RELOC_OTHER,
    SASS_RELOC_ABS64,       /* the symbol's address, 8 bytes */
    SASS_RELOC_KERNEL64,    /* a kernel's address for who would start it, 8 bytes */
    SASS_RELOC_ABS32,       /* its low half, 4 bytes */
    SASS_RELOC_ABS32_LO,    /* in an instruction's 32-bit immediate (bits 32 to 63): low half */
    SASS_RELOC_ABS32_HI,    /* high half */
    SASS_RELOC_PLACE,       /* there, too: a variable's place in bank 3, which has 16 bits */
    SASS_RELOC_KERNEL32_LO, /* likewise of a kernel's address for who would start it */
    SASS_RELOC_KERNEL32_HI,
    SASS_RELOC_CODE,        /* the target of a CALL.ABS or JMP: R_CUDA_ABS47_34 */
};

struct sass_reloc {
    uint32_t offset;        /* in the section that is relocated, bytes */
    uint8_t kind;           /* enum sass_reloc_kind */
    uint32_t type;          /* as in the file, for messages */
    uint32_t symbol;        /* index in sass_cubin.symbols */
    int64_t addend;
};

struct sass_relocs {
    const struct sass_reloc *at; /* sorted by offset; in the cubin's arena */
    uint32_t n;
};

struct sass_param {
    uint32_t ordinal, offset, size; /* bytes in the packed buffer */
};

/* Code with its tables: a kernel, or a device function that has a section of its own. */
struct sass_code {
    struct aw_str name;
    struct sass_bytes text;         /* whole 16-byte instructions */
    uint32_t symbol;                /* index in symbols */
    uint16_t section;
    struct sass_relocs relocs;      /* of the code */
    /* Constant banks of this kernel, as in the file: 0 parameters (the driver fills it; in the file are zeros), 2 literals and
     * jump tables, 4 addresses of symbols, each an ABS64 relocation. */
    struct sass_bytes bank0, bank2, bank4;
    struct sass_relocs bank0_relocs, bank2_relocs, bank4_relocs;
    struct sass_param *params;      /* sorted by offset */
    uint32_t n_params;
    uint32_t param_base;            /* where parameters begin in bank 0: 0x160, 0x210 or 0x1a80 */
    uint32_t param_size;            /* bytes of the packed buffer */
    uint32_t registers, frame_size, min_stack_size, n_barriers, shared_size;
    uint32_t max_ntid[3], req_ntid[3], req_cluster[3]; /* 0 = not stated */
    /* Attributes that name places in the code: byte offsets, sorted as in the file. */
    const uint32_t *exits, *syscalls, *coop_groups;
    uint32_t n_exits, n_syscalls, n_coop_groups;
    /* INDIRECT_BRANCH_TARGETS: words as in the file: of each BRX its offset, two of flags and count, then its targets'
     * offsets. */
    const uint32_t *indirect;
    uint32_t n_indirect;
};

/* One of those; all zero before the first. */
struct sass_indirect {
    uint32_t offset, n, end; /* of the BRX; targets; words up to behind it */
    const uint32_t *targets;
};

struct sass_section {
    struct aw_str name;
    uint32_t name_at;           /* offset in the file's names */
    uint32_t type;
    uint32_t info, link;
    uint64_t flags, align;
    uint64_t size;              /* also of those without bytes in the file (.nv.global, .nv.shared) */
    struct sass_bytes bytes;
    struct sass_relocs relocs;  /* of data: .nv.global.init, .nv.constant3, .nv.constant4 */
};

struct sass_cubin {
    struct aw_arena arena;      /* of all that follows */
    const uint8_t *image;
    size_t image_size;
    unsigned arch;              /* 75, 80, … */
    unsigned abi;               /* EI_ABIVERSION; OSABI is 0x33 up to 12.x, 0x41 from 13.0 on */
    struct sass_section *sections;
    uint32_t n_sections;
    struct sass_symbol *symbols;
    uint32_t n_symbols;
    struct sass_code *kernels;  /* in the order of their symbols */
    uint32_t n_kernels;
    struct sass_code *functions; /* device functions with a section of their own (-rdc) */
    uint32_t n_functions;
    uint32_t *code_symbols;      /* symbols of kernels and functions, in their order, section by section: those of section s are
                                  * the ones from first_code_symbol[s] up to first_code_symbol[s + 1] */
    uint32_t *first_code_symbol; /* [n_sections + 1] */
    struct sass_section *bank3;  /* .nv.constant3, or NULL */
};

/* The next one; false: there is none, or the rest is no such record. */
bool sass_indirect_next(const struct sass_code *code, struct sass_indirect *i);
/* The relocation at this offset, or NULL. */
const struct sass_reloc *sass_reloc_at(const struct sass_relocs *relocs, uint32_t offset);

#endif
