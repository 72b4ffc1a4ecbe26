/* Floating-point numbers as exact values, for references: what a format's bits mean, arithmetic without error, and one rounding.
 *
 * Works on integers only: what the machine's own arithmetic does, and in which mode it is, plays no part.  Not fast, and not for
 * the compiler. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ORACLE_REF_EXACT_H
#define AW_ORACLE_REF_EXACT_H

#include "oracle.h"

typedef unsigned __int128 exact_bits;

enum exact_mode { EXACT_RN, EXACT_RZ, EXACT_RM, EXACT_RP, EXACT_RNA /* ties away from zero */ };
enum exact_kind { EXACT_FINITE, EXACT_INFINITE, EXACT_NAN };

/* (-1)^negative * m * 2^e.  After a division or root the lowest bit of m may stand for all that is below it ("sticky"). */
struct exact {
    enum exact_kind kind;
    bool negative;
    exact_bits m; /* 0: zero */
    int e;
};

/* A binary format: sign, exponent, precision - 1 bits of fraction. */
struct exact_format {
    unsigned width, precision; /* bits of all; bits of the significand with the hidden one */
    int e_min;                 /* exponent of the smallest normal number */
    uint64_t infinity;         /* 0: none */
    uint64_t max;              /* the largest finite number's code */
    uint64_t nan;              /* PTX's canonical NaN; 0: none */
};

/* The format of a scalar or of the elements of a packed type; NULL for what is no float.  Static. */
const struct exact_format *exact_format_of(enum ptx_type type);
/* Elements of a packed type: 2 for .f16x2; 1 for a scalar.  Bits from one to the next. */
unsigned exact_count(enum ptx_type type);
unsigned exact_stride(enum ptx_type type);

struct exact exact_from(const struct exact_format *f, uint64_t bits);
struct exact exact_from_int(uint64_t v, bool is_signed);
/* Rounds once.  A NaN gives the canonical one; too large gives infinity or, where the mode points inward or there is none,
 * `max`. */
uint64_t exact_round(struct exact x, const struct exact_format *f, enum exact_mode mode);
/* Stochastic: `random`, of `n` bits, is added to the first n bits below the last place; a carry moves away from zero. */
uint64_t exact_round_random(struct exact x, const struct exact_format *f, unsigned n, uint64_t random);

struct exact exact_negate(struct exact x);
/* `mode` decides only about the sign of an exact zero. */
struct exact exact_add(struct exact a, struct exact b, enum exact_mode mode);
struct exact exact_mul(struct exact a, struct exact b);   /* both with at most 64 bits */
struct exact exact_div(struct exact a, struct exact b);   /* likewise */
struct exact exact_sqrt(struct exact a);
struct exact exact_scale(struct exact a, int power);      /* a * 2^power */
/* The integral value in the mode's direction; NaN and infinity stay. */
struct exact exact_integral(struct exact a, enum exact_mode mode);
/* An integral value clamped to an integer of `bits`; of a NaN 0.  As two's complement in 64 bits. */
uint64_t exact_to_int(struct exact a, unsigned bits, bool is_signed);
/* -1, 0, 1; 2 where a NaN is. */
int exact_compare(struct exact a, struct exact b);

/* ---- What instructions say */
enum exact_mode exact_mode_of(const struct ptx_instr *in); /* .rn .rz .rm .rp .rna; .rn where none is written */
bool exact_is_nan(const struct exact_format *f, uint64_t bits);
/* Subnormals to zero of their sign. */
uint64_t exact_flush(const struct exact_format *f, uint64_t bits);
/* Into [+0, 1], NaN to +0. */
uint64_t exact_saturate(const struct exact_format *f, uint64_t bits);
/* Negative to +0, NaN canonical. */
uint64_t exact_relu(const struct exact_format *f, uint64_t bits);
/* min or max as PTX has it: -0 below +0; one NaN gives the other operand, or (`nan`) the canonical NaN. */
uint64_t exact_minmax(const struct exact_format *f, bool max, bool nan, uint64_t a, uint64_t b);

/* Views of bits. */
double exact_double(const struct exact_format *f, uint64_t bits); /* exact for every format here */
uint64_t exact_from_double(const struct exact_format *f, double v); /* to nearest */

#endif
