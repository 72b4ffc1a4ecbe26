/* Vector memory: checked host addresses for the lanes' addresses, and moves between memory and registers.  It knows no
 * instruction. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "memory.h"

_Thread_local struct sim_view memory_views[MEMORY_VIEWS];

static const char zeros[64];

/* ---- Counting ---- */

/* Distinct numbers among `n`; for few. */
static unsigned count_slowly(const uint64_t *x, unsigned n)
{
    unsigned count = 0;
    for (unsigned k = 0; k < n; k++) {
        unsigned other = 0;
        while (other < k && x[other] != x[k])
            other++;
        count += other == k;
    }
    return count;
}

enum { LINE_BITS = 25 }; /* of a line's number: lines of one access mostly lie that near */

/* How many of 32 or 64 lines are distinct; no more of their bits differ.  Each goes to a slot by its hash; those that find
 * another one there than their own are few, and none of them is one that was found. */
static unsigned count_distinct(const uint32_t *line, unsigned n)
{
    uint32_t key[64], hash[64], slot[256];
    uint64_t rest[64];
    unsigned count = 0, n_rest = 0;
    for (uint32_t first = 0; first < n; first += 32)
        for (uint32_t k = first; k < first + 32; k++) {
            key[k] = line[k] << 7 | k;
            hash[k] = line[k] * 0x9e3779b1u >> 24;
        }
    for (unsigned k = 0; k < n; k++)
        slot[hash[k]] = key[k];
    for (unsigned k = 0; k < n; k += 8) {
        __m256i own = _mm256_loadu_si256((const __m256i *)(key + k));
        __m256i found = _mm256_i32gather_epi32((const int *)slot, _mm256_loadu_si256((const __m256i *)(hash + k)), 4);
        __m256i same = _mm256_cmpeq_epi32(_mm256_srli_epi32(_mm256_xor_si256(own, found), 7), _mm256_setzero_si256());
        __m256i self = _mm256_cmpeq_epi32(own, found);
        count += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(self)));
        for (unsigned left = ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 255; left; left &= left - 1)
            rest[n_rest++] = line[k + (unsigned)__builtin_ctz(left)];
    }
    return count + count_slowly(rest, n_rest);
}

/* Lines of accesses that lie across two, or far from each other. */
static unsigned count_unusual(const struct sim_wave *w, const struct access *a)
{
    uint64_t line[128];
    unsigned n = 0;
    for (size_t l = 0; l < w->lanes; l++) {
        line[n++] = a->address[l] >> 6;
        line[n] = (a->address[l] + a->size - 1) >> 6;
        n += line[n] != line[n - 1];
    }
    return count_slowly(line, n);
}

/* Distinct 64-byte lines that the lanes touch, dead ones (which have been given the address of a live one) changing nothing.
 * Lanes mostly come in ascending order. */
static unsigned count_lines(const struct sim_wave *w, const struct access *a)
{
    uint32_t line[65], crosses = 0, descends = 0, steps = 0, last = a->size - 1;
    uint64_t far = 0;
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++) {
            uint32_t low = (uint32_t)a->address[l];
            line[l] = (uint32_t)(a->address[l] >> 6) & ((1u << LINE_BITS) - 1);
            crosses |= (low & 63) + last;
            far |= a->address[l] ^ a->address[0];
        }
    if (far >> (LINE_BITS + 6) || crosses >> 6)
        return count_unusual(w, a);
    line[w->lanes] = line[w->lanes - 1];
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++) {
            descends |= line[l + 1] - line[l];
            steps += line[l + 1] != line[l];
        }
    return descends >> 31 ? count_distinct(line, w->lanes) : steps + 1;
}

static void count_bytes(struct sim_wave *w, const struct access *a)
{
    uint64_t bytes = (uint64_t)__builtin_popcountll(a->live) * a->size;
    if (a->kind != SIM_STORE)
        w->stats.loaded += bytes;
    if (a->kind != SIM_LOAD)
        w->stats.stored += bytes;
}

/* ---- Addresses ---- */

