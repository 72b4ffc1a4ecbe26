/* Scalar arithmetic: SOP1, SOP2, SOPC and the arithmetic of SOPK, of gfx9 and gfx10.  Jumps, hardware registers and hints are
 * control.c's.
 *
 * The table says of each instruction what it computes; the word in front of a row says what it reads (32- or 64-bit sources a and
 * b, the old result d) and how SCC comes about: Z not zero, C given by the row, nothing else untouched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "scalar.h"

/* ---- What rows compute with ---- */

static inline uint64_t low_bits(unsigned n)
{
    return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* `width` bits from `offset`, sign-extended; the source is sign-extended to 64 bits already. */
static inline int64_t signed_field(int64_t x, unsigned offset, unsigned width)
{
    x >>= offset;
    return width == 0 ? 0 : width >= 64 ? x : (int64_t)((uint64_t)x << (64 - width)) >> (64 - width);
}

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

/* Place of the lowest or highest set bit, counted from that end; -1 when there is none. */
static inline uint32_t first_one(uint64_t x)
{
    return x ? (uint32_t)__builtin_ctzll(x) : ~0u;
}

static inline uint32_t leading_zeros(uint64_t x, unsigned width)
{
    return x ? (uint32_t)__builtin_clzll(x) - (64 - width) : ~0u;
}

/* How many bits from the top are as the sign; -1 when all are. */
static inline uint32_t sign_bits(int64_t x, unsigned width)
{
    return leading_zeros((uint64_t)(x ^ x >> 63) & low_bits(width), width);
}

/* Bit i of the result: any of bits 4i to 4i+3. */
static inline uint64_t quad_mask(uint64_t x)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 16; i++)
        r |= (uint64_t)((x >> 4 * i & 15) != 0) << i;
    return r;
}

/* Whole quads: all four bits where any is set. */
static inline uint64_t whole_quads(uint64_t x)
{
    x |= (x & 0xaaaaaaaaaaaaaaaaull) >> 1;
    x |= (x & 0xccccccccccccccccull) >> 2;
    return (x & 0x1111111111111111ull) * 15;
}

static inline uint64_t twice_each(uint32_t x)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)(x >> i & 1) * 3 << 2 * i;
    return r;
}

/* ---- The table ---- */

