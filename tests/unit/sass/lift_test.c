/* Unit tests of lifting: what of an instruction nobody looks at refuses the kernel; calls; order of shared memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sass/sass.h"
#include "bits.h"
#include "make_cubin.h"

enum { MAX = 1100 };
static struct aw_buf text, why;

static enum aw_status lift(unsigned arch, const struct bits code[], unsigned n)
{
    uint64_t words[2 * MAX];
    struct aw_buf image = { 0 };
    struct sass_cubin *cubin;
    const char *problem = "";
    cr_assert_leq(n, MAX);
    for (unsigned k = 0; k < n; k++) {
        words[2 * k] = code[k].low;
        words[2 * k + 1] = code[k].high;
    }
    aw_buf_fini(&text);
    aw_buf_fini(&why);
    make_cubin(&image, &(struct make_cubin){ .arch = arch, .code = words, .n = n });
    cr_assert_eq(sass_open(image.ptr, image.len, &cubin, &problem), AW_OK, "%s", problem);
    enum aw_status status = sass_lift(cubin, 0, false, &text, &why);
    sass_close(cubin);
    aw_buf_fini(&image);
    return status;
}

#define LIFT(arch, ...) \
    lift(arch, (const struct bits[]){ __VA_ARGS__ }, sizeof((const struct bits[]){ __VA_ARGS__ }) / sizeof(struct bits))

static void has(const char *part, bool wanted)
{
    cr_assert_eq(strstr(text.ptr, part) != NULL, wanted, "%s in\n%s", part, text.ptr);
}

static struct bits always(unsigned opcode, unsigned d, unsigned a)
{
    return put(start(opcode, d, a), 87, 3, 7);
}

static struct bits leave(void)
{
    return always(0x94d, 0, 0);
}

static struct bits add(void)
{
    return put(put(quiet(start(0x210, 5, 6)), 32, 8, 7), 64, 8, 8);
}

/* Of shared memory: STS [R2], R3; LDS R4, [R2+0x10]; BAR.SYNC 0. */
static struct bits store(void)
{
    return put(put(start(0x388, 0, 2), 32, 8, 3), 73, 3, 4);
}

static struct bits load(void)
{
    return put(put(start(0x984, 4, 2), 40, 24, 16), 73, 3, 4);
}

static struct bits barrier(void)
{
    return start(0xb1d, 0, 0);
}

/* From instruction `at` to `to`. */
static struct bits call(unsigned at, unsigned to)
{
    return put(put(always(0x944, 0, 0), 34, 48, (uint64_t)(((int64_t)to - at - 1) * 4)), 86, 1, 1);
}

static struct bits give_back(unsigned at)
{
    return put(put(always(0x950, 0, 20), 34, 48, (uint64_t)(-((int64_t)at + 1) * 4)), 86, 1, 1);
}

/* MOV R20, the place of instruction `to`: where it stands means nothing here. */
static struct bits place(unsigned to)
{
    return put(put(start(0x802, 20, 0), 32, 32, to * 16), 72, 4, 15);
}

Test(lift, bits_that_no_field_has)
{
    cr_assert_eq(LIFT(80, add(), leave()), AW_OK, "%s", why.ptr);
    cr_assert_eq(LIFT(80, put(add(), 45, 1, 1), leave()), AW_ERR_NOT_SUPPORTED);
    cr_assert_str_eq(why.ptr, "k+0x0: IADD3: bits that mean what is not known");
    cr_assert_eq(LIFT(80, leave(), put(add(), 45, 1, 1)), AW_OK, "no one comes there: %s", why.ptr);
}

Test(lift, modifiers_that_nobody_looks_at)
{
    struct bits wider = put(put(put(start(0x310, 4, 0), 32, 8, 6), 75, 3, 3), 84, 3, 2); /* F2F.F64.F32 R4, R6 */
    cr_assert_eq(LIFT(80, wider, leave()), AW_OK, "%s", why.ptr);
    cr_assert_eq(LIFT(80, put(wider, 78, 2, 1), leave()), AW_ERR_NOT_SUPPORTED, "nothing is rounded");
    cr_assert_str_eq(why.ptr, "k+0x0: F2F: RND, which changes nothing that is known");
}

