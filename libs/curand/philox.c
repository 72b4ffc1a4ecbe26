/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): a block of four numbers is a function of its count, the sub-sequence and
 * the seed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine.h"

static void block(uint64_t seed, uint64_t sequence, uint64_t count, uint32_t ret[4])
{
    uint32_t c[4] = { (uint32_t)count, (uint32_t)(count >> 32), (uint32_t)sequence, (uint32_t)(sequence >> 32) };
    uint32_t k[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xd2511f53) * c[0], p1 = UINT64_C(0xcd9e8d57) * c[2];
        uint32_t next[4] = { (uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1], (uint32_t)p0 };
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u;
    }
    for (int i = 0; i < 4; i++)
        ret[i] = c[i];
}

/* Counts of blocks. */
static bool make(struct aw_rand_state *state)
{
    uint64_t blocks = state->offset / 4, *counts = calloc(state->n_states, sizeof *counts);
    state->states = counts;
    for (uint64_t i = 0; counts && blocks && i < state->n_states; i++)
        counts[i] = blocks / state->n_states + (i < blocks % state->n_states);
    state->next = blocks % state->n_states;
    state->lane = state->offset % 4;
    return counts;
}

static void peek(const struct aw_rand_state *state, uint64_t i, uint32_t ret_bits[4])
{
    block(state->seed, i, ((const uint64_t *)state->states)[i], ret_bits);
}

/* `n` is 4 or 8. */
static void draw(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[])
{
    for (unsigned k = 0; k < n; k += 4)
        block(state->seed, i, ((uint64_t *)state->states)[i]++, ret_bits + k);
}

const struct aw_rand_engine aw_rand_philox = { make, draw, peek };
