/* Distributions: see fill.h.  The formulas are those of cuRAND's functions for kernels: the same bits give the same uniform and
 * discrete numbers; normal ones agree within what logarithms and sines do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <math.h>

static const float PI_2F = 6.2831855f;
static const double PI = 3.1415926535897932;
static const double MRG_NORM = 2.3283065498378288e-10, MRG_BITS = 1.000000048662;

/* ---- Uniform: 0 is excluded, 1 included. */

static float uniform(uint32_t x)
{
    return (float)x * 0x1p-32f + 0x1p-33f;
}

/* 53 bits of two numbers. */
static double uniform_pair(uint32_t x, uint32_t y)
{
    return (double)((uint64_t)x ^ (uint64_t)y << 21) * 0x1p-53 + 0x1p-54;
}

static double uniform_one(uint32_t x)
{
    return x * 0x1p-32 + 0x1p-32;
}

static double uniform_64(uint64_t x)
{
    return (double)(x >> 11) * 0x1p-53 + 0x1p-54;
}

/* ---- Normal */

static void box_muller(float u, float angle, float ret[2])
{
    float s = sqrtf(-2.0f * logf(u));
    ret[0] = sinf(angle) * s;
    ret[1] = cosf(angle) * s;
}

static void box_muller_double(double u, double half_turns, double ret[2])
{
    double s = sqrt(-2.0 * log(u));
    ret[0] = sin(half_turns * PI) * s;
    ret[1] = cos(half_turns * PI) * s;
}