Test(lift, signs_that_nobody_takes)
{
    struct bits permute = put(put(start(0x216, 5, 6), 32, 8, 7), 64, 8, 8);
    cr_assert_eq(LIFT(80, permute, leave()), AW_OK, "%s", why.ptr);
    cr_assert_eq(LIFT(80, put(permute, 75, 1, 1), leave()), AW_ERR_NOT_SUPPORTED, "there is no PRMT of -c");
}

/* UR2UP UPR, UR5.B1, 0x5: bits 8 and 10 become UP0 and UP2; and what is known under a uniform guard is forgotten. */
Test(lift, bits_as_uniform_predicates)
{
    struct bits bits = put(put(put(start(0x884, 0, 5), 32, 8, 5), 76, 2, 1), 91, 1, 1);
    cr_assert_eq(LIFT(80, bits, leave()), AW_OK, "%s", why.ptr);
    has("and.b32 %t0, %u5, 256;", true);
    has("setp.ne.u32 %q0, %t0, 0;", true);
    has("mov.pred %up0, %q0;", true);
    has("and.b32 %t1, %u5, 1024;", true);
    has("mov.pred %up2, %q1;", true);
    has("%up1", false);
}

/* HADD2 R0, -RZ.H0_H0, c[0x0][0x160].F32: a float rounded toward zero, in the other order. */
Test(lift, float_as_half_in_either_order)
{
    struct bits bits = { 0x10005800ff007630, 0x000fe20000000900 };
    cr_assert_eq(LIFT(75, bits, leave()), AW_OK, "%s", why.ptr);
    has("cvt.rz.f16x2.f32 %r0, %c0, %c0;", true);
}

/* FMUL.D2 R4, R12, R15: one rounding of half the product. */
Test(lift, scaled_product)
{
    struct bits bits = put(put(start(0x220, 4, 12), 32, 8, 15), 84, 3, 3);
    cr_assert_eq(LIFT(80, bits, leave()), AW_OK, "%s", why.ptr);
    has("mul.rn.f64 %w2, %w0, %w1;\n\tmul.rn.f64 %w3, %w2, 0d3FE0000000000000;\n\tcvt.rn.f32.f64 %r4, %w3;", true);
}

/* UP2UR UR44, UPR, UR5, 0x5, of byte 1: UP0 and UP2 become bits 8 and 10. */
Test(lift, uniform_predicates_as_bits)
{
    struct bits bits = put(put(put(start(0x883, 44, 5), 32, 8, 5), 76, 2, 1), 91, 1, 1);
    cr_assert_eq(LIFT(80, bits, leave()), AW_OK, "%s", why.ptr);
    has("and.b32 %t0, %u5, 4294966015;", true);
    has("selp.b32 %t1, 256, 0, %up0;", true);
    has("selp.b32 %t3, 1024, 0, %up2;", true);
    has("mov.b32 %u44, %t4;", true);
}

Test(lift, shared_memory_is_a_variable)
{
    cr_assert_eq(LIFT(80, store(), barrier(), load(), leave()), AW_OK, "%s", why.ptr);
    has(".shared .align 16 .b8 shared[64];", true);
    has("mov.u32 %shared, shared;", true);
    has("add.s32 %t0, %shared, %r2;\n\tst.shared.b32 [%t0], %r3;", true);
    has("add.s32 %t1, %shared, %r2;\n\tld.shared.b32 %r4, [%t1+16];", true);
}

