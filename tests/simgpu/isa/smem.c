/* Rows of scalar memory instructions.  Addresses lose their two low bits, as on hardware.  s_scratch_load and s_scratch_store
 * have no rows: private memory here is not laid out as they see it, and no compiler uses them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "memory.h"
#include "scalar.h"

/* ---- Addresses ---- */

/* "offset", "register" or "register offset:N"; the number is operand `at` or follows it. */
static uint64_t offset_of(const struct sim_wave *w, const struct sim_inst *i, unsigned at)
{
    const struct sim_operand *o = &i->o[at];
    if (o->kind == SIM_IMM)
        return (uint64_t)(int64_t)(int32_t)o->imm;
    return (uint64_t)i->offset + (o->kind == SIM_SGPR ? sim_read_s32(w, o) : 0);
}

/* The registers of a scalar operand, `n` of them; NULL for null.  Stops the wave when there are not as many. */
static bool registers_of(struct sim_wave *w, const struct sim_inst *i, unsigned at, unsigned n, uint32_t **ret)
{
    const struct sim_operand *o = &i->o[at];
    *ret = o->kind == SIM_SGPR ? w->s + o->reg : NULL;
    if (o->kind == SIM_NULL || (o->kind == SIM_SGPR && o->reg + n <= SIM_SGPRS))
        return true;
    sim_illegal(w, i, "registers that are not there");
    return false;
}

static char *scalar_at(struct sim_wave *w, const struct sim_inst *i, uint64_t address, unsigned size, enum sim_access kind)
{
    char *at = memory_at(w, i, address, size);
    if (!at)
        sim_fault(w, i, kind, address, size, -1);
    else if (__builtin_expect(w->watch != NULL, 0))
        sim_race_scalar(w, i, kind, size, address, at);
    return at;
}

/* What a buffer descriptor says to scalar instructions: where it begins and how long it is. */
static uint64_t buffer_of(const struct sim_wave *w, const struct sim_operand *o, uint64_t *ret_size)
{
    const uint32_t *d = w->s + o->reg;
    uint32_t stride = d[1] >> 16 & 0x3fff;
    *ret_size = (uint64_t)d[2] * (stride ? stride : 1);
    return d[0] | (uint64_t)(d[1] & 0xffff) << 32;
}

/* ---- Loads and stores ---- */

static void load(struct sim_wave *w, const struct sim_inst *i, unsigned n)
{
    uint32_t *to;
    uint64_t address = (sim_read_s64(w, &i->o[1]) + offset_of(w, i, 2)) & ~3ull;
    const char *at = scalar_at(w, i, address, 4 * n, SIM_LOAD);
    if (!at || !registers_of(w, i, 0, n, &to))
        return;
    w->stats.scalar_loaded += 4 * n;
    if (to)
        memcpy(to, at, 4 * n);
}

/* Dword by dword: those outside of the buffer read zero. */
static void buffer_load(struct sim_wave *w, const struct sim_inst *i, unsigned n)
{
    uint32_t *to, result[16] = { 0 };
    uint64_t size, base = buffer_of(w, &i->o[1], &size), offset = offset_of(w, i, 2) & ~3ull;
    uint64_t inside = offset < size ? (size - offset) / 4 : 0;
    unsigned bytes = 4 * (unsigned)(inside < n ? inside : n);
    if (!registers_of(w, i, 0, n, &to))
        return;
    const char *at = bytes ? scalar_at(w, i, (base & ~3ull) + offset, bytes, SIM_LOAD) : NULL;
    if (bytes && !at)
        return;
    if (bytes)
        memcpy(result, at, bytes);
    w->stats.scalar_loaded += bytes;
    if (to)
        memcpy(to, result, 4 * n);
}

static void store(struct sim_wave *w, const struct sim_inst *i, unsigned n)
{
    uint32_t *from;
    uint64_t address = (sim_read_s64(w, &i->o[1]) + offset_of(w, i, 2)) & ~3ull;
    char *at = scalar_at(w, i, address, 4 * n, SIM_STORE);
    if (at && registers_of(w, i, 0, n, &from) && from)
        memcpy(at, from, 4 * n);
}

