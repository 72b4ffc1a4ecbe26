/* The check of a module's manifest, which comes from disk or from another process.  Building one is ptx/module's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/compiler.h>

#include <string.h>

/* `n` records of `size` bytes at `offset`, inside the whole and aligned to 8. */
static bool table_ok(const struct aw_manifest *m, uint32_t offset, uint32_t n, size_t size)
{
    return offset % 8 == 0 && offset >= sizeof *m && offset <= m->size && (uint64_t)n * size <= m->size - offset;
}

static bool string_ok(const struct aw_manifest *m, uint32_t at)
{
    return at < m->strings_size; /* the last byte of all strings is a NUL */
}

static bool kernels_ok(const struct aw_manifest *m)
{
    const struct aw_manifest_kernel *k = (const void *)((const char *)m + m->kernels);
    const struct aw_manifest_param *params = (const void *)((const char *)m + m->params);

    for (uint32_t i = 0; i < m->n_kernels; i++) {
        if (!string_ok(m, k[i].name) || k[i].first_param > m->n_params || k[i].n_params > m->n_params - k[i].first_param)
            return false;
        for (uint32_t p = k[i].first_param; p < k[i].first_param + k[i].n_params; p++) {
            uint32_t align = params[p].align;
            if ((uint64_t)params[p].offset + params[p].size > k[i].param_size || !align || (align & (align - 1)))
                return false;
        }
    }
    return true;
}

static bool vars_ok(const struct aw_manifest *m)
{
    const struct aw_manifest_var *v = (const void *)((const char *)m + m->vars);

    for (uint32_t i = 0; i < m->n_vars; i++) {
        uint64_t size = v[i].space == AW_VAR_MANAGED ? 8 : v[i].size; /* the cell; see ptx_managed_storage for the rest */
        if (!string_ok(m, v[i].name) || v[i].space > AW_VAR_MANAGED || !v[i].align || (v[i].align & (v[i].align - 1)))
            return false;
        if (v[i].offset > m->arena_size || size > m->arena_size - v[i].offset || v[i].size > m->arena_size)
            return false;
    }
    return true;
}

static bool relocs_ok(const struct aw_manifest *m)
{
    const struct aw_manifest_reloc *r = (const void *)((const char *)m + m->relocs);

    for (uint32_t i = 0; i < m->n_relocs; i++)
        if (r[i].size == 0 || r[i].size > 8 || r[i].mask_shift > 63 || r[i].at > m->arena_size ||
            r[i].size > m->arena_size - r[i].at)
            return false;
    return true;
}

bool aw_manifest_check(const void *bytes, size_t size)
{
    const struct aw_manifest *m = bytes;

    if (!bytes || (uintptr_t)bytes % 8 || size < sizeof *m)
        return false;
    if (m->magic != AW_MANIFEST_MAGIC || m->abi != AW_COMPILER_ABI || m->size > size || m->size < sizeof *m)
        return false;
    if (!table_ok(m, m->kernels, m->n_kernels, sizeof(struct aw_manifest_kernel)) ||
        !table_ok(m, m->params, m->n_params, sizeof(struct aw_manifest_param)) ||
        !table_ok(m, m->vars, m->n_vars, sizeof(struct aw_manifest_var)) ||
        !table_ok(m, m->relocs, m->n_relocs, sizeof(struct aw_manifest_reloc)) || !table_ok(m, m->image, m->image_size, 1) ||
        !table_ok(m, m->strings, m->strings_size, 1))
        return false;
    if (m->image_size > m->arena_size || m->const_size > m->arena_size || !m->strings_size ||
        ((const char *)m)[m->strings + m->strings_size - 1])
        return false;
    return kernels_ok(m) && vars_ok(m) && relocs_ok(m);
}
