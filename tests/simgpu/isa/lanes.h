/* How rows of vector instructions read their sources, loop over lanes and write their results: DPP, SDWA, op_sel, neg and abs of
 * sources, the exec mask and the DPP masks of results.  It knows nothing of what an instruction computes; omod and float clamp
 * are float.h's.
 *
 * The pattern of a row (LANES vectorises; in full waves `out` is the register itself, so a source is read and the result written
 * once):
 *
 *     uint32_t buf[3][64];
 *     const uint32_t *a = lanes_read32(w, i, 1, buf[0]), *b = lanes_read32(w, i, 2, buf[1]);
 *     uint32_t *out = lanes_out32(w, i, buf[2]);
 *     LANES(w, l, out[l] = a[l] + b[l];)
 *     lanes_done32(w, i, out, buf[2]);
 *
 * Between lanes_out32 and lanes_done32 no other lane than `l` may be read: `out` may be a source.  Buffers hold 64 lanes; of a
 * wave32 the first 32 are meaningful.  Source numbers `k` count operands, results included. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LANES_H
#define LANES_H

#include <immintrin.h>

#include "../inst.h"

/* Runs the statements for each lane number `l`, active or not; they must touch nothing of other lanes. */
#define LANES(w, l, ...)                                                                                                \
    do {                                                                                                                \
        for (size_t first_ = 0, lanes_ = (w)->lanes; first_ < lanes_; first_ += 32) {                                   \
            _Pragma("GCC ivdep") for (size_t k_ = 0; k_ < 32; k_++) {                                                   \
                const size_t l = first_ + k_;                                                                           \
                __VA_ARGS__                                                                                             \
            }                                                                                                           \
        }                                                                                                               \
    } while (0)

/* The top bits of 32 words, the first one's lowest. */
static inline uint32_t lanes_signs(const uint32_t *x)
{
    uint32_t bits = 0;
    for (unsigned k = 0; k < 4; k++)
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(x + 8 * k)))) << 8 * k;
    return bits;
}

/* Likewise, then sets bit `l` of the uint64_t `mask` to `cond` (0 or 1), of inactive lanes too. */
#define LANES_MASK(w, l, mask, cond, ...)                                                                               \
    do {                                                                                                                \
        (mask) = 0;                                                                                                     \
        for (size_t first_ = 0, lanes_ = (w)->lanes; first_ < lanes_; first_ += 32) {                                   \
            uint32_t signs_[32];                                                                                        \
            _Pragma("GCC ivdep") for (size_t k_ = 0; k_ < 32; k_++) {                                                   \
                const size_t l = first_ + k_;                                                                           \
                __VA_ARGS__                                                                                             \
                signs_[k_] = (uint32_t)(cond) << 31;                                                                    \
            }                                                                                                           \
            (mask) |= (uint64_t)lanes_signs(signs_) << first_;                                                          \
        }                                                                                                               \
    } while (0)

/* ---- Slow paths, lanes.c ---- */

/* The scalar register `o`, in each lane of `buf`, which it returns. */
const uint32_t *lanes_spread32(const struct sim_wave *w, const struct sim_operand *o, uint32_t *buf);
/* Copies source `k` to `buf` with everything that the instruction says of it applied (not op_sel); returns buf. */
const uint32_t *lanes_fetch32(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf);
const uint64_t *lanes_fetch64(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint64_t *buf);
/* A packed source: halves chosen by op_sel and op_sel_hi, signs of P flipped by neg_lo and neg_hi. */
const uint32_t *lanes_fetch_pk(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf);
/* Writes 32-bit results to result 0 under lanes_mask, by SDWA's dst_sel and dst_unused. */
void lanes_store32(struct sim_wave *w, const struct sim_inst *i, const uint32_t *x);
/* exec less the lanes that DPP keeps from being written. */
uint64_t lanes_dpp_mask(struct sim_wave *w, const struct sim_inst *i);

/* ---- Reading ---- */

/* All lanes active? */
static inline bool lanes_full(const struct sim_wave *w)
{
    return (w->s[SIM_EXEC] & (w->lanes == 64 ? w->s[SIM_EXEC + 1] : ~0u)) == ~0u;
}

/* The lanes to write: exec, less those that DPP disables (row and bank masks, invalid sources without bound_ctrl). */
static inline uint64_t lanes_mask(struct sim_wave *w, const struct sim_inst *i)
{
    return i->dpp ? lanes_dpp_mask(w, i) : sim_exec(w);
}

/* The 32-bit lanes of source `k`: the register, the constant's splat, or `buf` filled. */
static inline const uint32_t *lanes_read32(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    const struct sim_operand *o = &i->o[k];
    if (!o->plain)
        return lanes_fetch32(w, i, k, buf);
    return o->kind == SIM_VGPR ? sim_vgpr(w, o->reg) : o->kind == SIM_IMM ? o->splat : lanes_spread32(w, o, buf);
}

/* A 16-bit source, in the low half of each lane by op_sel; the high half is unspecified. */
static inline const uint32_t *lanes_read16(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    const uint32_t *x = lanes_read32(w, i, k, buf);
    if (!i->op_sel[k - i->n_results])
        return x;
    LANES(w, l, buf[l] = x[l] >> 16;);
    return buf;
}

