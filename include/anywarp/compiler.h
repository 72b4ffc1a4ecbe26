/* The PTX compiler as a library: PTX text in; a manifest, a code object or diagnostics out.
 *
 * It runs inside the compiler process and in tools, never inside the user's program (docs/architecture.md, "Compiler
 * process").  A module is immutable once opened and may be used by one thread at a time; distinct modules are independent.
 * The manifest is the LLVM-free description from which the runtime serves a module without the compiler: it is cached. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_COMPILER_H
#define ANYWARP_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* libanywarp-compiler.so has these for all */

/* Part of every cache key, beside a digest of the compiler's own sources.  Raise it when the manifest or an object's form
 * changes. */
#define AW_COMPILER_ABI 5u

/* ---- Manifest: flat, position-independent bytes; little endian; offsets from its first byte; strings NUL-terminated.
 * The runtime checks it with aw_manifest_check before use, as it comes from disk or from another process. */
#define AW_MANIFEST_MAGIC 0x464d5741u /* "AWMF" */

struct aw_manifest {
    uint32_t magic, abi;        /* AW_MANIFEST_MAGIC, AW_COMPILER_ABI */
    uint32_t size;              /* of everything */
    uint32_t ptx_major, ptx_minor, sm; /* of the (highest) module text */
    uint32_t kernels, n_kernels;       /* offset and count of struct aw_manifest_kernel, sorted by name */
    uint32_t params, n_params;         /* struct aw_manifest_param, all kernels' in order */
    uint32_t vars, n_vars;             /* struct aw_manifest_var, sorted by name */
    uint32_t relocs, n_relocs;         /* struct aw_manifest_reloc */
    uint32_t image, image_size;        /* initial bytes of the arena's head; the arena's rest is zero */
    uint64_t arena_size;               /* bytes; 256-aligned base is assumed */
    uint32_t strings, strings_size;
    uint64_t const_size;               /* bytes of all .const variables, as if they were alone */
};

struct aw_manifest_kernel {
    uint32_t name;              /* offset in strings */
    uint32_t line;              /* of its .entry, 1-based, in the text it came from */
    uint32_t first_param, n_params;
    uint32_t param_size;        /* bytes of the packed parameter buffer */
    uint32_t max_ntid[3], req_ntid[3]; /* 0 = not stated */
    uint32_t min_ctas, max_regs, cluster[3];
    uint32_t static_shared;     /* bytes of .shared reached, as laid out for every target */
    uint32_t local_bytes;       /* of a thread: .local variables of all functions reached */
    uint32_t address_id;        /* its address is taken: bits 4 to 31 of that; else 0 (struct aw_started) */
    uint32_t flags;             /* AW_KERNEL_* */
    uint64_t closure[2];        /* hash of all text the kernel's code depends on: the object's cache key */
};
enum { AW_KERNEL_DYNAMIC_SHARED = 1, AW_KERNEL_BARRIER = 2, AW_KERNEL_BROKEN = 4 /* errors in its text: compiling will fail */,
       AW_KERNEL_STARTS = 8 /* it may start kernels: AW_STARTS_SYMBOL is a variable of the module's */ };

struct aw_manifest_param {
    uint32_t offset, size, align;
};

enum aw_var_space { AW_VAR_GLOBAL, AW_VAR_CONST, AW_VAR_MANAGED };
struct aw_manifest_var {
    uint32_t name;
    uint32_t space;             /* enum aw_var_space */
    uint64_t offset, size;      /* in the module's arena; size 0 for an unsized extern that nothing defined */
    uint32_t align;
    uint32_t sampler;           /* of a .texref: the settings it begins with, enum aw_sampler (anywarp/texture.h) */
};

/* At load: *(uintN*)(arena + at) = arena + addend.  A managed variable whose storage the runtime puts elsewhere is reached
 * through the pointer cell at its `offset`; see docs/architecture.md, "Module variables".  Its initial bytes are in the arena
 * behind the cell, at offset + 8 rounded up to its alignment; relocations that point there mean the storage. */
struct aw_manifest_reloc {
    uint64_t at;
    int64_t addend;
    uint32_t size;              /* 4 or 8 bytes */
    uint32_t mask_shift;        /* PTX mask(): shift right by this many bits before storing; normally 0 */
};

/* True when every offset, count and string lies inside `size` bytes and magic and abi are ours. */
bool aw_manifest_check(const void *bytes, size_t size);

/* ---- Diagnostics: lines of "file:line:column: error: text", each ended by '\n', in one heap string. */

/* ---- Targets: "gfx1030" and so on, or "host:" and an LLVM CPU name, e.g. "host:sapphirerapids"; "host" is the running
 * machine.  Features follow a comma: "host:haswell,+avx2". */
#define AW_BLOCK_PARTS 0x80000000u
#define AW_BLOCK_FULL 0x40000000u
#define AW_BLOCK_FLAGS (AW_BLOCK_PARTS | AW_BLOCK_FULL)
struct aw_compile_options {
    const char *target;
    uint32_t opt_level;          /* 0..3; 3 is usual, 0 for PTX marked debug */
    uint32_t code_object_version; /* AMDGPU: 4 or 5; 0 = 5 */
    /* Threads of the blocks that the code is for: x,y,z this shape alone; x,0,0 all whose rows are a multiple of x (at most
     * 1024), which takes less code than 0,0,0, any.  A target may make code for more than what is asked.  With AW_BLOCK_PARTS in
     * the third, the launch is of a part of a grid's blocks (AMDGPU; struct aw_env says which); with AW_BLOCK_FULL, blocks take
     * so much shared memory that nothing of the compiler's own fits beside it (AMDGPU; struct aw_counters has what is elsewhere
     * then). */
    uint32_t block[3];
    uint32_t warps_per_vector;   /* host: 0 = choose */
    uint32_t lines;              /* enum aw_lines */
    uint32_t reserved[7];        /* 0 */
};

