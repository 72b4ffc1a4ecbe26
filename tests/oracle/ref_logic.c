/* References: logic, shifts and permutes (PTX ISA 9.7.8, 9.7.9.7). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/oracle.h"

#define T (in->types[0])
#define REF(name) void oracle_ref_##name(const struct ptx_instr *in, struct oracle_lane *l)

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

REF(logic)
{
    uint64_t a = l->src[0].u64[0], b = l->src[1].u64[0];
    char op = in->mnemonic.ptr[0];
    l->dst[0].u64[0] = cut(op == 'a' ? a & b : op == 'o' ? a | b : a ^ b, ptx_type_bits(T));
}
REF(not)
{
    l->dst[0].u64[0] = cut(~l->src[0].u64[0], ptx_type_bits(T));
}
REF(cnot)
{
    l->dst[0].u64[0] = cut(l->src[0].u64[0], ptx_type_bits(T)) == 0;
}

/* F(a, b, c) of 0xF0, 0xCC, 0xAA is the table: bit 4a + 2b + c of it. */
static uint32_t table(const struct oracle_lane *l)
{
    uint32_t d = 0, lut = l->src[3].u32[0];
    for (unsigned i = 0; i < 32; i++) {
        unsigned a = l->src[0].u32[0] >> i & 1, b = l->src[1].u32[0] >> i & 1, c = l->src[2].u32[0] >> i & 1;
        d |= (lut >> (4 * a + 2 * b + c) & 1) << i;
    }
    return d;
}
REF(lop3)
{
    l->dst[0].u32[0] = table(l);
}
REF(lop3_bool)
{
    uint32_t d = table(l);
    bool q = l->src[4].u8[0] & 1;
    l->dst[0].u32[0] = d;
    l->dst[1].u8[0] = ptx_has(in, PTX_MOD_AND) ? d != 0 && q : d != 0 || q;
}

/* .l: the high half of [b, a] << n; .r: the low half of [b, a] >> n. */
REF(shf)
{
    uint32_t a = l->src[0].u32[0], b = l->src[1].u32[0], c = l->src[2].u32[0];
    unsigned n = ptx_has(in, PTX_MOD_CLAMP) ? c > 32 ? 32 : c : c & 31;
    uint64_t both = (uint64_t)b << 32 | a;
    l->dst[0].u32[0] = ptx_has(in, PTX_MOD_L) ? (uint32_t)((both << n) >> 32) : (uint32_t)(both >> n);
}
REF(shl)
{
    unsigned width = ptx_type_bits(T);
    uint32_t n = l->src[1].u32[0];
    l->dst[0].u64[0] = n < width ? cut(l->src[0].u64[0] << n, width) : 0;
}
REF(shr)
{
    unsigned width = ptx_type_bits(T);
    uint32_t n = l->src[1].u32[0];
    bool sign = ptx_type_class(T) == 'S' && (l->src[0].u64[0] >> (width - 1) & 1);
    for (unsigned i = 0; i < width; i++)
        l->dst[0].u64[0] |= (uint64_t)((uint64_t)i + n < width ? l->src[0].u64[0] >> (i + n) & 1 : sign) << i;
}

/* prmt: bytes 0-3 are those of a, 4-7 those of b.  Each mode has, for each value of c's two low bits, the byte for each place,
 * the highest first. */
REF(prmt)
{
    static const struct {
        enum ptx_mod mod;
        uint16_t rows[4];
    } modes[] = {
        { PTX_MOD_F4E, { 0x3210, 0x4321, 0x5432, 0x6543 } }, { PTX_MOD_B4E, { 0x5670, 0x6701, 0x7012, 0x0123 } },
        { PTX_MOD_RC8, { 0x0000, 0x1111, 0x2222, 0x3333 } }, { PTX_MOD_ECL, { 0x3210, 0x3211, 0x3222, 0x3333 } },
        { PTX_MOD_ECR, { 0x0000, 0x1110, 0x2210, 0x3210 } }, { PTX_MOD_RC16, { 0x1010, 0x3232, 0x1010, 0x3232 } },
    };
    uint32_t select = l->src[2].u32[0] & 0xffff;
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
        if (ptx_has(in, modes[m].mod))
            select = modes[m].rows[l->src[2].u32[0] & 3];
    for (unsigned i = 0; i < 4; i++) {
        unsigned s = select >> 4 * i & 15;
        uint8_t byte = l->src[(s & 7) / 4].u8[s & 3];
        l->dst[0].u8[i] = s & 8 ? (byte & 0x80 ? 0xff : 0) : byte; /* the fourth bit: its sign, eight times */
    }
}