#define ROWS                                                                                                            \
    /* SOP2 */                                                                                                          \
    BIN32C(s_add_u32, a + b, (uint64_t)a + b > UINT32_MAX)                                                              \
    BIN32C(s_sub_u32, a - b, a < b)                                                                                     \
    BIN32C(s_addc_u32, a + b + w->scc, (uint64_t)a + b + w->scc > UINT32_MAX)                                           \
    BIN32C(s_subb_u32, a - b - w->scc, a < (uint64_t)b + w->scc)                                                        \
    BIN32C(s_add_i32, a + b, (~(a ^ b) & (a ^ (a + b))) >> 31)                                                          \
    BIN32C(s_sub_i32, a - b, ((a ^ b) & (a ^ (a - b))) >> 31)                                                           \
    BIN32C(s_min_i32, (int32_t)a < (int32_t)b ? a : b, (int32_t)a < (int32_t)b)                                         \
    BIN32C(s_min_u32, a < b ? a : b, a < b)                                                                             \
    BIN32C(s_max_i32, (int32_t)a > (int32_t)b ? a : b, (int32_t)a > (int32_t)b)                                         \
    BIN32C(s_max_u32, a > b ? a : b, a > b)                                                                             \
    BIN32(s_cselect_b32, w->scc ? a : b)                                                                                \
    BIN64(s_cselect_b64, w->scc ? a : b)                                                                                \
    BIN32Z(s_and_b32, a & b)                                                                                            \
    BIN64Z(s_and_b64, a & b)                                                                                            \
    BIN32Z(s_or_b32, a | b)                                                                                             \
    BIN64Z(s_or_b64, a | b)                                                                                             \
    BIN32Z(s_xor_b32, a ^ b)                                                                                            \
    BIN64Z(s_xor_b64, a ^ b)                                                                                            \
    BIN32Z(s_andn2_b32, a & ~b)                                                                                         \
    BIN64Z(s_andn2_b64, a & ~b)                                                                                         \
    BIN32Z(s_orn2_b32, a | ~b)                                                                                          \
    BIN64Z(s_orn2_b64, a | ~b)                                                                                          \
    BIN32Z(s_nand_b32, ~(a & b))                                                                                        \
    BIN64Z(s_nand_b64, ~(a & b))                                                                                        \
    BIN32Z(s_nor_b32, ~(a | b))                                                                                         \
    BIN64Z(s_nor_b64, ~(a | b))                                                                                         \
    BIN32Z(s_xnor_b32, ~(a ^ b))                                                                                        \
    BIN64Z(s_xnor_b64, ~(a ^ b))                                                                                        \
    BIN32Z(s_lshl_b32, a << (b & 31))                                                                                   \
    SHIFT64Z(s_lshl_b64, a << (b & 63))                                                                                 \
    BIN32Z(s_lshr_b32, a >> (b & 31))                                                                                   \
    SHIFT64Z(s_lshr_b64, a >> (b & 63))                                                                                 \
    BIN32Z(s_ashr_i32, (uint32_t)((int32_t)a >> (b & 31)))                                                              \
    SHIFT64Z(s_ashr_i64, (uint64_t)((int64_t)a >> (b & 63)))                                                            \
    BIN32(s_bfm_b32, (uint32_t)low_bits(a & 31) << (b & 31))                                                            \
    MASK64(s_bfm_b64, low_bits(a & 63) << (b & 63))                                                                     \
    BIN32(s_mul_i32, a * b)                                                                                             \
    BIN32(s_mul_hi_u32, (uint32_t)((uint64_t)a * b >> 32))                                                              \
    BIN32(s_mul_hi_i32, (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32))                                             \
    BIN32Z(s_bfe_u32, (uint32_t)(a >> (b & 31) & low_bits(b >> 16 & 127)))                                              \
    BIN32Z(s_bfe_i32, (uint32_t)signed_field((int32_t)a, b & 31, b >> 16 & 127))                                        \
    SHIFT64Z(s_bfe_u64, a >> (b & 63) & low_bits(b >> 16 & 127))                                                        \
    SHIFT64Z(s_bfe_i64, (uint64_t)signed_field((int64_t)a, b & 63, b >> 16 & 127))                                      \
    BIN32Z(s_absdiff_i32, (int32_t)(a - b) < 0 ? b - a : a - b)                                                         \
    BIN32C(s_lshl1_add_u32, (a << 1) + b, ((uint64_t)a << 1) + b > UINT32_MAX)                                          \
    BIN32C(s_lshl2_add_u32, (a << 2) + b, ((uint64_t)a << 2) + b > UINT32_MAX)                                          \
    BIN32C(s_lshl3_add_u32, (a << 3) + b, ((uint64_t)a << 3) + b > UINT32_MAX)                                          \
    BIN32C(s_lshl4_add_u32, (a << 4) + b, ((uint64_t)a << 4) + b > UINT32_MAX)                                          \
    BIN32(s_pack_ll_b32_b16, (a & 0xffff) | b << 16)                                                                    \
    BIN32(s_pack_lh_b32_b16, (a & 0xffff) | (b & 0xffff0000))                                                           \
    BIN32(s_pack_hh_b32_b16, a >> 16 | (b & 0xffff0000))                                                                \
    /* SOP1 */                                                                                                          \
    UN32(s_mov_b32, a)                                                                                                  \
    UN64(s_mov_b64, a)                                                                                                  \
    UN32(s_cmov_b32, w->scc ? a : d)                                                                                    \
    UN64(s_cmov_b64, w->scc ? a : d)                                                                                    \
    UN32Z(s_not_b32, ~a)                                                                                                \
    UN64Z(s_not_b64, ~a)                                                                                                \
    UN32Z(s_wqm_b32, (uint32_t)whole_quads(a))                                                                          \
    UN64Z(s_wqm_b64, whole_quads(a))                                                                                    \
    UN32Z(s_quadmask_b32, (uint32_t)quad_mask(a))                                                                       \
    UN64Z(s_quadmask_b64, quad_mask(a))                                                                                 \
    UN32(s_brev_b32, reverse32(a))                                                                                      \
    UN64(s_brev_b64, (uint64_t)reverse32((uint32_t)a) << 32 | reverse32((uint32_t)(a >> 32)))                           \
    UN32Z(s_bcnt0_i32_b32, 32 - (uint32_t)__builtin_popcount(a))                                                        \
    DOWN32Z(s_bcnt0_i32_b64, 64 - (uint32_t)__builtin_popcountll(a))                                                    \
    UN32Z(s_bcnt1_i32_b32, (uint32_t)__builtin_popcount(a))                                                             \
    DOWN32Z(s_bcnt1_i32_b64, (uint32_t)__builtin_popcountll(a))                                                         \
    UN32(s_ff0_i32_b32, first_one((uint32_t)~a))                                                                        \
    DOWN32(s_ff0_i32_b64, first_one(~a))                                                                                \
    UN32(s_ff1_i32_b32, first_one(a))                                                                                   \
    DOWN32(s_ff1_i32_b64, first_one(a))                                                                                 \
    UN32(s_flbit_i32_b32, leading_zeros(a, 32))                                                                         \
    DOWN32(s_flbit_i32_b64, leading_zeros(a, 64))                                                                       \
    UN32(s_flbit_i32, sign_bits((int32_t)a, 32))                                                                        \
    DOWN32(s_flbit_i32_i64, sign_bits((int64_t)a, 64))                                                                  \
    UN32(s_sext_i32_i8, (uint32_t)(int8_t)a)                                                                            \
    UN32(s_sext_i32_i16, (uint32_t)(int16_t)a)                                                                          \
    UN32Z(s_abs_i32, (int32_t)a < 0 ? -a : a)                                                                           \
    UN32(s_bitset0_b32, d & ~(1u << (a & 31)))                                                                          \
    UN32(s_bitset1_b32, d | 1u << (a & 31))                                                                             \
    UP64(s_bitset0_b64, d & ~(1ull << (a & 63)))                                                                        \
    UP64(s_bitset1_b64, d | 1ull << (a & 63))                                                                           \
    UP64(s_bitreplicate_b64_b32, twice_each(a))                                                                         \
    /* EXEC with the source; e is EXEC before */                                                                        \
    SAVEEXEC(and_saveexec, a & e)                                                                                       \
    SAVEEXEC(or_saveexec, a | e)                                                                                        \
    SAVEEXEC(xor_saveexec, a ^ e)                                                                                       \
    SAVEEXEC(andn1_saveexec, ~a & e)                                                                                    \
    SAVEEXEC(andn2_saveexec, a & ~e)                                                                                    \
    SAVEEXEC(orn1_saveexec, ~a | e)                                                                                     \
    SAVEEXEC(orn2_saveexec, a | ~e)                                                                                     \
    SAVEEXEC(nand_saveexec, ~(a & e))                                                                                   \
    SAVEEXEC(nor_saveexec, ~(a | e))                                                                                    \
    SAVEEXEC(xnor_saveexec, ~(a ^ e))                                                                                   \
    WREXEC(andn1_wrexec, ~a & e)                                                                                        \
    WREXEC(andn2_wrexec, a & ~e)                                                                                        \
    /* SOPC: the new SCC */                                                                                             \
    CMP32(s_cmp_eq_i32, a == b)                                                                                         \
    CMP32(s_cmp_lg_i32, a != b)                                                                                         \
    CMP32(s_cmp_gt_i32, (int32_t)a > (int32_t)b)                                                                        \
    CMP32(s_cmp_ge_i32, (int32_t)a >= (int32_t)b)                                                                       \
    CMP32(s_cmp_lt_i32, (int32_t)a < (int32_t)b)                                                                        \
    CMP32(s_cmp_le_i32, (int32_t)a <= (int32_t)b)                                                                       \
    CMP32(s_cmp_eq_u32, a == b)                                                                                         \
    CMP32(s_cmp_lg_u32, a != b)                                                                                         \
    CMP32(s_cmp_gt_u32, a > b)                                                                                          \
    CMP32(s_cmp_ge_u32, a >= b)                                                                                         \
    CMP32(s_cmp_lt_u32, a < b)                                                                                          \
    CMP32(s_cmp_le_u32, a <= b)                                                                                         \
    CMP64(s_cmp_eq_u64, a == b)                                                                                         \
    CMP64(s_cmp_lg_u64, a != b)                                                                                         \
    CMP32(s_bitcmp0_b32, !(a >> (b & 31) & 1))                                                                          \
    CMP32(s_bitcmp1_b32, a >> (b & 31) & 1)                                                                             \
    BIT64(s_bitcmp0_b64, !(a >> (b & 63) & 1))                                                                          \
    BIT64(s_bitcmp1_b64, a >> (b & 63) & 1)                                                                             \
    /* SOPK: k is the immediate, sign-extended */                                                                       \
    K32(s_movk_i32, (uint32_t)k, w->scc)                                                                                \
    K32(s_cmovk_i32, w->scc ? (uint32_t)k : d, w->scc)                                                                  \
    K32(s_addk_i32, d + (uint32_t)k, (~(d ^ (uint32_t)k) & (d ^ (d + (uint32_t)k))) >> 31)                              \
    K32(s_mulk_i32, d * (uint32_t)k, w->scc)                                                                            \
    CMPK(s_cmpk_eq_i32, (int32_t)a == k)                                                                                \
    CMPK(s_cmpk_lg_i32, (int32_t)a != k)                                                                                \
    CMPK(s_cmpk_gt_i32, (int32_t)a > k)                                                                                 \
    CMPK(s_cmpk_ge_i32, (int32_t)a >= k)                                                                                \
    CMPK(s_cmpk_lt_i32, (int32_t)a < k)                                                                                 \
    CMPK(s_cmpk_le_i32, (int32_t)a <= k)                                                                                \
    CMPK(s_cmpk_eq_u32, a == (uint16_t)k)                                                                               \
    CMPK(s_cmpk_lg_u32, a != (uint16_t)k)                                                                               \
    CMPK(s_cmpk_gt_u32, a > (uint16_t)k)                                                                                \
    CMPK(s_cmpk_ge_u32, a >= (uint16_t)k)                                                                               \
    CMPK(s_cmpk_lt_u32, a < (uint16_t)k)                                                                                \
    CMPK(s_cmpk_le_u32, a <= (uint16_t)k)