/* ret[l] = (low[l] | high[l] << 32) + base.  (Compilers make more of a loop.) */
static inline void lanes_join(uint64_t *ret, const uint32_t *low, const uint32_t *high, size_t lanes, uint64_t base)
{
    const __m256i add = _mm256_set1_epi64x((long long)base);
    for (size_t l = 0; l < lanes; l += 8) {
        /* Quarters to where unpacking wants them. */
        __m256i x = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)(low + l)), 0xd8);
        __m256i y = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)(high + l)), 0xd8);
        _mm256_storeu_si256((__m256i *)(ret + l), _mm256_add_epi64(_mm256_unpacklo_epi32(x, y), add));
        _mm256_storeu_si256((__m256i *)(ret + l + 4), _mm256_add_epi64(_mm256_unpackhi_epi32(x, y), add));
    }
}

/* low[l] and high[l] are x[l]'s halves. */
static inline void lanes_split(uint32_t *ret_low, uint32_t *ret_high, const uint64_t *x, size_t lanes)
{
    for (size_t l = 0; l < lanes; l += 8) {
        __m256 a = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(x + l)));
        __m256 b = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(x + l + 4)));
        __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                high = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
        _mm256_storeu_si256((__m256i *)(ret_low + l), _mm256_permute4x64_epi64(low, 0xd8));
        _mm256_storeu_si256((__m256i *)(ret_high + l), _mm256_permute4x64_epi64(high, 0xd8));
    }
}

/* A 64-bit source, as 64 whole values in `buf`. */
static inline const uint64_t *lanes_read64(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint64_t *buf)
{
    const struct sim_operand *o = &i->o[k];
    if (!o->plain || o->kind != SIM_VGPR)
        return lanes_fetch64(w, i, k, buf);
    const uint32_t *x = sim_vgpr(w, o->reg);
    lanes_join(buf, x, x + w->lanes, w->lanes, 0);
    return buf;
}

/* A packed source: two 16-bit values a lane. */
static inline const uint32_t *lanes_read_pk(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    unsigned s = k - i->n_results;
    if (i->op_sel[s] | !i->op_sel_hi[s] | i->neg_lo[s] | i->neg_hi[s])
        return lanes_fetch_pk(w, i, k, buf);
    return lanes_read32(w, i, k, buf);
}

/* A source of two 32-bit values (F, v_pk_*_f32): the one for the low result by op_sel, for the high one by op_sel_hi; signs by
 * neg_lo and neg_hi. */
void lanes_read_pair(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *ret_lo, uint32_t *ret_hi);

/* The packed view of lanes: twice as many 16-bit values. */
typedef uint16_t __attribute__((may_alias)) lanes_half;

/* ---- Writing ---- */

/* dst[l] = x[l] where the mask says so. */
static inline void lanes_blend32(const struct sim_wave *w, uint32_t *dst, const uint32_t *x, uint64_t mask)
{
    LANES(w, l, dst[l] = (uint32_t)(mask >> first_) >> k_ & 1 ? x[l] : dst[l];);
}

/* Where to compute 32-bit results of all lanes: the register itself when nothing is to be kept, else `buf`; not SDWA's or
 * DPP's. */
static inline uint32_t *lanes_out32(struct sim_wave *w, const struct sim_inst *i, uint32_t *buf)
{
    return lanes_full(w) && !(i->dpp | i->dst_sel) ? sim_vgpr(w, i->o[0].reg) : buf;
}

/* Ends what lanes_out32 began. */
static inline void lanes_done32(struct sim_wave *w, const struct sim_inst *i, const uint32_t *out, const uint32_t *buf)
{
    if (out != buf)
        return;
    if (i->dpp | i->dst_sel)
        lanes_store32(w, i, buf);
    else
        lanes_blend32(w, sim_vgpr(w, i->o[0].reg), buf, sim_exec(w));
}

/* Writes 16-bit results (low halves of `x`, the rest ignored) to the half of result 0 that op_sel[3] says.  The other half stays,
 * except that `zero` on GFX9 clears the high one: what most of its instructions do; those with op_sel of their own keep it. */
static inline void lanes_done16(struct sim_wave *w, const struct sim_inst *i, const uint32_t *x, bool zero)
{
    if (i->dst_sel) {
        lanes_store32(w, i, x);
        return;
    }
    uint32_t *dst = sim_vgpr(w, i->o[0].reg);
    uint64_t mask = lanes_mask(w, i);
    uint32_t keep = zero && w->card->major == 9 ? 0 : 0xffff0000;
    if (i->op_sel[3])
        LANES(w, l, dst[l] = (uint32_t)(mask >> first_) >> k_ & 1 ? (dst[l] & 0xffff) | x[l] << 16 : dst[l];);
    else
        LANES(w, l, dst[l] = (uint32_t)(mask >> first_) >> k_ & 1 ? (dst[l] & keep) | (x[l] & 0xffff) : dst[l];);
}

/* Writes 64-bit results to result 0. */
static inline void lanes_write64(struct sim_wave *w, const struct sim_inst *i, const uint64_t *x)
{
    uint32_t *lo = sim_vgpr(w, i->o[0].reg), *hi = lo + w->lanes;
    if (lanes_full(w) && !i->dpp) {
        lanes_split(lo, hi, x, w->lanes);
        return;
    }
    uint32_t low[64], high[64];
    uint64_t mask = lanes_mask(w, i);
    lanes_split(low, high, x, w->lanes);
    lanes_blend32(w, lo, low, mask);
    lanes_blend32(w, hi, high, mask);
}

/* Writes a lane mask (compares, carries) to result `k`; the bits of lanes that are inactive or that DPP disables are 0. */
static inline void lanes_write_mask(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint64_t mask)
{
    sim_write_mask(w, &i->o[k], mask & lanes_mask(w, i));
}

#endif
