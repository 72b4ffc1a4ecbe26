/* Kernels from a body: %p0 .. %p7 are the eight arguments as global pointers, %t the thread in its block, %g in the grid. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_SIMT_BODIES_H
#define AW_TEST_SIMT_BODIES_H

#include "harness.h"

struct args {
    void *p[8];
    char hidden[16];
};

extern const uint32_t one[3], any_rows[3], full_rows[3]; /* blocks to build for: of one thread, any, whose rows are whole warps */

enum { WARPS = 6, N = WARPS * 32 }; /* threads of tests that need no other number */

char *kernel_text(const char *body, const char *globals); /* the whole module; heap */
struct built build_or_fail(const char *ir, const char *target, const uint32_t block[3], uint32_t shared);
/* Builds for the blocks `built_for`, as the compiler's options say it, and runs one of them. */
struct outcome run_form(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3],
                        const uint32_t built_for[3], uint32_t shared, const struct args *a);
/* Builds for any shape, or for this one, and runs it. */
struct outcome run_body(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3], bool fixed,
                        uint32_t shared, const struct args *a);
uint32_t rnd(uint32_t n); /* below n; the same in every run of a test */
void rnd_begin(uint64_t seed);

#define LOAD(r, p, type, size) \
    "  %" r ".o = mul i64 %gl, " size "\n  %" r ".p = getelementptr i8, ptr addrspace(1) %" p ", i64 %" r ".o\n" \
    "  %" r " = load " type ", ptr addrspace(1) %" r ".p\n"
#define STORE(v, p, type, size) \
    "  %" v ".so = mul i64 %gl, " size "\n  %" v ".sp = getelementptr i8, ptr addrspace(1) %" p ", i64 %" v ".so\n" \
    "  store " type " %" v ", ptr addrspace(1) %" v ".sp\n"

/* The same inside a printf format. */
#define FLOAD(r, p, type, size) \
    "  %%" r ".o = mul i64 %%gl, " size "\n  %%" r ".p = getelementptr i8, ptr addrspace(1) %%" p ", i64 %%" r ".o\n" \
    "  %%" r " = load " type ", ptr addrspace(1) %%" r ".p\n"
#define FSTORE(v, p, type, size) \
    "  %%" v ".so = mul i64 %%gl, " size "\n  %%" v ".sp = getelementptr i8, ptr addrspace(1) %%" p ", i64 %%" v ".so\n" \
    "  store " type " %%" v ", ptr addrspace(1) %%" v ".sp\n"

#endif