static void buffer_store(struct sim_wave *w, const struct sim_inst *i, unsigned n)
{
    uint32_t *from;
    uint64_t size, base = buffer_of(w, &i->o[1], &size), offset = offset_of(w, i, 2) & ~3ull;
    uint64_t inside = offset < size ? (size - offset) / 4 : 0;
    unsigned bytes = 4 * (unsigned)(inside < n ? inside : n);
    char *at = bytes ? scalar_at(w, i, (base & ~3ull) + offset, bytes, SIM_STORE) : NULL;
    if (at && registers_of(w, i, 0, n, &from) && from)
        memcpy(at, from, bytes);
}

#define LOADS(X) X(dword, 1) X(dwordx2, 2) X(dwordx3, 3) X(dwordx4, 4) X(dwordx8, 8) X(dwordx16, 16)
#define STORES(X) X(dword, 1) X(dwordx2, 2) X(dwordx4, 4)
#define X(name, n)                                                                                                      \
    static void s_load_##name(struct sim_wave *w, const struct sim_inst *i)                                             \
    {                                                                                                                   \
        load(w, i, n);                                                                                                  \
    }                                                                                                                   \
    static void s_buffer_load_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        buffer_load(w, i, n);                                                                                           \
    }
LOADS(X)
#undef X
#define X(name, n)                                                                                                      \
    static void s_store_##name(struct sim_wave *w, const struct sim_inst *i)                                            \
    {                                                                                                                   \
        store(w, i, n);                                                                                                 \
    }                                                                                                                   \
    static void s_buffer_store_##name(struct sim_wave *w, const struct sim_inst *i)                                     \
    {                                                                                                                   \
        buffer_store(w, i, n);                                                                                          \
    }
STORES(X)
#undef X

/* ---- Bytes and halves (gfx12): addresses of any alignment that is theirs, widened to a register ---- */

#define SMALL_LOADS(X) X(u8, uint8_t) X(i8, int8_t) X(u16, uint16_t) X(i16, int16_t)

static const char *small_at(struct sim_wave *w, const struct sim_inst *i, bool buffer, unsigned bytes)
{
    uint64_t size = UINT64_MAX, base = buffer ? buffer_of(w, &i->o[1], &size) : sim_read_s64(w, &i->o[1]);
    uint64_t offset = offset_of(w, i, 2), address = (base + offset) & ~(uint64_t)(bytes - 1);
    static const char zeros[2];
    w->stats.scalar_loaded += bytes;
    return buffer && (offset >= size || bytes > size - offset) ? zeros : scalar_at(w, i, address, bytes, SIM_LOAD);
}

#define X(name, type)                                                                                                   \
    static void load_##name(struct sim_wave *w, const struct sim_inst *i, bool buffer)                                  \
    {                                                                                                                   \
        const char *at = small_at(w, i, buffer, sizeof(type));                                                          \
        type value;                                                                                                     \
        if (!at)                                                                                                        \
            return;                                                                                                     \
        memcpy(&value, at, sizeof value);                                                                               \
        sim_write_s32(w, &i->o[0], (uint32_t)(int32_t)value);                                                           \
    }                                                                                                                   \
    static void s_load_##name(struct sim_wave *w, const struct sim_inst *i)                                             \
    {                                                                                                                   \
        load_##name(w, i, false);                                                                                       \
    }                                                                                                                   \
    static void s_buffer_load_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        load_##name(w, i, true);                                                                                        \
    }
SMALL_LOADS(X)
#undef X

/* ---- Atomics (gfx9): data registers, which get the old value when glc is set ---- */

static void atomic(struct sim_wave *w, const struct sim_inst *i, bool buffer, memory_atomic *op, unsigned bytes, bool pair)
{
    uint32_t *data;
    uint64_t size = UINT64_MAX, base = buffer ? buffer_of(w, &i->o[1], &size) : sim_read_s64(w, &i->o[1]);
    uint64_t offset = offset_of(w, i, 2), address = (base + offset) & ~(uint64_t)(bytes - 1), values[2], old = 0;
    if (!registers_of(w, i, 0, bytes / 4 * (pair ? 2 : 1), &data) || !data)
        return;
    if (!buffer || (offset < size && bytes <= size - offset)) {
        char *at = scalar_at(w, i, address, bytes, SIM_ATOMIC);
        if (!at)
            return;
        for (unsigned k = 0; k < (pair ? 2u : 1u); k++)
            values[k] = bytes == 4 ? data[k] : data[2 * k] | (uint64_t)data[2 * k + 1] << 32;
        old = op(w, at, values[0], pair ? values[1] : 0);
    }
    if (i->glc)
        memcpy(data, &old, bytes);
}

