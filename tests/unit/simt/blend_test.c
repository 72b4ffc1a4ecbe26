/* Updates in place whose branch goes (ptx/simt/rewrite/blend.c): what threads leave stays as it is, and where threads might share
 * an element, or there is more than caches hold, nothing is stored that no thread writes: memory that may only be read tells. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include <criterion/criterion.h>
#include <sys/mman.h>

/* if (y < h && x < w && in[i] < out[i]) out[i] = 2 * in[i], with i = y * stride + x: x being the `sum` of where the block begins
 * and the thread's number in it, and x < w asked `before` anything is read, or `after`. */
#define KERNEL(sum, before, after)                                                                                               \
    "declare i32 @aw.tid.x()\ndeclare i32 @aw.tid.y()\ndeclare i32 @aw.ctaid.x()\ndeclare i32 @aw.ctaid.y()\ndeclare i32 "       \
    "@aw.ntid.x()\n"                                                                                                             \
    "declare i32 @aw.ntid.y()\ndefine void @k(ptr addrspace(4) byref([80 x i8]) align 16 %ka) \"aw-kernel\" {\nentry:\n"         \
    "  %in = load i64, ptr addrspace(4) %ka\n  %out.p = getelementptr i8, ptr addrspace(4) %ka, i64 8\n"                         \
    "  %out = load i64, ptr addrspace(4) %out.p\n  %w.p = getelementptr i8, ptr addrspace(4) %ka, i64 16\n"                      \
    "  %w = load i32, ptr addrspace(4) %w.p\n  %h.p = getelementptr i8, ptr addrspace(4) %ka, i64 20\n"                          \
    "  %h = load i32, ptr addrspace(4) %h.p\n  %s.p = getelementptr i8, ptr addrspace(4) %ka, i64 24\n"                          \
    "  %stride = load i32, ptr addrspace(4) %s.p\n  %tx = call i32 @aw.tid.x()\n  %ty = call i32 @aw.tid.y()\n"                  \
    "  %nx = call i32 @aw.ntid.x()\n  %ny = call i32 @aw.ntid.y()\n  %bx = call i32 @aw.ctaid.x()\n  %by = call i32 "            \
    "@aw.ctaid.y()\n"                                                                                                            \
    "  %x0 = mul i32 %bx, %nx\n  %x = " sum " i32 %x0, %tx\n  %y0 = mul i32 %by, %ny\n  %y = add i32 %y0, %ty\n"                 \
    "  %inx = icmp slt i32 %x, %w\n  %iny = icmp slt i32 %y, %h\n  %ok = and i1 %iny, " before                                   \
    "\n  br i1 %ok, label %work, label %done\n"                                                                                  \
    "work:\n  %row = mul i32 %y, %stride\n  %i = add i32 %row, %x\n  %i64 = sext i32 %i to i64\n  %ib = shl i64 %i64, 2\n"       \
    "  %pa = add i64 %in, %ib\n  %p = inttoptr i64 %pa to ptr addrspace(1)\n"                                                    \
    "  %oa = add i64 %out, %ib\n  %o = inttoptr i64 %oa to ptr addrspace(1)\n"                                                   \
    "  %a = load i32, ptr addrspace(1) %p\n  %old = load i32, ptr addrspace(1) %o\n  %l = icmp slt i32 %a, %old\n  %c = and i1 " \
    "%l, " after "\n"                                                                                                            \
    "  br i1 %c, label %less, label %done\nless:\n  %a2 = shl i32 %a, 1\n  store i32 %a2, ptr addrspace(1) %o\n  br label "      \
    "%done\n"                                                                                                                    \
    "done:\n  ret void\n}\n"

static const char text[] = KERNEL("add", "%inx", "true"), late[] = KERNEL("add", "true", "%inx"),
                  joined[] = KERNEL("or", "%inx", "true");

struct args {
    const int32_t *in;
    int32_t *out;
    int32_t w, h, stride;
    char rest[52];
};

static const char *const targets[] = { "host:x86-64-v3,+slow-masked-stores", "host:x86-64", "host" };
enum { TARGETS = sizeof targets / sizeof *targets };

static struct built build(const char *ir, const char *target, const uint32_t *block)
{
    struct aw_buf diags = { 0 };
    struct built b;
    cr_assert(build_simt(ir, target, block, 0, &b, &diags), "%s", diags.ptr);
    return b;
}

