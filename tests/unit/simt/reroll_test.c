/* Loops unrolled with a loop for the remainder first, for lanes that run differently often (simt/rewrite/reroll.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Gathers and scatters, gathers alone, neither. */
static const char *const machines[] = { "host", "host:x86-64-v3,+fast-gather", "host:x86-64-v3" };

/* A word of p5 for each thread: rounds before (3 bits), whether to go past the second loop (8) or past both (16). */
enum { PAST = 8, PAST_BOTH = 16, UNROLLED_THREADS = 256 };

/* Rounds are read from memory, and then where the row ends is computed before the loops or between them; or they are computed
 * from the way to the row's end, as nvcc does. */
enum unrolled_how { READ, READ_LATE, COUNTED };

/* p0: where each warp's row begins and how long it is, p1, p2: the row's columns and values, p3: what columns are of, p4:
 * results, p5: the rounds. `slip`: is added to the way. */
static char *unrolled_body(const char *type, int shift, int step, int times, int mistake, enum unrolled_how how, int slip)
{
    static const char end[] = "  %to = add i32 %from, %length\n";
    bool late = how == READ_LATE;
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%w = lshr i32 %%g, 5\n  %%lane = and i32 %%t, 31\n  %%wl = zext i32 %%w to i64\n"
        "  %%wo = shl i64 %%wl, 3\n"
        "  %%fp = getelementptr i8, ptr addrspace(1) %%p0, i64 %%wo\n  %%from = load i32, ptr addrspace(1) %%fp\n"
        "  %%tp = getelementptr i8, ptr addrspace(1) %%fp, i64 4\n  %%length = load i32, ptr addrspace(1) %%tp\n%s"
        "  %%c.base = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%v.base = ptrtoint ptr addrspace(1) %%p2 to i64\n" FLOAD(
            "word", "p5", "i32", "4") "  %%i0 = add i32 %%from, %%lane\n",
        late ? "" : end);
    if (how == COUNTED)
        aw_buf_printf(&b, "  %%below = icmp slt i32 %%i0, %%to\n  br i1 %%below, label %%count, label %%after\n"
                      "count:\n  %%i1 = add i32 %%i0, %d\n  %%end = call i32 @llvm.smax.i32(i32 %%to, i32 %%i1)\n"
                      "  %%not = xor i32 %%lane, -1\n"
                      "  %%end.lane = add i32 %%end, %%not\n  %%exact = sub i32 %%end.lane, %%from\n"
                      "  %%way = add i32 %%exact, %d\n"
                      "  %%whole = lshr i32 %%way, %d\n  %%rounds = add i32 %%whole, 1\n  %%few = and i32 %%rounds, %d\n"
                      "  %%past = icmp ult i32 %%way, %d\n",
                      step, slip, __builtin_ctz((unsigned)step), times - 1, step * (times - 1));
    else
        aw_buf_printf(&b, "  br label %%count\ncount:\n  %%few = and i32 %%word, %d\n  %%past.x = and i32 %%word, 8\n"
                      "  %%past = icmp ne i32 %%past.x, 0\n", times - 1);
    aw_buf_printf(&b, "  %%skip = icmp eq i32 %%few, 0\n  br i1 %%skip, label %%join, label %%enter\n"
                  "enter:\n  %%il = sext i32 %%i0 to i64\n  %%io = shl i64 %%il, %d\n  %%c0 = add i64 %%c.base, %%io\n"
                  "  %%v0 = add i64 %%v.base, %%io\n"
                  "  br label %%rest\nrest:\n  %%sum = phi i32 [ 7, %%enter ], [ %%rs.0, %%rest ]\n"
                  "  %%i = phi i32 [ %%i0, %%enter ], [ %%i.next, %%rest ]\n"
                  "  %%rc = phi i64 [ %%c0, %%enter ], [ %%c.next, %%rest ]\n"
                  "  %%rv = phi i64 [ %%v0, %%enter ], [ %%v.next, %%rest ]\n"
                  "  %%left = phi i32 [ %%few, %%enter ], [ %%left.next, %%rest ]\n", shift);
    for (int loop = 0; loop < 2; loop++) {
        const char *l = loop ? "m" : "r";
        if (loop)
            aw_buf_printf(&b, "join:\n  %%js = phi i32 [ 7, %%count ], [ %%rs.0, %%rest ]\n"
                              "  %%ji = phi i32 [ %%i0, %%count ], [ %%i.next, %%rest ]\n"
                          "%s  br i1 %%past, label %%after, label %%more\nmore:\n  %%jl = sext i32 %%ji to i64\n"
                          "  %%jo = shl i64 %%jl, %d\n"
                          "  %%jo2 = add i64 %%jo, %d\n  %%c1 = add i64 %%c.base, %%jo2\n  %%v1 = add i64 %%v.base, %%jo2\n"
                          "  br label %%main\n"
                          "main:\n  %%ms = phi i32 [ %%js, %%more ], [ %%ms.%d, %%main ]\n"
                          "  %%mi = phi i32 [ %%ji, %%more ], [ %%mi.next, %%main ]\n"
                          "  %%mc = phi i64 [ %%c1, %%more ], [ %%mc.next, %%main ]\n"
                          "  %%mv = phi i64 [ %%v1, %%more ], [ %%mv.next, %%main ]\n",
                          late ? end : "", shift, 2 * step << shift, times - 1);
        for (int k = 0; k < (loop ? times : 1); k++) {
            char before[16];
            snprintf(before, sizeof before, k ? "%ss.%d" : loop ? "ms" : "sum", l, k - 1);
            int64_t at = loop ? (k - 2) * step * (INT64_C(1) << shift) : 0;
            aw_buf_printf(&b, "  %%%sca.%d = add i64 %%%sc, %lld\n  %%%scp.%d = inttoptr i64 %%%sca.%d to ptr addrspace(1)\n"
                          "  %%%sco.%d = load %s, ptr addrspace(1) %%%scp.%d\n",
                          l, k, l, (long long)at, l, k, l, k, l, k, type, l, k);
            aw_buf_printf(&b, "  %%%sva.%d = add i64 %%%sv, %lld\n  %%%svp.%d = inttoptr i64 %%%sva.%d to ptr addrspace(1)\n"
                          "  %%%sval.%d = load %s, ptr addrspace(1) %%%svp.%d\n",
                          l, k, l, (long long)at, l, k, l, k, l, k, type, l, k);
            aw_buf_printf(&b, "  %%%scx.%d = zext %s %%%sco.%d to i64\n  %%%sxo.%d = and i64 %%%scx.%d, 255\n"
                              "  %%%sx4.%d = shl i64 %%%sxo.%d, 2\n"
                          "  %%%sxp.%d = getelementptr i8, ptr addrspace(1) %%p3, i64 %%%sx4.%d\n"
                          "  %%%sx.%d = load i32, ptr addrspace(1) %%%sxp.%d\n",
                          l, k, type, l, k, l, k, l, k, l, k, l, k, l, k, l, k, l, k, l, k);
            aw_buf_printf(&b, "  %%%svx.%d = zext %s %%%sval.%d to i64\n  %%%sv32.%d = trunc i64 %%%svx.%d to i32\n"
                          "  %%%spr.%d = mul i32 %%%sv32.%d, %%%sx.%d\n"
                          "  %%%ssh.%d = mul i32 %%%s, %d\n  %%%ss.%d = add i32 %%%ssh.%d, %%%spr.%d\n",
                          l, k, type, l, k, l, k, l, k, l, k, l, k, l, k, l, k, before, loop && k == mistake ? 37 : 31, l, k, l,
                          k, l, k);
        }
        if (!loop)
            aw_buf_printf(&b, "  %%i.next = add i32 %%i, %d\n  %%c.next = add i64 %%rc, %d\n  %%v.next = add i64 %%rv, %d\n"
                          "  %%left.next = add i32 %%left, -1\n  %%go = icmp ne i32 %%left.next, 0\n"
                          "  br i1 %%go, label %%rest, label %%join\n",
                          step, step << shift, step << shift);
    }
    aw_buf_printf(&b, "  %%mi.next = add i32 %%mi, %d\n  %%mc.next = add i64 %%mc, %d\n  %%mv.next = add i64 %%mv, %d\n"
                  "  %%on = icmp slt i32 %%mi.next, %%to\n  br i1 %%on, label %%main, label %%after\n"
                  "after:\n  %%r = phi i32 [ %%js, %%join ], [ %%ms.%d, %%main ]%s\n" FSTORE("r", "p4", "i32", "4") "  ret void",
                  step * times, step * times << shift, step * times << shift, times - 1, how == COUNTED ? ", [ 7, %entry ]" : "");
    return b.ptr;
}