#define X(name, function, bytes, pair, cards)                                                                           \
    static void s_atomic_##name(struct sim_wave *w, const struct sim_inst *i)                                           \
    {                                                                                                                   \
        atomic(w, i, false, memory_##function, bytes, pair);                                                            \
    }                                                                                                                   \
    static void s_buffer_atomic_##name(struct sim_wave *w, const struct sim_inst *i)                                    \
    {                                                                                                                   \
        atomic(w, i, true, memory_##function, bytes, pair);                                                             \
    }
MEMORY_ATOMICS(X)
#undef X

/* ---- Time and caches ---- */

/* A clock cycle is an instruction of this wave: what differences of it are for is the same on every run then. */
static void s_memtime(struct sim_wave *w, const struct sim_inst *i)
{
    sim_write_s64(w, &i->o[0], w->clock);
}

uint64_t sim_realtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 100000000u + (uint64_t)now.tv_nsec / 10;
}

static void s_memrealtime(struct sim_wave *w, const struct sim_inst *i)
{
    sim_write_s64(w, &i->o[0], sim_realtime());
}

/* There are no caches. */
static void nothing(struct sim_wave *w, const struct sim_inst *i)
{
}

/* ---- Table ---- */

static const struct sim_op ops[] = {
#define X(name, n)                                           \
    { "s_load_" #name, "o=oo", s_load_##name, SIM_SMEM, 0 }, \
        { "s_buffer_load_" #name, "o=oo", s_buffer_load_##name, SIM_SMEM, 0 },
    LOADS(X)
#undef X
#define X(name, type)                                                                                                   \
    { "s_load_" #name, "o=oo", s_load_##name, SIM_SMEM, SIM_GFX12 },                                                    \
    { "s_buffer_load_" #name, "o=oo", s_buffer_load_##name, SIM_SMEM, SIM_GFX12 },
        SMALL_LOADS(X)
#undef X
#define X(name, n)                                                                                                      \
    { "s_store_" #name, "=ooo", s_store_##name, SIM_SMEM, SIM_GFX9 },                                                   \
    { "s_buffer_store_" #name, "=ooo", s_buffer_store_##name, SIM_SMEM, SIM_GFX9 },
            STORES(X)
#undef X
#define X(name, function, bytes, pair, cards)                                                                           \
    { "s_atomic_" #name, "=ooo", s_atomic_##name, SIM_SMEM, SIM_GFX9 },                                                 \
    { "s_buffer_atomic_" #name, "=ooo", s_buffer_atomic_##name, SIM_SMEM, SIM_GFX9 },
                MEMORY_ATOMICS(X)
#undef X
                    { "s_memtime", "o=", s_memtime, SIM_SMEM, 0 },
    { "s_memrealtime", "o=", s_memrealtime, SIM_SMEM, 0 },
    { "s_dcache_inv", "", nothing, SIM_SMEM, 0 },
    { "s_dcache_wb", "", nothing, SIM_SMEM, SIM_GFX9 },
    { "s_dcache_inv_vol", "", nothing, SIM_SMEM, SIM_GFX9 },
    { "s_dcache_wb_vol", "", nothing, SIM_SMEM, SIM_GFX9 },
    { "s_prefetch_inst", "=*", nothing, SIM_SMEM, SIM_GFX12 },
    { "s_prefetch_inst_pc_rel", "=*", nothing, SIM_SMEM, SIM_GFX12 },
    { "s_prefetch_data", "=*", nothing, SIM_SMEM, SIM_GFX12 },
    { "s_prefetch_data_pc_rel", "=*", nothing, SIM_SMEM, SIM_GFX12 },
    { "s_buffer_prefetch_data", "=*", nothing, SIM_SMEM, SIM_GFX12 },
    { "s_gl1_inv", "", nothing, SIM_SMEM, SIM_GFX10 },
    { "s_atc_probe", "=ooo", nothing, SIM_SMEM, 0 },
    { "s_atc_probe_buffer", "=ooo", nothing, SIM_SMEM, 0 },
};

const struct sim_table sim_smem = { ops, sizeof ops / sizeof *ops };
