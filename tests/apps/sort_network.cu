// Sorting networks of pairs that each thread has in registers and, as far as they changed, in local memory, with branches around
// each exchange as nvcc makes them of a comparison by key and then by value: every exchange is a join of ways that had parted
// before and within it.
// link: -lcuda
// variants: shared
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <cuda.h>
#include <string>
#include <vector>

typedef std::pair<uint64_t, uint8_t> pair_of;
enum { THREADS = 64, MOST = 7 };

static std::string text(const char *format, int a, int b = 0, int c = 0)
{
    char s[200];
    snprintf(s, sizeof s, format, a, b, c);
    return s;
}

// `k` and `v` hold key and value; in memory only what was exchanged.
static std::string exchange(int at, int number)
{
    int next = at + 1;
    std::string s = text("setp.lt.u64 %%p, %%k%d, %%k%d;\n@%%p bra SWAP%d;\n", next, at, number);
    s += text("setp.lt.u64 %%p, %%k%d, %%k%d;\n", at, next);
    s += text("setp.ge.u16 %%q, %%v%d, %%v%d;\nor.pred %%p, %%p, %%q;\n@%%p bra NEXT%d;\n", next, at, number);
    s += text("SWAP%d:\n", number);
    s += text("mov.u64 %%kx, %%k%d;\nmov.u64 %%k%d, %%k%d;\n", at, at, next) + text("mov.u64 %%k%d, %%kx;\n", next);
    s += text("mov.u16 %%vx, %%v%d;\nmov.u16 %%v%d, %%v%d;\n", at, at, next) + text("mov.u16 %%v%d, %%vx;\n", next);
    for (int i = at; i <= next; i++)
        s += text("st.local.u64 [%%m+%d], %%k%d;\n", 16 * i, i) + text("st.local.u8 [%%m+%d], %%v%d;\n", 16 * i + 8, i);
    return s + text("NEXT%d:\n", number);
}

// Writes all pairs, and of memory the one whose number is the thread's, modulo n.
static std::string source(int n)
{
    std::string s = ".version 7.0\n.target sm_70\n.address_size 64\n"
                    ".visible .entry k(.param .u64 keys, .param .u64 values, .param .u32 valid)\n"
                    "{\n.local .align 16 .b8 memory[128];\n.reg .pred %p, %q;\n.reg .b16 %vx, %v<8>;\n.reg .b32 %r<8>;\n"
                    ".reg .b64 %m, %d<8>, %kx, %k<8>;\nld.param.u64 %d0, [keys];\nld.param.u64 %d1, [values];\n"
                    "ld.param.u32 %r0, [valid];\nmov.u64 %m, memory;\nmov.u32 %r1, %tid.x;\n";
    s += text("mul.wide.u32 %%d2, %%r1, %d;\nadd.u64 %%d0, %%d0, %%d2;\n", 8 * (n + 1));
    s += text("mul.wide.u32 %%d2, %%r1, %d;\nadd.u64 %%d1, %%d1, %%d2;\n", n + 1);
    for (int i = 0; i < n; i++) {
        s += text("ld.global.u64 %%k%d, [%%d0+%d];\nst.local.u64 [%%m", i, 8 * i) + text("+%d], %%k%d;\n", 16 * i, i);
        s += text("ld.global.u8 %%v%d, [%%d1+%d];\nst.local.u8 [%%m", i, i) + text("+%d], %%v%d;\n", 16 * i + 8, i);
    }
    s += "setp.ge.u32 %p, %r1, %r0;\n@%p bra DONE;\n";
    for (int round = 0, number = 0; round < n; round++)
        for (int i = round & 1; i < n - 1; i += 2)
            s += exchange(i, number++);
    s += "DONE:\n";
    for (int i = 0; i < n; i++)
        s += text("st.global.u64 [%%d0+%d], %%k%d;\n", 8 * i, i) + text("st.global.u8 [%%d1+%d], %%v%d;\n", i, i);
    s += text("rem.u32 %%r2, %%r1, %d;\n", n) + "mul.wide.u32 %d3, %r2, 16;\nadd.u64 %m, %m, %d3;\nld.local.u64 %kx, [%m];\n";
    s += text("ld.local.u8 %%vx, [%%m+8];\nst.global.u64 [%%d0+%d], %%kx;\nst.global.u8 [%%d1+%d], %%vx;\nret;\n}\n", 8 * n, n);
    return s;
}

static void run(int n, int valid)
{
    Rng rng(n);
    std::vector<uint64_t> keys(THREADS * (n + 1));
    std::vector<uint8_t> values(THREADS * (n + 1));
    for (size_t i = 0; i < keys.size(); i++)
        keys[i] = rng.below(2), values[i] = (uint8_t)rng.below(10);
    CUmodule module;
    CUfunction kernel;
    EXPECT(cuModuleLoadData(&module, source(n).c_str()) == CUDA_SUCCESS, "a network of %d", n);
    EXPECT(cuModuleGetFunction(&kernel, module, "k") == CUDA_SUCCESS, "its kernel");
    Dev<uint64_t> out_keys(keys.data(), keys.size());
    Dev<uint8_t> out_values(values.data(), values.size());
    uint64_t *k = out_keys;
    uint8_t *v = out_values;
    void *args[] = { &k, &v, &valid };
    EXPECT(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS, "its launch");
    std::vector<uint64_t> got_keys(keys.size());
    std::vector<uint8_t> got_values(keys.size());
    out_keys.get(got_keys.data());
    out_values.get(got_values.data());
    for (int t = 0; t < THREADS; t++) {
        std::vector<pair_of> pairs;
        for (int i = 0; i < n; i++)
            pairs.push_back({ keys[t * (n + 1) + i], values[t * (n + 1) + i] });
        if (t < valid)
            std::sort(pairs.begin(), pairs.end());
        pairs.push_back(pairs[t % n]);
        for (int i = 0; i <= n; i++)
            EXPECT(pairs[i] == pair_of(got_keys[t * (n + 1) + i], got_values[t * (n + 1) + i]), "of %d, thread %d, pair %d", n, t,
                   i);
    }
    EXPECT(cuModuleUnload(module) == CUDA_SUCCESS, "the module's end");
}

int main()
{
    CHECK(cudaFree(0));
    for (int n = 2; n <= MOST; n++) {
        run(n, THREADS);
        run(n, THREADS - 19);
    }
    return check_done();
}
