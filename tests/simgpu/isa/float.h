/* Float rows: how a row's value function meets MODE.  float_run reads the sources (lanes.h), runs a body over all lanes under the
 * wave's rounding and denormal modes, settles NaNs, applies omod and clamp, and writes the result.  What is computed is the rows'
 * own matter.
 *
 * What AMD's manuals leave open is settled so, here and in test/ref_float.py:
 *   - A NaN result of arithmetic is its first NaN source, made quiet; with no NaN source it is negative and quiet (ffc00000).
 *   - A result is flushed when it is below the smallest normal number after rounding with unbounded exponent.
 *   - omod works on the rounded result, only with result denormals flushed and ieee off, and leaves no negative zero.
 *   - clamp gives +0 for all that is not above 0, and for NaN when dx10_clamp is set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOAT_H
#define FLOAT_H

#include <immintrin.h>

#include "lanes.h"

/* Bits as numbers, so that buffers of lanes can be read either way. */
typedef float __attribute__((may_alias)) float_f32;
typedef double __attribute__((may_alias)) float_f64;
typedef uint32_t __attribute__((may_alias)) float_u32;
typedef uint64_t __attribute__((may_alias)) float_u64;

static inline float f32_of(uint32_t bits)
{
    return ((union { uint32_t u; float f; }){ .u = bits }).f;
}

static inline uint32_t u32_of(float x)
{
    return ((union { float f; uint32_t u; }){ .f = x }).u;
}

static inline double f64_of(uint64_t bits)
{
    return ((union { uint64_t u; double f; }){ .u = bits }).f;
}

static inline uint64_t u64_of(double x)
{
    return ((union { double f; uint64_t u; }){ .f = x }).u;
}

/* ---- Formats and MODE ---- */

#define FLOAT_NAN32 0xffc00000u /* what an invalid operation gives */
#define FLOAT_NAN64 0xfff8000000000000ull
#define FLOAT_NAN16 0xfe00u

static inline bool float_is_nan32(uint32_t x)
{
    return (x & 0x7fffffff) > 0x7f800000;
}

static inline bool float_is_nan64(uint64_t x)
{
    return (x & INT64_MAX) > 0x7ff0000000000000ull;
}

static inline bool float_is_nan16(uint32_t x)
{
    return (x & 0x7fff) > 0x7c00;
}

static inline uint32_t float_flush32(uint32_t x)
{
    return x & 0x7f800000 ? x : x & 0x80000000;
}

static inline uint64_t float_flush64(uint64_t x)
{
    return x & 0x7ff0000000000000ull ? x : x & 0x8000000000000000ull;
}

static inline uint32_t float_flush16(uint32_t x)
{
    return x & 0x7c00 ? x : x & 0x8000;
}

static inline bool float_ieee(const struct sim_wave *w)
{
    return w->mode >> 9 & 1;
}

/* `type` is a signature's letter: f, or one of d, h, P for the other field. */
static inline unsigned float_round(const struct sim_wave *w, char type)
{
    return w->mode >> (type == 'f' || type == 'F' ? 0 : 2) & 3;
}

static inline bool float_keeps_inputs(const struct sim_wave *w, char type)
{
    return w->mode >> (type == 'f' || type == 'F' ? 4 : 6) & 1;
}

static inline bool float_keeps_results(const struct sim_wave *w, char type)
{
    return w->mode >> (type == 'f' || type == 'F' ? 5 : 7) & 1;
}

/* ---- The processor's own modes ---- */

#define FLOAT_CSR 0x1f80u /* nearest even, denormals kept, no traps: what all code outside of bodies runs under */

/* MXCSR for AMD's rounding mode and flushes. */
static inline unsigned float_csr(unsigned round, bool keep_inputs, bool keep_results)
{
    static const uint16_t modes[4] = { 0, 2, 1, 3 };
    return FLOAT_CSR | (unsigned)modes[round & 3] << 13 | (keep_inputs ? 0 : 0x40) | (keep_results ? 0 : 0x8000);
}

/* The barriers keep the compiler from moving arithmetic on memory across. */
static inline void float_csr_set(unsigned csr)
{
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(csr);
    __asm__ volatile("" ::: "memory");
}

static inline void float_csr_enter(unsigned csr)
{
    if (csr != FLOAT_CSR)
        float_csr_set(csr);
}

static inline void float_csr_leave(unsigned csr)
{
    if (csr != FLOAT_CSR)
        float_csr_set(FLOAT_CSR);
}

/* ---- f16 ---- */

/* Low halves of `x` as floats; `n` is a multiple of 8.  Signalling NaNs become quiet. */
void float_widen(float *ret_f, const uint32_t *x, size_t n, bool keep_denormals);
/* Rounds by MXCSR's mode, results in low halves. */
void float_narrow(uint32_t *ret_h, const float *x, size_t n, bool keep_denormals);

