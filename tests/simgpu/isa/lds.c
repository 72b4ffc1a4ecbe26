/* Rows of LDS (DS) instructions.  Accesses out of the block's LDS read zeros and write nothing, as on hardware; misaligned ones
 * work, but for atomics.  GDS is not there; global wave sync is core/schedule.c's.  ds_condxchg32, ds_ordered_count, the forms
 * with two addresses (src2) and the semaphores of global wave sync have no rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "memory.h"

static const char zeros[16];

/* ---- Counting ---- */

enum { BANKS = 32 };

/* What 32 lanes ask of the banks: lane `l` wants unit[l] of slot[l].  A unit is as many words as a lane moves, a slot that many
 * banks as seen by the lanes that are served at once: `at_once` of them have as many slots of their own. */
struct demand {
    uint32_t unit[BANKS], slot[BANKS];
    uint32_t live;
    unsigned at_once;
};

/* In how many groups of lanes is one of `lanes`? */
static unsigned groups_of(uint32_t lanes, unsigned at_once)
{
    unsigned count = 0;
    for (unsigned first = 0; first < BANKS; first += at_once)
        count += (lanes >> first & (uint32_t)((1ull << at_once) - 1)) != 0;
    return count;
}

/* Passes beyond the first when those who want the same word share one.  In a pass a slot does the last unit that is asked of it,
 * and who asked for that one is served. */
static unsigned count_passes(const struct demand *d)
{
    uint32_t serves[BANKS] = { 0 }, left = d->live;
    for (unsigned conflicts = 0;; conflicts += groups_of(left, d->at_once)) {
        if (left == ~0u)
            for (unsigned l = 0; l < BANKS; l++)
                serves[d->slot[l]] = d->unit[l];
        else
            for (uint32_t each = left; each; each &= each - 1)
                serves[d->slot[__builtin_ctz(each)]] = d->unit[__builtin_ctz(each)];
        uint32_t served = 0;
        for (unsigned l = 0; l < BANKS; l += 8) {
            __m256i slot = _mm256_loadu_si256((const __m256i *)(d->slot + l));
            __m256i unit = _mm256_loadu_si256((const __m256i *)(d->unit + l));
            __m256i equal = _mm256_cmpeq_epi32(_mm256_i32gather_epi32((const int *)serves, slot, 4), unit);
            served |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) << l;
        }
        left &= ~served;
        if (!left)
            return conflicts;
    }
}

/* The same when everyone takes a pass of its own. */
static unsigned count_turns(const struct demand *d)
{
    uint8_t turns[BANKS] = { 0 };
    unsigned conflicts = 0;
    for (uint32_t each = d->live; each; each &= each - 1)
        turns[d->slot[__builtin_ctz(each)]]++;
    for (unsigned first = 0; first < BANKS; first += d->at_once) {
        unsigned most = 1;
        for (unsigned k = first; k < first + d->at_once; k++)
            most = turns[k] > most ? turns[k] : most;
        conflicts += most - 1;
    }
    return conflicts;
}

/* Passes beyond the first of 8 or 16 lanes whose words are not those of whole units. */
static unsigned count_uneven(const uint32_t *address, uint32_t live, unsigned at_once, unsigned words, bool together)
{
    struct demand d = { .at_once = BANKS };
    unsigned n = 0;
    for (unsigned l = 0; l < at_once; l++)
        for (unsigned k = 0; live >> l & 1 && k < words; k++)
            d.unit[n++] = (address[l] >> 2) + k;
    for (unsigned k = 0; k < n; k++)
        d.slot[k] = d.unit[k] % BANKS;
    d.live = (uint32_t)((1ull << n) - 1);
    return together ? count_passes(&d) : count_turns(&d);
}

/* Passes beyond the first that an access needs: banks of one word, `words` of each lane, as many lanes at once as fill the banks.
 * Reads and writes of the same word go together, atomics do not. */
