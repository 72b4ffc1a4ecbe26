// cp.async of which a part is read, or nothing: what is not read is 0 in shared memory; and copies that some threads leave out.
// variants: ptx sm_80 sm_86 sm_89 sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { THREADS = 96, FORMS = 7, WORDS = 4 };

static __device__ unsigned at(void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void copies(const unsigned *in, unsigned *out, unsigned n)
{
    __shared__ __align__(16) unsigned to[THREADS * FORMS * WORDS];
    unsigned t = threadIdx.x, *mine = to + t * FORMS * WORDS;
    const unsigned *from = in + t * WORDS;
    for (int i = 0; i < FORMS * WORDS; i++)
        mine[i] = 0x55555555;
    bool some = (t + n) % 3 != 0;
    unsigned part = (t + n) % 17;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" :: "r"(at(mine)), "l"(from), "r"(some ? 16 : 0) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at(mine + 4)), "l"(from), "r"(part) : "memory");
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :: "r"(at(mine + 8)), "l"(from), "r"((unsigned)some) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(at(mine + 12)), "l"(from), "r"(part % 5) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1+8], 8, %2;" :: "r"(at(mine + 16)), "l"(from), "r"(part % 9) : "memory");
    if (some)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at(mine + 20)), "l"(from) : "memory");
    if (t % 5)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at(mine + 24)), "l"(from), "r"(some ? 4 : 0)
                     : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < FORMS * WORDS; i++)
        out[t * FORMS * WORDS + i] = mine[i];
}

static void expect(unsigned *want, const unsigned *from, unsigned size, unsigned read)
{
    memset(want, 0, size);
    memcpy(want, from, read);
}

int main()
{
    unsigned in[THREADS * WORDS], out[THREADS * FORMS * WORDS];
    for (unsigned i = 0; i < THREADS * WORDS; i++)
        in[i] = i * 2654435761u | 0x01010101;
    Dev<unsigned> d_in(in, THREADS * WORDS), d_out(THREADS * FORMS * WORDS);
    for (unsigned n = 0; n < 3; n++) {
        copies<<<1, THREADS>>>(d_in, d_out, n);
        CHECK_LAUNCH();
        d_out.get(out);
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned want[FORMS * WORDS], part = (t + n) % 17;
            const unsigned *from = in + t * WORDS;
            bool some = (t + n) % 3 != 0;
            for (unsigned &w : want)
                w = 0x55555555;
            expect(want, from, 16, some ? 16 : 0);
            expect(want + 4, from, 16, part);
            expect(want + 8, from, 16, some ? 16 : 0);
            expect(want + 12, from, 4, part % 5);
            expect(want + 16, from + 2, 8, part % 9);
            if (some)
                want[20] = from[0];
            if (t % 5)
                want[24] = some ? from[0] : 0;
            for (unsigned i = 0; i < FORMS * WORDS; i++)
                EXPECT(out[t * FORMS * WORDS + i] == want[i],
                       "n %u, thread %u, word %u: %08x, expected %08x", n, t, i, out[t * FORMS * WORDS + i], want[i]);
        }
    }
    return check_done();
}
