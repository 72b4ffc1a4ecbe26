/* Rows of global, flat and scratch instructions.  Buffers are in buffer.c.
 *
 * A global or flat address is 64 bits per lane, or 32 unsigned bits per lane on top of a scalar base.  A scratch address is an
 * offset into the lane's private memory, 32 bits; FLAT_SCRATCH, which hardware adds to it, is taken to hold the wave's base and
 * not looked at.  Cache bits have no effect: every access is coherent here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"
#include "memory.h"

/* ---- Addresses ---- */

static void prepare(const struct sim_wave *w, struct access *a, unsigned size, enum sim_access kind)
{
    a->exec = a->live = sim_exec(w);
    a->size = size;
    a->kind = kind;
}

/* `at` is the operand of the lanes' addresses; the scalar base comes last. */
static bool locate_64(struct sim_wave *w, const struct sim_inst *i, struct access *a, unsigned at, bool flat)
{
    const struct sim_operand *o = &i->o[at], *last = &i->o[i->n - 1];
    uint64_t base = (uint64_t)i->offset;
    if (!flat && last->kind == SIM_SGPR)
        base += sim_read_s64(w, last);
    if (o->kind != SIM_VGPR || o->dwords > 2) {
        sim_illegal(w, i, "an address in no register");
        return false;
    }
    const uint32_t *lo = memory_registers(w, o), *hi = lo + w->lanes;
    if (o->dwords == 2)
        lanes_join(a->address, lo, hi, w->lanes, base);
    else
        for (size_t first = 0; first < w->lanes; first += 32)
            for (size_t l = first; l < first + 32; l++)
                a->address[l] = lo[l] + base;
    return memory_resolve(w, i, a, flat);
}

static bool locate_global(struct sim_wave *w, const struct sim_inst *i, struct access *a, unsigned at)
{
    return locate_64(w, i, a, at, false);
}

static bool locate_flat(struct sim_wave *w, const struct sim_inst *i, struct access *a, unsigned at)
{
    return locate_64(w, i, a, at, true);
}

static bool locate_scratch(struct sim_wave *w, const struct sim_inst *i, struct access *a, unsigned at)
{
    const struct sim_operand *o = &i->o[at], *last = &i->o[i->n - 1];
    uint32_t base = (uint32_t)i->offset;
    if (last->kind == SIM_SGPR)
        base += sim_read_s32(w, last);
    const uint32_t *offset = o->kind == SIM_VGPR ? memory_registers(w, o) : NULL;
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            a->address[l] = offset ? base + offset[l] : base;
    return memory_resolve_private(w, i, a);
}

/* Consecutive words, one per lane: the base is scalar, or nothing. */
static bool locate_addtid(struct sim_wave *w, const struct sim_inst *i, struct access *a)
{
    const struct sim_operand *last = &i->o[i->n - 1];
    uint64_t base = (uint64_t)i->offset + (last->kind == SIM_SGPR ? sim_read_s64(w, last) : 0);
    for (size_t l = 0; l < w->lanes; l++)
        a->address[l] = base + l * 4;
    return memory_resolve(w, i, a, false);
}

/* ---- Instructions ---- */

