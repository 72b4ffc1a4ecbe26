// Operations of .ftz whose result is an operand, subnormals aside: x * 1, x + -0, min(x, x). Subnormals become zeros of their
// sign on every device, also where a card's mode does it and nothing is left to be computed.
// variants: shared
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { WAYS = 8 };

__device__ float bits(unsigned b)
{
    return __uint_as_float(b);
}

// The constants come by registers: nothing knows them before the compiler of the device does.
__global__ void identities(const unsigned *in, unsigned *out)
{
    float x = bits(in[threadIdx.x]), r[WAYS];
    asm volatile("mul.ftz.f32 %0, %1, 0f3F800000;" : "=f"(r[0]) : "f"(x));
    asm volatile("add.ftz.f32 %0, %1, 0f80000000;" : "=f"(r[1]) : "f"(x));
    asm volatile("sub.ftz.f32 %0, %1, 0f00000000;" : "=f"(r[2]) : "f"(x));
    asm volatile("fma.rn.ftz.f32 %0, %1, 0f3F800000, 0f80000000;" : "=f"(r[3]) : "f"(x));
    asm volatile("div.approx.ftz.f32 %0, %1, 0f3F800000;" : "=f"(r[4]) : "f"(x));
    asm volatile("min.ftz.f32 %0, %1, %1;" : "=f"(r[5]) : "f"(x));
    asm volatile("max.ftz.f32 %0, %1, %1;" : "=f"(r[6]) : "f"(x));
    asm volatile("{.reg .f32 one; mov.f32 one, 0f3F800000; mul.rn.ftz.f32 %0, one, %1;}" : "=f"(r[7]) : "f"(x));
    for (int i = 0; i < WAYS; i++)
        out[threadIdx.x * WAYS + i] = __float_as_uint(r[i]);
}

int main()
{
    const unsigned in[32] = { 0x123, 0x80000123, 0x7fffff, 0x807fffff, 1, 0x80000001, 0, 0x80000000, 0x800000, 0x80800000,
                              0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000 };
    unsigned out[32 * WAYS];
    Dev<unsigned> din(in, 32), dout(32 * WAYS);
    identities<<<1, 32>>>(din, dout);
    CHECK_LAUNCH();
    dout.get(out);
    for (int i = 0; i < 32; i++)
        for (int way = 0; way < WAYS; way++) {
            unsigned want = in[i] & 0x7f800000 ? in[i] : in[i] & 0x80000000, got = out[i * WAYS + way];
            EXPECT(got == want, "%08x, way %d: %08x, expected %08x", in[i], way, got, want);
        }
    return check_done();
}