/* ---- Rounding exact values, where the processor has no instruction for it ---- */

struct float_exact {
    unsigned __int128 m; /* value: m * 2^exp, and a bit more when `more` */
    int exp;
    bool negative, more;
    uint8_t special;     /* 0; 1: `bits` is the result as f64 (zero, infinity, NaN) */
    double bits;
};

/* a * b + c, exactly.  `round` matters for the sign of a zero only. */
struct float_exact float_exact_fma(double a, double b, double c, unsigned round);
/* The value times 2^scale in f32 or f64, rounded once. */
float float_exact_f32(const struct float_exact *x, int scale, unsigned round, bool keep_denormals);
double float_exact_f64(const struct float_exact *x, int scale, unsigned round, bool keep_denormals);

/* ---- Rows ---- */

enum {
    FLOAT_NATIVE = 1,   /* the body computes under the wave's modes, set in the processor; else its sources and result are flushed
                         * around it */
    FLOAT_NANS = 2,     /* NaN results are settled as said above */
    FLOAT_RAW = 4,      /* f16 sources and results are bits in low halves; else they are floats */
    FLOAT_FLUSH = 8,    /* flushes whatever MODE says */
    FLOAT_ACC = 16,     /* the result register is a further source, the last */
    FLOAT_NEAREST = 32, /* an f16 result is rounded to nearest even whatever MODE says */
    FLOAT_ROUND64 = 64, /* rounds by the mode of f64 and f16 though the result is f32 */
    FLOAT_KEEP = 128,   /* keeps the high half of the result register on GFX9 too */
    FLOAT_TOWARD0 = 256 /* an f16 result is rounded toward zero whatever MODE says */
};

/* Computes `lanes` results (a multiple of 32; for packed rows low halves of all lanes, then high halves).  Elements: f, b: 32
 * bits; d: 64; h, P: a float, or its bits in 32 bits with FLOAT_RAW (the high half unspecified); w: 32 bits, the high half
 * unspecified.  Sources that are not there are `a`. */
typedef void float_body(const struct sim_wave *w, size_t lanes, void *restrict r, const void *a, const void *b, const void *c);

void float_run(struct sim_wave *w, const struct sim_inst *i, float_body *body, unsigned flags);
/* The same for rows whose sources and result are all f, in less time. */
void float_run32(struct sim_wave *w, const struct sim_inst *i, float_body *body, unsigned flags);

/* Ends a row by itself: omod, clamp and the write of f32, f64, f16 (bits in low halves) results. */
void float_store32(struct sim_wave *w, const struct sim_inst *i, uint32_t *x);
void float_store64(struct sim_wave *w, const struct sim_inst *i, uint64_t *x);
void float_store16(struct sim_wave *w, const struct sim_inst *i, uint32_t *x, bool zero);
void float_modify16(const struct sim_wave *w, const struct sim_inst *i, uint32_t *x, size_t n);
/* Replaces NaNs in r by the rule above; sources as f32, `n` of them. */
void float_settle32(uint32_t *r, size_t lanes, const void *const *sources, unsigned n);

/* Bodies other files use too. */
float_body float_add, float_sub, float_subrev, float_mul, float_floor, float_ceil, float_trunc, float_rndne, float_mantissa,
    float_exponent, float_pknorm_i16, float_pknorm_u16;

/* Of revolutions; out of [-256, 256] they are 0 and 1, of infinities NaN. */
double float_sin(double x);
double float_cos(double x);

/* A body of one expression over `a`, `b` and `c` of the given element types; it must not depend on other lanes. */
#define FLOAT_BODY(name, RT, AT, BT, CT, ...)                                                                           \
    void name(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_) \
    {                                                                                                                   \
        (void)w;                                                                                                        \
        for (size_t first_ = 0; first_ < lanes; first_ += 32)                                                           \
            for (size_t l = first_; l < first_ + 32; l++) {                                                             \
                const AT a = ((const AT *)a_)[l];                                                                       \
                const BT b = ((const BT *)b_)[l];                                                                       \
                const CT c = ((const CT *)c_)[l];                                                                       \
                (void)a, (void)b, (void)c;                                                                              \
                ((RT *)r_)[l] = __VA_ARGS__;                                                                            \
            }                                                                                                           \
    }

/* Likewise over vectors of 8 floats or 4 doubles: for what the compiler does not vectorise by itself under -frounding-math. */
#define FLOAT_VECTORS(name, V, E, load, store, ...)                                                                     \
    void name(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_) \
    {                                                                                                                   \
        (void)w;                                                                                                        \
        for (size_t l = 0; l < lanes; l += sizeof(V) / sizeof(E)) {                                                     \
            const V a = load((const E *)a_ + l), b = load((const E *)b_ + l), c = load((const E *)c_ + l);              \
            (void)a, (void)b, (void)c;                                                                                  \
            store((E *)r_ + l, __VA_ARGS__);                                                                            \
        }                                                                                                               \
    }
