/* The common part of all float rows: see float.h.  No instruction is computed here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "float.h"

/* ---- f16 ---- */

void float_widen(float *ret_f, const uint32_t *x, size_t n, bool keep_denormals)
{
    const __m256i low = _mm256_set1_epi32(0xffff), exponent = _mm256_set1_epi32(0x7c00), sign = _mm256_set1_epi32(0x8000);
    for (size_t l = 0; l < n; l += 8) {
        __m256i h = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + l)), low);
        if (!keep_denormals) {
            __m256i small = _mm256_cmpeq_epi32(_mm256_and_si256(h, exponent), _mm256_setzero_si256());
            h = _mm256_blendv_epi8(h, _mm256_and_si256(h, sign), small);
        }
        h = _mm256_permute4x64_epi64(_mm256_packus_epi32(h, h), 0x08);
        _mm256_storeu_ps(ret_f + l, _mm256_cvtph_ps(_mm256_castsi256_si128(h)));
    }
}

static __m256i narrow8(__m256 x)
{
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION));
}

void float_narrow(uint32_t *ret_h, const float *x, size_t n, bool keep_denormals)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fff), sign = _mm256_set1_epi32(0x8000);
    for (size_t l = 0; l < n; l += 8) {
        __m256 f = _mm256_loadu_ps(x + l);
        __m256i h = narrow8(f);
        if (!keep_denormals) {
            /* What rounds up to the smallest normal number is tiny still if it does not with one more bit: 2^10 times it
             * tells. */
            __m256i size = _mm256_and_si256(h, magnitude);
            __m256i up = _mm256_and_si256(narrow8(_mm256_mul_ps(f, _mm256_set1_ps(1024))), magnitude);
            __m256i tiny = _mm256_and_si256(_mm256_cmpeq_epi32(size, _mm256_set1_epi32(0x400)),
                                            _mm256_cmpgt_epi32(_mm256_set1_epi32(0x2c00), up));
            tiny = _mm256_or_si256(tiny, _mm256_cmpgt_epi32(_mm256_set1_epi32(0x400), size));
            h = _mm256_blendv_epi8(h, _mm256_and_si256(h, sign), tiny);
        }
        _mm256_storeu_si256((__m256i *)(ret_h + l), h);
    }
}

/* ---- Exact values ---- */

static unsigned top_bit(unsigned __int128 m)
{
    uint64_t high = (uint64_t)(m >> 64);
    return high ? 127 - (unsigned)__builtin_clzll(high) : 63 - (unsigned)__builtin_clzll((uint64_t)m);
}

/* A finite number as mantissa and exponent. */
static uint64_t take_apart(double x, int *ret_exp)
{
    uint64_t bits = u64_of(x), mantissa = bits & 0xfffffffffffffull;
    int field = (int)(bits >> 52 & 0x7ff);
    *ret_exp = (field ? field : 1) - 1075;
    return field ? mantissa | 1ull << 52 : mantissa;
}

/* Moves the top bit to bit 124, so that a sum has room. */
static void raise(unsigned __int128 *m, int *exp)
{
    if (*m) {
        int up = 124 - (int)top_bit(*m);
        *m <<= up;
        *exp -= up;
    }
}

struct float_exact float_exact_fma(double a, double b, double c, unsigned round)
{
    struct float_exact x = { .special = 1 };
    int ea, eb, ec;
    uint64_t sign_p = (u64_of(a) ^ u64_of(b)) >> 63, sign_c = u64_of(c) >> 63;
    if (__builtin_isnan(a) || __builtin_isnan(b) || __builtin_isnan(c) || __builtin_isinf(a) || __builtin_isinf(b) ||
        __builtin_isinf(c)) {
        /* No rounding happens; but a product of finite factors must not overflow beside an infinite c. */
        double y = __builtin_isfinite(a) && __builtin_isfinite(b) ? 0 : a * b;
        x.bits = y + c;
        return x;
    }
    unsigned __int128 p = (unsigned __int128)take_apart(a, &ea) * take_apart(b, &eb), q = take_apart(c, &ec);
    int ep = ea + eb;
    raise(&p, &ep);
    raise(&q, &ec);
    if (!p || (q && ec > ep)) {
        unsigned __int128 m = p;
        p = q, q = m;
        int e = ep;
        ep = ec, ec = e;
        uint64_t s = sign_p;
        sign_p = sign_c, sign_c = s;
    }
    int down = q ? ep - ec : 0; /* p is the larger or as large in exponent */
    bool more = down > 127 ? q != 0 : q << (127 - down) << 1 != 0 && down;
    q = down > 127 ? 0 : q >> down;
    if (sign_p == sign_c) {
        p += q;
    } else if (p >= q) {
        p -= q + more; /* what lies below q's last bit takes one away and leaves a rest */
    } else {
        p = q - p;     /* then nothing was shifted out */
        sign_p = sign_c;
    }
    if (!p && !more) {
        bool negative = sign_p == sign_c ? sign_p : round == 2;
        x.bits = negative ? -0.0 : 0.0;
        return x;
    }
    return (struct float_exact){ .m = p, .exp = ep, .negative = sign_p, .more = more };
}

