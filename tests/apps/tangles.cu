// Random control flow graphs with jumps from anywhere to anywhere, between places where all threads of a block meet (a barrier
// around an exchange in shared memory, a shuffle, a vote), against the same graphs interpreted on the host: small ones in both
// forms that code can take, and large ones, which compile in bounded time.
// link: -lcuda
// variants: shared
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <chrono>
#include <cstring>
#include <cuda.h>
#include <string>
#include <vector>

#define MUST(condition)                                                     \
    do {                                                                    \
        if (!(condition)) {                                                 \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { REGS = 5, THREADS = 96, NOT_LARGE = 100 };
struct block {
    int ops[3][4], n;          // v[a] = v[b] * k + v[c]
    int reg, bit, yes, no;     // where it goes on
};
struct graph {
    std::vector<block> blocks; // of all rounds alike; a round begins at `round % starts`
    int rounds, starts, steps; // steps: of a thread in a round, at most
};

static graph graph_make(uint64_t seed, int n)
{
    Rng rng(seed);
    graph g = { std::vector<block>(n), n > NOT_LARGE ? 2 : 4, 1 + (int)rng.below(3), n > NOT_LARGE ? 60 : 24 };
    for (int i = 0; i < n; i++) {
        block &b = g.blocks[i];
        b.n = 1 + (int)rng.below(3);
        for (auto &op : b.ops)
            for (int j = 0; j < 4; j++)
                op[j] = j < 3 ? (int)rng.below(REGS) : (int)rng.below(0x7fffffff) | 1;
        b.reg = (int)rng.below(REGS);
        b.bit = 3 + (int)rng.below(28);
        b.yes = (int)rng.below(n);
        b.no = rng.below(2) ? i + 1 : (int)rng.below(n + 1); // n: the round's end
    }
    return g;
}

static std::string label(const graph &g, int i)
{
    return i == (int)g.blocks.size() ? "MEET" : "L" + std::to_string(i);
}

static std::string source(const graph &g, bool dispatch)
{
    std::string s = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out)" +
                    std::string(dispatch ? "\n.pragma \"anywarp dispatch\";" : "") +
                    "\n{\n.shared .b32 x[96];\n.reg .b32 %v<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .pred %p, %q;\n"
                    "mov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n";
    for (int i = 0; i < REGS; i++)
        s += "mad.lo.u32 %v" + std::to_string(i) + ", %r0, " + std::to_string(2654435761u * (i + 1)) + ", " +
             std::to_string(40503 * i) + ";\n";
    s += "ROUND:\nmov.u32 %r1, 0;\nrem.u32 %r3, %r2, " + std::to_string(g.starts) + ";\n";
    for (int i = 1; i < g.starts; i++)
        s += "setp.eq.u32 %p, %r3, " + std::to_string(i) + ";\n@%p bra L" + std::to_string(i) + ";\n";
    for (size_t i = 0; i < g.blocks.size(); i++) {
        const block &b = g.blocks[i];
        s += label(g, (int)i) + ":\nadd.u32 %r1, %r1, 1;\nsetp.gt.u32 %p, %r1, " + std::to_string(g.steps) + ";\n@%p bra MEET;\n";
        for (int j = 0; j < b.n; j++)
            s += "mad.lo.u32 %v" + std::to_string(b.ops[j][0]) + ", %v" + std::to_string(b.ops[j][1]) + ", " +
                 std::to_string(b.ops[j][3]) + ", %v" + std::to_string(b.ops[j][2]) + ";\n";
        s += "and.b32 %r3, %v" + std::to_string(b.reg) + ", " + std::to_string(1u << b.bit) +
             ";\nsetp.ne.u32 %p, %r3, 0;\n@%p bra " + label(g, b.yes) + ";\n";
        if (b.no != (int)i + 1)
            s += "bra " + label(g, b.no) + ";\n";
    }
    // All meet: the neighbour's v0 through shared memory, that of another lane by a shuffle, and who is odd.
    return s + "MEET:\nmul.lo.u32 %r3, %r0, 4;\nmov.u32 %r4, x;\nadd.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %v0;\nbar.sync 0;\n"
               "add.u32 %r5, %r0, 1;\nrem.u32 %r5, %r5, 96;\nmul.lo.u32 %r5, %r5, 4;\nmov.u32 %r4, x;\nadd.u32 %r4, %r4, %r5;\n"
               "ld.shared.u32 %r6, [%r4];\nbar.sync 0;\nxor.b32 %v1, %v1, %r6;\nshfl.sync.bfly.b32 %r6, %v2, 5, 31, -1;\n"
               "add.u32 %v3, %v3, %r6;\n"
               "and.b32 %r6, %v4, 1;\nsetp.ne.u32 %q, %r6, 0;\nvote.sync.ballot.b32 %r6, %q, -1;\nxor.b32 %v0, %v0, %r6;\n"
               "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, " + std::to_string(g.rounds) + ";\n@%p bra ROUND;\n"
               "ld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 20;\nadd.u64 %d0, %d0, %d1;\n"
               "st.global.u32 [%d0], %v0;\nst.global.u32 [%d0+4], %v1;\nst.global.u32 [%d0+8], %v2;\n"
               "st.global.u32 [%d0+12], %v3;\n"
               "st.global.u32 [%d0+16], %v4;\nret;\n}\n";
}

static void walk(const graph &g, int at, uint32_t *v)
{
    for (int step = 1; at < (int)g.blocks.size() && step <= g.steps; step++) {
        const block &b = g.blocks[at];
        for (int j = 0; j < b.n; j++)
            v[b.ops[j][0]] = v[b.ops[j][1]] * (uint32_t)b.ops[j][3] + v[b.ops[j][2]];
        at = v[b.reg] >> b.bit & 1 ? b.yes : b.no;
    }
}

static void interpret(const graph &g, uint32_t v[THREADS][REGS])
{
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < REGS; i++)
            v[t][i] = t * (2654435761u * (i + 1)) + 40503 * i;
    for (int round = 0; round < g.rounds; round++) {
        uint32_t first[THREADS], second[THREADS], odd[THREADS / 32] = { 0 };
        for (int t = 0; t < THREADS; t++) {
            walk(g, round % g.starts, v[t]);
            first[t] = v[t][0];
            second[t] = v[t][2];
            odd[t / 32] |= (v[t][4] & 1) << t % 32;
        }
        for (int t = 0; t < THREADS; t++) {
            v[t][1] ^= first[(t + 1) % THREADS];
            v[t][3] += second[t ^ 5];
            v[t][0] ^= odd[t / 32];
        }
    }
}

