/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void philox(uint4 *words, unsigned first, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    unsigned c0 = i, c1 = 0, c2 = 7, c3 = 0, k0 = first, k1 = first ^ 0x5bd1e995u;

    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xd2511f53u, c0), l0 = 0xd2511f53u * c0, h1 = __umulhi(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    words[i] = make_uint4(c0, c1, c2, c3);
}

static void run(void)
{
    philox<<<blocks(n, 256), 256>>>(DEV(WORDS, uint4), seed, n);
}