/* Divides by 2^down and rounds; `more` says that the value lay above `m`. */
static unsigned __int128 shift_round(unsigned __int128 m, int down, bool more, bool negative, unsigned round)
{
    bool half = false, rest = more;
    if (down > 128) {
        rest |= m != 0;
        m = 0;
    } else if (down > 0) {
        half = m >> (down - 1) & 1;
        rest |= down > 1 && m << (129 - down) != 0;
        m = down == 128 ? 0 : m >> down;
    } else {
        m <<= -down;
    }
    switch (round & 3) {
    case 0: return m + (half && (rest || (m & 1)));
    case 1: return m + ((half || rest) && !negative);
    case 2: return m + ((half || rest) && negative);
    default: return m;
    }
}

/* To a format of `digits` bits, smallest quantum 2^low, infinity's exponent field `top`: its bits. */
static uint64_t to_format(const struct float_exact *x, int scale, unsigned round, bool keep, int digits, int low, int top)
{
    int exp = x->exp + scale, quantum = (int)top_bit(x->m) + exp - (digits - 1);
    /* as if there were no smallest exponent */
    unsigned __int128 free = shift_round(x->m, quantum - exp, x->more, x->negative, round);
    bool tiny = quantum < low && !(free >> digits && quantum == low - 1);
    uint64_t m = (uint64_t)free, zero = 0;
    if (tiny && !keep)
        return zero;
    if (quantum < low) {
        quantum = low;
        m = (uint64_t)shift_round(x->m, quantum - exp, x->more, x->negative, round);
    } else if (m >> digits) {
        m >>= 1;
        quantum++;
    }
    int field = m >> (digits - 1) ? quantum - low + 1 : 0;
    if (field < top)
        return ((uint64_t)field << (digits - 1)) | (m & ((1ull << (digits - 1)) - 1));
    bool inward = round == 3 || (round == 1 && x->negative) || (round == 2 && !x->negative);
    return ((uint64_t)top << (digits - 1)) - inward;
}

float float_exact_f32(const struct float_exact *x, int scale, unsigned round, bool keep_denormals)
{
    if (x->special)
        return (float)x->bits;
    uint32_t bits = (uint32_t)to_format(x, scale, round, keep_denormals, 24, -149, 255);
    return f32_of(bits | (uint32_t)x->negative << 31);
}

double float_exact_f64(const struct float_exact *x, int scale, unsigned round, bool keep_denormals)
{
    if (x->special)
        return x->bits;
    return f64_of(to_format(x, scale, round, keep_denormals, 53, -1074, 2047) | (uint64_t)x->negative << 63);
}

/* ---- Reading sources ---- */

static bool is_half(char type)
{
    return type == 'h' || type == 'P';
}

static bool is_native(char type)
{
    return type == 'f' || type == 'd';
}

static bool is_float(char type)
{
    return is_half(type) || is_native(type);
}

static const void *flush32(const uint32_t *x, uint32_t *buf, size_t lanes)
{
    for (size_t l = 0; l < lanes; l++)
        buf[l] = float_flush32(x[l]);
    return buf;
}

static const void *flush64(const uint64_t *x, uint64_t *buf, size_t lanes)
{
    for (size_t l = 0; l < lanes; l++)
        buf[l] = float_flush64(x[l]);
    return buf;
}

