/* Loads and stores (simt/emit/memory.c): local arrays, generic addresses, every so many elements. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

Test(simt, local_arrays_and_generic_pointers)
{
    /* A per-thread array, indexed by data, through a generic pointer; and a shared cell through one, too. */
    static const char body[] = LOAD(
        "v", "p0", "i32",
        "4") "  %arr = alloca [16 x i32], align 4, addrspace(5)\n  %gen = addrspacecast ptr addrspace(5) %arr to ptr\n"
             "  br label %fill\n"
             "fill:\n  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]\n  %i64 = zext i32 %i to i64\n"
             "  %q = getelementptr i32, ptr %gen, i64 %i64\n"
             "  %x0 = mul i32 %i, %v\n  store i32 %x0, ptr %q\n  %i1 = add i32 %i, 1\n  %m = icmp ult i32 %i1, 16\n"
             "  br i1 %m, label %fill, label %use\n"
             "use:\n  %k = and i32 %v, 15\n  %k64 = zext i32 %k to i64\n  %w = getelementptr i32, ptr %gen, i64 %k64\n"
             "  %y = load i32, ptr %w\n"
             "  %l = call i1 @aw.is.local(ptr %w)\n  %sg = addrspacecast ptr addrspace(3) @aw.shared to ptr\n"
        "  %s1 = call i1 @aw.is.shared(ptr %sg)\n  %s2 = call i1 @aw.is.shared(ptr %w)\n  %l2 = call i1 @aw.is.local(ptr %sg)\n"
             "  %gg = addrspacecast ptr addrspace(1) %p0 to ptr\n  %l3 = call i1 @aw.is.local(ptr %gg)\n"
             "  %s3 = call i1 @aw.is.shared(ptr %gg)\n"
        "  store i32 5, ptr %sg\n  %sb = addrspacecast ptr %sg to ptr addrspace(3)\n  %five = load i32, ptr addrspace(3) %sb\n"
             "  %z0 = zext i1 %l to i32\n  %z1 = zext i1 %s1 to i32\n  %z2 = zext i1 %s2 to i32\n  %z3 = zext i1 %l2 to i32\n"
             "  %z4 = zext i1 %l3 to i32\n"
             "  %z5 = zext i1 %s3 to i32\n  %b1 = shl i32 %z1, 1\n  %b2 = shl i32 %z2, 2\n  %b3 = shl i32 %z3, 3\n"
             "  %b4 = shl i32 %z4, 4\n"
             "  %b5 = shl i32 %z5, 5\n  %c1 = or i32 %z0, %b1\n  %c2 = or i32 %c1, %b2\n  %c3 = or i32 %c2, %b3\n"
             "  %c4 = or i32 %c3, %b4\n  %c5 = or i32 %c4, %b5\n"
             "  %c6 = mul i32 %five, 64\n  %c = or i32 %c5, %c6\n" STORE("y", "p6", "i32", "4")
                 STORE("c", "p7", "i32", "4") "  ret void\n";
    uint32_t v[70], y[70], c[70];
    for (int i = 0; i < 70; i++)
        v[i] = rnd(1000);
    struct args a = { { v, 0, 0, 0, 0, 0, y, c }, { 0 } };
    run_body(body, "@aw.shared = internal addrspace(3) global [16 x i8] undef\ndeclare i1 @aw.is.local(ptr)\n"
                   "declare i1 @aw.is.shared(ptr)\n",
             one, (uint32_t[3]){ 70, 1, 1 }, false, 16, &a);
    for (int i = 0; i < 70; i++) {
        cr_assert_eq(y[i], (v[i] & 15) * v[i]);
        cr_assert_eq(c[i], 1 | 2 | 5 * 64, "windows of thread %d: %#x", i, c[i]);
    }
}