/* Do all lanes follow each other without gaps? */
static bool is_packed(const struct sim_wave *w, const struct access *a)
{
    if (a->live != memory_all(w) || a->address[1] != a->address[0] + a->size)
        return false;
    const __m256i size = _mm256_set1_epi64x(a->size), steps = _mm256_mul_epu32(size, _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i expected = _mm256_add_epi64(_mm256_set1_epi64x((long long)a->address[0]), steps);
    __m256i differ = _mm256_setzero_si256();
    for (size_t l = 0; l < w->lanes; l += 4) {
        differ = _mm256_or_si256(differ, _mm256_xor_si256(expected, _mm256_loadu_si256((const __m256i *)(a->address + l))));
        expected = _mm256_add_epi64(expected, _mm256_slli_epi64(size, 2));
    }
    return _mm256_testz_si256(differ, differ);
}

/* Lanes not live get the address of one that is, so that loops need not look. */
static void fill_dead(const struct sim_wave *w, struct access *a)
{
    if (a->live == memory_all(w))
        return;
    uint64_t some = a->address[__builtin_ctzll(a->live)], live = a->live;
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = 0; l < 32; l++)
            a->address[first + l] = live >> (first + l) & 1 ? a->address[first + l] : some;
}

/* Lanes that take part but have no memory read zeros. */
static void point_dead(struct access *a)
{
    for (uint64_t left = a->exec & ~a->live; left; left &= left - 1)
        a->at[__builtin_ctzll(left)] = (char *)zeros;
}

/* All lanes in the range that the first one is in? */
static bool resolve_range(const struct sim_wave *w, const struct sim_inst *i, struct access *a)
{
    if (!memory_at(w, i, a->address[0], a->size))
        return false;
    const struct sim_view *view = memory_view(w, i); /* holds that range now */
    const __m256i lo = _mm256_set1_epi64x((long long)view->lo),
                  most = _mm256_set1_epi64x((long long)(view->hi - view->lo - a->size));
    const __m256i host = _mm256_set1_epi64x((long long)(uintptr_t)view->host), one = _mm256_set1_epi64x((long long)a->address[0]);
    __m256i outside = _mm256_setzero_si256(), differ = outside;
    for (size_t l = 0; l < w->lanes; l += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(a->address + l)), offset = _mm256_sub_epi64(x, lo);
        /* the top bit: one is negative */
        outside = _mm256_or_si256(outside, _mm256_or_si256(offset, _mm256_sub_epi64(most, offset)));
        differ = _mm256_or_si256(differ, _mm256_xor_si256(x, one));
        _mm256_storeu_si256((__m256i *)(a->at + l), _mm256_add_epi64(host, offset));
    }
    a->same = a->live == memory_all(w) && _mm256_testz_si256(differ, differ);
    return !_mm256_movemask_pd(_mm256_castsi256_pd(outside));
}

static char *flat_at(const struct sim_wave *w, const struct sim_inst *i, unsigned lane, uint64_t address, unsigned size)
{
    const uint64_t room = (uint64_t)1 << 48;
    if (address >= SIM_LDS_APERTURE && address - SIM_LDS_APERTURE < room) {
        uint64_t offset = address - SIM_LDS_APERTURE;
        return offset <= w->group->lds_size && size <= w->group->lds_size - offset ? (char *)w->group->lds + offset : NULL;
    }
    if (address >= SIM_SCRATCH_APERTURE && address - SIM_SCRATCH_APERTURE < room)
        return memory_private(w, lane, address - SIM_SCRATCH_APERTURE, size);
    return memory_at(w, i, address, size);
}

/* Lane by lane: several ranges, apertures, or a fault to be found. */
static bool resolve_each(struct sim_wave *w, const struct sim_inst *i, struct access *a, bool flat)
{
    for (uint64_t left = a->live; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        char *at = flat ? flat_at(w, i, lane, a->address[lane], a->size) : memory_at(w, i, a->address[lane], a->size);
        if (!at) {
            sim_fault(w, i, a->kind, a->address[lane], a->size, (int)lane);
            return false;
        }
        a->at[lane] = at;
    }
    char *some = a->at[__builtin_ctzll(a->live)];
    for (uint64_t left = memory_all(w) & ~a->live; left; left &= left - 1)
        a->at[__builtin_ctzll(left)] = some;
    return true;
}

