/* Texture and surface references: variables of a module (.texref, .surfref) whose cell in the arena holds a descriptor's
 * address.
 *
 * A reference's settings are kept here; while something is bound to it, every change is written to its descriptor once the
 * device's work has ended, so that it counts for later kernels only.  Settings of one reference are not to be changed by two
 * threads at once, as CUDA has it; everything else is thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_TEXREF_H
#define AW_CORE_TEXREF_H

#include "core/texture.h"

struct aw_texref {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    uintptr_t cell;           /* device address; 0: made by cuTexRefCreate, for no variable */
    uintptr_t descriptor;     /* device address, ours; 0 until something was bound */
    struct aw_tex_info info;
    bool bound;
};

extern struct aw_slab aw_texref_slab;

static inline struct aw_texref *aw_texref_from(const void *handle) /* NULL: not a live reference */
{
    return aw_slab_valid(&aw_texref_slab, handle) ? (struct aw_texref *)(uintptr_t)handle : NULL;
}

/* The reference behind a variable's cell, made when first asked for, with the settings `sampler` (enum aw_sampler); cell 0: a
 * new one. AW_ERR_INVALID_VALUE when the cell belongs to a reference of the other kind. */
enum aw_status aw_texref_get(struct aw_ctx *ctx, enum aw_texture_kind kind, uintptr_t cell, uint32_t sampler,
                             struct aw_texref **ret_ref);
/* Takes `info` as the reference's settings, binds what its resource names (nothing when `bound` is false) and tells the
 * device.  On failure everything stays as it was.  Statuses are aw_texture_describe's. */
enum aw_status aw_texref_set(struct aw_texref *ref, const struct aw_tex_info *info, bool bound);
void aw_texref_destroy(struct aw_texref *ref);
/* Ends the references with cells in [begin, end) of a context: at its module's end. */
void aw_texrefs_drop(struct aw_ctx *ctx, uintptr_t begin, uintptr_t end);

#endif
