/* From random bits to numbers of a distribution, in the order of a generator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CURAND_FILL_H
#define AW_LIBS_CURAND_FILL_H

#include "engine.h"

enum aw_rand_kind { AW_RAND_BITS, AW_RAND_UNIFORM, AW_RAND_NORMAL, AW_RAND_LOG_NORMAL, AW_RAND_DISCRETE };

/* What is asked for. */
struct aw_rand_wish {
    enum aw_rand_kind kind;
    bool wide; /* double, or 64 bits */
    double mean, stddev;
    const curandDistributionM2Shift_st *discrete; /* its host_histogram is read */
};

/* Bytes of one number. */
static inline size_t aw_rand_size(const struct aw_rand_wish *wish)
{
    return wish->wide ? 8 : 4;
}

/* `n` numbers of a pseudo-random engine.  Goes on where it stopped. */
void aw_rand_fill(const struct aw_rand_engine *engine, struct aw_rand_state *state, const struct aw_rand_wish *wish, size_t n,
                  void *out);
/* A Sobol sequence. */
struct aw_rand_sobol {
    unsigned bits, dimensions; /* 32 or 64 */
    bool is_scrambled;
};
/* `n` numbers of each of its dimensions from number `from` on, one dimension after the other. */
void aw_rand_fill_sobol(const struct aw_rand_sobol *of, uint64_t from, const struct aw_rand_wish *wish, size_t n, void *out);

#endif
