/* Unit tests of the decoder: encodings written by hand from the fields that the table names, so that a wrong field of it
 * shows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sass/insn.h"
#include "bits.h"

static enum sass_decoded decode(struct bits b, unsigned arch, struct sass_insn *insn)
{
    uint8_t bytes[16];
    memcpy(bytes, &b.low, 8);
    memcpy(bytes + 8, &b.high, 8);
    *insn = (struct sass_insn){ 0 };
    return sass_decode(bytes, 0x100, arch, insn);
}

/* Decodes, and compares the listing. */
static struct sass_insn expect(struct bits b, unsigned arch, const char *text)
{
    struct sass_insn insn;
    struct aw_buf out = { 0 };
    cr_assert_eq(decode(b, arch, &insn), SASS_DECODED, "%s", text);
    sass_print(&insn, &out);
    cr_assert_str_eq(out.ptr, text);
    aw_buf_fini(&out);
    return insn;
}

Test(decode, forms_of_the_flexible_operand)
{
    struct bits add = quiet(start(0x010 | 1 << 9, 5, 6));
    struct sass_insn i = expect(put(put(add, 32, 8, 7), 64, 8, 8), 80, "IADD3 R5, R6, R7, R8");
    cr_assert(i.op == SASS_IADD3 && i.opnd[SASS_D].reg == 5 && i.opnd[SASS_A].reg == 6 && i.opnd[SASS_B].reg == 7 &&
              i.opnd[SASS_C].reg == 8);
    add = put(quiet(start(0x010 | 4 << 9, 5, 6)), 64, 8, 255);
    i = expect(put(add, 32, 32, 0xfffffffe), 80, "IADD3 R5, R6, 0xfffffffe, RZ");
    cr_assert(i.opnd[SASS_B].kind == SASS_IMM && i.opnd[SASS_B].value == 0xfffffffe && i.opnd[SASS_C].reg == SASS_RZ);
    add = put(quiet(start(0x010 | 2 << 9, 5, 6)), 64, 8, 9); /* the immediate is c */
    expect(put(add, 32, 32, 3), 80, "IADD3 R5, R6, R9, 0x3");
    add = put(quiet(start(0x010 | 5 << 9, 5, 6)), 64, 8, 255);
    i = expect(put(put(add, 38, 16, 0x164), 54, 5, 2), 80, "IADD3 R5, R6, c[0x2][0x164], RZ");
    cr_assert(i.opnd[SASS_B].kind == SASS_CONST && i.opnd[SASS_B].bank == 2 && i.opnd[SASS_B].value == 0x164);
    add = put(put(quiet(start(0x010 | 6 << 9, 5, 6)), 64, 8, 255), 91, 1, 1);
    i = expect(put(add, 32, 8, 63), 80, "IADD3 R5, R6, URZ, RZ");
    cr_assert(i.opnd[SASS_B].kind == SASS_UREG && i.opnd[SASS_B].reg == SASS_RZ);
    add = put(put(quiet(start(0x010 | 7 << 9, 5, 6)), 64, 8, 3), 91, 1, 1); /* the uniform register is c */
    expect(put(add, 32, 8, 4), 80, "IADD3 R5, R6, R3, UR4");
}

Test(decode, carries)
{
    struct bits add = put(put(start(0x210, 2, 4), 32, 8, 6), 64, 8, 255);
    add = put(put(put(add, 81, 3, 1), 84, 3, 7), 87, 4, 15);
    struct sass_insn i = expect(put(put(add, 77, 4, 15), 72, 1, 1), 75, "IADD3 R2, P1, -R4, R6, RZ");
    cr_assert(i.opnd[SASS_P].reg == 1 && i.opnd[SASS_A].neg && !i.opnd[SASS_A].inv);
    add = put(put(start(0x210, 3, 5), 32, 8, 7), 64, 8, 255);
    add = put(put(put(add, 81, 3, 7), 84, 3, 7), 87, 3, 1);
    i = expect(put(put(put(add, 77, 4, 15), 72, 1, 1), 74, 1, 1), 75, "IADD3.X R3, ~R5, R7, RZ, P1, !PT");
    cr_assert(i.mod[SASS_F_X] && i.opnd[SASS_A].inv && !i.opnd[SASS_A].neg && i.opnd[SASS_S].reg == 1 && i.opnd[SASS_T].inv);
}

Test(decode, guards)
{
    struct sass_insn i = expect(put(put((struct bits){ 0, 0 }, 0, 12, 0x94d), 87, 3, 7), 80, "@P0 EXIT");
    cr_assert(i.guard == 0 && !i.guard_inv && !i.guard_uniform);
    i = expect(put(put(put((struct bits){ 0, 0 }, 0, 12, 0x94d), 12, 4, 10), 87, 3, 7), 80, "@!P2 EXIT");
    cr_assert(i.guard == 2 && i.guard_inv);
    struct bits load = put(put(put((struct bits){ 0, 0 }, 0, 12, 0xab9), 12, 4, 1), 16, 8, 4);
    i = expect(put(put(load, 73, 3, 5), 38, 16, 0x118), 80, "@UP1 ULDC.64 UR4, c[0x0][0x118]");
    cr_assert(i.guard_uniform && i.opnd[SASS_D].regs == 2);
}

