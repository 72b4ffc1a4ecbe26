/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void philox(__global uint4 *words, uint first, int count)
{
    int i = get_global_id(0);

    if (i >= count)
        return;
    uint c0 = i, c1 = 0, c2 = 7, c3 = 0, k0 = first, k1 = first ^ 0x5bd1e995u;

    for (int r = 0; r < 10; r++) {
        uint h0 = mul_hi(0xd2511f53u, c0), l0 = 0xd2511f53u * c0, h1 = mul_hi(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    words[i] = (uint4)(c0, c1, c2, c3);
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("philox", n, 256, BUF(WORDS), VAL(seed), VAL(n));
}
#endif