#define ROWS_GFX11 BIN32(s_pack_hl_b32_b16, a >> 16 | b << 16)
#define ROWS_GFX12 BIN64(s_add_nc_u64, a + b) BIN64(s_sub_nc_u64, a - b) BIN64(s_mul_u64, a * b)

/* ---- The functions ---- */

#define RUN(name) static void run_##name(struct sim_wave *w, const struct sim_inst *i)
#define IN32(name, k) uint32_t name = scalar_in32(w, &i->o[k]);
#define IN64(name, k) uint64_t name = scalar_in64(w, &i->o[k]);
#define OUT32(...) uint32_t r = (__VA_ARGS__); scalar_out32(w, &i->o[0], r);
#define OUT64(...) uint64_t r = (__VA_ARGS__); scalar_out64(w, &i->o[0], r);
#define TO_SCC w->scc = r != 0;

#define BIN32(name, ...) RUN(name) { IN32(a, 1) IN32(b, 2) OUT32(__VA_ARGS__) }
#define BIN32Z(name, ...) RUN(name) { IN32(a, 1) IN32(b, 2) OUT32(__VA_ARGS__) TO_SCC }
#define BIN32C(name, expr, carry) RUN(name) { IN32(a, 1) IN32(b, 2) uint32_t c = (carry); OUT32(expr) w->scc = c; }
#define BIN64(name, ...) RUN(name) { IN64(a, 1) IN64(b, 2) OUT64(__VA_ARGS__) }
#define BIN64Z(name, ...) RUN(name) { IN64(a, 1) IN64(b, 2) OUT64(__VA_ARGS__) TO_SCC }
#define SHIFT64Z(name, ...) RUN(name) { IN64(a, 1) IN32(b, 2) OUT64(__VA_ARGS__) TO_SCC }
#define MASK64(name, ...) RUN(name) { IN32(a, 1) IN32(b, 2) OUT64(__VA_ARGS__) }
#define UN32(name, ...) RUN(name) { IN32(a, 1) IN32(d, 0) (void)d; OUT32(__VA_ARGS__) }
#define UN32Z(name, ...) RUN(name) { IN32(a, 1) OUT32(__VA_ARGS__) TO_SCC }
#define UN64(name, ...) RUN(name) { IN64(a, 1) IN64(d, 0) (void)d; OUT64(__VA_ARGS__) }
#define UN64Z(name, ...) RUN(name) { IN64(a, 1) OUT64(__VA_ARGS__) TO_SCC }
#define DOWN32(name, ...) RUN(name) { IN64(a, 1) OUT32(__VA_ARGS__) }
#define DOWN32Z(name, ...) RUN(name) { IN64(a, 1) OUT32(__VA_ARGS__) TO_SCC }
#define UP64(name, ...) RUN(name) { IN32(a, 1) IN64(d, 0) (void)d; OUT64(__VA_ARGS__) }
#define CMP32(name, ...) RUN(name) { IN32(a, 0) IN32(b, 1) w->scc = (__VA_ARGS__); }
#define CMP64(name, ...) RUN(name) { IN64(a, 0) IN64(b, 1) w->scc = (__VA_ARGS__); }
#define BIT64(name, ...) RUN(name) { IN64(a, 0) IN32(b, 1) w->scc = (__VA_ARGS__); }
#define K32(name, expr, carry) \
    RUN(name) { int32_t k = i->simm; IN32(d, 0) (void)d; uint32_t c = (carry); OUT32(expr) w->scc = c; }
