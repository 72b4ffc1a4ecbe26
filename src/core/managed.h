/* Hints about managed memory: checked as CUDA checks them, kept to be asked for, and without other effect, as memory here is
 * where it is used.
 *
 * Not allocation, which is memory.h's.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_MANAGED_H
#define AW_CORE_MANAGED_H

#include "core/stream.h"

/* CUmemLocationType's numbers. */
enum aw_place_type { AW_PLACE_DEVICE = 1, AW_PLACE_HOST = 2, AW_PLACE_NUMA = 3, AW_PLACE_NUMA_CURRENT = 4 };

/* Where memory may be asked to lie; `id` counts for a device (its ordinal) only. */
struct aw_place {
    enum aw_place_type type;
    int id;
};

/* `size` bytes at `address`, not 0, must lie in one managed allocation.  AW_ERR_INVALID_VALUE; AW_ERR_INVALID_DEVICE for a
 * place on a device there is not. */
enum aw_status aw_managed_prefetch(uintptr_t address, size_t size, struct aw_place place, unsigned flags);
/* `advice` is CUmem_advise's number; the place counts for those that name one. */
enum aw_status aw_managed_advise(uintptr_t address, size_t size, int advice, struct aw_place place);
/* What is there is no longer needed.  It stays. */
enum aw_status aw_managed_discard(uintptr_t address, size_t size);

/* What has been said of all pages of a range; a place of type 0: not the same of all, or of none. */
struct aw_managed_hints {
    bool read_mostly;
    struct aw_place preferred, prefetched;
    bool accessed_by_host;
    uint64_t accessed; /* bit n: by device n */
};
/* AW_ERR_INVALID_VALUE as above. */
enum aw_status aw_managed_hints(uintptr_t address, size_t size, struct aw_managed_hints *ret_hints);
/* The whole allocation at `address`, or size 0 for that which `address` lies in.  `flags`: one of CU_MEM_ATTACH_*.  While the
 * stream captures: AW_ERR_CAPTURE_*. */
enum aw_status aw_managed_attach(struct aw_cstream *stream, uintptr_t address, size_t size, unsigned flags);

#endif
