/* XORWOW (Marsaglia 2003): 160 bits that are linear over GF(2), and a counter.  Sub-sequences are 2^67 numbers apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { WORDS = 5, BITS = 32 * WORDS, STEP = 362437, APART = 67 };

struct xorwow {
    uint32_t v[WORDS], d;
};

/* A linear map: the image of each of the 160 bits. */
struct map {
    uint32_t image[BITS][WORDS];
};

static struct map *powers; /* of one step: to 2^0 to 2^67 */
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;

static uint32_t step(struct xorwow *x)
{
    uint32_t t = x->v[0] ^ x->v[0] >> 2;
    memmove(x->v, x->v + 1, sizeof x->v - sizeof x->v[0]);
    x->v[4] ^= x->v[4] << 4 ^ t ^ t << 1;
    x->d += STEP;
    return x->v[4] + x->d;
}

static void apply(const struct map *m, const uint32_t in[WORDS], uint32_t ret[WORDS])
{
    uint32_t sum[WORDS] = { 0 };
    for (int w = 0; w < WORDS; w++)
        for (uint32_t bits = in[w]; bits; bits &= bits - 1) {
            const uint32_t *image = m->image[32 * w + __builtin_ctz(bits)];
            for (int k = 0; k < WORDS; k++)
                sum[k] ^= image[k];
        }
    memcpy(ret, sum, sizeof sum);
}

static void powers_make(void)
{
    struct map *p = malloc((APART + 1) * sizeof *p);
    for (int i = 0; p && i < BITS; i++) {
        struct xorwow x = { 0 };
        x.v[i / 32] = 1u << i % 32;
        (void)step(&x);
        memcpy(p[0].image[i], x.v, sizeof x.v);
    }
    for (int k = 1; p && k <= APART; k++)
        for (int i = 0; i < BITS; i++)
            apply(&p[k - 1], p[k - 1].image[i], p[k].image[i]);
    powers = p;
}

static void skip(struct xorwow *x, uint64_t n)
{
    for (int k = 0; k < 64; k++)
        if (n >> k & 1)
            apply(&powers[k], x->v, x->v);
    x->d += STEP * (uint32_t)n;
}

static bool make(struct aw_rand_state *state)
{
    struct xorwow *x = malloc(state->n_states * sizeof *x);
    pthread_once(&powers_once, powers_make);
    state->states = x;
    if (!x || !powers)
        return false;
    uint32_t s0 = (uint32_t)state->seed ^ 0xaad26b49u, s1 = (uint32_t)(state->seed >> 32) ^ 0xf7dcefddu;
    uint32_t t0 = 1099087573u * s0, t1 = 2591861531u * s1;
    struct xorwow at = { { 123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0 },
                         6615241u + t1 + t0 };
    skip(&at, state->offset / state->n_states);
    for (uint64_t i = 0; i < state->n_states; i++) {
        x[i] = at;
        if (i < state->offset % state->n_states)
            (void)step(&x[i]);
        apply(&powers[APART], at.v, at.v); /* the counter is where it was: 2^67 times its step is 0 */
    }
    state->next = state->offset % state->n_states;
    return true;
}

static void draw(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[])
{
    struct xorwow *x = (struct xorwow *)state->states + i;
    for (unsigned k = 0; k < n; k++)
        ret_bits[k] = step(x);
}

const struct aw_rand_engine aw_rand_xorwow = { make, draw, NULL };
