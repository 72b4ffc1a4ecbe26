/* Fatbin entries to plain bytes: raw, LZ4 blocks, zstd frames.  The sizes in the header are claims: memory is asked for
 * only when a claim is possible for what is stored, and the result must agree with it exactly. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "fatbin/internal.h"

/* Below this no ratio is checked: the memory is cheap, and small texts of blanks do compress that well. */
#define FREE_SIZE ((size_t)16 << 20)

/* True when `size` bytes may come out of what is stored. */
static bool size_is_possible(const struct aw_fatbin_entry *entry)
{
    if (entry->size > AW_FATBIN_MAX_SIZE)
        return false;
    if (entry->compression == AW_FATBIN_LZ4) /* one byte of input never makes more than 255 of output */
        return entry->payload_size <= INT_MAX && entry->size / 255 <= entry->payload_size;
    /* zstd can reach 1 : 32768; text does not */
    return entry->size <= FREE_SIZE || entry->size / 1024 <= entry->payload_size;
}

static int decompress(const struct aw_fatbin_entry *entry, char *bytes)
{
    if (entry->compression == AW_FATBIN_LZ4) {
        int n = LZ4_decompress_safe(entry->payload, bytes, (int)entry->payload_size, (int)entry->size);
        return n >= 0 && (size_t)n == entry->size ? AW_FATBIN_OK : AW_FATBIN_CORRUPT;
    }
    size_t n = ZSTD_decompress(bytes, entry->size, entry->payload, entry->payload_size);
    if (ZSTD_isError(n))
        return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? AW_FATBIN_NO_MEMORY : AW_FATBIN_CORRUPT;
    return n == entry->size ? AW_FATBIN_OK : AW_FATBIN_CORRUPT;
}

int aw_fatbin_extract(const struct aw_fatbin_entry *entry, char **ret_bytes, size_t *ret_size)
{
    if (entry->compression == AW_FATBIN_OTHER)
        return AW_FATBIN_UNSUPPORTED;
    if (entry->compression != AW_FATBIN_RAW && !size_is_possible(entry))
        return AW_FATBIN_CORRUPT;
    char *bytes = malloc(entry->size + 1);
    if (!bytes)
        return AW_FATBIN_NO_MEMORY;
    int error = AW_FATBIN_OK;
    if (entry->compression == AW_FATBIN_RAW)
        memcpy(bytes, entry->payload, entry->size);
    else
        error = decompress(entry, bytes);
    if (error != AW_FATBIN_OK) {
        free(bytes);
        return error;
    }
    size_t size = entry->size;
    while (entry->kind == AW_FATBIN_PTX && size > 0 && bytes[size - 1] == '\0')
        size--;
    bytes[size] = '\0';
    *ret_bytes = bytes;
    *ret_size = size;
    return AW_FATBIN_OK;
}