#define LOAD(space, name, bytes)                                                                                        \
    static void space##_load_##name(struct sim_wave *w, const struct sim_inst *i)                                       \
    {                                                                                                                   \
        struct access a;                                                                                                \
        prepare(w, &a, bytes, SIM_LOAD);                                                                                \
        if (locate_##space(w, i, &a, 1))                                                                                \
            memory_load_##name(w, &a, memory_registers(w, &i->o[0]));                                                   \
    }
#define STORE(space, name, bytes)                                                                                       \
    static void space##_store_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        struct access a;                                                                                                \
        prepare(w, &a, bytes, SIM_STORE);                                                                               \
        if (locate_##space(w, i, &a, 0))                                                                                \
            memory_store_##name(w, &a, memory_registers(w, &i->o[1]));                                                  \
    }

#define X(name, bytes, type, expr) LOAD(global, name, bytes) LOAD(flat, name, bytes) LOAD(scratch, name, bytes)
MEMORY_SMALL_LOADS(X)
#undef X
#define X(name, bytes, type, expr) STORE(global, name, bytes) STORE(flat, name, bytes) STORE(scratch, name, bytes)
MEMORY_SMALL_STORES(X)
#undef X
#define X(name, dwords)                                                                                                 \
    LOAD(global, name, 4 * dwords) LOAD(flat, name, 4 * dwords) LOAD(scratch, name, 4 * dwords)                         \
    STORE(global, name, 4 * dwords) STORE(flat, name, 4 * dwords) STORE(scratch, name, 4 * dwords)
MEMORY_WIDE_LOADS(X)
#undef X

static void global_load_addtid(struct sim_wave *w, const struct sim_inst *i)
{
    struct access a;
    prepare(w, &a, 4, SIM_LOAD);
    if (locate_addtid(w, i, &a))
        memory_load_dword(w, &a, memory_registers(w, &i->o[0]));
}

static void global_store_addtid(struct sim_wave *w, const struct sim_inst *i)
{
    struct access a;
    prepare(w, &a, 4, SIM_STORE);
    if (locate_addtid(w, i, &a))
        memory_store_dword(w, &a, memory_registers(w, &i->o[0]));
}

/* [result,] address, data[, base]: the result is there when glc is. */
static void atomic(struct sim_wave *w, const struct sim_inst *i, bool flat, memory_atomic *op, unsigned bytes, bool pair)
{
    struct access a;
    unsigned at = i->glc ? 1 : 0;
    if (i->n != at + (flat ? 2u : 3u)) {
        sim_illegal(w, i, "an atomic with other operands than its glc says");
        return;
    }
    prepare(w, &a, bytes, SIM_ATOMIC);
    if (!locate_64(w, i, &a, at, flat))
        return;
    const uint32_t *data = memory_registers(w, &i->o[at + 1]);
    memory_atomics(w, i, &a, op, data, pair ? data + bytes / 4 * w->lanes : NULL, i->glc ? memory_registers(w, &i->o[0]) : NULL);
}

#define ATOMIC(space, name, function, bytes, pair)                                                                      \
    static void space##_atomic_##name(struct sim_wave *w, const struct sim_inst *i)                                     \
    {                                                                                                                   \
        atomic(w, i, locate_##space == locate_flat, memory_##function, bytes, pair);                                    \
    }
#define X(name, function, bytes, pair, cards) \
    ATOMIC(global, name, function, bytes, pair) ATOMIC(flat, name, function, bytes, pair)
MEMORY_ATOMICS(X)
MEMORY_FLOAT_ATOMICS(X)
X(pk_add_bf16, pk_add_bf16, 4, false, SIM_GFX9) /* buffers have none on the cards here */
#undef X
#define X(name, function, bytes, pair, cards) ATOMIC(global, name, function, bytes, pair)
MEMORY_NOT_FLAT_ATOMICS(X)
#undef X

/* ---- Table ---- */

static const struct sim_op ops[] = {
#define X(name, ...)                                                                                                    \
    { "global_load_" #name, "o=oo", global_load_##name, SIM_VMEM_LOAD, 0 },                                             \
    { "flat_load_" #name, "o=o", flat_load_##name, SIM_VMEM_LOAD, 0 },                                                  \
    { "scratch_load_" #name, "o=oo", scratch_load_##name, SIM_SCRATCH, 0 },
    MEMORY_SMALL_LOADS(X)
    MEMORY_WIDE_LOADS(X)
#undef X
#define X(name, ...)                                                                                                    \
    { "global_store_" #name, "=ooo", global_store_##name, SIM_VMEM_STORE, 0 },                                          \
    { "flat_store_" #name, "=oo", flat_store_##name, SIM_VMEM_STORE, 0 },                                               \
    { "scratch_store_" #name, "=ooo", scratch_store_##name, SIM_SCRATCH, 0 },
    MEMORY_SMALL_STORES(X)
    MEMORY_WIDE_LOADS(X)
#undef X
    { "global_load_dword_addtid", "o=o", global_load_addtid, SIM_VMEM_LOAD, SIM_GFX10 },
    { "global_store_dword_addtid", "=oo", global_store_addtid, SIM_VMEM_STORE, SIM_GFX10 },
#define X(name, function, bytes, pair, cards)                                                                           \
    { "global_atomic_" #name, "*", global_atomic_##name, SIM_VMEM_ATOMIC, cards },                                      \
    { "flat_atomic_" #name, "*", flat_atomic_##name, SIM_VMEM_ATOMIC, cards },
    MEMORY_ATOMICS(X)
    MEMORY_FLOAT_ATOMICS(X)
    X(pk_add_bf16, pk_add_bf16, 4, false, SIM_GFX9)
#undef X
#define X(name, function, bytes, pair, cards) { "global_atomic_" #name, "*", global_atomic_##name, SIM_VMEM_ATOMIC, cards },
    MEMORY_NOT_FLAT_ATOMICS(X)
#undef X
};

const struct sim_table sim_vmem = { ops, sizeof ops / sizeof *ops };