#define FLOAT_VECTORS32(name, ...) FLOAT_VECTORS(name, __m256, float, _mm256_loadu_ps, _mm256_storeu_ps, __VA_ARGS__)
#define FLOAT_VECTORS64(name, ...) FLOAT_VECTORS(name, __m256d, double, _mm256_loadu_pd, _mm256_storeu_pd, __VA_ARGS__)

/* A row's function. */
#define FLOAT_RUN(name, body, flags)                                                                                    \
    static void run_##name(struct sim_wave *w, const struct sim_inst *i)                                                \
    {                                                                                                                   \
        float_run(w, i, body, flags);                                                                                   \
    }
#define FLOAT_RUN32(name, body, flags)                                                                                  \
    static void run_##name(struct sim_wave *w, const struct sim_inst *i)                                                \
    {                                                                                                                   \
        float_run32(w, i, body, flags);                                                                                 \
    }

/* ---- Rows of f32 in the usual case: nearest even, denormals kept, nothing but neg and abs asked for, no NaN among the results
 * ---- */

/* A source in that case: what to read, and how its signs change. */
struct float_source {
    const float *x;
    __m256 drop, flip; /* bits */
};

static inline __attribute__((always_inline)) void float_source(struct sim_wave *w, const struct sim_operand *o, uint32_t *buf,
                                                               struct float_source *ret)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), none = _mm256_setzero_ps();
    ret->x = (const float *)(o->kind == SIM_VGPR  ? sim_vgpr(w, o->reg)
                             : o->kind == SIM_IMM ? o->splat
                                                  : lanes_spread32(w, o, buf));
    ret->drop = o->abs ? sign : none;
    ret->flip = o->neg ? sign : none;
}

static inline __m256 float_take(const struct float_source *s, size_t v)
{
    return _mm256_xor_ps(_mm256_andnot_ps(s->drop, _mm256_loadu_ps(s->x + 8 * v)), s->flip);
}

/* Writes lanes / 8 vectors to the first result; false, with nothing done, when there is a NaN among them. */
static inline __attribute__((always_inline)) bool float_put(struct sim_wave *w, const struct sim_inst *i, const __m256 *r,
                                                            size_t lanes)
{
    float *to = (float *)sim_vgpr(w, i->o[0].reg);
    __m256 nan = _mm256_setzero_ps();
    for (size_t v = 0; v < lanes / 8; v++)
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(r[v], r[v], _CMP_UNORD_Q));
    if (_mm256_movemask_ps(nan))
        return false;
    if (lanes_full(w)) {
        for (size_t v = 0; v < lanes / 8; v++)
            _mm256_storeu_ps(to + 8 * v, r[v]);
        return true;
    }
    uint64_t exec = sim_exec(w);
    const __m256i up = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24); /* brings a lane's bit to the top of its word */
    for (size_t v = 0; v < lanes / 8; v++) {
        __m256 on = _mm256_castsi256_ps(_mm256_sllv_epi32(_mm256_set1_epi32((int)(exec >> 8 * v)), up));
        _mm256_storeu_ps(to + 8 * v, _mm256_blendv_ps(_mm256_loadu_ps(to + 8 * v), r[v], on));
    }
    return true;
}

/* A row of `n` sources, whose last is the result register with FLOAT_ACC, as an expression over vectors a, b and c of 8
 * floats. */
#define FLOAT_QUICK32(name, body, flags, n, ...)                                                                        \
    static inline __attribute__((always_inline)) bool quick_##name(struct sim_wave *w, const struct sim_inst *i, size_t lanes) \
    {                                                                                                                   \
        uint32_t buf[3][64];                                                                                            \
        struct float_source s[3];                                                                                       \
        __m256 r[8];                                                                                                    \
        for (unsigned k = 0; k < 3; k++)                                                                                \
            float_source(w, &i->o[k >= (n) ? 1 : (flags) & FLOAT_ACC && k == (n) - 1 ? 0 : 1 + k], buf[k], &s[k]);      \
        for (size_t v = 0; v < lanes / 8; v++) {                                                                        \
            const __m256 a = float_take(&s[0], v), b = float_take(&s[1], v), c = float_take(&s[2], v);                  \
            (void)c;                                                                                                    \
            r[v] = __VA_ARGS__;                                                                                         \
        }                                                                                                               \
        return float_put(w, i, r, lanes);                                                                               \
    }                                                                                                                   \
    static void run_##name(struct sim_wave *w, const struct sim_inst *i)                                                \
    {                                                                                                                   \
        bool usual = i->quick && (w->mode & 0x33) == 0x30;                                                              \
        if (!usual || !(w->lanes == 32 ? quick_##name(w, i, 32) : quick_##name(w, i, 64)))                              \
            float_run32(w, i, body, flags);                                                                             \
    }

#endif