Test(simt, memory_intrinsics_and_small_vectors)
{
    static const char body[] =
        "  %o = mul i64 %gl, 16\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %v = load <4 x float>, ptr addrspace(1) %s, align 16\n"
        "  %e0 = extractelement <4 x float> %v, i32 0\n  %e3 = extractelement <4 x float> %v, i32 3\n"
        "  %w1 = insertelement <4 x float> %v, float %e3, i32 0\n  %w2 = insertelement <4 x float> %w1, float %e0, i32 3\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p1, i64 %o\n  store <4 x float> %w2, ptr addrspace(1) %d, align 16\n"
        "  %bits = load i32, ptr addrspace(1) %s\n  %h = bitcast i32 %bits to <2 x i16>\n"
        "  %h0 = extractelement <2 x i16> %h, i32 0\n"
        "  %h1 = extractelement <2 x i16> %h, i32 1\n  %k0 = insertelement <2 x i16> poison, i16 %h1, i32 0\n"
        "  %k1 = insertelement <2 x i16> %k0, i16 %h0, i32 1\n  %x = bitcast <2 x i16> %k1 to i32\n" STORE("x", "p6", "i32", "4")
        "  %l = alloca [32 x i8], align 8, addrspace(5)\n"
        "  call void @llvm.memset.p5.i64(ptr addrspace(5) %l, i8 17, i64 32, i1 false)\n"
        "  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) %l, ptr addrspace(1) %s, i64 12, i1 false)\n"
        "  %l4 = getelementptr i8, ptr addrspace(5) %l, i64 4\n"
        "  call void @llvm.memmove.p5.p5.i64(ptr addrspace(5) %l4, ptr addrspace(5) %l, i64 12, i1 false)\n"
        "  %r = getelementptr i8, ptr addrspace(1) %p2, i64 %o\n"
        "  call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) %r, ptr addrspace(5) %l4, i64 16, i1 false)\n"
        "  ret void\n";
    static const char globals[] = "declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)\n"
        "declare void @llvm.memcpy.p5.p1.i64(ptr addrspace(5), ptr addrspace(1), i64, i1)\n"
        "declare void @llvm.memcpy.p1.p5.i64(ptr addrspace(1), ptr addrspace(5), i64, i1)\n"
        "declare void @llvm.memmove.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)\n";
    enum { T = 50 };
    _Alignas(16) static uint32_t v[T][4], d[T][4], c[T][4], x[T];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < 4; j++)
            v[i][j] = rnd(0x7f000000);
    struct args a = { { v, d, c, 0, 0, 0, x, 0 }, { 0 } };
    run_body(body, globals, one, (uint32_t[3]){ T, 1, 1 }, false, 0, &a);
    for (int i = 0; i < T; i++) {
        cr_assert(d[i][0] == v[i][3] && d[i][1] == v[i][1] && d[i][2] == v[i][2] && d[i][3] == v[i][0]);
        cr_assert_eq(x[i], v[i][0] << 16 | v[i][0] >> 16);
        cr_assert(c[i][0] == v[i][0] && c[i][1] == v[i][1] && c[i][2] == v[i][2] && c[i][3] == 0x11111111u, "copy %d", i);
    }
}

static void check_stride(const char *type, int size, int stride, int threads, bool early)
{
    enum { PAGE = 4096, SPACE = 8 * PAGE };
    char *body, *memory = mmap(NULL, SPACE + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int bytes = ((threads - 1) * stride + 1) * size;
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory, PAGE, PROT_NONE) | mprotect(memory + PAGE + SPACE, PAGE, PROT_NONE), 0);
    char *first = early ? memory + PAGE : memory + PAGE + SPACE - bytes, want[SPACE];
    for (int i = 0; i < SPACE; i++)
        memory[PAGE + i] = want[i] = (char)rnd(256);
    cr_assert_geq(asprintf(&body,
        "  %%n = ptrtoint ptr addrspace(1) %%p1 to i32\n  %%on = icmp slt i32 %%g, %%n\n  br i1 %%on, label %%then, label %%end\n"
        "then:\n  %%o = mul i64 %%gl, %d\n  %%p = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n"
        "  %%v = load %s, ptr addrspace(1) %%p\n  %%w = mul %s %%v, 3\n  store %s %%w, ptr addrspace(1) %%p\n  br label %%end\n"
        "end:\n  ret void\n", size * stride, type, type, type), 0);
    const uint32_t shape[3] = { (uint32_t)(threads + 31) / 32 * 32, 1, 1 };
    struct args a = { { first, (void *)(intptr_t)threads }, "" };
    run_body(body, "", one, shape, threads & 1, 0, &a);
    for (int i = 0; i < threads; i++) {
        uint64_t x = 0;
        char *at = want + (first - memory - PAGE) + i * stride * size;
        memcpy(&x, at, (size_t)size);
        x *= 3;
        memcpy(at, &x, (size_t)size);
    }
    cr_assert_arr_eq(memory + PAGE, want, sizeof want, "%s, %d threads, stride %d", type, threads, stride);
    munmap(memory, SPACE + 2 * PAGE);
    free(body);
}

Test(simt, strides)
{
    static const int threads[] = { 32, 96, 51, 64 };
    for (int stride = 2; stride <= 5; stride++)
        for (size_t i = 0; i < 2 * sizeof threads / sizeof *threads; i++) {
            check_stride("i16", 2, stride, threads[i / 2], i & 1);
            check_stride("i32", 4, stride, threads[i / 2], i & 1);
            check_stride("i64", 8, stride, threads[i / 2], i & 1);
        }
}