struct unrolled {
    int32_t range[UNROLLED_THREADS / 32][2];
    uint32_t x[256], word[UNROLLED_THREADS], got[UNROLLED_THREADS];
    char *columns, *values; /* of index 0 */
    int shift, step, times, mistake, slip;
};

static uint32_t element(const char *base, int64_t i, int shift)
{
    uint32_t r = 0;
    memcpy(&r, base + i * (1 << shift), (size_t)1 << shift);
    return r;
}

static uint32_t unrolled_one(const struct unrolled *d, int64_t i, uint32_t sum, uint32_t by)
{
    return sum * by + element(d->values, i, d->shift) * d->x[element(d->columns, i, d->shift) & 255];
}

static uint32_t unrolled_reference(const struct unrolled *d, int thread)
{
    uint32_t sum = 7, few = d->word[thread] & (uint32_t)(d->times - 1);
    int32_t i = (int32_t)((uint32_t)d->range[thread / 32][0] + (uint32_t)thread % 32);
    if (d->word[thread] & PAST_BOTH)
        return sum;
    for (uint32_t k = 0; k < few; k++)
        sum = unrolled_one(d, (int64_t)i + k * (uint32_t)d->step, sum, 31);
    i = (int32_t)((uint32_t)i + few * (uint32_t)d->step);
    if (d->word[thread] & PAST)
        return sum;
    int64_t at = i;
    do {
        for (int k = 0; k < d->times; k++, at += d->step)
            sum = unrolled_one(d, at, sum, k == d->mistake ? 37 : 31);
        i = (int32_t)((uint32_t)i + (uint32_t)(d->step * d->times));
    } while (i < d->range[thread / 32][1]);
    return sum;
}

