/* How rows of vector memory reach memory: addresses of all lanes are found by the row's file (vmem.c, buffer.c, image.c), turned
 * into host addresses here with all checks, and what is moved between them and registers is the same for all.  LDS instructions
 * have lds.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_H
#define MEMORY_H

#include "atomic.h"

/* One instruction's access. */
struct access {
    uint64_t exec;        /* lanes whose registers are read or written */
    uint64_t live;        /* those of them whose memory is; the others read zeros */
    unsigned size;        /* bytes of a lane, consecutive */
    enum sim_access kind;
    bool packed;          /* all lanes are live and follow each other without gaps */
    bool same;            /* all lanes are live and at the same place */
    uint64_t address[64]; /* the card's, of live lanes */
    char *at[64];         /* the host's, of all lanes: those not live have one that may be read */
};

/* Recently used ranges of this thread, chosen by instruction: an instruction tends to stay within one allocation, a wave does
 * not. */
enum { MEMORY_VIEWS = 64 };
extern _Thread_local struct sim_view memory_views[MEMORY_VIEWS];

static inline struct sim_view *memory_view(const struct sim_wave *w, const struct sim_inst *i)
{
    struct sim_view *view = &memory_views[(i->pc >> 2 ^ i->pc >> 8) & (MEMORY_VIEWS - 1)];
    uint32_t node = w->data[0].node;
    if (__builtin_expect(view->node != node, 0)) {
        view->generation = 0;
        view->node = node;
    }
    return view;
}

static inline char *memory_at(const struct sim_wave *w, const struct sim_inst *i, uint64_t address, size_t size)
{
    return sim_at(memory_view(w, i), address, size);
}

static inline uint64_t memory_all(const struct sim_wave *w)
{
    return w->lanes == 64 ? UINT64_MAX : UINT32_MAX;
}

/* The registers that an operand names, of all lanes; the next register's follow `lanes` words later. */
static inline uint32_t *memory_registers(const struct sim_wave *w, const struct sim_operand *o)
{
    return (o->kind == SIM_AGPR ? w->a : w->v) + (size_t)o->reg * w->lanes;
}

/* Fills in `at`, `packed` and `same` from `address` and counts the access.  False when there is nothing to do any more: no lane
 * is live, or after sim_fault.  `flat` also knows the apertures of LDS and scratch. */
bool memory_resolve(struct sim_wave *w, const struct sim_inst *i, struct access *a, bool flat);
/* The same for private memory; address[] holds offsets in the lane's. */
bool memory_resolve_private(struct sim_wave *w, const struct sim_inst *i, struct access *a);

/* A lane's private bytes at `offset`, NULL when not all of them are there. */
static inline char *memory_private(const struct sim_wave *w, unsigned lane, uint64_t offset, unsigned size)
{
    if (offset > w->scratch_bytes || size > w->scratch_bytes - offset)
        return NULL;
    return (char *)w->scratch + (size_t)lane * w->scratch_bytes + offset;
}

/* What is moved: name in mnemonics of loads, bytes, C type in memory, new register value of the loaded `x` and the `old` value of
 * the register.  Halves that a d16 load does not write are kept, as without ECC of the register file (code for cards with it
 * expects nothing). */
#define MEMORY_SMALL_LOADS(X)                                                                                           \
    X(ubyte, 1, uint8_t, x) X(sbyte, 1, int8_t, (uint32_t)(int32_t)x)                                                   \
    X(ushort, 2, uint16_t, x) X(sshort, 2, int16_t, (uint32_t)(int32_t)x)                                               \
    X(ubyte_d16, 1, uint8_t, (old & 0xffff0000) | x) X(ubyte_d16_hi, 1, uint8_t, (old & 0xffff) | (uint32_t)x << 16)    \
    X(sbyte_d16, 1, int8_t, (old & 0xffff0000) | (uint16_t)x)                                                           \
    X(sbyte_d16_hi, 1, int8_t, (old & 0xffff) | (uint32_t)(uint16_t)x << 16)                                            \
    X(short_d16, 2, uint16_t, (old & 0xffff0000) | x) X(short_d16_hi, 2, uint16_t, (old & 0xffff) | (uint32_t)x << 16)
#define MEMORY_WIDE_LOADS(X) X(dword, 1) X(dwordx2, 2) X(dwordx3, 3) X(dwordx4, 4)
#define MEMORY_SMALL_STORES(X)                                                                                          \
    X(byte, 1, uint8_t, x) X(byte_d16_hi, 1, uint8_t, x >> 16) X(short, 2, uint16_t, x) X(short_d16_hi, 2, uint16_t, x >> 16)