static void run(const graph &g, bool dispatch, CUdeviceptr out, const char *what)
{
    static uint32_t got[THREADS][REGS], want[THREADS][REGS];
    CUmodule module;
    CUfunction kernel;
    void *args[] = { &out };
    auto begin = std::chrono::steady_clock::now();
    MUST(cuModuleLoadData(&module, source(g, dispatch).c_str()) == CUDA_SUCCESS);
    MUST(cuModuleGetFunction(&kernel, module, "k") == CUDA_SUCCESS);
    MUST(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, 0, nullptr, args, nullptr) == CUDA_SUCCESS);
    MUST(cuMemcpyDtoH(got, out, sizeof got) == CUDA_SUCCESS);
    double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    MUST(took < 120); // many times what it takes on an idle machine
    interpret(g, want);
    if (memcmp(got, want, sizeof got))
        printf("%s: %zu blocks, %s form\n", what, g.blocks.size(), dispatch ? "quick" : "ordinary");
    MUST(!memcmp(got, want, sizeof got));
    MUST(cuModuleUnload(module) == CUDA_SUCCESS);
}

int main()
{
    CUdeviceptr out;
    CHECK(cudaFree(0));
    MUST(cuMemAlloc(&out, sizeof(uint32_t) * THREADS * REGS) == CUDA_SUCCESS);
    for (int i = 0; i < 6; i++) {
        graph g = graph_make(100 + i, 10 + 8 * i);
        run(g, true, out, "small");
        if (i < 3)
            run(g, false, out, "small");
    }
    run(graph_make(7, 400), false, out, "large");
    MUST(cuMemFree(out) == CUDA_SUCCESS);
    printf("PASS\n");
    return 0;
}