/* Line tables in code objects (DWARF; never of any effect on code): where the PTX has .loc directives, as nvcc -lineinfo and -G
 * write them, or in any case: then functions without .loc get the lines of the PTX text.  TOLD is for a message to a person, not
 * for debuggers: also, where a function was inlined, the file is named "FILE:LINE, inlined at FILE", and the line is of the
 * latter. */
enum aw_lines { AW_LINES_LOC, AW_LINES_ALL, AW_LINES_TOLD };

enum aw_emit { AW_EMIT_IR, AW_EMIT_IR_OPT, AW_EMIT_ASM, AW_EMIT_OBJ, AW_EMIT_CODE_OBJECT /* HSACO or host .so */ };

/* What a finished code object needs at launch; also found in the object itself by its provider. */
struct aw_kernel_info {
    uint32_t shared_size, local_size, registers, kernarg_size, flags, wave_size;
};

struct aw_compiler_module;

/* PTX text, or a cubin; borrowed. */
struct aw_text {
    const char *ptr;
    size_t len;
    const char *name; /* for messages; NULL = "<ptx>" */
};

/* Parses, links and checks `n` PTX texts as one module (n > 1: -rdc).  A text need not be NUL-terminated.  One that begins as an
 * ELF file is a cubin: its machine code is lifted to PTX (docs/lifting.md); then also AW_ERR_INVALID_IMAGE, AW_ERR_NO_BINARY,
 * AW_ERR_NOT_SUPPORTED.  Returns AW_OK, AW_ERR_INVALID_PTX (nothing usable), AW_ERR_UNSUPPORTED_PTX, AW_ERR_NOT_FOUND (an extern
 * nobody defines), or AW_ERR_OUT_OF_MEMORY.  Errors inside one function body do not fail the module: that function's kernels fail
 * to compile.
 * *ret_diags (heap, caller frees, never NULL after return) holds every message, also warnings on success.
 * *ret_module is owned by the caller and keeps no pointer to the texts. */
int aw_compiler_open(const struct aw_text texts[], size_t n, struct aw_compiler_module **ret_module, char **ret_diags);
void aw_compiler_close(struct aw_compiler_module *module); /* NULL is fine */

/* Borrowed until close. */
const struct aw_manifest *aw_compiler_manifest(const struct aw_compiler_module *module);

/* Compiles one kernel with all it reaches.  AW_OK; AW_ERR_NOT_FOUND (no such kernel); AW_ERR_INVALID_PTX or
 * AW_ERR_NOT_SUPPORTED (diags say which instruction); AW_ERR_INVALID_VALUE (target or options).
 * *ret_bytes is heap memory owned by the caller.  IR and assembly are text, NUL-terminated one past *ret_size. */
int aw_compiler_compile(struct aw_compiler_module *module, const char *kernel, const struct aw_compile_options *options,
                        enum aw_emit emit, char **ret_bytes, size_t *ret_size, struct aw_kernel_info *ret_info,
                        char **ret_diags);

/* What this module's next compilations do with the compiler's passes, for who hunts a fault of it: words separated by blanks of
 * "print-after=NAME|all", "stop-after=NAME", "disable=NAME[,NAME]", "force=NAME", "set=THRESHOLD=VALUE", "verify-each", "times";
 * "" = nothing special.  What is printed comes with the diagnostics; stopped after a pass, a compilation returns IR.  AW_OK;
 * AW_ERR_INVALID_VALUE with a line in *ret_diags (heap, caller frees, never NULL after return). */
int aw_compiler_passes(struct aw_compiler_module *module, const char *words, char **ret_diags);
/* The list of passes as text, a line each: heap, caller frees; NULL when memory is out. */
char *aw_compiler_pass_list(void);
/* Likewise the thresholds that "set=NAME=VALUE" changes. */
char *aw_compiler_threshold_list(void);

/* Processor time, in ms, of the steps of this thread's last aw_compiler_compile. */
enum aw_phase {
    AW_PHASE_LIFT, AW_PHASE_LOWER, AW_PHASE_OPTIMISE, AW_PHASE_STRUCTURE, AW_PHASE_VECTORISE, AW_PHASE_CLEAN_UP, AW_PHASE_CODE,
    AW_PHASE_LINK,
    AW_PHASE_OTHER,
    AW_PHASE_COUNT
};
const char *aw_phase_name(enum aw_phase phase); /* "lower"; static */
/* All of them; 0 for those that there was no need of. */
void aw_compiler_times(double ret_ms[AW_PHASE_COUNT]);

/* Prints the linked module back as PTX; parsing it again gives an equal module.  Heap, caller frees; NULL: out of memory. */
char *aw_compiler_print(const struct aw_compiler_module *module);

/* The full name of the running machine's target, "host:CPU,features", for cache keys.  Thread-local storage.
 * LLVM-free twin for the runtime: aw_host_target() in the host provider. */
bool aw_compiler_target_ok(const char *target);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