static unsigned count_conflicts(const uint32_t *address, uint64_t live, unsigned lanes, unsigned words, bool together)
{
    const uint32_t unit_log = words == 1 ? 0 : words == 2 ? 1 : 2, at_once = BANKS >> unit_log;
    unsigned conflicts = 0;
    for (unsigned first = 0; first < lanes; first += BANKS) {
        struct demand d = { .live = (uint32_t)(live >> first), .at_once = at_once };
        uint32_t uneven = words == 3;
        for (uint32_t l = 0; l < BANKS; l++) {
            uint32_t word = address[first + l] >> 2;
            uneven |= word & ((1u << unit_log) - 1);
            d.unit[l] = word >> unit_log;
            d.slot[l] = (l & -at_once) | (d.unit[l] & (at_once - 1));
        }
        if (!uneven)
            conflicts += together ? count_passes(&d) : count_turns(&d);
        else
            for (unsigned l = 0; l < BANKS; l += at_once)
                conflicts += count_uneven(address + first + l, d.live >> l, at_once, words, together);
    }
    return conflicts;
}

/* ---- Addresses ---- */

/* Lane by lane, those out of range get zeros. */
static void place_each(const struct sim_wave *w, struct access *a, const uint32_t *address)
{
    uint32_t room = w->group->lds_size;
    char *lds = (char *)w->group->lds;
    a->live = 0;
    for (unsigned l = 0; l < w->lanes; l++) {
        bool live = a->exec >> l & 1 && a->size <= room && address[l] <= room - a->size;
        a->live |= (uint64_t)live << l;
        a->at[l] = live ? lds + address[l] : (char *)zeros;
    }
}

/* With a lane active.  Inactive ones get its address. */
static void place(const struct sim_wave *w, struct access *a, uint32_t *address)
{
    uint32_t room = w->group->lds_size, some = address[__builtin_ctzll(a->exec)];
    bool all = a->exec == memory_all(w);
    for (size_t first = 0; !all && first < w->lanes; first += 32) {
        uint32_t part = (uint32_t)(a->exec >> first);
        for (size_t l = 0; l < 32; l++)
            address[first + l] = part >> l & 1 ? address[first + l] : some;
    }
    a->packed = a->same = false;
    if (a->size > room) {
        place_each(w, a, address);
        return;
    }
    const __m256i most = _mm256_set1_epi32((int)(room - a->size)), same = _mm256_set1_epi32((int)some);
    const __m256i lds = _mm256_set1_epi64x((long long)(uintptr_t)w->group->lds), size = _mm256_set1_epi32((int)a->size);
    /* Where each lane is when they follow each other: all are active then, and lane 0 is the first. */
    __m256i expected = _mm256_add_epi32(same, _mm256_mullo_epi32(size, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    __m256i outside = _mm256_setzero_si256(), differ = outside, gaps = outside;
    for (size_t l = 0; l < w->lanes; l += 8) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(address + l));
        outside = _mm256_or_si256(outside, _mm256_xor_si256(_mm256_max_epu32(x, most), most));
        differ = _mm256_or_si256(differ, _mm256_xor_si256(x, same));
        gaps = _mm256_or_si256(gaps, _mm256_xor_si256(x, expected));
        expected = _mm256_add_epi32(expected, _mm256_slli_epi32(size, 3));
        __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(x));
        __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(x, 1));
        _mm256_storeu_si256((__m256i *)(a->at + l), _mm256_add_epi64(low, lds));
        _mm256_storeu_si256((__m256i *)(a->at + l + 4), _mm256_add_epi64(high, lds));
    }
    if (!_mm256_testz_si256(outside, outside)) {
        place_each(w, a, address);
        return;
    }
    a->live = a->exec;
    a->packed = all && _mm256_testz_si256(gaps, gaps);
    a->same = all && _mm256_testz_si256(differ, differ);
}

/* Where the lanes' `size` bytes at register + `offset` are.  False when no lane is active or the instruction is not for LDS. */
static bool locate(struct sim_wave *w, const struct sim_inst *i, struct access *a, const struct sim_operand *o, uint32_t offset,
                   unsigned size, enum sim_access kind)
{
    uint32_t address[64];
    const uint32_t *base = memory_registers(w, o);
    a->exec = sim_exec(w);
    a->size = size;
    a->kind = kind;
    if (i->gds) {
        sim_illegal(w, i, "global data share is not simulated");
        return false;
    }
    if (!a->exec)
        return false;
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            address[l] = base[l] + offset;
    place(w, a, address);
    if (w->counts && (kind == SIM_ATOMIC || !(a->packed | a->same)))
        w->stats.lds_conflicts += count_conflicts(address, a->live, w->lanes, (size + 3) / 4, kind != SIM_ATOMIC);
    if (__builtin_expect(w->watch != NULL, 0))
        sim_race_lds(w, i, kind, size, a->live, address);
    return true;
}

