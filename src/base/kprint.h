/* A kernel's printf on the host: a format and packed arguments in, text out, as CUDA prints it.
 * Not where the bytes come from: whoever calls reads the kernel's memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_KPRINT_H
#define AW_BASE_KPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* A string of a kernel is cut here, bytes: it may have no end. */
#define AW_KPRINT_STRING_MAX ((size_t)1 << 20)

/* The memory that a kernel's addresses mean. */
struct aw_kprint_memory {
    /* `size` (at most 8) bytes of the packed arguments at `address`; false when they are not there. */
    bool (*args)(void *user, void *ret, uint64_t address, size_t size);
    /* Up to `size` bytes of the string at `address`, less when its NUL comes first (which is not counted); -1 when some of
     * them are not there. */
    long (*string)(void *user, char *ret, uint64_t address, size_t size);
    void *user;
};

/* Appends what printf(format, ...) prints to `out`.  `args` is the address of the packed arguments, each at its natural
 * alignment, smaller ones promoted to 4 bytes; it must be 8-aligned.  `format` is untrusted: a directive that is none is printed
 * as it stands, field widths have a limit, %n takes its argument and writes nothing.
 * Returns the number of arguments, or -1 when they could not be read.  Thread-safe. */
int32_t aw_kprint(struct aw_buf *out, const char *format, uint64_t args, const struct aw_kprint_memory *memory);

/* A NUL-terminated copy of the string at `address`; heap, the caller's.  NULL when it cannot be read or memory is out. */
char *aw_kprint_string(uint64_t address, const struct aw_kprint_memory *memory);

/* Appends the line CUDA prints for a failed assertion, '\n' included.  NULL texts read "?". */
void aw_kprint_assert(struct aw_buf *out, const char *message, const char *file, uint32_t line, const char *function,
                      const uint32_t block[3], const uint32_t thread[3]);

#endif