/* f16 in low halves, as bits or floats. */
static const void *take16(const uint32_t *x, void *buf, size_t n, bool raw, bool keep)
{
    if (!raw) {
        float_widen(buf, x, n, keep);
        return buf;
    }
    if (keep)
        return x;
    uint32_t *to = buf;
    for (size_t l = 0; l < n; l++)
        to[l] = float_flush16(x[l]);
    return buf;
}

/* Low halves of all lanes, then high halves, as f16. */
static const void *take_packed(const uint32_t *x, void *buf, size_t lanes, bool raw, bool keep)
{
    uint32_t halves[128];
    for (size_t l = 0; l < lanes; l++)
        halves[l] = x[l] & 0xffff;
    for (size_t l = 0; l < lanes; l++)
        halves[lanes + l] = x[l] >> 16;
    const void *taken = take16(halves, buf, 2 * lanes, raw, keep);
    if (taken == halves)
        memcpy(buf, halves, 2 * lanes * sizeof *halves);
    return buf;
}

/* Source `k` as a body wants it; `keep`: input denormals stay (or are the processor's matter). */
static const void *take(struct sim_wave *w, const struct sim_inst *i, unsigned k, void *buf, unsigned flags, bool keep)
{
    uint32_t half[64];
    const void *x;
    switch (i->o[k].type) {
    case 'f':
        x = lanes_read32(w, i, k, buf);
        return keep ? x : flush32(x, buf, w->lanes);
    case 'd':
        x = lanes_read64(w, i, k, buf);
        return keep ? x : flush64(x, buf, w->lanes);
    case 'h':
        x = take16(lanes_read16(w, i, k, half), buf, w->lanes, flags & FLOAT_RAW, keep);
        return x == half ? memcpy(buf, half, w->lanes * sizeof *half) : x;
    case 'P':
        return take_packed(lanes_read_pk(w, i, k, half), buf, w->lanes, flags & FLOAT_RAW, keep);
    case 'w':
        return lanes_read16(w, i, k, buf);
    case 'q':
        return lanes_read64(w, i, k, buf);
    default:
        return lanes_read32(w, i, k, buf);
    }
}

/* The result register as it was, of the result's type. */
static const void *take_result(struct sim_wave *w, const struct sim_inst *i, void *buf, unsigned flags, bool keep)
{
    const uint32_t *x = sim_vgpr(w, i->o[0].reg);
    uint64_t *wide = buf;
    uint32_t *high = (uint32_t *)buf + 64; /* what is made of it comes before */
    switch (i->o[0].type) {
    case 'f':
        return keep ? x : flush32(x, buf, w->lanes);
    case 'd':
        for (size_t l = 0; l < w->lanes; l++)
            wide[l] = x[l] | (uint64_t)x[w->lanes + l] << 32;
        return keep ? buf : flush64(buf, buf, w->lanes);
    case 'h':
        if (i->op_sel[3]) { /* the half that is written */
            LANES(w, l, high[l] = x[l] >> 16;);
            x = high;
        }
        return take16(x, buf, w->lanes, flags & FLOAT_RAW, keep);
    case 'b':
        return x;
    default:
        return take_packed(x, buf, w->lanes, flags & FLOAT_RAW, keep);
    }
}

/* ---- Settling results ---- */