/* The word that says what the thread counts itself. */
static uint32_t unrolled_counted(const struct unrolled *d, int thread)
{
    uint32_t lane = (uint32_t)thread % 32, from = (uint32_t)d->range[thread / 32][0];
    int32_t to = d->range[thread / 32][1], first = (int32_t)(from + lane), next = (int32_t)(from + lane + (uint32_t)d->step);
    uint32_t way = (uint32_t)(to > next ? to : next) - 1 - lane - from + (uint32_t)d->slip;
    uint32_t few = (way / (uint32_t)d->step + 1) % (uint32_t)d->times;
    return first >= to ? PAST_BOTH : few | (way < (uint32_t)(d->step * (d->times - 1)) ? PAST : 0);
}

static void check_unrolled(struct unrolled *d, const char *target, enum unrolled_how how)
{
    const uint32_t block[3] = { UNROLLED_THREADS, 1, 1 };
    int32_t rows[UNROLLED_THREADS / 32][2];
    for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
        rows[w][0] = d->range[w][0];
        rows[w][1] = (int32_t)((uint32_t)d->range[w][1] - (uint32_t)d->range[w][0]);
    }
    char *body = unrolled_body(d->shift ? "i32" : "i8", d->shift, d->step, d->times, d->mistake, how, d->slip),
         *ir = kernel_text(body, "");
    struct args a = { { rows, d->columns, d->values, d->x, d->got, d->word }, "" };
    struct built b = build_or_fail(ir, target, block, 0);
    memset(d->got, 0, sizeof d->got);
    cr_assert_eq(launch(&b, one, block, 0, &a).status, 0);
    for (int t = 0; t < UNROLLED_THREADS; t++)
        cr_assert_eq(d->got[t], unrolled_reference(d, t),
                     "%s, %d times %d of %d bytes, how %d, slip %d, thread %d: %d to %d, word %u", target, d->times, d->step,
                     1 << d->shift, how, d->slip, t, d->range[t / 32][0], d->range[t / 32][1], d->word[t]);
    unload(&b);
    free(ir);
    free(body);
}

/* Columns and values of 4 bytes, at random. */
static void unrolled_words(struct unrolled *d)
{
    static uint32_t memory[2][1 << 14];
    d->columns = (char *)memory[0];
    d->values = (char *)memory[1];
    d->shift = 2;
    for (int i = 0; i < 256; i++)
        d->x[i] = rnd(1u << 30);
    for (int i = 0; i < 2 << 14; i++)
        memory[i >> 14][i & 0x3fff] = rnd(1u << 30);
}

