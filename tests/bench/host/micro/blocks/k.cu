/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void tiny(int *words)
{
    int i = (blockIdx.x * 32 + threadIdx.x) % WORD_COUNT;

    words[i] = i;
}

static void run(void)
{
    for (int i = 0; i < launches; i++)
        tiny<<<block_count, 32>>>(DEV(WORDS, int));
}
