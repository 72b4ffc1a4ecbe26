/* MRG32k3a (L'Ecuyer 1999): two linear recurrences modulo primes.  Sub-sequences are 2^76 numbers apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define M1 UINT64_C(4294967087)
#define M2 UINT64_C(4294944443)
#define A12 UINT64_C(1403580)
#define A13N UINT64_C(810728)
#define A21 UINT64_C(527612)
#define A23N UINT64_C(1370589)
enum { APART = 76 };

struct mrg {
    uint32_t s[2][3]; /* the last three of both, oldest first */
};

struct map {
    uint64_t at[2][3][3];
};

static const uint64_t modulus[2] = { M1, M2 };
static const struct map one_step = { { { { 0, 1, 0 }, { 0, 0, 1 }, { M1 - A13N, A12, 0 } },
                                       { { 0, 1, 0 }, { 0, 0, 1 }, { M2 - A23N, 0, A21 } } } };

static void apply(const struct map *m, struct mrg *x)
{
    for (int c = 0; c < 2; c++) {
        uint64_t sum[3];
        for (int i = 0; i < 3; i++) {
            sum[i] = 0;
            for (int k = 0; k < 3; k++)
                sum[i] = (sum[i] + m->at[c][i][k] * x->s[c][k] % modulus[c]) % modulus[c];
        }
        for (int i = 0; i < 3; i++)
            x->s[c][i] = (uint32_t)sum[i];
    }
}

static struct map square(const struct map *m)
{
    struct map r;
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                r.at[c][i][j] = 0;
                for (int k = 0; k < 3; k++)
                    r.at[c][i][j] = (r.at[c][i][j] + m->at[c][i][k] * m->at[c][k][j] % modulus[c]) % modulus[c];
            }
    return r;
}

static uint32_t step(struct mrg *x)
{
    uint64_t p1 = (A12 * x->s[0][1] + A13N * (M1 - x->s[0][0])) % M1, p2 = (A21 * x->s[1][2] + A23N * (M2 - x->s[1][0])) % M2;
    x->s[0][0] = x->s[0][1], x->s[0][1] = x->s[0][2], x->s[0][2] = (uint32_t)p1;
    x->s[1][0] = x->s[1][1], x->s[1][1] = x->s[1][2], x->s[1][2] = (uint32_t)p2;
    return (uint32_t)(p1 > p2 ? p1 - p2 : p1 + M1 - p2);
}

static bool make(struct aw_rand_state *state)
{
    struct mrg *x = malloc(state->n_states * sizeof *x), at;
    struct map m = one_step;
    state->states = x;
    if (!x)
        return false;
    uint64_t x1 = (uint32_t)state->seed ^ 0x55555555u, x2 = (uint32_t)(state->seed >> 32) ^ 0xaaaaaaaau;
    /* The halves of the seed by turns, the second recurrence beginning with the upper one. */
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 3; i++)
            at.s[c][i] = state->seed == 0 ? 12345 : (uint32_t)(((c + i) % 2 ? x2 : x1) * 12345 % modulus[c]);
    uint64_t n = state->offset / state->n_states;
    for (int k = 0; k < APART; k++) {
        if (k < 64 && n >> k & 1)
            apply(&m, &at);
        m = square(&m);
    }
    for (uint64_t i = 0; i < state->n_states; i++) {
        x[i] = at;
        if (i < state->offset % state->n_states)
            (void)step(&x[i]);
        apply(&m, &at);
    }
    state->next = state->offset % state->n_states;
    return true;
}

static void draw(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[])
{
    struct mrg *x = (struct mrg *)state->states + i;
    for (unsigned k = 0; k < n; k++)
        ret_bits[k] = step(x);
}

const struct aw_rand_engine aw_rand_mrg32k3a = { make, draw, NULL };