/* Rounds as nvcc counts them, and at random; and bodies one of which is not as the others. */
Test(simt, unrolled_unevenly)
{
    static const int forms[][3] = { { 32, 4, -1 }, { 32, 4, 2 }, { 32, 2, -1 }, { 64, 8, -1 }, { 1, 4, -1 }, { 32, 4, 0 } };
    static struct unrolled d;
    unrolled_words(&d);
    for (size_t m = 0; m < 3; m++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            d.step = forms[form][0];
            d.times = forms[form][1];
            d.mistake = forms[form][2];
            for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
                d.range[w][0] = (int32_t)rnd(1000);
                d.range[w][1] = d.range[w][0] + (int32_t)rnd(700) - 50;
            }
            for (int t = 0; t < UNROLLED_THREADS; t++) {
                int rounds = (d.range[t / 32][1] - d.range[t / 32][0] - t % 32 + d.step - 1) / d.step;
                rounds = rounds < 0 ? 0 : rounds;
                d.word[t] = form & 1 ? rnd(16) : (uint32_t)(rounds % d.times) | (rounds < d.times ? PAST : 0);
            }
            check_unrolled(&d, machines[m], READ);
            check_unrolled(&d, machines[m], READ_LATE);
        }
}

/* Counted from the way to the end, for which one loop may stand; and from ways that are not quite that. */
Test(simt, unrolled_and_counted)
{
    static const int forms[][4] = { { 32, 4, -1, 0 }, { 32, 2, -1, 0 },  { 64, 8, -1, 0 }, { 1, 4, -1, 0 },
                                    { 32, 4, 2, 0 },  { 32, 4, -1, 32 }, { 32, 4, -1, 1 } };
    static struct unrolled d;
    unrolled_words(&d);
    for (size_t m = 0; m < 3; m++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            d.step = forms[form][0];
            d.times = forms[form][1];
            d.mistake = forms[form][2];
            d.slip = forms[form][3];
            for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
                d.range[w][0] = (int32_t)rnd(1000);
                d.range[w][1] = d.range[w][0] + (w < 2 ? 32 << w * 2 : (int32_t)rnd(700) - 50);
            }
            for (int t = 0; t < UNROLLED_THREADS; t++)
                d.word[t] = unrolled_counted(&d, t);
            check_unrolled(&d, machines[m], COUNTED);
        }
}

/* An index that wraps on the way goes on at the other end of memory in the second loop, and does not in the first. */
Test(simt, unrolled_and_wrapping)
{
    enum { AROUND = 4096 };
    const size_t half = (size_t)1 << 31, all = 2 * half + AROUND;
    static struct unrolled d = { .step = 32, .times = 4, .mistake = -1 };
    char *memory[2];
    for (int i = 0; i < 2; i++) {
        memory[i] = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        cr_assert_neq(memory[i], MAP_FAILED);
        for (int k = 0; k < AROUND; k++) {
            memory[i][k] = (char)rnd(256);
            memory[i][all - 1 - (size_t)k] = (char)rnd(256);
        }
    }
    d.columns = memory[0] + half;
    d.values = memory[1] + half;
    for (int i = 0; i < 256; i++)
        d.x[i] = rnd(1u << 30);
    for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
        d.range[w][0] = INT32_MAX - (int32_t)(w & 1 ? rnd(400) : 500 + rnd(200));
        d.range[w][1] = w & 1 ? INT32_MIN + (int32_t)rnd(300) : INT32_MAX - 150; /* is reached without wrapping, if only just */
    }
    for (int t = 0; t < UNROLLED_THREADS; t++)
        d.word[t] = rnd(4);
    for (size_t m = 0; m < 3; m++) {
        check_unrolled(&d, machines[m], READ);
        check_unrolled(&d, machines[m], READ_LATE);
    }
    for (int w = 1; w < UNROLLED_THREADS / 32; w += 2) {
        d.range[w][0] = INT32_MAX - 500 - (int32_t)rnd(200);
        d.range[w][1] = INT32_MAX - 250 - (int32_t)rnd(12); /* about as far as it cannot wrap */
    }
    for (int t = 0; t < UNROLLED_THREADS; t++)
        d.word[t] = unrolled_counted(&d, t);
    for (size_t m = 0; m < 3; m++)
        check_unrolled(&d, machines[m], COUNTED);
    munmap(memory[0], all);
    munmap(memory[1], all);
}

enum { BELOW_THREADS = 128, BELOW_ROUNDS = 200 };

static bool is_below(const char *how, uint32_t i, uint32_t to)
{
    bool equal = how[2] == 'e';
    if (*how == 's')
        return equal ? (int32_t)i <= (int32_t)to : (int32_t)i < (int32_t)to;
    return equal ? i <= to : i < to;
}

static uint32_t below_reference(const char *how, const uint32_t range[2], uint32_t step, bool asked, const uint32_t *row,
                                uint32_t lane, int *ret_rounds)
{
    uint32_t i = range[0] + lane, sum = 7;
    *ret_rounds = 0;
    if (asked && !is_below(how, i, range[1]))
        return sum;
    do
        sum = sum * 31 + (row[32u * (uint32_t)*ret_rounds + lane] ^ i);
    while (++*ret_rounds < BELOW_ROUNDS && is_below(how, i += step, range[1]));
    return sum;
}

