/* Integer vector instructions: VOP1, VOP2, VOP3 and VOP3P of GFX10 and GFX9, moves and selections included.  Compares are in
 * valu_cmp.c, what crosses lanes in valu_lane.c, conversions from and to floats in valu_float.c.
 *
 * Each row is a line of a list below: number of sources, how they are seen (u unsigned, i signed), name, signature, and the
 * result of one lane as an expression of the sources a, b, c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

#define FN(name) static void run_##name(struct sim_wave *w, const struct sim_inst *i)
#define ROW(name, sig) { #name, sig, run_##name, SIM_VALU, 0 },

/* ---- What an expression may call ---- */

static inline uint32_t low_bits(uint32_t n)
{
    return (1u << (n & 31)) - 1;
}

static inline uint32_t bfe_i(uint32_t a, uint32_t offset, uint32_t width)
{
    uint32_t part = a >> (offset & 31) & low_bits(width), sign = 1u << (width & 31) >> 1;
    return (part ^ sign) - sign;
}

static inline uint32_t reverse_bits(uint32_t a)
{
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
}

static inline uint32_t count_bits(uint32_t a)
{
    a -= a >> 1 & 0x55555555;
    a = (a & 0x33333333) + (a >> 2 & 0x33333333);
    a = (a + (a >> 4)) & 0x0f0f0f0f;
    return a * 0x01010101 >> 24;
}

/* From the top; ~0 when there is none. */
static inline uint32_t first_bit_high(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : ~0u;
}

static inline uint32_t first_bit_low(uint32_t a)
{
    return a ? (uint32_t)__builtin_ctz(a) : ~0u;
}

/* The value shifted right out of {a, b}. */
static inline uint32_t align(uint32_t a, uint32_t b, uint32_t bits)
{
    return (uint32_t)(((uint64_t)a << 32 | b) >> bits);
}

static inline uint32_t perm_byte(uint32_t a, uint32_t b, uint32_t sel)
{
    uint64_t both = (uint64_t)a << 32 | b;
    if (sel < 8)
        return both >> 8 * sel & 0xff;
    if (sel < 12) /* the sign of byte 1, 3, 5 or 7 */
        return both >> (15 + 16 * (sel - 8)) & 1 ? 0xff : 0;
    return sel == 12 ? 0 : 0xff;
}

static inline uint32_t perm(uint32_t a, uint32_t b, uint32_t sel)
{
    return perm_byte(a, b, sel & 0xff) | perm_byte(a, b, sel >> 8 & 0xff) << 8 | perm_byte(a, b, sel >> 16 & 0xff) << 16 |
           perm_byte(a, b, sel >> 24) << 24;
}

static inline uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static inline uint32_t byte_of(uint32_t a, unsigned n)
{
    return a >> 8 * n & 0xff;
}

static inline uint32_t sad_u8(uint32_t a, uint32_t b)
{
    return distance(byte_of(a, 0), byte_of(b, 0)) + distance(byte_of(a, 1), byte_of(b, 1)) +
           distance(byte_of(a, 2), byte_of(b, 2)) + distance(byte_of(a, 3), byte_of(b, 3));
}

/* Bytes that are 0 in the reference `b` do not count. */
static inline uint32_t msad_u8(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (unsigned n = 0; n < 4; n++)
        sum += byte_of(b, n) ? distance(byte_of(a, n), byte_of(b, n)) : 0;
    return sum;
}

static inline uint32_t sad_u16(uint32_t a, uint32_t b)
{
    return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}

static inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t even = ((a & 0x00ff00ff) + (b & 0x00ff00ff) + (c & 0x00010001)) >> 1 & 0x00ff00ff;
    uint32_t odd = ((a >> 8 & 0x00ff00ff) + (b >> 8 & 0x00ff00ff) + (c >> 8 & 0x00010001)) >> 1 & 0x00ff00ff;
    return even | odd << 8;
}

static inline int64_t low_i24(int64_t a)
{
    return (int32_t)((uint32_t)a << 8) >> 8;
}

static inline uint32_t u_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t u_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline int32_t i_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t i_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline uint32_t u_med(uint32_t a, uint32_t b, uint32_t c)
{
    return u_max(u_min(a, b), u_min(u_max(a, b), c));
}

static inline int32_t i_med(int32_t a, int32_t b, int32_t c)
{
    return i_max(i_min(a, b), i_min(i_max(a, b), c));
}

static inline uint32_t pack(uint32_t lo, uint32_t hi)
{
    return (lo & 0xffff) | hi << 16;
}

static inline uint32_t sat_u8(int32_t a)
{
    return (uint32_t)i_min(i_max(a, 0), 255);
}

static inline int64_t sat_i16(int64_t a)
{
    return a < -0x8000 ? -0x8000 : a > 0x7fff ? 0x7fff : a;
}

static inline int64_t sat_u16(int64_t a)
{
    return a < 0 ? 0 : a > 0xffff ? 0xffff : a;
}

static inline int64_t sat_i32(int64_t a)
{
    return a < INT32_MIN ? INT32_MIN : a > INT32_MAX ? INT32_MAX : a;
}

static inline int64_t sat_u32(int64_t a)
{
    return a < 0 ? 0 : a > UINT32_MAX ? UINT32_MAX : a;
}