/* Lanes in step may hand values over between a store and a load with no barrier. */
Test(lift, points_of_order)
{
    cr_assert_eq(LIFT(80, store(), load(), leave()), AW_OK);
    has("st.shared.b32 [%t0], %r3;\n\t.pragma \"anywarp in step\";\n", true);
    cr_assert_eq(LIFT(80, store(), barrier(), load(), leave()), AW_OK);
    has("in step", false);
    cr_assert_eq(LIFT(80, load(), load(), leave()), AW_OK);
    has("in step", false);
    struct bits next = put(store(), 40, 24, 4), far = put(store(), 40, 24, 4096);
    cr_assert_eq(LIFT(80, store(), next, leave()), AW_OK);
    has("in step", true); /* the next lane's */
    cr_assert_eq(LIFT(80, store(), far, leave()), AW_OK);
    has("in step", false);
    /* Around a loop: load, store, and back. */
    struct bits back = put(put(start(0x947, 0, 0), 34, 48, (uint64_t)(-3 * 4)), 87, 3, 7);
    cr_assert_eq(LIFT(80, load(), barrier(), back, leave()), AW_OK, "%s", why.ptr);
    has("in step", false);
    cr_assert_eq(LIFT(80, load(), store(), back, leave()), AW_OK);
    cr_assert_not_null(strstr(strstr(text.ptr, "in step") + 1, "in step"), "both are after the other\n%s", text.ptr);
}

Test(lift, functions_that_call_themselves)
{
    struct bits again = put(call(2, 2), 12, 3, 0); /* @P0 */
    cr_assert_eq(LIFT(80, call(0, 2), leave(), again, give_back(3), place(1), place(3)), AW_OK, "%s", why.ptr);
    has("$RETURN1:", true);
    has("setp.eq.u32 %q0, %return, 16;", true);
    has("setp.eq.u32 %q1, %return, 48;", true);
    /* One that does not: its return is where it was called from. */
    cr_assert_eq(LIFT(80, call(0, 2), leave(), add(), give_back(3), place(1)), AW_OK, "%s", why.ptr);
    has("$RETURN", false);
    has("setp.ne.u32 %q0, %t2, 16;\n\t@%q0 trap;", true);
}

/* A kernel of `calls` calls of a function of 40 calls of another, of `own` instructions. */
static void nested(unsigned calls, unsigned own)
{
    enum { INNER = 40 };
    struct bits code[MAX];
    unsigned outer = calls + 1, inner = outer + INNER + 1, n = 0;
    while (n < calls) {
        code[n] = call(n, outer);
        n++;
    }
    code[n++] = leave();
    while (n < inner - 1) {
        code[n] = call(n, inner);
        n++;
    }
    code[n] = give_back(n);
    n++;
    for (unsigned k = 1; k < own; k++)
        code[n++] = add();
    code[n] = give_back(n);
    n++;
    for (unsigned k = 1; k < inner; k++)
        code[n++] = place(k);
    cr_assert_eq(lift(80, code, n), AW_OK, "%s", why.ptr);
}

/* Copies for all calls of calls would be many times the code: what is large with its copies is lifted once. */
Test(lift, functions_that_are_lifted_once)
{
    nested(20, 20);
    has("$RETURN", false);
    nested(20, 80);
    has("$RETURN1:", true);
    has("$RETURN2:", false); /* the inner one has a copy for each of the outer's calls */
    has("setp.eq.u32 %q40, %return, 16;", true);
    has("setp.eq.u32 %q59, %return, 320;", true);
    cr_assert_lt(text.len, 500000, "%zu", text.len);
    /* Where the inner one is, the outer one is, too, small as it is without it: a place to return to is in one context. */
    nested(20, 900);
    has("$RETURN1:", true);
    has("$RETURN2:", true);
    has("$RETURN0:", false);
    cr_assert_lt(text.len, 200000, "%zu", text.len);
}

Test(lift, calls_that_do_not_come_back)
{
    cr_assert_eq(LIFT(80, call(0, 2), leave(), add(), call(3, 0)), AW_OK, "%s", why.ptr);
    has("trap", false);
}

/* A call of the rest of the function leads out of its loop: no number says that it leads back, and the function's own return is
 * from there. */
Test(lift, calls_of_the_rest_of_a_function)
{
    struct bits out = put(call(3, 5), 12, 3, 0); /* @P0 */
    struct bits round = put(put(start(0x947, 0, 0), 34, 48, (uint64_t)(-3 * 4)), 87, 3, 7);
    cr_assert_eq(LIFT(80, call(0, 2), leave(), add(), out, round, give_back(5), place(1)), AW_OK, "%s", why.ptr);
    has(", 16;\n\t@%q0 trap;", true);
    has(", 64;", false);
    has("%q1", false);
    cr_assert_eq(LIFT(80, call(0, 2), leave(), add(), out, round, give_back(5), place(1), place(4)), AW_OK, "%s", why.ptr);
    has(", 64;\n\t@%q0 trap;", true);
}

