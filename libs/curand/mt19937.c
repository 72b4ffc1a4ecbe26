/* MT19937 (Matsumoto and Nishimura 1998), as one sequence from its seed.  cuRAND takes turns between 8,192 places of it in an
 * order that is not published: the numbers are as good, but not the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine.h"

enum { N = 624, M = 397 };

struct mt {
    uint32_t x[N];
    unsigned at;
};

static bool make(struct aw_rand_state *state)
{
    struct mt *mt = malloc(sizeof *mt);
    state->states = mt;
    if (!mt)
        return false;
    mt->x[0] = (uint32_t)(state->seed ^ state->seed >> 32);
    for (unsigned i = 1; i < N; i++)
        mt->x[i] = 1812433253u * (mt->x[i - 1] ^ mt->x[i - 1] >> 30) + i;
    mt->at = N;
    return true;
}

static void refill(struct mt *mt)
{
    for (unsigned i = 0; i < N; i++) {
        uint32_t y = (mt->x[i] & 0x80000000u) | (mt->x[(i + 1) % N] & 0x7fffffffu);
        mt->x[i] = mt->x[(i + M) % N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    mt->at = 0;
}

static void draw(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[])
{
    struct mt *mt = state->states;
    for (unsigned k = 0; k < n; k++) {
        if (mt->at == N)
            refill(mt);
        uint32_t y = mt->x[mt->at++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        ret_bits[k] = y ^ y >> 18;
    }
}

const struct aw_rand_engine aw_rand_mt19937 = { make, draw, NULL };