void float_settle32(uint32_t *r, size_t lanes, const void *const *sources, unsigned n)
{
    int32_t most = 0; /* of the magnitudes */
    for (size_t first = 0; first + 32 <= lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            most = (int32_t)(r[l] & 0x7fffffff) > most ? (int32_t)(r[l] & 0x7fffffff) : most;
    if (most <= 0x7f800000 && lanes % 32 == 0)
        return;
    uint32_t instead[128];
    for (size_t l = 0; l < lanes; l++)
        instead[l] = FLOAT_NAN32;
    for (unsigned k = n; k-- > 0;) {
        const float_u32 *x = sources[k];
        for (size_t l = 0; l < lanes; l++)
            instead[l] = float_is_nan32(x[l]) ? x[l] | 0x400000 : instead[l];
    }
    for (size_t l = 0; l < lanes; l++)
        r[l] = float_is_nan32(r[l]) ? instead[l] : r[l];
}

/* `types`: of the sources; those that are not d have been turned into doubles by no body, and are no NaNs of ours. */
static void settle64(uint64_t *r, size_t lanes, const void *const *sources, const char *types, unsigned n)
{
    uint64_t any = 0;
    for (size_t l = 0; l < lanes; l++)
        any |= float_is_nan64(r[l]);
    for (size_t l = 0; any && l < lanes; l++)
        if (float_is_nan64(r[l])) {
            uint64_t x = FLOAT_NAN64;
            for (unsigned k = n; k-- > 0;) {
                if (types[k] == 'd' && float_is_nan64(((const float_u64 *)sources[k])[l]))
                    x = ((const float_u64 *)sources[k])[l] | 1ull << 51;
                else if (types[k] == 'f' && float_is_nan32(((const float_u32 *)sources[k])[l]))
                    x = r[l]; /* f32 to f64: the conversion kept it */
            }
            r[l] = x;
        }
}

/* f32 results of wider sources: a conversion keeps the NaN's upper bits. */
static void settle_mixed(uint32_t *r, size_t lanes, const void *const *sources, const char *types, unsigned n)
{
    if (n == 1 && types[0] == 'd')
        return;
    const void *floats[3];
    unsigned count = 0;
    for (unsigned k = 0; k < n; k++)
        if (is_float(types[k]))
            floats[count++] = sources[k];
    float_settle32(r, lanes, floats, count);
}

/* Whether omod is in force for results of this type. */
static bool scales(const struct sim_wave *w, const struct sim_inst *i, char type)
{
    return i->omod && !float_ieee(w) && !float_keeps_results(w, type);
}

static float omod_factor(const struct sim_inst *i)
{
    static const float factors[4] = { 1, 2, 4, 0.5f };
    return factors[i->omod & 3];
}

static float clamp32(float x, bool nan_to_zero)
{
    if (__builtin_isnan(x))
        return nan_to_zero ? 0 : x;
    return x > 0 ? x < 1 ? x : 1 : 0;
}

static void modify32(const struct sim_wave *w, const struct sim_inst *i, uint32_t *x)
{
    if (scales(w, i, 'f')) {
        unsigned csr = float_csr(float_round(w, 'f'), true, false);
        float factor = omod_factor(i);
        float_csr_enter(csr);
        for (size_t l = 0; l < w->lanes; l++)
            x[l] = u32_of(f32_of(x[l]) * factor);
        float_csr_leave(csr);
        for (size_t l = 0; l < w->lanes; l++)
            x[l] = x[l] == 0x80000000 ? 0 : x[l];
    }
    if (i->clamp)
        for (size_t l = 0; l < w->lanes; l++)
            x[l] = u32_of(clamp32(f32_of(x[l]), w->mode >> 8 & 1));
}

static void modify64(const struct sim_wave *w, const struct sim_inst *i, uint64_t *x)
{
    if (scales(w, i, 'd')) {
        unsigned csr = float_csr(float_round(w, 'd'), true, false);
        double factor = omod_factor(i);
        float_csr_enter(csr);
        for (size_t l = 0; l < w->lanes; l++)
            x[l] = u64_of(f64_of(x[l]) * factor);
        float_csr_leave(csr);
        for (size_t l = 0; l < w->lanes; l++)
            x[l] = x[l] == 1ull << 63 ? 0 : x[l];
    }
    for (size_t l = 0; i->clamp && l < w->lanes; l++) {
        double d = f64_of(x[l]);
        bool nan = float_is_nan64(x[l]);
        x[l] = nan ? (w->mode >> 8 & 1 ? 0 : x[l]) : u64_of(d > 0 ? d < 1 ? d : 1 : 0);
    }
}

void float_modify16(const struct sim_wave *w, const struct sim_inst *i, uint32_t *x, size_t n)
{
    bool scaled = scales(w, i, 'h');
    if (!scaled && !i->clamp)
        return;
    float wide[128], factor = scaled ? omod_factor(i) : 1;
    uint32_t before[128];
    memcpy(before, x, n * sizeof *x);
    float_widen(wide, x, n, true);
    for (size_t l = 0; l < n; l++)
        wide[l] *= factor;
    for (size_t l = 0; i->clamp && l < n; l++)
        wide[l] = clamp32(wide[l], w->mode >> 8 & 1);
    unsigned csr = float_csr(float_round(w, 'h'), true, true);
    float_csr_enter(csr);
    float_narrow(x, wide, n, !scaled);
    float_csr_leave(csr);
    for (size_t l = 0; scaled && l < n; l++)
        x[l] = (x[l] & 0xffff) == 0x8000 ? 0 : x[l];
    for (size_t l = 0; !scaled && l < n; l++) /* clamp leaves a NaN as it is; widening did not */
        x[l] = float_is_nan16(x[l]) ? before[l] & 0xffff : x[l];
}

void float_store32(struct sim_wave *w, const struct sim_inst *i, uint32_t *x)
{
    if (i->omod | i->clamp)
        modify32(w, i, x);
    if (i->dpp | i->dst_sel)
        lanes_store32(w, i, x);
    else if (lanes_full(w))
        memcpy(sim_vgpr(w, i->o[0].reg), x, w->lanes * sizeof *x);
    else
        lanes_blend32(w, sim_vgpr(w, i->o[0].reg), x, sim_exec(w));
}

void float_store64(struct sim_wave *w, const struct sim_inst *i, uint64_t *x)
{
    if (i->omod | i->clamp)
        modify64(w, i, x);
    lanes_write64(w, i, x);
}

void float_store16(struct sim_wave *w, const struct sim_inst *i, uint32_t *x, bool zero)
{
    float_modify16(w, i, x, w->lanes);
    lanes_done16(w, i, x, zero);
}

/* Packed results take clamp, not omod. */
static void store_packed(struct sim_wave *w, const struct sim_inst *i, uint32_t *x)
{
    if (i->clamp) {
        struct sim_inst plain = { .clamp = true };
        float_modify16(w, &plain, x, 2 * w->lanes);
    }
    uint32_t whole[64];
    for (size_t l = 0; l < w->lanes; l++)
        whole[l] = (x[l] & 0xffff) | x[w->lanes + l] << 16;
    lanes_store32(w, i, whole);
}

/* ---- The run ---- */

/* What a run knows of itself. */
struct run {
    unsigned flags, n;        /* sources */
    const void *source[3];
    char type[3], result, in; /* in: type of the first f or d source, else of the first f16, else of the result */
    bool keep_in, keep_out;   /* denormals */
};

static void plan(const struct sim_wave *w, const struct sim_inst *i, unsigned flags, struct run *ret_run)
{
    struct run *run = ret_run;
    *run = (struct run){ .flags = flags, .result = (char)i->o[0].type };
    for (unsigned k = i->n_results; k < i->n && run->n < 3; k++)
        run->type[run->n++] = (char)i->o[k].type;
    if (flags & FLOAT_ACC && run->n < 3)
        run->type[run->n++] = run->result;
    run->in = run->result;
    for (unsigned k = run->n; k-- > 0;)
        if (is_float(run->type[k]) && !(is_native(run->in) && is_half(run->type[k])))
            run->in = run->type[k]; /* f16 does not count beside others: it is widened before */
    run->keep_in = !(flags & FLOAT_FLUSH) && float_keeps_inputs(w, run->in);
    run->keep_out = !(flags & FLOAT_FLUSH) && float_keeps_results(w, run->result);
}

/* MXCSR for the body. */
static unsigned body_csr(const struct sim_wave *w, const struct run *run)
{
    if (!(run->flags & FLOAT_NATIVE))
        return FLOAT_CSR;
    char type = is_float(run->result) ? run->result : run->in;
    unsigned round = float_round(w, run->flags & FLOAT_ROUND64 ? 'd' : type);
    if (type == 'h' || type == 'P')
        return float_csr(round, true, true); /* widened: denormals are none to the processor */
    return float_csr(round, run->keep_in, run->keep_out);
}

static void finish16(struct sim_wave *w, const struct sim_inst *i, const struct run *run, void *r)
{
    uint32_t half[128];
    size_t n = run->result == 'P' ? 2 * w->lanes : w->lanes;
    bool zero = !(run->flags & FLOAT_KEEP);
    if (run->flags & FLOAT_RAW) {
        for (size_t l = 0; l < n; l++)
            half[l] = run->keep_out ? ((float_u32 *)r)[l] : float_flush16(((float_u32 *)r)[l]);
    } else {
        if (run->flags & FLOAT_NANS)
            float_settle32(r, n, run->source, run->n > 1 && run->type[1] == 'w' ? 1 : run->n);
        unsigned round = run->flags & FLOAT_NEAREST ? 0 : run->flags & FLOAT_TOWARD0 ? 3 : float_round(w, 'h');
        unsigned csr = float_csr(round, true, true);
        float_csr_enter(csr);
        float_narrow(half, r, n, run->keep_out);
        float_csr_leave(csr);
    }
    if (run->result == 'P')
        store_packed(w, i, half);
    else
        float_store16(w, i, half, zero);
}

static void finish(struct sim_wave *w, const struct sim_inst *i, const struct run *run, void *r)
{
    bool flush = !(run->flags & FLOAT_NATIVE) && !run->keep_out;
    switch (run->result) {
    case 'f':
        if (run->flags & FLOAT_NANS)
            settle_mixed(r, w->lanes, run->source, run->type, run->n);
        if (flush)
            flush32(r, r, w->lanes);
        float_store32(w, i, r);
        return;
    case 'd':
        if (run->flags & FLOAT_NANS)
            settle64(r, w->lanes, run->source, run->type, run->n);
        if (flush)
            flush64(r, r, w->lanes);
        float_store64(w, i, r);
        return;
    case 'h':
    case 'P':
        finish16(w, i, run, r);
        return;
    case 'w':
        lanes_done16(w, i, r, true);
        return;
    default:
        if (i->dpp | i->dst_sel)
            lanes_store32(w, i, r);
        else
            lanes_blend32(w, sim_vgpr(w, i->o[0].reg), r, sim_exec(w));
    }
}

void float_run(struct sim_wave *w, const struct sim_inst *i, float_body *body, unsigned flags)
{
    uint64_t buf[3][64], r[64];
    struct run run;
    plan(w, i, flags, &run);
    bool accumulates = flags & FLOAT_ACC;
    for (unsigned k = 0; k < run.n; k++) {
        char type = run.type[k];
        bool native = flags & FLOAT_NATIVE && is_native(type) && !is_half(run.result);
        bool keep = native || (!(flags & FLOAT_FLUSH) && float_keeps_inputs(w, type));
        run.source[k] = accumulates && k == run.n - 1 ? take_result(w, i, buf[k], flags, keep)
                                                      : take(w, i, i->n_results + k, buf[k], flags, keep);
    }
    const void *a = run.source[0], *b = run.n > 1 ? run.source[1] : a, *c = run.n > 2 ? run.source[2] : a;
    unsigned csr = body_csr(w, &run);
    float_csr_enter(csr);
    body(w, run.result == 'P' ? 2 * w->lanes : w->lanes, r, a, b, c);
    float_csr_leave(csr);
    finish(w, i, &run, r);
}

void float_run32(struct sim_wave *w, const struct sim_inst *i, float_body *body, unsigned flags)
{
    uint32_t buf[3][64], r[64];
    const void *s[3];
    unsigned n = i->n - i->n_results, csr = FLOAT_CSR;
    bool keep_in = !(flags & FLOAT_FLUSH) && float_keeps_inputs(w, 'f'),
         keep_out = !(flags & FLOAT_FLUSH) && float_keeps_results(w, 'f');
    for (unsigned k = 0; k < n; k++) {
        s[k] = lanes_read32(w, i, i->n_results + k, buf[k]);
        if (!(flags & FLOAT_NATIVE) && !keep_in)
            s[k] = flush32(s[k], buf[k], w->lanes);
    }
    if (flags & FLOAT_ACC)
        s[n++] = sim_vgpr(w, i->o[0].reg);
    if (flags & FLOAT_NATIVE && ((w->mode & 0x33) != 0x30 || flags & FLOAT_FLUSH))
        csr = float_csr(w->mode & 3, keep_in, keep_out);
    float_csr_enter(csr);
    body(w, w->lanes, r, s[0], s[n > 1 ? 1 : 0], s[n > 2 ? 2 : 0]);
    float_csr_leave(csr);
    if (flags & FLOAT_NANS)
        float_settle32(r, w->lanes, s, n);
    if (!(flags & FLOAT_NATIVE) && !keep_out)
        flush32(r, r, w->lanes);
    float_store32(w, i, r);
}

/* ---- Bodies shared by files ---- */

FLOAT_BODY(float_add, float_f32, float_f32, float_f32, float_f32, a + b)
FLOAT_BODY(float_sub, float_f32, float_f32, float_f32, float_f32, a - b)
FLOAT_BODY(float_subrev, float_f32, float_f32, float_f32, float_f32, b - a)
FLOAT_BODY(float_mul, float_f32, float_f32, float_f32, float_f32, a * b)
