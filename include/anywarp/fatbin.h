/* Fatbins: what nvcc embeds in a program.  Bytes in, entries out; picks the image a device can use.
 *
 * Nothing here executes or compiles.  All functions are thread-safe on distinct objects; an opened fatbin is immutable.
 * Input is untrusted: every offset is checked against the size given, or, where a caller knows no size (a registered
 * wrapper), against the container's own header and the mapping it lies in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_FATBIN_H
#define ANYWARP_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* libanywarp-compiler.so has these for all */

#define AW_FATBIN_WRAPPER_MAGIC 0x466243b1u
#define AW_FATBIN_MAGIC 0xba55ed50u

/* The 24 bytes that __cudaRegisterFatBinary receives.  version 1: data is the container.  version 2 (-rdc): data is the
 * device-linked container, and `extra` a NULL-terminated array of the containers of all linked objects. */
struct aw_fatbin_wrapper {
    uint32_t magic, version;
    const void *data;
    const void *extra;
};

enum aw_fatbin_kind { AW_FATBIN_PTX = 1, AW_FATBIN_ELF = 2, AW_FATBIN_NVVM = 8 };
enum aw_fatbin_compression { AW_FATBIN_RAW, AW_FATBIN_LZ4, AW_FATBIN_ZSTD, AW_FATBIN_OTHER /* cannot be extracted */ };

/* One entry of a container.  Pointers are borrowed from the container's bytes. */
struct aw_fatbin_entry {
    enum aw_fatbin_kind kind;   /* a kind not named above is kept as its number */
    uint32_t sm;                /* 75, 120, ... */
    char sm_suffix;             /* 'a', 'f' or 0 */
    uint16_t isa_major, isa_minor; /* PTX ISA version for PTX, ELF version for cubins */
    uint64_t flags;
    enum aw_fatbin_compression compression;
    const void *payload;
    size_t payload_size;        /* as stored, without padding */
    size_t size;                /* once decompressed; equals payload_size when raw */
    const char *identifier;     /* source file name; not NUL-terminated; NULL when absent */
    size_t identifier_len;
    const char *options;        /* compile options kept with PTX, such as " -maxrregcount=40 "; NULL when absent */
    size_t options_len;
};

/* 0 or one of these, negative. */
enum aw_fatbin_error {
    AW_FATBIN_OK = 0,
    AW_FATBIN_BAD_MAGIC = -1,   /* not a fatbin */
    AW_FATBIN_TRUNCATED = -2,   /* an offset or length reaches past the end */
    AW_FATBIN_CORRUPT = -3,     /* a decompressor refused the payload, or its size disagrees with the header */
    AW_FATBIN_NO_MEMORY = -4,
    AW_FATBIN_UNSUPPORTED = -5, /* header or compression form not known */
};
/* What it means, without a full stop; static. */
const char *aw_fatbin_error_text(int error);

/* Where a walk over a container is. */
struct aw_fatbin_iter {
    size_t offset; /* opaque */
};

/* Walks one container.  Zero `cursor` to begin; true while an entry was stored in *ret_entry; false at the end or on error,
 * *ret_error (may not be NULL) tells which.  `size` is the bytes available at `container`; SIZE_MAX = trust its header. */
bool aw_fatbin_next(const void *container, size_t size, struct aw_fatbin_iter *iter, struct aw_fatbin_entry *ret_entry,
                    int *ret_error);

/* Bytes of the whole container including header, or 0 when it is none. */
size_t aw_fatbin_size(const void *container, size_t available);

/* Decompresses an entry into a fresh heap block (owned by the caller, free()), NUL-terminated one past *ret_size.
 * For PTX, *ret_size excludes trailing NULs. */
int aw_fatbin_extract(const struct aw_fatbin_entry *entry, char **ret_bytes, size_t *ret_size);

/* Picks the PTX entry of one container to compile: the highest sm not above `max_sm` (0 = no limit) without an
 * architecture-locked suffix; failing that the lowest one above; an 'f' or 'a' entry only if there is no other.
 * True and *ret_entry, or false when the container has no PTX; then *ret_error is 0, or the error met.  When the walk broke off
 * behind a usable entry the result is true and *ret_error still tells what was met: worth a log line. */
bool aw_fatbin_choose_ptx(const void *container, size_t size, uint32_t max_sm, struct aw_fatbin_entry *ret_entry,
                          int *ret_error);