/* TLD.LZ, as it is without a level, and where level 0 is asked for. */
Test(lift, texels_of_level_0)
{
    struct bits fetch = put(put(start(0x367, 4, 4), 59, 5, 7), 64, 8, 6);
    fetch = put(put(put(put(fetch, 72, 4, 15), 81, 3, 7), 84, 3, 1), 87, 3, 1);
    cr_assert_eq(LIFT(80, fetch, leave()), AW_OK, "%s", why.ptr);
    has("tex.2d.v4.f32.s32", true);
    cr_assert_eq(LIFT(80, put(fetch, 77, 1, 1), leave()), AW_OK, "%s", why.ptr);
    has("tex.2d.v4.f32.s32", true);
    cr_assert_eq(LIFT(80, put(put(fetch, 77, 1, 1), 88, 1, 1), leave()), AW_OK, "%s", why.ptr);
    has("tex.level.2d.v4.f32.s32", true);
}

/* P says that the operation was done, in global memory: the code behind it is for all other addresses. */
Test(lift, atomics_that_tell)
{
    struct bits both = put(put(put(put(put(start(0x38a, 12, 2), 32, 8, 8), 72, 1, 1), 73, 3, 2), 77, 4, 7), 84, 3, 1);
    cr_assert_eq(LIFT(80, put(both, 87, 4, 5), leave()), AW_OK, "%s", why.ptr); /* ATOM.E.AND.64 P0, R12, [R2.64], R8 */
    has("atom.relaxed.gpu.global.and.b64", true);
    has("mov.pred %p0, %always;", true);
}

/* ---- Lines */

/* Of a kernel of two instructions, whose image `change` may damage first. */
static void lift_lines(bool lines, bool places, void (*change)(struct aw_buf *image, unsigned seed), unsigned seed)
{
    static const uint64_t code[] = { 0x0000000000007918, 0x000fc00000000000, 0x000000000000794d, 0x000fea0003800000 };
    struct aw_buf image = { 0 };
    struct sass_cubin *cubin;
    const char *problem = "";
    aw_buf_fini(&text);
    aw_buf_fini(&why);
    make_cubin(&image, &(struct make_cubin){ .arch = 80, .code = code, .n = 2, .lines = lines });
    if (change)
        change(&image, seed);
    cr_assert_eq(sass_open(image.ptr, image.len, &cubin, &problem), AW_OK, "%s", problem);
    cr_assert_eq(sass_lift(cubin, 0, places, &text, &why), AW_OK, "%s", why.ptr);
    sass_close(cubin);
    aw_buf_fini(&image);
}

Test(sass_lift, tells_source_lines)
{
    lift_lines(true, false, NULL, 0);
    has(".file 1 \"/src/k.cu\"\n", true);
    has("\t.loc 1 7 0\n", true);
    has("\t.loc 1 9 0\n\texit;\n", true);
}

Test(sass_lift, tells_places_where_asked)
{
    lift_lines(false, false, NULL, 0);
    has(".loc", false);
    lift_lines(false, true, NULL, 0);
    has(".file 1 \"machine code of k\"\n", true);
    has("\t.loc 1 16 0\n\texit;\n", true);
    lift_lines(true, true, NULL, 0);
    has("machine code of", false);
}

/* A few bytes of the table, anywhere behind its beginning. */
static void damage(struct aw_buf *image, unsigned seed)
{
    char *table = memmem(image->ptr, image->len, "/src\0\0k.cu", 10);
    cr_assert_not_null(table);
    table -= 24;
    uint32_t state = seed * 2654435761u + 1;
    for (unsigned k = 0; k <= seed % 4; k++) {
        state = state * 1664525 + 1013904223;
        table[(state >> 8) % 60] = (char)(state >> 24);
    }
}

Test(sass_lift, damaged_lines_hurt_no_code)
{
    for (unsigned seed = 0; seed < 20000; seed++) {
        lift_lines(true, seed % 2, damage, seed);
        has("exit;\n}\n", true);
    }
}
