/* What the files of tests/matrix share: running a kernel, random values, one module of one kernel.  The program is main.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_MATRIX_H
#define AW_TESTS_MATRIX_H

#include "module/module.h"
#include "oracle/ref_matrix.h"

/* Warps of a launch, each with values of its own. */
enum { MATRIX_BLOCKS = 6, MATRIX_WARPS = 3 };

/* ---- Running (main.c) */

/* True when the form named so is wanted; counts it. */
bool matrix_wanted(const char *name);
/* Compiles `text`, whose kernel is "k" with two pointers for parameters, and runs it on MATRIX_BLOCKS warps, `warps` to a block:
 * `in` is copied to the device, and `out` to it before and from it after.  False after a message. */
bool matrix_run(const char *name, const char *text, unsigned warps, const void *in, size_t in_size, void *out, size_t out_size);
/* How many warps a block of mma and wmma is to have: up to MATRIX_WARPS. */
unsigned matrix_warps(void);
/* Instructions that make %t the lane, %n the warp's number in the launch and %w that in the block; all three are b32. */
#define MATRIX_INDICES                                                                                                  \
    "mov.u32 %%t, %%ntid.x;\nshr.u32 %%t, %%t, 5;\nmov.u32 %%n, %%ctaid.x;\nmul.lo.u32 %%n, %%n, %%t;\nmov.u32 %%t, %%tid.x;\n"  \
    "shr.u32 %%w, %%t, 5;\nadd.u32 %%n, %%n, %%w;\nand.b32 %%t, %%t, 31;\n"
/* The architecture whose machine code runs, lifted; 0: PTX does. */
unsigned matrix_arch(void);
/* Says what is wrong with the form; false. */
bool matrix_fail(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text's mma or movmatrix as the compiler's front sees it, for the references; NULL in *ret_in when there is none.  The
 * module that it lives in is the caller's: ptx_module_destroy, which takes NULL. */
struct ptx_module *matrix_instr(const char *text, size_t len, const struct ptx_instr **ret_in);

/* ---- Values (main.c): the same sequence in every run */
uint64_t matrix_random(void);
static inline unsigned matrix_below(unsigned n)
{
    return (unsigned)(matrix_random() >> 33) % n;
}
/* Bits of a value of `type`, middling; with `odd` now and then a zero, a subnormal, an infinity or a NaN. */
uint64_t matrix_value(enum ptx_type type, bool odd);
/* The value of bits of a float type of wmma, tf32 cut to its 10 bits. */
double matrix_float(enum ptx_type type, uint64_t bits);
/* Is the result `got` of f16, f32 or f64 within `error` of `want`, or NaN as it? */
bool matrix_close(enum ptx_type type, double want, uint64_t got, double error);
void matrix_bits_put(void *at, size_t index, unsigned bits, uint64_t value);
uint64_t matrix_bits_get(const void *at, size_t index, unsigned bits);

/* ---- The forms: each runs all of them that are wanted, and returns how many were wrong */
unsigned matrix_mma(void);
unsigned matrix_wmma(void);
unsigned matrix_moves(void);

#endif