#define X(name, bytes, type, expr) void memory_load_##name(struct sim_wave *w, const struct access *a, uint32_t *registers);
MEMORY_SMALL_LOADS(X)
#undef X
#define X(name, bytes, type, expr) \
    void memory_store_##name(struct sim_wave *w, const struct access *a, const uint32_t *registers);
MEMORY_SMALL_STORES(X)
#undef X
#define X(name, dwords)                                                                                                 \
    void memory_load_##name(struct sim_wave *w, const struct access *a, uint32_t *registers);                           \
    void memory_store_##name(struct sim_wave *w, const struct access *a, const uint32_t *registers);
MEMORY_WIDE_LOADS(X)
#undef X

/* An atomic operation on `at` with its operands (new value, compared value); returns the old value. */
typedef uint64_t memory_atomic(const struct sim_wave *w, char *at, uint64_t data, uint64_t compare);

/* Rows: name in mnemonics, function, bytes, whether data is two values, cards (0: all that have the name). */
#define MEMORY_ATOMICS(X)                                                                                               \
    X(swap, swap_32, 4, false, 0) X(cmpswap, cmpswap_32, 4, true, 0) X(add, add_32, 4, false, 0)                        \
    X(sub, sub_32, 4, false, 0) X(smin, smin_32, 4, false, 0) X(umin, umin_32, 4, false, 0)                             \
    X(smax, smax_32, 4, false, 0) X(umax, umax_32, 4, false, 0) X(and, and_32, 4, false, 0) X(or, or_32, 4, false, 0)   \
    X(xor, xor_32, 4, false, 0) X(inc, inc_32, 4, false, 0) X(dec, dec_32, 4, false, 0)                                 \
    X(swap_x2, swap_64, 8, false, 0) X(cmpswap_x2, cmpswap_64, 8, true, 0) X(add_x2, add_64, 8, false, 0)               \
    X(sub_x2, sub_64, 8, false, 0) X(smin_x2, smin_64, 8, false, 0) X(umin_x2, umin_64, 8, false, 0)                    \
    X(smax_x2, smax_64, 8, false, 0) X(umax_x2, umax_64, 8, false, 0) X(and_x2, and_64, 8, false, 0)                    \
    X(or_x2, or_64, 8, false, 0) X(xor_x2, xor_64, 8, false, 0) X(inc_x2, inc_64, 8, false, 0)                          \
    X(dec_x2, dec_64, 8, false, 0)
#define MEMORY_FLOAT_ATOMICS(X)                                                                                         \
    X(add_f32, add_f32, 4, false, SIM_GFX9 | SIM_GFX11 | SIM_GFX12) X(pk_add_f16, pk_add_f16, 4, false, SIM_GFX9)       \
    X(add_f64, add_f64, 8, false, SIM_GFX9)                                                                             \
    X(min_f64, fmin_64, 8, false, SIM_GFX9) X(max_f64, fmax_64, 8, false, SIM_GFX9)
/* Those that flat instructions lack. */
#define MEMORY_NOT_FLAT_ATOMICS(X)                                                                                      \
    X(fcmpswap, fcmpswap_32, 4, true, SIM_GFX10) X(fmin, fmin_32, 4, false, SIM_GFX10) X(fmax, fmax_32, 4, false, SIM_GFX10) \
    X(fcmpswap_x2, fcmpswap_64, 8, true, SIM_GFX10) X(fmin_x2, fmin_64, 8, false, SIM_GFX10)                            \
    X(fmax_x2, fmax_64, 8, false, SIM_GFX10)                                                                            \
    X(csub, csub_32, 4, false, SIM_GFX10)

memory_atomic memory_add_f32, memory_pk_add_f16, memory_pk_add_bf16, memory_add_f64;
#define X(name, expr) memory_atomic memory_##name##_32, memory_##name##_64;
ATOMIC_INTEGER(X)
ATOMIC_F32(X)
#undef X

/* A lane's value of 4 or 8 bytes, from one register or two. */
static inline uint64_t memory_value(const uint32_t *registers, size_t lanes, unsigned lane, unsigned bytes)
{
    return bytes == 4 ? registers[lane] : registers[lane] | (uint64_t)registers[lanes + lane] << 32;
}

/* Stops the wave, and says false, when a live lane's address is no multiple of the access' size, 4 or 8. */
bool memory_aligned(struct sim_wave *w, const struct sim_inst *i, const struct access *a);

/* Does it for all live lanes in order; `compare` may be NULL.  Old values go to `result` unless NULL, zeros for lanes not
 * live. */
void memory_atomics(struct sim_wave *w, const struct sim_inst *i, const struct access *a, memory_atomic *op, const uint32_t *data,
                    const uint32_t *compare, uint32_t *result);

#endif