/* ---- Loads and stores ---- */

#define READ(name, moved, bytes)                                                                                        \
    static void ds_read_##name(struct sim_wave *w, const struct sim_inst *i)                                            \
    {                                                                                                                   \
        struct access a;                                                                                                \
        w->stats.lds_accesses++;                                                                                        \
        if (locate(w, i, &a, &i->o[1], (uint32_t)i->offset, bytes, SIM_LOAD))                                           \
            memory_load_##moved(w, &a, memory_registers(w, &i->o[0]));                                                  \
    }
#define WRITE(name, moved, bytes)                                                                                       \
    static void ds_write_##name(struct sim_wave *w, const struct sim_inst *i)                                           \
    {                                                                                                                   \
        struct access a;                                                                                                \
        w->stats.lds_accesses++;                                                                                        \
        if (locate(w, i, &a, &i->o[0], (uint32_t)i->offset, bytes, SIM_STORE))                                          \
            memory_store_##moved(w, &a, memory_registers(w, &i->o[1]));                                                 \
    }
#define READS(X)                                                                                                        \
    X(b32, dword, 4) X(b64, dwordx2, 8) X(b96, dwordx3, 12) X(b128, dwordx4, 16) X(u8, ubyte, 1) X(i8, sbyte, 1)        \
    X(u16, ushort, 2) X(i16, sshort, 2) X(u8_d16, ubyte_d16, 1) X(u8_d16_hi, ubyte_d16_hi, 1) X(i8_d16, sbyte_d16, 1)   \
    X(i8_d16_hi, sbyte_d16_hi, 1) X(u16_d16, short_d16, 2) X(u16_d16_hi, short_d16_hi, 2)
#define WRITES(X)                                                                                                       \
    X(b32, dword, 4) X(b64, dwordx2, 8) X(b96, dwordx3, 12) X(b128, dwordx4, 16) X(b8, byte, 1) X(b16, short, 2)        \
    X(b8_d16_hi, byte_d16_hi, 1) X(b16_d16_hi, short_d16_hi, 2)
READS(READ)
WRITES(WRITE)

/* Rows: name, what is moved each time, its bytes, bytes of an offset's unit. */
#define PAIRS(X) X(b32, dword, 4, 4) X(b64, dwordx2, 8, 8)
#define PAIRS_FAR(X) X(b32, dword, 4, 256) X(b64, dwordx2, 8, 512)