static void check_below(const char *target, const char *how, uint32_t step, bool asked)
{
    static uint32_t range[BELOW_THREADS / 32][2], row[32 * BELOW_ROUNDS], got[BELOW_THREADS];
    static const uint32_t edges[] = { 0, INT32_MAX, UINT32_MAX, 0x1000 };
    const uint32_t block[3] = { BELOW_THREADS, 1, 1 };
    struct aw_buf body = { 0 };
    aw_buf_printf(&body, "  %%w = lshr i32 %%t, 5\n  %%lane = and i32 %%t, 31\n  %%wl = zext i32 %%w to i64\n"
        "  %%wo = shl i64 %%wl, 3\n"
        "  %%fp = getelementptr i8, ptr addrspace(1) %%p0, i64 %%wo\n  %%from = load i32, ptr addrspace(1) %%fp\n"
        "  %%tp = getelementptr i8, ptr addrspace(1) %%fp, i64 4\n  %%to = load i32, ptr addrspace(1) %%tp\n"
        "  %%i0 = add i32 %%from, %%lane\n  %%ll = zext i32 %%lane to i64\n  %%lo = shl i64 %%ll, 2\n"
        "  %%at = getelementptr i8, ptr addrspace(1) %%p1, i64 %%lo\n  %%some = icmp %s i32 %%i0, %%to\n"
        "  br i1 %s, label %%loop, label %%end\nloop:\n  %%i = phi i32 [ %%i0, %%entry ], [ %%next, %%loop ]\n"
        "  %%a = phi ptr addrspace(1) [ %%at, %%entry ], [ %%a.next, %%loop ]\n"
        "  %%sum = phi i32 [ 7, %%entry ], [ %%sum.next, %%loop ]\n"
        "  %%v = load i32, ptr addrspace(1) %%a\n  %%x = xor i32 %%v, %%i\n  %%more = mul i32 %%sum, 31\n"
        "  %%sum.next = add i32 %%more, %%x\n"
        "  %%a.next = getelementptr i8, ptr addrspace(1) %%a, i64 128\n  %%next = add i32 %%i, %u\n"
        "  %%on = icmp %s i32 %%next, %%to\n"
        "  br i1 %%on, label %%loop, label %%end\nend:\n  %%r = phi i32 [ 7, %%entry ], [ %%sum.next, %%loop ]\n" FSTORE(
            "r", "p2", "i32", "4") "  ret void",
        how, asked ? "%some" : "true", step, how);
    char *ir = kernel_text(body.ptr, "");
    struct args a = { { range, row, got }, "" };
    struct built b = build_or_fail(ir, target, block, 0);
    for (int i = 0; i < 32 * BELOW_ROUNDS; i++)
        row[i] = rnd(1u << 30);
    for (int times = 0; times < 20; times++) {
        uint32_t want[BELOW_THREADS];
        for (int t = 0, rounds; t < BELOW_THREADS; t++) {
            uint32_t *at = range[t / 32];
            if (t % 32 == 0) {
                at[0] = edges[rnd(4)] + rnd(3000) - 1500;
                uint32_t near[] = { at[0] + rnd(900), edges[rnd(4)] + rnd(300) - 150, at[0] + rnd(64) * step + rnd(40) };
                at[1] = near[rnd(3)];
            }
            want[t] = below_reference(how, at, step, asked, row, (uint32_t)t % 32, &rounds);
            if (rounds == BELOW_ROUNDS) /* all but endless: others */
                t = t / 32 * 32 - 1;
        }
        memset(got, 0, sizeof got);
        cr_assert_eq(launch(&b, one, block, 0, &a).status, 0);
        for (int t = 0; t < BELOW_THREADS; t++)
            cr_assert_eq(got[t], want[t], "%s, %s, steps of %u, asked %d, thread %d: %u to %u", target, how, step, asked, t,
                         range[t / 32][0], range[t / 32][1]);
    }
    unload(&b);
    free(ir);
    free(body.ptr);
}

Test(simt, rounds_below_a_bound)
{
    static const char *const hows[] = { "slt", "sle", "ult", "ule" };
    static const uint32_t steps[] = { 8, 30, 31, 32, 0x4100001, 0x30000001 };
    for (size_t m = 0; m < 3; m++)
        for (size_t how = 0; how < 4; how++)
            for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
                check_below(machines[m], hows[how], steps[step], (m + how + step) % 3 != 0);
}