#define CMPK(name, ...) RUN(name) { int32_t k = i->simm; IN32(a, 0) w->scc = (__VA_ARGS__); }
/* The 32-bit forms work on EXEC_LO alone and the 64-bit ones on both words, whatever the wave's size. */
#define SAVEEXEC(name, ...)                                                                                             \
    RUN(s_##name##_b32) { IN32(a, 1) uint32_t e = w->s[SIM_EXEC], r = (__VA_ARGS__);                                    \
                          scalar_out32(w, &i->o[0], e); w->s[SIM_EXEC] = r; TO_SCC }                                    \
    RUN(s_##name##_b64) { IN64(a, 1) uint64_t e = exec_pair(w), r = (__VA_ARGS__);                                      \
                          scalar_out64(w, &i->o[0], e); set_exec_pair(w, r); TO_SCC }
#define WREXEC(name, ...)                                                                                               \
    RUN(s_##name##_b32) { IN32(a, 1) uint32_t e = w->s[SIM_EXEC], r = (__VA_ARGS__);                                    \
                          scalar_out32(w, &i->o[0], r); w->s[SIM_EXEC] = r; TO_SCC }                                    \
    RUN(s_##name##_b64) { IN64(a, 1) uint64_t e = exec_pair(w), r = (__VA_ARGS__);                                      \
                          scalar_out64(w, &i->o[0], r); set_exec_pair(w, r); TO_SCC }

