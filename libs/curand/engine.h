/* Sequences of random bits.  Those of pseudo-random generators come from many states, "sub-sequences", in turn, as cuRAND's
 * orderings say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CURAND_ENGINE_H
#define AW_LIBS_CURAND_ENGINE_H

#include <stdbool.h>

#include "curand_types.h"

/* Where a generator's sequences are.  Made from seed and offset when first drawn from. */
struct aw_rand_state {
    curandRngType_t type;
    uint64_t seed, offset; /* offset: numbers of the whole sequence in its order */
    uint64_t n_states;     /* sub-sequences */
    uint64_t next;         /* whose turn it is */
    unsigned lane;         /* numbers of its turn that have been given; of Philox */
    bool made;
    void *states; /* owned: an engine's own, or NULL */
};

/* An engine.  make: `states` from seed and offset; false: memory is out.  draw: `n` numbers of 32 bits from sub-sequence i;
 * MRG32k3a's are its own, from 1 to its modulus.  peek is the same without going on; of Philox alone, `n` being 4. */
struct aw_rand_engine {
    bool (*make)(struct aw_rand_state *state);
    void (*draw)(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[]);
    void (*peek)(const struct aw_rand_state *state, uint64_t i, uint32_t ret_bits[4]);
};

extern const struct aw_rand_engine aw_rand_xorwow, aw_rand_mrg32k3a, aw_rand_philox, aw_rand_mt19937, aw_rand_mtgp32;

/* Sobol's sequence in Joe and Kuo's directions (those of criterion D6): how many dimensions there are, 0 where they were not
 * built in; and `bits` (32 or 64) vectors for each, made at the first call, static; NULL: none, or memory is out.  The scrambled
 * ones are anywarp's own.  *ret_constants, NULL or not, are what each dimension's numbers begin with.  Thread-safe. */
unsigned aw_rand_sobol_dimensions(void);
const uint32_t *aw_rand_sobol_vectors32(bool is_scrambled, const uint32_t **ret_constants);
const uint64_t *aw_rand_sobol_vectors64(bool is_scrambled, const uint64_t **ret_constants);

#endif