Test(decode, memory)
{
    struct bits load = put(put(start(0x981, 8, 2), 32, 8, 4), 40, 24, -8ull);
    load = put(put(put(put(load, 72, 1, 1), 73, 3, 6), 81, 3, 7), 84, 3, 1);
    struct sass_insn i = expect(put(put(put(load, 76, 1, 1), 90, 1, 1), 91, 1, 1), 80, "LDG.E.128 R8, [R2.64-0x8]");
    struct sass_operand *m = &i.opnd[SASS_M];
    cr_assert(i.opnd[SASS_D].regs == 4 && m->reg == 2 && m->regs == 2 && m->ureg == SASS_RZ && m->value == -8);
    cr_assert_eq(i.mod[SASS_F_ORDER], SASS_ORDER_WEAK);
    /* On sm_75 the same bits are two registers of an address. */
    i = expect(put(put(put(put(load, 77, 2, 2), 79, 2, 2), 90, 1, 1), 91, 1, 1), 75, "LDG.E.128.STRONG.GPU R8, [R2.64+UR4-0x8]");
    cr_assert(i.opnd[SASS_M].ureg == 4 && i.opnd[SASS_M].uregs == 2 && i.mod[SASS_F_ORDER] == SASS_ORDER_STRONG_GPU);
    struct bits store = put(put(put(start(0x388, 0, 3), 32, 8, 9), 73, 3, 4), 78, 2, 1);
    i = expect(put(store, 40, 24, 16), 80, "STS [R3.X4+0x10], R9");
    cr_assert(i.mod[SASS_F_SCALE] == SASS_SCALE_X4 && i.opnd[SASS_B].reg == 9);
}

Test(decode, floats)
{
    struct bits fma = put(put(start(0x823, 1, 2), 32, 32, 0xbf800000), 64, 8, 3);
    struct sass_insn i = expect(put(put(put(put(fma, 72, 1, 1), 78, 2, 3), 80, 1, 1), 75, 1, 1), 80,
                                "FFMA.FTZ.RZ R1, -R2, -1, -R3");
    cr_assert(i.mod[SASS_F_RND] == SASS_RND_RZ && i.mod[SASS_F_FTZ] && i.opnd[SASS_C].neg);
    i = expect(put(start(0x429, 4, 6), 32, 32, 0x3fe00000), 80, "DADD R4, R6, 0.5");
    cr_assert(i.opnd[SASS_C].value == 0x3fe0000000000000 && i.opnd[SASS_D].regs == 2 && i.opnd[SASS_A].regs == 2);
    i = expect(put(put(put(start(0x231, 4, 6), 32, 8, 7), 60, 2, 3), 64, 8, 8), 80, "HFMA2 R4, R6, R7.H1_H1, R8");
    cr_assert(i.opnd[SASS_B].half == SASS_HALF_HIGH);
}

Test(decode, control)
{
    struct bits jump = put(put(put(put((struct bits){ 0, 0 }, 0, 12, 0x947), 12, 3, 7), 87, 3, 7), 34, 48, -0x110ll / 4);
    struct sass_insn i = expect(jump, 80, "BRA 0x0");
    cr_assert(i.opnd[SASS_J].kind == SASS_TARGET && i.opnd[SASS_J].value == 0);
    struct bits sync = put(put(put(put((struct bits){ 0, 0 }, 0, 12, 0x945), 12, 3, 7), 16, 4, 3), 87, 3, 7);
    i = expect(put(sync, 34, 30, 0x40 / 4), 80, "BSSY B3, 0x150");
    cr_assert(i.opnd[SASS_K].reg == 3);
}

Test(decode, unknown)
{
    struct sass_insn i;
    struct bits cmp = put(put(start(0x20c, 0, 1), 74, 2, 3), 81, 6, 63); /* no such boolean operation */
    cr_assert_eq(decode(start(0xfff, 0, 0), 80, &i), SASS_UNKNOWN_OPCODE);
    cr_assert_eq(i.op, SASS_NO_OP);
    cr_assert_eq(decode(put(cmp, 87, 3, 7), 80, &i), SASS_UNKNOWN_MODIFIER);
    cr_assert_eq(i.op, SASS_ISETP);
    cr_assert_eq(decode(start(0x3c4, 0, 0), 75, &i), SASS_UNKNOWN_OPCODE, "REDUX came with sm_80");
    cr_assert_eq(decode(start(0x3c4, 0, 0), 80, &i), SASS_DECODED);
}

/* Whatever the bits are, decoder and listing stay within their tables. */
Test(decode, anything)
{
    uint64_t state = 88172645463325252u;
    for (unsigned n = 0; n < 300000; n++) {
        struct bits b;
        struct sass_insn insn;
        struct aw_buf out = { 0 };
        uint64_t *words[2] = { &b.low, &b.high };
        for (unsigned w = 0; w < 2; w++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *words[w] = state;
        }
        if (decode(b, n % 2 ? 75 : 80, &insn) == SASS_DECODED)
            cr_assert(insn.op < SASS_OPS && *sass_op_name(insn.op) && *sass_op_meaning(insn.op));
        sass_print(&insn, &out);
        cr_assert(out.len > 0);
        aw_buf_fini(&out);
    }
}