static inline int64_t dot2_i16(uint32_t a, uint32_t b)
{
    return (int64_t)(int16_t)a * (int16_t)b + (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
}

static inline int64_t dot2_u16(uint32_t a, uint32_t b)
{
    return (int64_t)(a & 0xffff) * (b & 0xffff) + (int64_t)(a >> 16) * (b >> 16);
}

/* Each source's bytes are signed where neg_lo says so. */
static inline int64_t dot4_iu8(uint32_t a, uint32_t b, const struct sim_inst *i)
{
    int64_t sum = 0;
    for (unsigned k = 0; k < 32; k += 8) {
        int64_t x = i->neg_lo[0] ? (int8_t)(a >> k) : (uint8_t)(a >> k), y = i->neg_lo[1] ? (int8_t)(b >> k) : (uint8_t)(b >> k);
        sum += x * y;
    }
    return sum;
}

static inline int64_t dot4_i8(uint32_t a, uint32_t b)
{
    return (int8_t)a * (int8_t)b + (int8_t)(a >> 8) * (int8_t)(b >> 8) + (int8_t)(a >> 16) * (int8_t)(b >> 16) +
           (int8_t)(a >> 24) * (int8_t)(b >> 24);
}

static inline int64_t dot4_u8(uint32_t a, uint32_t b)
{
    return byte_of(a, 0) * byte_of(b, 0) + byte_of(a, 1) * byte_of(b, 1) + byte_of(a, 2) * byte_of(b, 2) +
           byte_of(a, 3) * byte_of(b, 3);
}

static inline int64_t dot8_i4(uint32_t a, uint32_t b)
{
    int32_t sum = 0;
    for (unsigned n = 0; n < 32; n += 4)
        sum += ((int32_t)(a << (28 - n)) >> 28) * ((int32_t)(b << (28 - n)) >> 28);
    return sum;
}

static inline int64_t dot8_u4(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (unsigned n = 0; n < 32; n += 4)
        sum += (a >> n & 15) * (b >> n & 15);
    return sum;
}

/* ---- Reading the sources of one row ---- */

#define SOURCES_1(read)                                                                                                 \
    uint32_t buf[4][64];                                                                                                \
    const uint32_t *pa = read(w, i, 1, buf[0]);
#define SOURCES_2(read) SOURCES_1(read) const uint32_t *pb = read(w, i, 2, buf[1]);
#define SOURCES_3(read) SOURCES_2(read) const uint32_t *pc = read(w, i, 3, buf[2]);
/* ... and of one lane: as `T`, seen through `V`. */
#define LOAD_1(V, T) T a = (V)pa[l];
#define LOAD_2(V, T) LOAD_1(V, T) T b = (V)pb[l];
#define LOAD_3(V, T) LOAD_2(V, T) T c = (V)pc[l];
#define T32_u uint32_t
#define T32_i int32_t
#define T16_u uint16_t
#define T16_i int16_t

/* ---- 32 bits, no clamp ---- */

#define ROWS_32(X)                                                                                                      \
    X(1, u, v_mov_b32, "b=b", a)                                                                                        \
    X(1, u, v_not_b32, "b=b", ~a)                                                                                       \
    X(1, u, v_bfrev_b32, "b=b", reverse_bits(a))                                                                        \
    X(1, u, v_ffbh_u32, "b=b", first_bit_high(a))                                                                       \
    X(1, u, v_ffbl_b32, "b=b", first_bit_low(a))                                                                        \
    X(1, i, v_ffbh_i32, "b=b", first_bit_high((uint32_t)(a ^ a >> 31)))                                                 \
    X(2, u, v_and_b32, "b=bb", a & b)                                                                                   \
    X(2, u, v_or_b32, "b=bb", a | b)                                                                                    \
    X(2, u, v_xor_b32, "b=bb", a ^ b)                                                                                   \
    X(2, u, v_xnor_b32, "b=bb", ~(a ^ b))                                                                               \
    X(2, u, v_min_u32, "b=bb", u_min(a, b))                                                                             \
    X(2, u, v_max_u32, "b=bb", u_max(a, b))                                                                             \
    X(2, i, v_min_i32, "b=bb", i_min(a, b))                                                                             \
    X(2, i, v_max_i32, "b=bb", i_max(a, b))                                                                             \
    X(2, u, v_lshlrev_b32, "b=bb", b << (a & 31))                                                                       \
    X(2, u, v_lshrrev_b32, "b=bb", b >> (a & 31))                                                                       \
    X(2, i, v_ashrrev_i32, "b=bb", b >> (a & 31))                                                                       \
    X(2, u, v_mul_lo_u32, "b=bb", a * b)                                                                                \
    X(2, u, v_mul_hi_u32, "b=bb", (uint64_t)a * b >> 32)                                                                \
    X(2, i, v_mul_hi_i32, "b=bb", (int64_t)a * b >> 32)                                                                 \
    X(2, u, v_mul_hi_u32_u24, "b=bb", (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32)                                  \
    X(2, i, v_mul_hi_i32_i24, "b=bb", low_i24(a) * low_i24(b) >> 32)                                                    \
    X(2, u, v_bfm_b32, "b=bb", low_bits(a) << (b & 31))                                                                 \
    X(2, u, v_bcnt_u32_b32, "b=bb", count_bits(a) + b)                                                                  \
    X(2, u, v_cvt_pk_u16_u32, "b=bb", pack(u_min(a, 0xffff), u_min(b, 0xffff)))                                         \
    X(2, i, v_cvt_pk_i16_i32, "b=bb", pack((uint32_t)sat_i16(a), (uint32_t)sat_i16(b)))                                 \
    X(3, u, v_add3_u32, "b=bbb", a + b + c)                                                                             \
    X(3, u, v_lshl_add_u32, "b=bbb", (a << (b & 31)) + c)                                                               \
    X(3, u, v_add_lshl_u32, "b=bbb", (a + b) << (c & 31))                                                               \
    X(3, u, v_lshl_or_b32, "b=bbb", a << (b & 31) | c)                                                                  \
    X(3, u, v_and_or_b32, "b=bbb", (a & b) | c)                                                                         \
    X(3, u, v_or3_b32, "b=bbb", a | b | c)                                                                              \
    X(3, u, v_xor3_b32, "b=bbb", a ^ b ^ c)                                                                             \
    X(3, u, v_xad_u32, "b=bbb", (a ^ b) + c)                                                                            \
    X(3, u, v_bfe_u32, "b=bbb", a >> (b & 31) & low_bits(c))                                                            \
    X(3, u, v_bfe_i32, "b=bbb", bfe_i(a, b, c))                                                                         \
    X(3, u, v_bfi_b32, "b=bbb", (a & b) | (~a & c))                                                                     \
    X(3, u, v_perm_b32, "b=bbb", perm(a, b, c))                                                                         \
    X(3, u, v_lerp_u8, "b=bbb", lerp_u8(a, b, c))                                                                       \
    X(3, u, v_min3_u32, "b=bbb", u_min(u_min(a, b), c))                                                                 \
    X(3, u, v_max3_u32, "b=bbb", u_max(u_max(a, b), c))                                                                 \
    X(3, u, v_med3_u32, "b=bbb", u_med(a, b, c))                                                                        \
    X(3, i, v_min3_i32, "b=bbb", i_min(i_min(a, b), c))                                                                 \
    X(3, i, v_max3_i32, "b=bbb", i_max(i_max(a, b), c))                                                                 \
    X(3, i, v_med3_i32, "b=bbb", i_med(a, b, c))                                                                        \
    X(3, u, v_maxmin_u32, "b=bbb", u_min(u_max(a, b), c))                                                               \
    X(3, u, v_minmax_u32, "b=bbb", u_max(u_min(a, b), c))                                                               \
    X(3, i, v_maxmin_i32, "b=bbb", i_min(i_max(a, b), c))                                                               \
    X(3, i, v_minmax_i32, "b=bbb", i_max(i_min(a, b), c))

#define DEFINE(n, t, name, sig, expr)                                                                                   \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_##n(lanes_read32);                                                                                      \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        LANES(w, l, LOAD_##n(T32_##t, T32_##t) out[l] = (uint32_t)(expr););                                             \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
ROWS_32(DEFINE)
#undef DEFINE

/* ---- 32 bits, where clamp saturates: the expression is the exact result ---- */

#define ROWS_SAT(X)                                                                                                     \
    X(2, u, v_add_nc_u32, "b=bb", a + b)                                                                                \
    X(2, u, v_sub_nc_u32, "b=bb", a - b)                                                                                \
    X(2, u, v_subrev_nc_u32, "b=bb", b - a)                                                                             \
    X(2, u, v_add_u32, "b=bb", a + b)                                                                                   \
    X(2, u, v_sub_u32, "b=bb", a - b)                                                                                   \
    X(2, u, v_subrev_u32, "b=bb", b - a)                                                                                \
    X(2, i, v_add_nc_i32, "b=bb", a + b)                                                                                \
    X(2, i, v_sub_nc_i32, "b=bb", a - b)                                                                                \
    X(2, i, v_add_i32, "b=bb", a + b)                                                                                   \
    X(2, i, v_sub_i32, "b=bb", a - b)                                                                                   \
    X(2, u, v_mul_u32_u24, "b=bb", (a & 0xffffff) * (b & 0xffffff))                                                     \
    X(2, i, v_mul_i32_i24, "b=bb", low_i24(a) * low_i24(b))                                                             \
    X(3, u, v_mad_u32_u24, "b=bbb", (a & 0xffffff) * (b & 0xffffff) + c)                                                \
    X(3, i, v_mad_i32_i24, "b=bbb", low_i24(a) * low_i24(b) + c)                                                        \
    X(3, u, v_sad_u8, "b=bbb", sad_u8((uint32_t)a, (uint32_t)b) + c)                                                    \
    X(3, u, v_sad_hi_u8, "b=bbb", ((int64_t)sad_u8((uint32_t)a, (uint32_t)b) << 16) + c)                                \
    X(3, u, v_sad_u16, "b=bbb", sad_u16((uint32_t)a, (uint32_t)b) + c)                                                  \
    X(3, u, v_sad_u32, "b=bbb", distance((uint32_t)a, (uint32_t)b) + c)                                                 \
    X(3, u, v_msad_u8, "b=bbb", msad_u8((uint32_t)a, (uint32_t)b) + c)                                                  \
    X(3, i, v_dot4_i32_i8, "b=bbb", dot4_i8((uint32_t)a, (uint32_t)b) + c)                                              \
    X(3, u, v_dot4_u32_u8, "b=bbb", dot4_u8((uint32_t)a, (uint32_t)b) + c)                                              \
    X(3, i, v_dot4_i32_iu8, "b=bbb", dot4_iu8((uint32_t)a, (uint32_t)b, i) + c)                                         \
    X(3, i, v_dot8_i32_i4, "b=bbb", dot8_i4((uint32_t)a, (uint32_t)b) + c)                                              \
    X(3, u, v_dot8_u32_u4, "b=bbb", dot8_u4((uint32_t)a, (uint32_t)b) + c)

/* The loop of a row whose exact result saturates or wraps. */
#define SATURATE(n, t, expr)                                                                                            \
    if (i->clamp)                                                                                                       \
        LANES(w, l, LOAD_##n(T32_##t, int64_t) out[l] = (uint32_t)sat_##t##32(expr););                                  \
    else                                                                                                                \
        LANES(w, l, LOAD_##n(T32_##t, int64_t) out[l] = (uint32_t)(expr););

#define DEFINE(n, t, name, sig, expr)                                                                                   \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_##n(lanes_read32);                                                                                      \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        SATURATE(n, t, expr)                                                                                            \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
ROWS_SAT(DEFINE)
#undef DEFINE

/* Two products of halves and a 32-bit sum; op_sel chooses the halves (one of each source for mad, both for dot2). */
#define ROWS_HALVES(X)                                                                                                  \
    X(lanes_read16, u, v_mad_u32_u16, "b=wwb", (a & 0xffff) * (b & 0xffff) + c)                                         \
    X(lanes_read16, i, v_mad_i32_i16, "b=wwb", (int64_t)(int16_t)a * (int16_t)b + c)                                    \
    X(lanes_read_pk, i, v_dot2_i32_i16, "b=ppb", dot2_i16((uint32_t)a, (uint32_t)b) + c)                                \
    X(lanes_read_pk, u, v_dot2_u32_u16, "b=ppb", dot2_u16((uint32_t)a, (uint32_t)b) + c)

#define DEFINE(read, t, name, sig, expr)                                                                                \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_2(read);                                                                                                \
        const uint32_t *pc = lanes_read32(w, i, 3, buf[2]);                                                             \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        SATURATE(3, t, expr)                                                                                            \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
ROWS_HALVES(DEFINE)
#undef DEFINE

/* The result register is the third source too. */
#define ROWS_ACCUMULATE(X)                                                                                              \
    X(i, v_dot2c_i32_i16, "b=bb", dot2_i16((uint32_t)a, (uint32_t)b) + c)                                               \
    X(i, v_dot4c_i32_i8, "b=bb", dot4_i8((uint32_t)a, (uint32_t)b) + c)                                                 \
    X(i, v_dot8c_i32_i4, "b=bb", dot8_i4((uint32_t)a, (uint32_t)b) + c)

#define DEFINE(t, name, sig, expr)                                                                                      \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_2(lanes_read32);                                                                                        \
        const uint32_t *pc = sim_vgpr(w, i->o[0].reg);                                                                  \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        SATURATE(3, t, expr)                                                                                            \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
ROWS_ACCUMULATE(DEFINE)
#undef DEFINE

/* Of the shift count op_sel can choose the high half. */
#define ROWS_ALIGN(X)                                                                                                   \
    X(v_alignbit_b32, "b=bbb", align(a, b, c & 31))                                                                     \
    X(v_alignbyte_b32, "b=bbb", align(a, b, 8 * (c & 3)))

#define DEFINE(name, sig, expr)                                                                                         \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_2(lanes_read32);                                                                                        \
        const uint32_t *pc = lanes_read16(w, i, 3, buf[2]);                                                             \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        LANES(w, l, LOAD_3(uint32_t, uint32_t) out[l] = expr;);                                                         \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
ROWS_ALIGN(DEFINE)
#undef DEFINE

/* ---- 16 bits; clamp saturates the exact result.  The last but one column: the high half becomes 0 on GFX9. ---- */

#define ROWS_16(X)                                                                                                      \
    X(2, u, v_add_nc_u16, "w=ww", 0, a + b)                                                                             \
    X(2, u, v_sub_nc_u16, "w=ww", 0, a - b)                                                                             \
    X(2, i, v_add_nc_i16, "w=ww", 0, a + b)                                                                             \
    X(2, i, v_sub_nc_i16, "w=ww", 0, a - b)                                                                             \
    X(2, u, v_add_u16, "w=ww", 1, a + b)                                                                                \
    X(2, u, v_sub_u16, "w=ww", 1, a - b)                                                                                \
    X(2, u, v_subrev_u16, "w=ww", 1, b - a)                                                                             \
    X(2, i, v_add_i16, "w=ww", 0, a + b)                                                                                \
    X(2, i, v_sub_i16, "w=ww", 0, a - b)                                                                                \
    X(2, u, v_mul_lo_u16, "w=ww", 1, (int64_t)a * b)                                                                    \
    X(2, u, v_lshlrev_b16, "w=ww", 1, (uint16_t)(b << (a & 15)))                                                        \
    X(2, u, v_lshrrev_b16, "w=ww", 1, b >> (a & 15))                                                                    \
    X(2, i, v_ashrrev_i16, "w=ww", 1, b >> (a & 15))                                                                    \
    X(2, u, v_min_u16, "w=ww", 1, i_min(a, b))                                                                          \
    X(2, u, v_max_u16, "w=ww", 1, i_max(a, b))                                                                          \
    X(2, i, v_min_i16, "w=ww", 1, i_min(a, b))                                                                          \
    X(2, i, v_max_i16, "w=ww", 1, i_max(a, b))                                                                          \
    X(3, u, v_mad_u16, "w=www", 0, (int64_t)a * b + c)                                                                  \
    X(3, i, v_mad_i16, "w=www", 0, (int64_t)a * b + c)                                                                  \
    X(3, u, v_mad_legacy_u16, "w=www", 1, (int64_t)a * b + c)                                                           \
    X(3, i, v_mad_legacy_i16, "w=www", 1, (int64_t)a * b + c)                                                           \
    X(3, u, v_min3_u16, "w=www", 0, i_min(i_min(a, b), c))                                                              \
    X(3, u, v_max3_u16, "w=www", 0, i_max(i_max(a, b), c))                                                              \
    X(3, u, v_med3_u16, "w=www", 0, i_med(a, b, c))                                                                     \
    X(3, i, v_min3_i16, "w=www", 0, i_min(i_min(a, b), c))                                                              \
    X(3, i, v_max3_i16, "w=www", 0, i_max(i_max(a, b), c))                                                              \
    X(3, i, v_med3_i16, "w=www", 0, i_med(a, b, c))                                                                     \
    X(1, u, v_mov_b16, "w=w", 0, a)                                                                                     \
    X(1, u, v_not_b16, "w=w", 0, (uint16_t)~a)                                                                          \
    X(2, u, v_and_b16, "w=ww", 0, a & b)                                                                                \
    X(2, u, v_or_b16, "w=ww", 0, a | b)                                                                                 \
    X(2, u, v_xor_b16, "w=ww", 0, a ^ b)

#define DEFINE(n, t, name, sig, zero, expr)                                                                             \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_##n(lanes_read16);                                                                                      \
        if (i->clamp)                                                                                                   \
            LANES(w, l, LOAD_##n(T16_##t, int32_t) buf[3][l] = (uint32_t)sat_##t##16(expr););                           \
        else                                                                                                            \
            LANES(w, l, LOAD_##n(T16_##t, int32_t) buf[3][l] = (uint32_t)(expr););                                      \
        lanes_done16(w, i, buf[3], zero);                                                                               \
    }
ROWS_16(DEFINE)
#undef DEFINE

/* ---- Two 16-bit halves each ---- */

#define ROWS_PACKED(X)                                                                                                  \
    X(2, u, v_pk_add_u16, "p=pp", a + b)                                                                                \
    X(2, u, v_pk_sub_u16, "p=pp", a - b)                                                                                \
    X(2, i, v_pk_add_i16, "p=pp", a + b)                                                                                \
    X(2, i, v_pk_sub_i16, "p=pp", a - b)                                                                                \
    X(2, u, v_pk_mul_lo_u16, "p=pp", (int64_t)a * b)                                                                    \
    X(2, u, v_pk_lshlrev_b16, "p=pp", (uint16_t)(b << (a & 15)))                                                        \
    X(2, u, v_pk_lshrrev_b16, "p=pp", b >> (a & 15))                                                                    \
    X(2, i, v_pk_ashrrev_i16, "p=pp", b >> (a & 15))                                                                    \
    X(2, u, v_pk_min_u16, "p=pp", i_min(a, b))                                                                          \
    X(2, u, v_pk_max_u16, "p=pp", i_max(a, b))                                                                          \
    X(2, i, v_pk_min_i16, "p=pp", i_min(a, b))                                                                          \
    X(2, i, v_pk_max_i16, "p=pp", i_max(a, b))                                                                          \
    X(3, u, v_pk_mad_u16, "p=ppp", (int64_t)a * b + c)                                                                  \
    X(3, i, v_pk_mad_i16, "p=ppp", (int64_t)a * b + c)

/* Both halves of each lane: 64 of them where LANES has 32 lanes. */
#define HALVES(n, V, to16)                                                                                              \
    for (size_t first = 0; first < 2 * w->lanes; first += 64)                                                           \
        _Pragma("GCC ivdep") for (size_t k = 0; k < 64; k++)                                                            \
        {                                                                                                               \
            const size_t l = first + k;                                                                                 \
            LOAD_##n(V, int32_t) ho[l] = (uint16_t)(to16);                                                              \
        }

#define DEFINE(n, t, name, sig, expr)                                                                                   \
    static void halves_##name(const struct sim_wave *w, bool clamp, lanes_half *ho, const lanes_half *pa,               \
                              const lanes_half *pb, const lanes_half *pc)                                               \
    {                                                                                                                   \
        (void)pc;                                                                                                       \
        if (clamp)                                                                                                      \
            HALVES(n, T16_##t, sat_##t##16(expr))                                                                       \
        else                                                                                                            \
            HALVES(n, T16_##t, expr)                                                                                    \
    }                                                                                                                   \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        SOURCES_##n(lanes_read_pk);                                                                                     \
        uint32_t *out = lanes_out32(w, i, buf[3]);                                                                      \
        halves_##name(w, i->clamp, (lanes_half *)out, (const lanes_half *)pa, (const lanes_half *)pb,                   \
                      (const lanes_half *)THIRD_##n);                                                                   \
        lanes_done32(w, i, out, buf[3]);                                                                                \
    }
#define THIRD_2 pa
#define THIRD_3 pc
ROWS_PACKED(DEFINE)
#undef DEFINE

/* ---- Carries: sum or difference of a and b with a carry in, and the carry out ---- */

static inline __attribute__((always_inline)) void carry(struct sim_wave *w, const struct sim_inst *i, bool subtract, bool reverse,
                                                        bool with_in)
{
    uint32_t buf[3][64];
    const uint32_t *pa = lanes_read32(w, i, 2, buf[0]), *pb = lanes_read32(w, i, 3, buf[1]);
    uint64_t in = with_in ? sim_read_mask(w, &i->o[4]) : 0, mask;
    uint32_t *out = lanes_out32(w, i, buf[2]), over = i->clamp ? ~0u : 0;
    const uint32_t *first = reverse ? pb : pa, *second = reverse ? pa : pb;
    if (subtract)
        LANES_MASK(w, l, mask, (x < y) | (x - y < c),
                   uint32_t x = first[l]; uint32_t y = second[l]; uint32_t c = (uint32_t)(in >> first_) >> k_ & 1;
                   uint32_t borrow = -(uint32_t)((x < y) | (x - y < c)); out[l] = (x - y - c) & ~(borrow & over););
    else
        LANES_MASK(w, l, mask, (x + y < x) | (x + y + c < c),
                   uint32_t x = first[l]; uint32_t y = second[l]; uint32_t c = (uint32_t)(in >> first_) >> k_ & 1;
                   uint32_t carried = -(uint32_t)((x + y < x) | (x + y + c < c)); out[l] = (x + y + c) | (carried & over););
    lanes_done32(w, i, out, buf[2]);
    lanes_write_mask(w, i, 1, mask);
}

/* subtract, reverse, with carry in */
#define ROWS_CARRY(X)                                                                                                   \
    X(v_add_co_u32, "bm=bb", 0, 0, 0)                                                                                   \
    X(v_sub_co_u32, "bm=bb", 1, 0, 0)                                                                                   \
    X(v_subrev_co_u32, "bm=bb", 1, 1, 0)                                                                                \
    X(v_add_co_ci_u32, "bm=bbm", 0, 0, 1)                                                                               \
    X(v_sub_co_ci_u32, "bm=bbm", 1, 0, 1)                                                                               \
    X(v_subrev_co_ci_u32, "bm=bbm", 1, 1, 1)                                                                            \
    X(v_addc_co_u32, "bm=bbm", 0, 0, 1)                                                                                 \
    X(v_subb_co_u32, "bm=bbm", 1, 0, 1)                                                                                 \
    X(v_subbrev_co_u32, "bm=bbm", 1, 1, 1)

#define DEFINE(name, sig, subtract, reverse, with_in)                                                                   \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        carry(w, i, subtract, reverse, with_in);                                                                        \
    }
ROWS_CARRY(DEFINE)
#undef DEFINE

/* ---- 64 bits ---- */

#define ROWS_SHIFT64(X)                                                                                                 \
    X(v_lshlrev_b64, "q=bq", b << (a & 63))                                                                             \
    X(v_lshrrev_b64, "q=bq", b >> (a & 63))                                                                             \
    X(v_ashrrev_i64, "q=bq", (uint64_t)((int64_t)b >> (a & 63)))

#define DEFINE(name, sig, expr)                                                                                         \
    FN(name)                                                                                                            \
    {                                                                                                                   \
        uint32_t buf[64];                                                                                               \
        uint64_t buf64[64], out[64];                                                                                    \
        const uint32_t *pa = lanes_read32(w, i, 1, buf);                                                                \
        const uint64_t *pb = lanes_read64(w, i, 2, buf64);                                                              \
        LANES(w, l, uint64_t a = pa[l]; uint64_t b = pb[l]; out[l] = expr;);                                            \
        lanes_write64(w, i, out);                                                                                       \
    }
ROWS_SHIFT64(DEFINE)
#undef DEFINE

/* What clamp leaves of a sum p + c that wrapped to `sum`. */
static uint64_t saturated(bool is_signed, uint64_t p, uint64_t c, uint64_t sum)
{
    if (!is_signed)
        return sum < c ? UINT64_MAX : sum;
    return (int64_t)((p ^ sum) & (c ^ sum)) >= 0 ? sum : (int64_t)c < 0 ? (uint64_t)INT64_MIN : INT64_MAX;
}

/* a * b + c with the 65th bit of the exact result as carry; clamp saturates. */
static inline __attribute__((always_inline)) void mad64(struct sim_wave *w, const struct sim_inst *i, bool is_signed)
{
    uint32_t buf[2][64];
    uint64_t buf64[64], out[64], mask;
    const uint32_t *pa = lanes_read32(w, i, 2, buf[0]), *pb = lanes_read32(w, i, 3, buf[1]);
    const uint64_t *pc = lanes_read64(w, i, 4, buf64);
    if (is_signed) /* the exact sum is negative: its sign, unless adding overflowed */
        LANES_MASK(w, l, mask, (sum ^ ((p ^ sum) & (c ^ sum))) >> 63,
                   uint64_t p = (uint64_t)((int64_t)(int32_t)pa[l] * (int32_t)pb[l]);
                   uint64_t c = pc[l]; uint64_t sum = p + c; out[l] = sum;);
    else
        LANES_MASK(w, l, mask, ((p & c) | ((p | c) & ~sum)) >> 63, uint64_t p = (uint64_t)pa[l] * pb[l]; uint64_t c = pc[l];
                   uint64_t sum = p + c; out[l] = sum;);
    for (size_t l = 0; i->clamp && l < w->lanes; l++)
        out[l] = saturated(is_signed, out[l] - pc[l], pc[l], out[l]);
    lanes_write64(w, i, out);
    lanes_write_mask(w, i, 1, mask);
}

FN(v_mad_u64_u32)
{
    mad64(w, i, false);
}

FN(v_mad_i64_i32)
{
    mad64(w, i, true);
}

/* ---- Four sums of differences, of `b` with four places in the 64 bits of `a` ---- */

static inline void quad_sad16(struct sim_wave *w, const struct sim_inst *i, bool masked)
{
    uint32_t buf[64];
    uint64_t buf64[2][64], out[64];
    const uint64_t *pa = lanes_read64(w, i, 1, buf64[0]), *pc = lanes_read64(w, i, 3, buf64[1]);
    const uint32_t *pb = lanes_read32(w, i, 2, buf);
    for (size_t l = 0; l < w->lanes; l++) {
        out[l] = 0;
        for (unsigned n = 0; n < 4; n++) {
            uint32_t a = (uint32_t)(pa[l] >> 8 * n), sum = masked ? msad_u8(a, pb[l]) : sad_u8(a, pb[l]);
            sum += pc[l] >> 16 * n & 0xffff;
            out[l] |= (uint64_t)(i->clamp ? u_min(sum, 0xffff) : sum & 0xffff) << 16 * n;
        }
    }
    lanes_write64(w, i, out);
}

FN(v_qsad_pk_u16_u8)
{
    quad_sad16(w, i, false);
}

FN(v_mqsad_pk_u16_u8)
{
    quad_sad16(w, i, true);
}

FN(v_mqsad_u32_u8)
{
    uint32_t buf[2][64], out[4][64];
    uint64_t buf64[64];
    const uint64_t *pa = lanes_read64(w, i, 1, buf64);
    const uint32_t *pb = lanes_read32(w, i, 2, buf[0]);
    for (unsigned n = 0; n < 4; n++) {
        struct sim_operand part = i->o[3]; /* the n-th dword of the 128 bits added to */
        part.reg = (uint16_t)(part.reg + n);
        for (size_t l = 0; l < w->lanes; l++) {
            uint32_t c = part.kind == SIM_VGPR ? sim_vgpr(w, part.reg)[l] : part.kind == SIM_SGPR ? w->s[part.reg % SIM_SGPRS] :
                         n ? 0 : (uint32_t)part.imm;
            uint32_t sum = msad_u8((uint32_t)(pa[l] >> 8 * n), pb[l]) + c;
            out[n][l] = i->clamp && sum < c ? ~0u : sum;
        }
    }
    for (unsigned n = 0; n < 4; n++)
        lanes_blend32(w, sim_vgpr(w, i->o[0].reg + n), out[n], sim_exec(w));
}

/* ---- Selections and moves ---- */

FN(v_cndmask_b32)
{
    SOURCES_2(lanes_read32);
    uint64_t which = sim_read_mask(w, &i->o[3]);
    uint32_t *out = lanes_out32(w, i, buf[3]);
    LANES(w, l, uint32_t a = pa[l]; uint32_t b = pb[l]; out[l] = (uint32_t)(which >> first_) >> k_ & 1 ? b : a;);
    lanes_done32(w, i, out, buf[3]);
}

FN(v_cndmask_b16)
{
    SOURCES_2(lanes_read16);
    uint64_t which = sim_read_mask(w, &i->o[3]);
    LANES(w, l, uint32_t a = pa[l]; uint32_t b = pb[l]; buf[3][l] = (uint32_t)(which >> first_) >> k_ & 1 ? b : a;);
    lanes_done16(w, i, buf[3], false);
}

/* A half widened: by its sign, and with zeros. */
FN(v_cvt_i32_i16)
{
    SOURCES_1(lanes_read16);
    uint32_t *out = lanes_out32(w, i, buf[3]);
    LANES(w, l, out[l] = (uint32_t)(int32_t)(int16_t)pa[l];);
    lanes_done32(w, i, out, buf[3]);
}

FN(v_cvt_u32_u16)
{
    SOURCES_1(lanes_read16);
    uint32_t *out = lanes_out32(w, i, buf[3]);
    LANES(w, l, out[l] = pa[l] & 0xffff;);
    lanes_done32(w, i, out, buf[3]);
}

/* Two f16 side by side; denormals go the way of MODE's f16 bits. */
FN(v_pack_b32_f16)
{
    SOURCES_2(lanes_read16);
    uint32_t *out = lanes_out32(w, i, buf[3]);
    uint32_t flushed = (w->mode >> 6 & 3) == 3 ? 0 : 0x7fff;
    LANES(w, l, uint32_t a = pa[l] & 0xffff; uint32_t b = pb[l] & 0xffff; a = a & 0x7c00 ? a : a & ~flushed;
          b = b & 0x7c00 ? b : b & ~flushed; out[l] = a | b << 16;);
    lanes_done32(w, i, out, buf[3]);
}

/* Two signed halves to two unsigned bytes. */
FN(v_sat_pk_u8_i16)
{
    SOURCES_1(lanes_read32);
    LANES(w, l, uint32_t a = pa[l]; buf[3][l] = sat_u8((int16_t)a) | sat_u8((int16_t)(a >> 16)) << 8;);
    lanes_done16(w, i, buf[3], true);
}

/* Exchanges two registers in active lanes. */
static void swap_registers(struct sim_wave *w, unsigned one, unsigned other)
{
    uint32_t *x = sim_vgpr(w, one), *y = sim_vgpr(w, other), was[64];
    uint64_t exec = sim_exec(w);
    memcpy(was, x, w->lanes * sizeof *x);
    lanes_blend32(w, x, y, exec);
    lanes_blend32(w, y, was, exec);
}

FN(v_swap_b32)
{
    swap_registers(w, i->o[0].reg, i->o[1].reg);
}

/* Registers that M0 moves: false, with the wave stopped, when they lie past what it has. */
static bool moved_within(struct sim_wave *w, const struct sim_inst *i, uint64_t to, uint64_t from)
{
    if (to < w->n_vgprs && from < w->n_vgprs)
        return true;
    sim_illegal(w, i, "M0 moves a vector register past the allocated ones");
    return false;
}

static void move_relative(struct sim_wave *w, const struct sim_inst *i, uint32_t to, uint32_t from)
{
    bool is_register = i->o[1].kind == SIM_VGPR;
    if (!moved_within(w, i, (uint64_t)i->o[0].reg + to, is_register ? (uint64_t)i->o[1].reg + from : 0))
        return;
    struct sim_inst moved = *i;
    moved.o[0].reg = (uint16_t)(moved.o[0].reg + to);
    if (is_register)
        moved.o[1].reg = (uint16_t)(moved.o[1].reg + from);
    run_v_mov_b32(w, &moved);
}

FN(v_movreld_b32)
{
    move_relative(w, i, w->s[SIM_M0], 0);
}

FN(v_movrels_b32)
{
    move_relative(w, i, 0, w->s[SIM_M0]);
}

FN(v_movrelsd_b32)
{
    move_relative(w, i, w->s[SIM_M0], w->s[SIM_M0]);
}

/* The two-part ones take the source's distance from M0[9:0], the result's from M0[25:16]. */
FN(v_movrelsd_2_b32)
{
    move_relative(w, i, w->s[SIM_M0] >> 16 & 0x3ff, w->s[SIM_M0] & 0x3ff);
}

FN(v_swaprel_b32)
{
    uint32_t to = i->o[0].reg + (w->s[SIM_M0] >> 16 & 0x3ff), from = i->o[1].reg + (w->s[SIM_M0] & 0x3ff);
    if (moved_within(w, i, to, from))
        swap_registers(w, to, from);
}

FN(v_pk_mov_b32)
{
    uint32_t low[2][64], high[2][64];
    uint64_t out[64];
    lanes_read_pair(w, i, 1, low[0], high[0]);
    lanes_read_pair(w, i, 2, low[1], high[1]);
    LANES(w, l, out[l] = low[0][l] | (uint64_t)low[1][l] << 32;); /* one half of each source, by op_sel */
    lanes_write64(w, i, out);
}

FN(v_mov_b64)
{
    uint64_t buf[64], out[64];
    const uint64_t *pa = lanes_read64(w, i, 1, buf);
    memcpy(out, pa, w->lanes * sizeof *out);
    lanes_write64(w, i, out);
}

FN(v_lshl_add_u64)
{
    uint32_t buf[64];
    uint64_t buf64[2][64], out[64];
    const uint64_t *pa = lanes_read64(w, i, 1, buf64[0]), *pc = lanes_read64(w, i, 3, buf64[1]);
    const uint32_t *pb = lanes_read32(w, i, 2, buf);
    LANES(w, l, out[l] = (pa[l] << (pb[l] & 7)) + pc[l];);
    lanes_write64(w, i, out);
}

FN(v_nop)
{
    (void)w;
    (void)i;
}

/* ---- The table ---- */

#define ROWS_OTHER(X)                                                                                                   \
    X(v_mad_u64_u32, "qm=bbq")                                                                                          \
    X(v_mad_i64_i32, "qm=bbq")                                                                                          \
    X(v_qsad_pk_u16_u8, "q=qbq")                                                                                        \
    X(v_mqsad_pk_u16_u8, "q=qbq")                                                                                       \
    X(v_mqsad_u32_u8, "o=qbo")                                                                                          \
    X(v_cndmask_b32, "b=bbm")                                                                                           \
    X(v_cndmask_b16, "w=wwm")                                                                                           \
    X(v_cvt_i32_i16, "b=w")                                                                                             \
    X(v_cvt_u32_u16, "b=w")                                                                                             \
    X(v_pack_b32_f16, "b=hh")                                                                                           \
    X(v_sat_pk_u8_i16, "w=b")                                                                                           \
    X(v_swap_b32, "b=b")                                                                                                \
    X(v_movreld_b32, "b=b")                                                                                             \
    X(v_movrels_b32, "b=b")                                                                                             \
    X(v_movrelsd_b32, "b=b")                                                                                            \
    X(v_movrelsd_2_b32, "b=b")                                                                                          \
    X(v_swaprel_b32, "b=b")                                                                                             \
    X(v_pk_mov_b32, "F=FF")                                                                                             \
    X(v_mov_b64, "q=q")                                                                                                 \
    X(v_lshl_add_u64, "q=qbq")                                                                                          \
    X(v_nop, "=")

static const struct sim_op ops[] = {
#define X5(n, t, name, sig, expr) ROW(name, sig)
#define X6(n, t, name, sig, zero, expr) ROW(name, sig)
#define XH(read, t, name, sig, expr) ROW(name, sig)
#define XA(t, name, sig, expr) ROW(name, sig)
#define X3(name, sig, expr) ROW(name, sig)
#define XC(name, sig, subtract, reverse, with_in) ROW(name, sig)
    ROWS_32(X5) ROWS_SAT(X5) ROWS_HALVES(XH) ROWS_ACCUMULATE(XA) ROWS_ALIGN(X3)
    ROWS_16(X6) ROWS_PACKED(X5) ROWS_CARRY(XC) ROWS_SHIFT64(X3) ROWS_OTHER(ROW)
};

const struct sim_table sim_valu_int = { ops, sizeof ops / sizeof *ops };
