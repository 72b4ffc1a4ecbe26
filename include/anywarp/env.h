/* struct aw_env: what a kernel on a device without host services writes for the host to read: printf records, assertions, and a
 * heap for device-side malloc.  Its address is a hidden kernel argument (docs/architecture.md, "Kernel arguments").
 *
 * The provider allocates it with its buffers in memory both sides reach, zeroes `used`, `dropped` and `status` before the first launch,
 * and reads the records after a kernel has ended.  Device code knows the offsets below. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_ENV_H
#define ANYWARP_ENV_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct aw_env {
    uint64_t buffer;    /* device address of the records, 8-aligned; 0: printf returns -1 */
    uint32_t capacity;  /* its bytes */
    uint32_t used;      /* bytes asked for so far, also by those that did not fit: read min(used, capacity) */
    uint32_t dropped;   /* records that did not fit */
    uint32_t status;    /* enum aw_status of the first trap; 0 = none */
    uint64_t heap;      /* device address of malloc's memory, 16-aligned; 0: malloc returns NULL */
    uint64_t heap_size; /* bytes */
    uint64_t heap_used; /* bytes handed out; free() gives nothing back */
};

/* A record begins 8-aligned; a size of 0 ends the list early (a writer was cut off). */
struct aw_env_record {
    uint32_t size;      /* bytes with this header, a multiple of 8 */
    uint32_t kind;      /* enum aw_env_kind */
};
enum aw_env_kind { AW_ENV_PRINTF = 1, AW_ENV_ASSERT = 2 };

/* Pointers are device addresses of NUL-terminated strings, also those of %s arguments. */
struct aw_env_printf {
    struct aw_env_record head;
    uint64_t format;
    unsigned char args[]; /* as CUDA's vprintf packs them: each at its natural alignment */
};
struct aw_env_assert {
    struct aw_env_record head;
    uint64_t message, file, function;
    uint32_t line, pad;
    uint32_t block[3], thread[3];
};

#ifdef __cplusplus
}
#endif
#endif