/* The normal distribution's quantile: Wichura's algorithm AS 241, PPND16; exact to about 1e-16. */
static double quantile(double p)
{
    static const double a[8] = { 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                 1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                 3.3430575583588128105e4, 2.5090809287301226727e3 };
    static const double b[8] = { 1,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3 };
    static const double c[8] = { 1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                 3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[8] = { 1,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9 };
    static const double e[8] = { 6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[8] = { 1,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15 };
    double q = p - 0.5, tail = q < 0 ? p : 1 - p, r, top = 0, bottom = 0;
    bool middle = fabs(q) <= 0.425;
    r = middle ? 0.180625 - q * q : sqrt(-log(tail));
    const double *x = middle ? a : r <= 5 ? c : e, *y = middle ? b : r <= 5 ? d : f;
    double at = middle ? r : r <= 5 ? r - 1.6 : r - 5;
    for (int i = 7; i >= 0; i--) {
        top = top * at + x[i];
        bottom = bottom * at + y[i];
    }
    return middle ? q * top / bottom : q < 0 ? -top / bottom : top / bottom;
}

/* From `bits` (32 or 53 of them) that count cells: the quantile at the cell's middle, by symmetry exact near 1, too. */
static double quantile_of(uint64_t x, int bits)
{
    uint64_t largest = (UINT64_C(1) << bits) - 1;
    bool upper = x > largest / 2 + 1;
    double v = quantile(ldexp((double)(upper ? largest - x : x) + 0.5, -bits));
    return upper ? -v : v;
}

static unsigned discrete(double u, const curandDistributionM2Shift_st *d)
{
    unsigned j = (unsigned)floor(d->length * u);
    return d->shift + (u < d->host_histogram->host_V[j] ? j : d->host_histogram->host_K[j]);
}

/* ---- A turn: `draws` numbers of 32 bits of one sub-sequence become `width` results. */

struct turn {
    unsigned draws, width;
};

static struct turn turn_of(curandRngType_t type, const struct aw_rand_wish *w)
{
    bool normal = w->kind == AW_RAND_NORMAL || w->kind == AW_RAND_LOG_NORMAL, mrg = type == CURAND_RNG_PSEUDO_MRG32K3A;
    unsigned pair = w->wide && !mrg ? 2 : 1; /* numbers to a real: MRG32k3a's are of one each */
    if (type == CURAND_RNG_PSEUDO_PHILOX4_32_10)
        return (struct turn){ w->wide ? 8 : 4, 4 };
    if (type == CURAND_RNG_PSEUDO_MTGP32)
        return (struct turn){ 1, 1 };
    return normal ? (struct turn){ 2 * pair, 2 } : (struct turn){ pair, 1 };
}

/* Result k, as double or float. */
static void real_store(const struct aw_rand_wish *w, void *out, size_t k, double d, float f)
{
    if (w->wide)
        ((double *)out)[k] = w->kind == AW_RAND_LOG_NORMAL ? exp(fma(w->stddev, d, w->mean))
                             : w->kind == AW_RAND_NORMAL   ? fma(w->stddev, d, w->mean)
                                                           : d;
    else
        ((float *)out)[k] = w->kind == AW_RAND_LOG_NORMAL ? expf(fmaf((float)w->stddev, f, (float)w->mean))
                            : w->kind == AW_RAND_NORMAL   ? fmaf((float)w->stddev, f, (float)w->mean)
                                                          : f;
}

static void normal_pair(const struct aw_rand_wish *w, bool mrg, const uint32_t *x, void *out, size_t k)
{
    float f[2] = { 0, 0 };
    double d[2] = { 0, 0 };
    if (w->wide && mrg)
        box_muller_double(x[0] * MRG_NORM, x[1] * MRG_NORM * 2, d);
    else if (w->wide)
        box_muller_double(uniform_pair(x[0], x[1]), 2 * uniform_pair(x[2], x[3]), d);
    else if (mrg)
        box_muller((float)(x[0] * MRG_NORM), (float)(x[1] * MRG_NORM) * PI_2F, f);
    else
        box_muller(uniform(x[0]), fmaf((float)x[1], 0x1p-32f * PI_2F, 0x1p-32f * PI_2F / 2), f);
    real_store(w, out, k, d[0], f[0]);
    real_store(w, out, k + 1, d[1], f[1]);
}

/* MTGP32's, one number to a result: normal ones by the quantile, doubles of 32 bits, as in kernels. */
static void convert_one(const struct aw_rand_wish *w, uint32_t x, void *out)
{
    bool normal = w->kind == AW_RAND_NORMAL || w->kind == AW_RAND_LOG_NORMAL;
    double d = normal ? quantile_of(x, 32) : uniform_one(x);
    if (w->kind == AW_RAND_BITS)
        *(uint32_t *)out = x;
    else if (w->kind == AW_RAND_DISCRETE)
        *(uint32_t *)out = discrete(d, w->discrete);
    else
        real_store(w, out, 0, d, normal ? (float)d : uniform(x));
}

/* All results of a turn. */
static void convert(curandRngType_t type, const struct aw_rand_wish *w, struct turn t, const uint32_t x[], void *out)
{
    bool mrg = type == CURAND_RNG_PSEUDO_MRG32K3A;
    unsigned pair = t.draws / t.width;
    if (type == CURAND_RNG_PSEUDO_MTGP32) {
        convert_one(w, x[0], out);
        return;
    }
    if (w->kind == AW_RAND_NORMAL || w->kind == AW_RAND_LOG_NORMAL) {
        for (unsigned k = 0; k < t.width; k += 2)
            normal_pair(w, mrg, x + k * pair, out, k);
        return;
    }
    for (unsigned k = 0; k < t.width; k++) {
        uint32_t bits = mrg ? (uint32_t)(x[k * pair] * MRG_BITS) : x[k * pair];
        if (w->kind == AW_RAND_BITS)
            ((uint32_t *)out)[k] = bits;
        else if (w->kind == AW_RAND_DISCRETE)
            ((uint32_t *)out)[k] = discrete(uniform_one(bits), w->discrete);
        else if (mrg)
            real_store(w, out, k, x[k] * MRG_NORM, (float)(x[k] * MRG_NORM));
        else
            real_store(w, out, k, w->wide ? uniform_pair(x[2 * k], x[2 * k + 1]) : 0, uniform(x[k * pair]));
    }
}

static void advance(struct aw_rand_state *state)
{
    state->next = state->next + 1 == state->n_states ? 0 : state->next + 1;
    state->lane = 0;
}

/* A turn of Philox that is left open: what was not given of its four numbers comes next.  Turns of eight begin anew. */
static size_t fill_lanes(const struct aw_rand_engine *engine, struct aw_rand_state *state, const struct aw_rand_wish *wish,
                         struct turn turn, size_t n, char *out)
{
    uint32_t x[8];
    uint32_t results[4];
    size_t given = 0, size = aw_rand_size(wish);
    bool pairs = wish->kind == AW_RAND_NORMAL || wish->kind == AW_RAND_LOG_NORMAL;
    unsigned lane = pairs ? (state->lane + 1) & ~1u : state->lane;
    if (turn.draws != 4 || lane == 4) {
        engine->draw(state, state->next, 4, x);
        advance(state);
        return 0;
    }
    engine->peek(state, state->next, x);
    convert(state->type, wish, turn, x, results);
    for (; lane < 4 && given < n; lane++, given++)
        __builtin_memcpy(out + given * size, &results[lane], size);
    state->lane = lane;
    if (lane == 4) {
        engine->draw(state, state->next, 4, x);
        advance(state);
    }
    return given;
}

void aw_rand_fill(const struct aw_rand_engine *engine, struct aw_rand_state *state, const struct aw_rand_wish *wish, size_t n,
                  void *out)
{
    struct turn turn = turn_of(state->type, wish);
    size_t size = aw_rand_size(wish), at = 0;
    uint32_t x[8];
    double results[4];
    if (state->lane && n)
        at = fill_lanes(engine, state, wish, turn, n, out);
    for (; at + turn.width <= n; at += turn.width) {
        engine->draw(state, state->next, turn.draws, x);
        convert(state->type, wish, turn, x, (char *)out + at * size);
        advance(state);
    }
    if (at < n && engine->peek && turn.draws == 4) {
        (void)fill_lanes(engine, state, wish, turn, n - at, (char *)out + at * size);
    } else if (at < n) { /* the rest of the turn is lost */
        engine->draw(state, state->next, turn.draws, x);
        convert(state->type, wish, turn, x, results);
        __builtin_memcpy((char *)out + at * size, results, (n - at) * size);
        advance(state);
    }
}

/* ---- Sobol */

static void sobol_store(unsigned bits, uint64_t x, const struct aw_rand_wish *w, void *out, size_t k)
{
    double d = 0;
    switch (w->kind) {
    case AW_RAND_BITS:
        if (w->wide)
            ((uint64_t *)out)[k] = x;
        else
            ((uint32_t *)out)[k] = (uint32_t)x;
        return;
    case AW_RAND_DISCRETE:
        ((uint32_t *)out)[k] = discrete(bits == 32 ? uniform_one((uint32_t)x) : uniform_64(x), w->discrete);
        return;
    case AW_RAND_UNIFORM:
        d = bits == 32 ? uniform_one((uint32_t)x) : uniform_64(x);
        real_store(w, out, k, d, uniform((uint32_t)(bits == 32 ? x : x >> 32)));
        return;
    default:
        d = bits == 32 ? quantile_of(x, 32) : w->wide ? quantile_of(x >> 11, 53) : quantile_of(x >> 32, 32);
        real_store(w, out, k, d, (float)d);
    }
}

void aw_rand_fill_sobol(const struct aw_rand_sobol *of, uint64_t from, const struct aw_rand_wish *wish, size_t n, void *out)
{
    const uint32_t *first32 = NULL, *narrow = of->bits == 32 ? aw_rand_sobol_vectors32(of->is_scrambled, &first32) : NULL;
    const uint64_t *first64 = NULL, *wide = of->bits == 64 ? aw_rand_sobol_vectors64(of->is_scrambled, &first64) : NULL;
    unsigned bits = of->bits;
    for (unsigned d = 0; d < of->dimensions; d++) {
        uint64_t i = from, x = narrow ? first32[d] : first64[d], gray = i ^ i >> 1;
        for (unsigned k = 0; k < bits; k++)
            if (gray >> k & 1)
                x ^= narrow ? narrow[d * bits + k] : wide[d * bits + k];
        for (size_t k = 0; k < n; k++, i++) {
            sobol_store(bits, x, wish, out, d * n + k);
            unsigned bit = ~i ? (unsigned)__builtin_ctzll(~i) : 63;
            bit = bit < bits ? bit : bits - 1;
            x ^= narrow ? narrow[d * bits + bit] : wide[d * bits + bit];
        }
    }
}