static inline uint64_t exec_pair(const struct sim_wave *w)
{
    return w->s[SIM_EXEC] | (uint64_t)w->s[SIM_EXEC + 1] << 32;
}

static inline void set_exec_pair(struct sim_wave *w, uint64_t mask)
{
    w->s[SIM_EXEC] = (uint32_t)mask;
    w->s[SIM_EXEC + 1] = (uint32_t)(mask >> 32);
}

ROWS
ROWS_GFX11
ROWS_GFX12

/* ---- Registers by M0 ---- */

/* The scalar register `by` behind that of operand `k`; NULL, and the wave stopped, outside of them. */
static uint32_t *moved(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t by, unsigned dwords)
{
    const struct sim_operand *o = &i->o[k];
    if (o->kind != SIM_SGPR || o->reg >= SIM_TTMP || by >= SIM_TTMP || o->reg + by + dwords > SIM_TTMP) {
        sim_illegal(w, i, "M0 leads out of the scalar registers");
        return NULL;
    }
    return &w->s[o->reg + by];
}

RUN(s_movrels_b32)
{
    const uint32_t *from = moved(w, i, 1, w->s[SIM_M0], 1);
    if (from)
        scalar_out32(w, &i->o[0], *from);
}

RUN(s_movrels_b64)
{
    const uint32_t *from = moved(w, i, 1, w->s[SIM_M0], 2);
    if (from)
        scalar_out64(w, &i->o[0], from[0] | (uint64_t)from[1] << 32);
}