/* Zeros. */
static int32_t *pages(size_t n)
{
    int32_t *p = mmap(NULL, n * sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    return p;
}

static uint32_t often(size_t i)
{
    return i / 32 % 3 == 0 ? 0 : i / 32 % 3 == 1 ? (uint32_t)(i * 2654435761u) >> 20 & 1 : 1; /* in no lane, some, all */
}

/* A thread after another; rows may overlap. */
static void check(const struct built *b, const uint32_t grid[3], const uint32_t block[3], int32_t w, int32_t h, int32_t stride)
{
    size_t n = (size_t)(h + 1) * (size_t)(stride > w ? stride : w) + 64;
    int32_t *in = pages(n), *out = pages(n), *want = pages(n);
    struct args a = { .in = in, .out = out, .w = w, .h = h, .stride = stride };
    for (size_t i = 0; i < n; i++) {
        in[i] = (int32_t)(i % 50);
        want[i] = out[i] = often(i) ? in[i] + 1 + (int32_t)(i % 7) : in[i] - (int32_t)(i % 5);
    }
    for (int32_t y = 0; y < h && y < (int32_t)(grid[1] * block[1]); y++)
        for (int32_t x = 0; x < w && x < (int32_t)(grid[0] * block[0]); x++)
            want[y * stride + x] = in[y * stride + x] < want[y * stride + x] ? 2 * in[y * stride + x] : want[y * stride + x];
    cr_assert_eq(launch(b, grid, block, 0, &a).status, 0);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(out[i], want[i], "grid %u,%u block %u,%u, %d x %d, stride %d: element %zu is %d, not %d", grid[0], grid[1],
                     block[0], block[1], w, h, stride, i, out[i], want[i]);
    munmap(in, n * sizeof *in);
    munmap(out, n * sizeof *out);
    munmap(want, n * sizeof *want);
}

Test(blend, results)
{
    static const uint32_t shapes[][3] = { { 32, 8, 1 }, { 64, 2, 1 }, { 16, 4, 1 }, { 40, 3, 1 }, { 128, 1, 1 }, { 1, 32, 1 } },
                          any[3] = { 0, 0, 0 };
    static const uint32_t grid[3] = { 5, 3, 1 };
    for (int t = 0; t < TARGETS; t++)
        for (size_t s = 0; s < 2 * sizeof shapes / sizeof *shapes; s++) {
            const uint32_t *shape = shapes[s / 2];
            struct built b = build(text, targets[t], s % 2 ? any : shape);
            int32_t w = (int32_t)(grid[0] * shape[0]), h = (int32_t)(grid[1] * shape[1]);
            check(&b, grid, shape, w, h, w);
            check(&b, grid, shape, w, h, w + 9);
            check(&b, grid, shape, w, h, w / 2);
            check(&b, grid, shape, w - 3, h - 1, w - 3);
            check(&b, grid, shape, w + 70, h + 1, w + 70);
            unload(&b);
        }
}

/* No thread has anything to write, and none may. */
static void check_unwritten(const struct built *b, const uint32_t grid[3], const uint32_t block[3], int32_t w, int32_t stride)
{
    size_t n = (size_t)(grid[1] * block[1]) * (size_t)stride + (size_t)w;
    int32_t *in = pages(n), *out = pages(n);
    struct args a = { .in = in, .out = out, .w = w, .h = (int32_t)(grid[1] * block[1]), .stride = stride };
    cr_assert_eq(mprotect(out, n * sizeof *out, PROT_READ), 0);
    cr_assert_eq(launch(b, grid, block, 0, &a).status, 0);
    munmap(in, n * sizeof *in);
    munmap(out, n * sizeof *out);
}

/* Rows that reach into the next, and more than caches hold. */
Test(blend, nothing_is_written_unasked)
{
    static const uint32_t block[3] = { 32, 8, 1 }, small[3] = { 4, 2, 1 }, large[3] = { 64, 160, 1 }, deep[3] = { 4, 2, 2 };
    for (int t = 0; t < TARGETS; t++) {
        struct built b = build(text, targets[t], block);
        check_unwritten(&b, small, block, 128, 127);
        check_unwritten(&b, small, block, 128, 1);
        check_unwritten(&b, large, block, 2048, 2048);
        check_unwritten(&b, deep, block, 128, 128);
        unload(&b);
    }
}

/* More columns than the width: who has one too many comes to the next row's place, which is another thread's, and is told so
 * behind his read only.  And threads of two blocks that have one number, as the block's first has bits of theirs. */
Test(blend, nor_where_threads_meet)
{
    static const uint32_t block[3] = { 32, 8, 1 }, odd[3] = { 48, 1, 1 }, grid[3] = { 4, 2, 1 };
    for (int t = 0; t < TARGETS; t++) {
        struct built b = build(late, targets[t], block);
        check_unwritten(&b, grid, block, 100, 100);
        unload(&b);
        b = build(joined, targets[t], odd);
        check_unwritten(&b, grid, odd, 4 * 48, 4 * 48);
        unload(&b);
        b = build(joined, targets[t], (const uint32_t[3]){ 0, 0, 0 });
        check_unwritten(&b, grid, odd, 4 * 48, 4 * 48);
        unload(&b);
    }
}