/* Picks the machine code of one container for compute capability `sm`: of architectures from 70 to 90 without a suffix the
 * highest that is not above.  True and *ret_entry, or false; *ret_error as with aw_fatbin_choose_ptx. */
bool aw_fatbin_choose_cubin(const void *container, size_t size, uint32_t sm, struct aw_fatbin_entry *ret_entry, int *ret_error);

/* Bytes of a cubin by its own headers, none beyond `available` (SIZE_MAX: trust them); 0 when it is none. */
size_t aw_fatbin_cubin_size(const void *elf, size_t available);

/* What a cubin says of each function with code of its own, kernels among them: `each` gets its name (borrowed) and how many
 * registers a thread of it takes, up to 255.  0; AW_FATBIN_BAD_MAGIC: no ELF file; AW_FATBIN_TRUNCATED, AW_FATBIN_CORRUPT,
 * AW_FATBIN_NO_MEMORY. */
int aw_fatbin_cubin_registers(const void *elf, size_t size, void (*each)(void *user, const char *name, uint32_t registers),
                              void *user);

/* Writes the architectures present, such as "sm_75 sm_80 (cubin), compute_90 (PTX)", cut to `size`.  For messages. */
void aw_fatbin_describe(const void *container, size_t size, char *ret_text, size_t text_size);

/* Where a walk over a wrapper's containers is. */
struct aw_fatbin_wrapper_iter {
    size_t index; /* opaque */
};

/* Walks the containers that a registered wrapper names: `data`, then each of `extra` (version 2).  Zero `iter` to begin.
 * True while a container was stored; *ret_size is what may be read of it: its own size, checked against the mapping of the
 * loaded object it lies in.  False at the end or on error: AW_FATBIN_BAD_MAGIC for a wrapper or a container that is none,
 * AW_FATBIN_UNSUPPORTED for another wrapper version, AW_FATBIN_TRUNCATED.  Empty containers are handed out, too. */
bool aw_fatbin_wrapper_next(const struct aw_fatbin_wrapper *wrapper, struct aw_fatbin_wrapper_iter *iter,
                            const void **ret_container, size_t *ret_size, int *ret_error);

/* Bytes that may be read from `address` on: to the end of the loaded segment it lies in; SIZE_MAX when it lies in no loaded
 * object (heap, a mapped file), where nothing is known. */
size_t aw_fatbin_mapped(const void *address);

/* Finds the containers in an ELF file's bytes: .nv_fatbin and __nv_relfatbin sections.  Calls `each` per container with its
 * bytes (borrowed from `elf`); stops when it returns false.  Works without these sections by scanning loaded segments for the
 * magic.  0 or a negative error; a file without fatbins is 0. */
int aw_fatbin_each_in_elf(const void *elf, size_t size, bool (*each)(void *user, const void *container, size_t size),
                          void *user);

/* Walks the members of a static library (an ar archive, not a thin one), symbol tables aside: `each` gets a member's name and
 * bytes, borrowed, and stops the walk by returning false.  0 or a negative error: AW_FATBIN_BAD_MAGIC, AW_FATBIN_TRUNCATED,
 * AW_FATBIN_CORRUPT. */
int aw_fatbin_each_in_archive(const void *archive, size_t size,
                              bool (*each)(void *user, const char *name, const void *member, size_t size), void *user);

/* ---- Writing.  Several PTX texts that are to be linked when they are loaded, as one ELF file for CUDA with a container for
 * each: what a linker hands out as its "cubin".  aw_fatbin_each_in_elf finds the containers again. */
enum { AW_FATBIN_DEBUG = 2 }; /* in an entry's flags: made with nvcc -G */

struct aw_fatbin_text {
    const char *ptr;            /* PTX, `len` bytes without its NUL */
    size_t len;
    const char *name;           /* kept as the entry's identifier; NULL = none */
    uint32_t sm;                /* of its .target; 0 = not known */
    bool debug;
};
/* Heap bytes, owned by the caller (free()); NULL when memory is out or a text is beyond 1 GiB. */
char *aw_fatbin_write(const struct aw_fatbin_text texts[], size_t n, size_t *ret_size);

/* Bytes of the file at `elf` that aw_fatbin_write made, by its own headers; 0: it did not, or not within `available` (SIZE_MAX:
 * trust them). */
size_t aw_fatbin_elf_size(const void *elf, size_t available);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