/* The address register may be among the results, so both places are found before either result is written. */
#define READ2(prefix, name, moved, bytes, unit)                                                                         \
    static void ds_##prefix##_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        struct access a, b;                                                                                             \
        uint32_t *to = memory_registers(w, &i->o[0]);                                                                   \
        w->stats.lds_accesses++;                                                                                        \
        if (!locate(w, i, &a, &i->o[1], i->offset0 * unit##u, bytes, SIM_LOAD) ||                                       \
            !locate(w, i, &b, &i->o[1], i->offset1 * unit##u, bytes, SIM_LOAD))                                         \
            return;                                                                                                     \
        memory_load_##moved(w, &a, to);                                                                                 \
        memory_load_##moved(w, &b, to + bytes / 4 * w->lanes);                                                          \
    }
#define WRITE2(prefix, name, moved, bytes, unit)                                                                        \
    static void ds_##prefix##_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        struct access a;                                                                                                \
        w->stats.lds_accesses++;                                                                                        \
        if (locate(w, i, &a, &i->o[0], i->offset0 * unit##u, bytes, SIM_STORE))                                         \
            memory_store_##moved(w, &a, memory_registers(w, &i->o[1]));                                                 \
        if (locate(w, i, &a, &i->o[0], i->offset1 * unit##u, bytes, SIM_STORE))                                         \
            memory_store_##moved(w, &a, memory_registers(w, &i->o[2]));                                                 \
    }
#define X(...) READ2(read2, __VA_ARGS__) WRITE2(write2, __VA_ARGS__)
PAIRS(X)
#undef X
#define X(...) READ2(read2st64, __VA_ARGS__) WRITE2(write2st64, __VA_ARGS__)
PAIRS_FAR(X)
#undef X

/* Consecutive words from M0 + offset on. */
static bool locate_addtid(struct sim_wave *w, const struct sim_inst *i, struct access *a, enum sim_access kind)
{
    uint32_t address[64];
    for (unsigned l = 0; l < w->lanes; l++)
        address[l] = (w->s[SIM_M0] & 0xffff) + (uint32_t)i->offset + 4 * l;
    a->exec = sim_exec(w);
    a->size = 4;
    a->kind = kind;
    a->live = 0;
    w->stats.lds_accesses++;
    if (a->exec)
        place(w, a, address);
    if (__builtin_expect(w->watch != NULL, 0))
        sim_race_lds(w, i, kind, 4, a->live, address);
    return a->exec != 0;
}

static void ds_read_addtid_b32(struct sim_wave *w, const struct sim_inst *i)
{
    struct access a;
    if (locate_addtid(w, i, &a, SIM_LOAD))
        memory_load_dword(w, &a, memory_registers(w, &i->o[0]));
}

static void ds_write_addtid_b32(struct sim_wave *w, const struct sim_inst *i)
{
    struct access a;
    if (locate_addtid(w, i, &a, SIM_STORE))
        memory_store_dword(w, &a, memory_registers(w, &i->o[0]));
}

/* ---- Atomics ---- */

/* What an operand means: the new value, or the compared one (or a mask's value). */
enum order { DATA, DATA_COMPARE, COMPARE_DATA };

/* What ATOMIC_OWN defines. */
typedef void lds_atomic(const struct sim_wave *w, const struct access *a, const uint32_t *data, const uint32_t *compare,
                        uint32_t *result);

static void atomic(struct sim_wave *w, const struct sim_inst *i, lds_atomic *op, unsigned bytes, enum order order, bool returns)
{
    struct access a;
    unsigned at = returns ? 1 : 0;
    w->stats.lds_accesses++;
    if (!locate(w, i, &a, &i->o[at], (uint32_t)i->offset, bytes, SIM_ATOMIC))
        return;
    const uint32_t *first = memory_registers(w, &i->o[at + 1]);
    const uint32_t *second = order == DATA ? NULL : memory_registers(w, &i->o[at + 2]);
    if (memory_aligned(w, i, &a))
        op(w, &a, order == COMPARE_DATA ? second : first, order == COMPARE_DATA ? first : second,
           returns ? memory_registers(w, &i->o[0]) : NULL);
}

#define X(name, expr) ATOMIC_OWN(own_##name##_32, uint32_t, int32_t, expr)
ATOMIC_INTEGER(X)
ATOMIC_F32(X)
#undef X
#define X(name, expr) ATOMIC_OWN(own_##name##_64, uint64_t, int64_t, expr)
ATOMIC_INTEGER(X)
ATOMIC_F64(X)
#undef X
ATOMIC_OWN(own_add_f32, uint32_t, int32_t, atomic_add_f32_mode(w, o, d))
ATOMIC_OWN(own_pk_add_f16, uint32_t, int32_t, atomic_add_pk_f16(o, d))
ATOMIC_OWN(own_pk_add_bf16, uint32_t, int32_t, atomic_add_pk_bf16(o, d))
ATOMIC_OWN(own_add_f64, uint64_t, int64_t, atomic_sum_f64(o, d))

/* Rows: name, type in the name, function, bytes, operands, cards. */
#define ATOMICS(X)                                                                                                      \
    X(add, u32, add_32, 4, DATA, 0) X(sub, u32, sub_32, 4, DATA, 0) X(rsub, u32, rsub_32, 4, DATA, 0)                   \
    X(inc, u32, inc_32, 4, DATA, 0) X(dec, u32, dec_32, 4, DATA, 0) X(min, i32, smin_32, 4, DATA, 0)                    \
    X(max, i32, smax_32, 4, DATA, 0) X(min, u32, umin_32, 4, DATA, 0) X(max, u32, umax_32, 4, DATA, 0)                  \
    X(and, b32, and_32, 4, DATA, 0) X(or, b32, or_32, 4, DATA, 0) X(xor, b32, xor_32, 4, DATA, 0)                       \
    X(mskor, b32, mskor_32, 4, DATA_COMPARE, 0) X(cmpst, b32, cmpswap_32, 4, COMPARE_DATA, 0)                           \
    X(cmpstore, b32, cmpswap_32, 4, DATA_COMPARE, SIM_GFX11 | SIM_GFX12)                                                \
    X(cmpstore, f32, fcmpswap_32, 4, DATA_COMPARE, SIM_GFX11 | SIM_GFX12)                                               \
    X(cmpst, f32, fcmpswap_32, 4, COMPARE_DATA, 0) X(min, f32, fmin_32, 4, DATA, 0) X(max, f32, fmax_32, 4, DATA, 0)    \
    X(add, f32, add_f32, 4, DATA, 0)                                                                                    \
    X(add, u64, add_64, 8, DATA, 0) X(sub, u64, sub_64, 8, DATA, 0) X(rsub, u64, rsub_64, 8, DATA, 0)                   \
    X(inc, u64, inc_64, 8, DATA, 0) X(dec, u64, dec_64, 8, DATA, 0) X(min, i64, smin_64, 8, DATA, 0)                    \
    X(max, i64, smax_64, 8, DATA, 0) X(min, u64, umin_64, 8, DATA, 0) X(max, u64, umax_64, 8, DATA, 0)                  \
    X(and, b64, and_64, 8, DATA, 0) X(or, b64, or_64, 8, DATA, 0) X(xor, b64, xor_64, 8, DATA, 0)                       \
    X(mskor, b64, mskor_64, 8, DATA_COMPARE, 0) X(cmpst, b64, cmpswap_64, 8, COMPARE_DATA, 0)                           \
    X(cmpstore, b64, cmpswap_64, 8, DATA_COMPARE, SIM_GFX11 | SIM_GFX12)                                                \
    X(cmpstore, f64, fcmpswap_64, 8, DATA_COMPARE, SIM_GFX11 | SIM_GFX12)                                               \
    X(cmpst, f64, fcmpswap_64, 8, COMPARE_DATA, 0) X(min, f64, fmin_64, 8, DATA, 0) X(max, f64, fmax_64, 8, DATA, 0)    \
    X(add, f64, add_f64, 8, DATA, SIM_GFX9) X(pk_add, f16, pk_add_f16, 4, DATA, SIM_GFX9)                               \
    X(pk_add, bf16, pk_add_bf16, 4, DATA, SIM_GFX9)
/* Those that only return. */
#define ATOMICS_RTN(X)                                                                                                  \
    X(wrxchg, b32, swap_32, 4, DATA, 0) X(wrxchg, b64, swap_64, 8, DATA, 0) X(wrap, b32, wrap_32, 4, DATA_COMPARE, 0)

#define X(name, type, function, bytes, order, cards)                                                                    \
    static void ds_##name##_rtn_##type(struct sim_wave *w, const struct sim_inst *i)                                    \
    {                                                                                                                   \
        atomic(w, i, own_##function, bytes, order, true);                                                               \
    }
ATOMICS(X)
ATOMICS_RTN(X)
#undef X
#define X(name, type, function, bytes, order, cards)                                                                    \
    static void ds_##name##_##type(struct sim_wave *w, const struct sim_inst *i)                                        \
    {                                                                                                                   \
        atomic(w, i, own_##function, bytes, order, false);                                                              \
    }
ATOMICS(X)
#undef X

/* Two exchanges, each of its own place. */
static void exchange2(struct sim_wave *w, const struct sim_inst *i, lds_atomic *op, unsigned bytes, unsigned unit)
{
    struct access a, b;
    uint32_t *to = memory_registers(w, &i->o[0]), kept[2][64];
    w->stats.lds_accesses++;
    if (!locate(w, i, &a, &i->o[1], i->offset0 * unit, bytes, SIM_ATOMIC) ||
        !locate(w, i, &b, &i->o[1], i->offset1 * unit, bytes, SIM_ATOMIC))
        return;
    /* The second data may be among the first results. */
    const uint32_t *second = memory_registers(w, &i->o[3]);
    for (unsigned k = 0; k < bytes / 4; k++)
        memcpy(kept[0] + k * w->lanes, second + k * w->lanes, w->lanes * sizeof **kept);
    if (!memory_aligned(w, i, &a))
        return;
    op(w, &a, memory_registers(w, &i->o[2]), NULL, to);
    if (memory_aligned(w, i, &b))
        op(w, &b, kept[0], NULL, to + bytes / 4 * w->lanes);
}

#define X(name, bytes, unit, function)                                                                                  \
    static void ds_##name(struct sim_wave *w, const struct sim_inst *i)                                                 \
    {                                                                                                                   \
        exchange2(w, i, own_##function, bytes, unit);                                                                   \
    }
#define EXCHANGES(X)                                                                                                    \
    X(wrxchg2_rtn_b32, 4, 4, swap_32) X(wrxchg2_rtn_b64, 8, 8, swap_64)                                                 \
    X(wrxchg2st64_rtn_b32, 4, 256, swap_32) X(wrxchg2st64_rtn_b64, 8, 512, swap_64)
EXCHANGES(X)
#undef X

/* One counter for the wave: its old value goes to all active lanes. */
static void append(struct sim_wave *w, const struct sim_inst *i, bool consume)
{
    uint64_t exec = sim_exec(w);
    uint32_t address = (w->s[SIM_M0] & 0xffff) + (uint32_t)i->offset, room = w->group->lds_size, old = 0;
    uint32_t *to = memory_registers(w, &i->o[0]), count = (uint32_t)__builtin_popcountll(exec);
    if (i->gds) {
        sim_illegal(w, i, "global data share is not simulated");
        return;
    }
    w->stats.lds_accesses++;
    if (exec && room >= 4 && address <= room - 4) {
        if (__builtin_expect(w->watch != NULL, 0))
            sim_race_lds(w, i, SIM_ATOMIC, 4, 1, &address);
        memcpy(&old, w->group->lds + address, sizeof old);
        uint32_t new = consume ? old - count : old + count;
        memcpy(w->group->lds + address, &new, sizeof new);
    }
    SIM_EACH_LANE(w, l)
        to[l] = old;
}

static void ds_append(struct sim_wave *w, const struct sim_inst *i)
{
    append(w, i, false);
}

static void ds_consume(struct sim_wave *w, const struct sim_inst *i)
{
    append(w, i, true);
}

/* ---- Across lanes: nothing of LDS is touched.  Lanes not active give zeros. ---- */

/* Over how many lanes it goes: RDNA handles the halves of a wave64 apart. */
static unsigned span(const struct sim_wave *w)
{
    return w->card->major >= 10 ? 32 : w->lanes;
}

static void ds_bpermute_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t result[64];
    const uint32_t *from = memory_registers(w, &i->o[1]), *data = memory_registers(w, &i->o[2]);
    uint32_t *to = memory_registers(w, &i->o[0]), offset = (uint32_t)i->offset, within = span(w) - 1;
    uint64_t exec = sim_exec(w);
    for (unsigned l = 0; l < w->lanes; l++) {
        unsigned source = (l & ~within) | ((from[l] + offset) >> 2 & within);
        result[l] = exec >> source & 1 ? data[source] : 0;
    }
    SIM_EACH_LANE(w, l)
        to[l] = result[l];
}

static void ds_permute_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t result[64] = { 0 };
    const uint32_t *where = memory_registers(w, &i->o[1]), *data = memory_registers(w, &i->o[2]);
    uint32_t *to = memory_registers(w, &i->o[0]), offset = (uint32_t)i->offset, within = span(w) - 1;
    SIM_EACH_LANE(w, l)
        result[(l & ~(uint64_t)within) | ((where[l] + offset) >> 2 & within)] = data[l];
    SIM_EACH_LANE(w, l)
        to[l] = result[l];
}

/* The lane of a group of 32 that lane `l` reads. */
static unsigned swizzled(unsigned l, uint32_t pattern)
{
    if (pattern >= 0xe000) { /* order of a fast Fourier transform: the bits outside of the mask reversed */
        unsigned mask = pattern & 31, reversed = 0;
        for (unsigned k = 0; k < 5; k++)
            reversed |= (l >> k & 1) << (4 - k);
        return reversed >> __builtin_popcount(mask) | (l & mask);
    }
    if (pattern >= 0xc000) { /* rotation of the bits outside of the mask */
        unsigned mask = pattern & 31, by = pattern >> 5 & 31;
        return (l & mask) | ((pattern >> 10 & 1 ? l - by : l + by) & ~mask & 31);
    }
    if (pattern & 0x8000)
        return (l & ~3u) | (pattern >> 2 * (l & 3) & 3);
    return ((l & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
}

static void ds_swizzle_b32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t result[64], pattern = (uint16_t)i->offset;
    const uint32_t *data = memory_registers(w, &i->o[1]);
    uint32_t *to = memory_registers(w, &i->o[0]);
    uint64_t exec = sim_exec(w);
    for (unsigned l = 0; l < w->lanes; l++) {
        unsigned source = (l & 32) | (swizzled(l & 31, pattern & (pattern & 0x8000 ? 0xffff : 0x7fff)) & 31);
        result[l] = exec >> source & 1 ? data[source] : 0;
    }
    SIM_EACH_LANE(w, l)
        to[l] = result[l];
}

/* ---- Global wave sync ---- */

static void gws(struct sim_wave *w, const struct sim_inst *i, void (*service)(struct sim_wave *, unsigned, uint32_t))
{
    uint64_t exec = sim_exec(w);
    unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    service(w, ((w->s[SIM_M0] >> 16) + (uint32_t)i->offset) % 64, memory_registers(w, &i->o[0])[lane]);
}

static void ds_gws_init(struct sim_wave *w, const struct sim_inst *i)
{
    gws(w, i, sim_gws_init);
}

static void ds_gws_barrier(struct sim_wave *w, const struct sim_inst *i)
{
    gws(w, i, sim_gws_barrier);
}

static void ds_nop(struct sim_wave *w, const struct sim_inst *i)
{
}

/* ---- Table ---- */

static const struct sim_op ops[] = {
#define X(name, ...) { "ds_read_" #name, "o=o", ds_read_##name, SIM_LDS, 0 },
    READS(X)
#undef X
#define X(name, ...) { "ds_write_" #name, "=oo", ds_write_##name, SIM_LDS, 0 },
    WRITES(X)
#undef X
#define X(name, ...)                                                                                                    \
    { "ds_read2_" #name, "o=o", ds_read2_##name, SIM_LDS, 0 }, { "ds_write2_" #name, "=ooo", ds_write2_##name, SIM_LDS, 0 },
    PAIRS(X)
#undef X
#define X(name, ...)                                                                                                    \
    { "ds_read2st64_" #name, "o=o", ds_read2st64_##name, SIM_LDS, 0 },                                                  \
    { "ds_write2st64_" #name, "=ooo", ds_write2st64_##name, SIM_LDS, 0 },
    PAIRS_FAR(X)
#undef X
    { "ds_read_addtid_b32", "o=", ds_read_addtid_b32, SIM_LDS, 0 },
    { "ds_write_addtid_b32", "=o", ds_write_addtid_b32, SIM_LDS, 0 },
#define SOURCES_DATA "oo"
#define SOURCES_DATA_COMPARE "ooo"
#define SOURCES_COMPARE_DATA "ooo"
#define X(name, type, function, bytes, order, cards)                                                                    \
    { "ds_" #name "_rtn_" #type, "o=" SOURCES_##order, ds_##name##_rtn_##type, SIM_LDS, cards },
    ATOMICS(X)
    ATOMICS_RTN(X)
#undef X
#define X(name, type, function, bytes, order, cards)                                                                    \
    { "ds_" #name "_" #type, "=" SOURCES_##order, ds_##name##_##type, SIM_LDS, cards },
    ATOMICS(X)
#undef X
#define X(name, ...) { "ds_" #name, "o=ooo", ds_##name, SIM_LDS, 0 },
    EXCHANGES(X)
#undef X
    { "ds_append", "o=", ds_append, SIM_LDS, 0 },
    { "ds_consume", "o=", ds_consume, SIM_LDS, 0 },
    { "ds_bpermute_b32", "o=oo", ds_bpermute_b32, SIM_LANES, 0 },
    { "ds_permute_b32", "o=oo", ds_permute_b32, SIM_LANES, 0 },
    { "ds_swizzle_b32", "o=o", ds_swizzle_b32, SIM_LANES, 0 },
    { "ds_gws_init", "=o", ds_gws_init, SIM_BARRIER, 0 },
    { "ds_gws_barrier", "=o", ds_gws_barrier, SIM_BARRIER, 0 },
    { "ds_nop", "", ds_nop, SIM_WAIT, 0 },
};

const struct sim_table sim_lds = { ops, sizeof ops / sizeof *ops };
