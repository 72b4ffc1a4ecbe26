// Chains of additions, subtractions and products with carry in any order, 32 and 64 bits wide, against the same in 128 bits on
// the host: what one kind of them leaves in the condition code the other kinds read.
// link: -lcuda
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <string>

enum { CHAINS = 48, STEPS = 7, THREADS = 64 };
static const char *const names[] = { "add", "addc", "sub", "subc", "mad.lo", "mad.hi", "madc.lo", "madc.hi" };
struct step {
    int op, wide, a, b, c; /* operands: 0 to 3 the thread's inputs, 4 the result before, 5 zero, 6 all ones */
};
static step steps[CHAINS][STEPS];

static void chains_make()
{
    Rng rng(11);
    for (auto &chain : steps)
        for (step &s : chain)
            s = { (int)rng.below(8), (int)rng.below(2), (int)rng.below(7), (int)rng.below(7), (int)rng.below(7) };
    for (auto &chain : steps)
        chain[0].op &= ~(chain[0].op < 4 ? 1 : 2); /* nothing is said of the condition code before */
}

static std::string operand(int n, int wide)
{
    if (n < 4)
        return (wide ? "%d" : "%r") + std::to_string(n);
    return n == 4 ? wide ? "%d4" : "%r4" : n == 5 ? "0" : "-1";
}

static std::string source()
{
    std::string s = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry chains(.param .u64 in, .param .u64 out)\n{\n"
                    ".reg .b64 %d<8>;\n.reg .b32 %r<8>;\nld.param.u64 %d5, [in];\nld.param.u64 %d6, [out];\n"
                    "mov.u32 %r5, %tid.x;\n"
                    "mad.wide.u32 %d5, %r5, 32, %d5;\nmad.wide.u32 %d6, %r5, 8, %d6;\n";
    for (int i = 0; i < 4; i++)
        s += "ld.global.u64 %d" + std::to_string(i) + ", [%d5+" + std::to_string(8 * i) + "];\ncvt.u32.u64 %r" +
             std::to_string(i) + ", %d" + std::to_string(i) + ";\n";
    int at = 0;
    for (auto &chain : steps) {
        s += "mov.u64 %d4, %d1;\n";
        for (step &t : chain) {
            s += "cvt.u32.u64 %r4, %d4;\n" + std::string(names[t.op]) + ".cc" + (t.wide ? ".u64 %d4, " : ".u32 %r4, ") +
                 operand(t.a, t.wide) + ", " + operand(t.b, t.wide) + (t.op < 4 ? "" : ", " + operand(t.c, t.wide)) + ";\n";
            if (!t.wide)
                s += "cvt.u64.u32 %d4, %r4;\n";
        }
        s += "addc.u64 %d4, %d4, %d4;\nst.global.u64 [%d6+" + std::to_string(8 * THREADS * at++) + "], %d4;\n";
    }
    return s + "ret;\n}\n";
}

static uint64_t value(const uint64_t *in, uint64_t before, int n, int wide)
{
    uint64_t v = n < 4 ? in[n] : n == 4 ? before : n == 5 ? 0 : ~0ull;
    return wide ? v : (uint32_t)v;
}

static uint64_t expected(const step *chain, const uint64_t *in)
{
    typedef unsigned __int128 u128;
    uint64_t r = in[1];
    unsigned carry = 0;
    for (int i = 0; i < STEPS; i++) {
        const step &t = chain[i];
        int bits = t.wide ? 64 : 32;
        u128 mask = ((u128)1 << bits) - 1, a = value(in, r, t.a, t.wide), b = value(in, r, t.b, t.wide),
             c = value(in, r, t.c, t.wide), sum = 0;
        u128 product = t.op & 1 ? a * b >> bits : a * b & mask;
        switch (t.op) {
        case 0: sum = a + b; break;
        case 1: sum = a + b + carry; break;
        case 2: sum = a + (~b & mask) + 1; break;
        case 3: sum = a + (~b & mask) + carry; break;
        case 4: case 5: sum = product + c; break;
        default: sum = product + c + carry; break;
        }
        r = (uint64_t)(sum & mask);
        carry = (unsigned)(sum >> bits & 1);
    }
    return r + r + carry;
}

int main()
{
    CHECK(cudaFree(nullptr));
    chains_make();
    static const uint64_t edges[] = { 0, 1, ~0ull, 0x80000000, 0xffffffff, 1ull << 63, 0x100000000, 0x7fffffffffffffff };
    static uint64_t in[THREADS * 4], out[CHAINS * THREADS];
    Rng rng(12);
    for (uint64_t &v : in)
        v = rng.below(2) ? edges[rng.below(8)] : (uint64_t)rng.u32() << 32 | rng.u32();
    Dev<uint64_t> di(in, THREADS * 4), dout(CHAINS * THREADS);
    std::string text = source();
    CUmodule module;
    CUfunction f;
    if (cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS || cuModuleGetFunction(&f, module, "chains") != CUDA_SUCCESS) {
        std::printf("the kernel cannot be loaded\n");
        return 1;
    }
    void *args[] = { &di.ptr, &dout.ptr };
    EXPECT(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, nullptr, args, nullptr) == CUDA_SUCCESS, "launch");
    CHECK(cudaDeviceSynchronize());
    dout.get(out);
    for (int k = 0; k < CHAINS; k++)
        for (int t = 0; t < THREADS; t++) {
            uint64_t want = expected(steps[k], in + 4 * t), got = out[k * THREADS + t];
            EXPECT(got == want, "chain %d of thread %d: %llx, expected %llx", k, t, (unsigned long long)got,
                   (unsigned long long)want);
        }
    return check_done();
}