RUN(s_movreld_b32)
{
    uint32_t *to = moved(w, i, 0, w->s[SIM_M0], 1);
    if (to)
        *to = scalar_in32(w, &i->o[1]);
}

RUN(s_movreld_b64)
{
    uint32_t *to = moved(w, i, 0, w->s[SIM_M0], 2);
    uint64_t value = scalar_in64(w, &i->o[1]);
    if (to) {
        to[0] = (uint32_t)value;
        to[1] = (uint32_t)(value >> 32);
    }
}

RUN(s_movrelsd_2_b32)
{
    const uint32_t *from = moved(w, i, 1, w->s[SIM_M0] & 1023, 1);
    uint32_t *to = moved(w, i, 0, w->s[SIM_M0] >> 16 & 1023, 1);
    if (from && to)
        *to = *from;
}

/* ---- The rows ---- */

#define ROW(name, sig) { #name, sig, run_##name, SIM_SALU, 0 },
#undef BIN32
#undef BIN32Z
#undef BIN32C
#undef BIN64
#undef BIN64Z
#undef SHIFT64Z
#undef MASK64
#undef UN32
#undef UN32Z
#undef UN64
#undef UN64Z
#undef DOWN32
#undef DOWN32Z
#undef UP64
#undef CMP32
#undef CMP64
#undef BIT64
#undef K32
#undef CMPK
#undef SAVEEXEC
#undef WREXEC
#define BIN32(name, ...) ROW(name, "s=ss")
#define BIN32Z(name, ...) ROW(name, "s=ss")
#define BIN32C(name, ...) ROW(name, "s=ss")
#define BIN64(name, ...) ROW(name, "S=SS")
#define BIN64Z(name, ...) ROW(name, "S=SS")
#define SHIFT64Z(name, ...) ROW(name, "S=Ss")
#define MASK64(name, ...) ROW(name, "S=ss")
#define UN32(name, ...) ROW(name, "s=s")
#define UN32Z(name, ...) ROW(name, "s=s")
#define UN64(name, ...) ROW(name, "S=S")
#define UN64Z(name, ...) ROW(name, "S=S")
#define DOWN32(name, ...) ROW(name, "s=S")
#define DOWN32Z(name, ...) ROW(name, "s=S")
#define UP64(name, ...) ROW(name, "S=s")
#define CMP32(name, ...) ROW(name, "=ss")
#define CMP64(name, ...) ROW(name, "=SS")
#define BIT64(name, ...) ROW(name, "=Ss")
#define K32(name, ...) ROW(name, "s=")
#define CMPK(name, ...) ROW(name, "=s")
#define SAVEEXEC(name, ...) ROW(s_##name##_b32, "s=s") ROW(s_##name##_b64, "S=S")
#define WREXEC(name, ...) SAVEEXEC(name, __VA_ARGS__)

static const struct sim_op rows[] = {
    ROWS
    ROW(s_movrels_b32, "s=s") ROW(s_movrels_b64, "S=S") ROW(s_movreld_b32, "s=s") ROW(s_movreld_b64,
                                                                                      "S=S") ROW(s_movrelsd_2_b32, "s=s")
#undef ROW
#define ROW(name, sig) { #name, sig, run_##name, SIM_SALU, SIM_GFX11 | SIM_GFX12 },
    ROWS_GFX11
#undef ROW
#define ROW(name, sig) { #name, sig, run_##name, SIM_SALU, SIM_GFX12 },
    ROWS_GFX12
};

const struct sim_table sim_salu = { rows, sizeof rows / sizeof *rows };
