/* Copies of rectangles and boxes as users describe them: two sides, each memory with a pitch or an array, and an extent.
 *
 * Both APIs and graph nodes turn their structures into this; what it comes to, and what is wrong with it, is decided here.
 * The copy itself is memory.h's.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_COPY_BOX_H
#define AW_CORE_COPY_BOX_H

#include "core/array.h"
#include "core/memory.h"

/* CUmemorytype's numbers. */
enum aw_side_type { AW_SIDE_HOST = 1, AW_SIDE_DEVICE = 2, AW_SIDE_ARRAY = 3, AW_SIDE_ANY = 4 };

struct aw_copy_side {
    enum aw_side_type type;
    uintptr_t base;     /* address; of no matter for an array */
    size_t x, y, z;     /* where the box begins: bytes, rows, slices */
    size_t pitch, rows; /* bytes per row, rows per slice; 0 where nothing is multiplied by it */
    const void *array;  /* the handle as the user gave it: checked here */
    size_t lod;         /* must be 0 */
};

struct aw_copy_box {
    struct aw_copy_side src, dst;
    size_t width, height, depth; /* bytes, rows, slices; any 0: nothing is copied, and nothing is checked */
};

/* What the box comes to.  AW_ERR_INVALID_VALUE; AW_ERR_INVALID_PITCH: rows longer than their pitch; AW_ERR_INVALID_HANDLE: an
 * array. */
enum aw_status aw_copy_box_resolve(const struct aw_copy_box *box, struct aw_copy3d *ret_copy);
/* The same, and done, as aw_mem_copy3d does it. */
enum aw_status aw_copy_box_run(struct aw_ctx *ctx, const struct aw_copy_box *box, struct aw_cstream *stream, bool async);

#endif