static void point_packed(const struct sim_wave *w, struct access *a, char *host)
{
    const __m256i size = _mm256_set1_epi64x(a->size), steps = _mm256_mul_epu32(size, _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i at = _mm256_add_epi64(_mm256_set1_epi64x((long long)(uintptr_t)host), steps);
    for (size_t l = 0; l < w->lanes; l += 4, at = _mm256_add_epi64(at, _mm256_slli_epi64(size, 2)))
        _mm256_storeu_si256((__m256i *)(a->at + l), at);
}

static bool resolve(struct sim_wave *w, const struct sim_inst *i, struct access *a, bool flat)
{
    a->packed = a->same = false;
    if (!a->live) {
        /* Nothing is reached; registers of the lanes that take part become zero. */
        for (size_t l = 0; l < 64; l++)
            a->at[l] = (char *)zeros;
        return a->exec != 0;
    }
    if (is_packed(w, a)) {
        size_t bytes = (size_t)a->size * w->lanes;
        char *host = memory_at(w, i, a->address[0], bytes);
        if (host) {
            a->packed = true;
            point_packed(w, a, host);
            count_bytes(w, a);
            w->stats.lines += w->counts ? ((a->address[0] + bytes - 1) >> 6) - (a->address[0] >> 6) + 1 : 0;
            return true;
        }
    }
    fill_dead(w, a);
    bool aperture = flat && a->address[0] >> 48; /* no memory's address */
    if ((aperture || !resolve_range(w, i, a)) && !resolve_each(w, i, a, flat))
        return false;
    point_dead(a);
    count_bytes(w, a);
    if (w->counts)
        w->stats.lines += count_lines(w, a);
    return true;
}

bool memory_resolve(struct sim_wave *w, const struct sim_inst *i, struct access *a, bool flat)
{
    bool there = resolve(w, i, a, flat);
    if (__builtin_expect(w->watch != NULL, 0) && there && a->live)
        sim_race_memory(w, i, a->kind, a->size, a->live, a->address, a->at);
    return there;
}

static void fault_private(struct sim_wave *w, const struct sim_inst *i, const struct access *a)
{
    for (uint64_t left = a->live; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        if (!memory_private(w, lane, a->address[lane], a->size)) {
            sim_fault(w, i, a->kind, SIM_SCRATCH_APERTURE + a->address[lane], a->size, (int)lane);
            return;
        }
    }
}

bool memory_resolve_private(struct sim_wave *w, const struct sim_inst *i, struct access *a)
{
    uint64_t highest = 0, each = w->scratch_bytes;
    a->packed = a->same = false;
    if (!a->live)
        return false;
    fill_dead(w, a);
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            highest = a->address[l] > highest ? a->address[l] : highest;
    if (a->size > each || highest > each - a->size) {
        fault_private(w, i, a);
        return false;
    }
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            a->at[l] = (char *)w->scratch + l * each + a->address[l];
    /* On hardware private memory is interleaved by lanes, so that the lanes' accesses are mostly to consecutive words. */
    count_bytes(w, a);
    w->stats.lines += w->counts ? ((unsigned)__builtin_popcountll(a->live) * a->size + 63) / 64 : 0;
    return true;
}

/* ---- Loads and stores ---- */

/* A whole register of results, of which only the lanes of `mask` count. */
static void write_register(const struct sim_wave *w, uint64_t mask, uint32_t *restrict to, const uint32_t *restrict from)
{
    if (mask == memory_all(w)) {
        memcpy(to, from, w->lanes * sizeof *to);
        return;
    }
    for (size_t first = 0; first < w->lanes; first += 32) {
        uint32_t part = (uint32_t)(mask >> first);
        for (size_t l = 0; l < 32; l++)
            to[first + l] = part >> l & 1 ? from[first + l] : to[first + l];
    }
}

/* Memory is shared with other threads: aligned words are read and written whole, which these do. */
#define X(name, bytes, type, expr)                                                                                      \
    void memory_load_##name(struct sim_wave *w, const struct access *a, uint32_t *registers)                            \
    {                                                                                                                   \
        uint32_t result[64];                                                                                            \
        const size_t lanes = w->lanes;                                                                                  \
        for (size_t l = 0; l < lanes; l++) {                                                                            \
            type x;                                                                                                     \
            uint32_t old = registers[l];                                                                                \
            (void)old;                                                                                                  \
            memcpy(&x, a->at[l], sizeof x);                                                                             \
            result[l] = expr;                                                                                           \
        }                                                                                                               \
        write_register(w, a->exec, registers, result);                                                                  \
    }
MEMORY_SMALL_LOADS(X)
#undef X

#define X(name, bytes, type, expr)                                                                                      \
    void memory_store_##name(struct sim_wave *w, const struct access *a, const uint32_t *registers)                     \
    {                                                                                                                   \
        for (uint64_t left = a->live; left; left &= left - 1) {                                                         \
            unsigned l = (unsigned)__builtin_ctzll(left);                                                               \
            uint32_t x = registers[l];                                                                                  \
            type y = (type)(expr);                                                                                      \
            memcpy(a->at[l], &y, sizeof y);                                                                             \
        }                                                                                                               \
    }
MEMORY_SMALL_STORES(X)
#undef X

static inline __attribute__((always_inline)) void load_packed(const char *restrict from, uint32_t *restrict to, size_t lanes,
                                                              size_t n)
{
    for (size_t first = 0; first < lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            for (size_t k = 0; k < n; k++)
                memcpy(to + k * lanes + l, from + (l * n + k) * 4, 4);
}

static inline __attribute__((always_inline)) void store_packed(char *restrict to, const uint32_t *restrict from, size_t lanes,
                                                               size_t n)
{
    for (size_t first = 0; first < lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            for (size_t k = 0; k < n; k++)
                memcpy(to + (l * n + k) * 4, from + k * lanes + l, 4);
}

/* Lane by lane: word k of lane l to to[k * lanes + l]. */
static inline __attribute__((always_inline)) void load_each(const struct access *a, uint32_t *restrict to, size_t lanes, size_t n)
{
    for (size_t first = 0; first < lanes; first += 32) {
#pragma GCC unroll 8
        for (size_t l = first; l < first + 32; l++) {
            uint64_t lo = 0, hi = 0;
            memcpy(&lo, a->at[l], n == 1 ? 4 : 8);
            if (n > 2)
                memcpy(&hi, a->at[l] + 8, n == 4 ? 8 : 4);
            to[l] = (uint32_t)lo;
            if (n > 1)
                to[lanes + l] = (uint32_t)(lo >> 32);
            if (n > 2)
                to[2 * lanes + l] = (uint32_t)hi;
            if (n > 3)
                to[3 * lanes + l] = (uint32_t)(hi >> 32);
        }
    }
}

/* The register and `a->at` do not overlap: registers are no card memory. */
static inline __attribute__((always_inline)) void load_dwords(struct sim_wave *w, const struct access *a, uint32_t *registers,
                                                              size_t n)
{
    if (a->packed && n == 1) {
        memcpy(registers, a->at[0], w->lanes * sizeof *registers);
        return;
    }
    if (a->packed) {
        load_packed(a->at[0], registers, w->lanes, n);
        return;
    }
    const size_t lanes = w->lanes;
    if (a->same) {
        uint32_t x[4];
        memcpy(x, a->at[0], 4 * n);
        for (size_t k = 0; k < n; k++)
            for (size_t l = 0; l < lanes; l++)
                registers[k * lanes + l] = x[k];
        return;
    }
    uint32_t result[4 * 64];
    bool all = a->exec == memory_all(w);
    load_each(a, all ? registers : result, lanes, n);
    for (size_t k = 0; !all && k < n; k++)
        write_register(w, a->exec, registers + k * lanes, result + k * lanes);
}

static inline __attribute__((always_inline)) void store_dwords(struct sim_wave *w, const struct access *a,
                                                               const uint32_t *registers, size_t n)
{
    size_t lanes = w->lanes;
    if (a->packed && n == 1) {
        memcpy(a->at[0], registers, lanes * sizeof *registers);
        return;
    }
    if (a->packed) {
        store_packed(a->at[0], registers, lanes, n);
        return;
    }
    for (uint64_t left = a->live; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctzll(left);
        uint64_t lo = registers[l], hi = 0;
        if (n > 1)
            lo |= (uint64_t)registers[lanes + l] << 32;
        if (n > 2)
            hi = registers[2 * lanes + l];
        if (n > 3)
            hi |= (uint64_t)registers[3 * lanes + l] << 32;
        memcpy(a->at[l], &lo, n == 1 ? 4 : 8);
        if (n > 2)
            memcpy(a->at[l] + 8, &hi, n == 4 ? 8 : 4);
    }
}

#define X(name, dwords)                                                                                                 \
    void memory_load_##name(struct sim_wave *w, const struct access *a, uint32_t *registers)                            \
    {                                                                                                                   \
        load_dwords(w, a, registers, dwords);                                                                           \
    }                                                                                                                   \
    void memory_store_##name(struct sim_wave *w, const struct access *a, const uint32_t *registers)                     \
    {                                                                                                                   \
        store_dwords(w, a, registers, dwords);                                                                          \
    }
MEMORY_WIDE_LOADS(X)
#undef X

/* ---- Atomics ---- */

#define X(name, expr)                                                                                                   \
    ATOMIC_SHARED(memory_##name##_32, uint32_t, int32_t, expr)                                                          \
    ATOMIC_SHARED(memory_##name##_64, uint64_t, int64_t, expr)
ATOMIC_INTEGER(X)
#undef X
#define X(name, expr) ATOMIC_SHARED(memory_##name##_32, uint32_t, int32_t, expr)
ATOMIC_F32(X)
#undef X
#define X(name, expr) ATOMIC_SHARED(memory_##name##_64, uint64_t, int64_t, expr)
ATOMIC_F64(X)
#undef X
ATOMIC_SHARED(memory_add_f32, uint32_t, int32_t, atomic_add_f32_memory(w, o, d))
ATOMIC_SHARED(memory_pk_add_f16, uint32_t, int32_t, atomic_add_pk_f16(o, d))
ATOMIC_SHARED(memory_pk_add_bf16, uint32_t, int32_t, atomic_add_pk_bf16(o, d))
ATOMIC_SHARED(memory_add_f64, uint64_t, int64_t, atomic_sum_f64(o, d))

bool memory_aligned(struct sim_wave *w, const struct sim_inst *i, const struct access *a)
{
    uintptr_t low = 0;
    for (uint64_t left = a->live; left; left &= left - 1)
        low |= (uintptr_t)a->at[__builtin_ctzll(left)];
    if (low & (a->size - 1))
        sim_illegal(w, i, "an atomic on an address that is no multiple of its size");
    return !(low & (a->size - 1));
}

void memory_atomics(struct sim_wave *w, const struct sim_inst *i, const struct access *a, memory_atomic *op, const uint32_t *data,
                    const uint32_t *compare, uint32_t *result)
{
    size_t lanes = w->lanes;
    unsigned bytes = a->size;
    if (!memory_aligned(w, i, a))
        return;
    for (uint64_t left = a->exec; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctzll(left);
        uint64_t old = 0;
        if (a->live >> l & 1)
            old = op(w, a->at[l], memory_value(data, lanes, l, bytes), compare ? memory_value(compare, lanes, l, bytes) : 0);
        if (!result)
            continue;
        result[l] = (uint32_t)old;
        if (bytes == 8)
            result[lanes + l] = (uint32_t)(old >> 32);
    }
}
