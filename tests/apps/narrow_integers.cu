// Random straight-line PTX on whole numbers of 16, 32 and 64 bits: bytes and halves taken out and put together, signs and zeros
// above them, shifts, quotients of numbers of which only some bits may be set; beside the same computed here, register by
// register.
// link: -lcuda
// variants: shared
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <string>
#include <vector>

enum { THREADS = 64, STEPS = 70, PROGRAMS = 120, INPUTS = 4 };

struct reg {
    int bits;
    std::string name;
    std::vector<uint64_t> v; // of each thread; bits above are 0
};

static uint64_t cut(uint64_t v, int bits) { return bits == 64 ? v : v & ((uint64_t)1 << bits) - 1; }
static int64_t as_signed(uint64_t v, int bits) { return (int64_t)(v << (64 - bits)) >> (64 - bits); }

struct program {
    Rng rng;
    std::vector<reg> regs;
    std::string text;

    explicit program(uint64_t seed) : rng(seed) {}

    static std::string type(char kind, int bits) { return std::string(1, kind) + std::to_string(bits); }

    // One of the last of that width; made of another where there is none.
    reg pick(int bits)
    {
        for (size_t back = rng.below(8), i = regs.size(); i-- > 0;)
            if (regs[i].bits == bits && back-- == 0)
                return regs[i];
        for (const reg &r : regs)
            if (r.bits == bits)
                return r;
        convert(32, bits, false);
        return regs.back();
    }

    template <class F> void add(int bits, const std::string &before, const std::string &after, F value)
    {
        reg r = { bits, "%x" + std::to_string(regs.size()), {} };
        for (int t = 0; t < THREADS; t++)
            r.v.push_back(cut(value(t), bits));
        text += ".reg .b" + std::to_string(bits) + " " + r.name + ";\n" + before + " " + r.name + ", " + after + ";\n";
        regs.push_back(r);
    }

    void convert(int from, int to, bool sign, int of = 0)
    {
        reg a = pick(from);
        of = of ? of : from < to ? from : to;
        add(to, "cvt." + type(sign ? 's' : 'u', to) + "." + type(sign ? 's' : 'u', of < from ? of : from), a.name,
            [&](int t) { return sign ? (uint64_t)as_signed(cut(a.v[t], of), of) : cut(a.v[t], of); });
    }

    void quotient(int bits)
    {
        static const uint64_t masks[] = { 0x7f, 0xffff, 0x7fffff, 0xffffff, 0xffffffff, ~(uint64_t)0 };
        bool sign = rng.below(2) && bits > 16, rest = rng.below(2);
        for (int k = 0; k < 2; k++) { // the divisor often next to what is divided
            uint64_t mask = cut(masks[rng.below(6)], bits);
            reg a = k && rng.below(3) == 0 ? regs.back() : pick(bits);
            add(bits, "and.b" + std::to_string(bits), a.name + ", " + std::to_string((int64_t)as_signed(mask, bits)),
                [&](int t) { return a.v[t] & mask; });
        }
        reg a = regs[regs.size() - 2], b = regs.back();
        add(bits, "or.b" + std::to_string(bits), b.name + ", 1", [&](int t) { return b.v[t] | 1; });
        reg d = regs.back();
        add(bits, (rest ? "rem." : "div.") + type(sign ? 's' : 'u', bits), a.name + ", " + d.name, [&](int t) -> uint64_t {
            if (!sign)
                return rest ? a.v[t] % d.v[t] : a.v[t] / d.v[t];
            int64_t x = as_signed(a.v[t], bits), y = as_signed(d.v[t], bits);
            return y == -1 ? rest ? 0 : 0 - (uint64_t)x : (uint64_t)(rest ? x % y : x / y);
        });
    }

    void step()
    {
        static const int widths[] = { 16, 32, 32, 64 };
        int bits = widths[rng.below(4)], by = rng.below(2) ? 8 * (int)rng.below(bits / 8) : (int)rng.below(bits);
        std::string b = "b" + std::to_string(bits);
        bool sign = rng.below(2);
        switch (rng.below(9)) {
        case 0: return convert(32, 16, false);
        case 1: return convert(rng.below(2) ? 16 : 32, 32, sign, rng.below(2) ? 8 : 16);
        case 2: return convert(rng.below(2) ? 16 : 32, 64, sign);
        case 3: return convert(64, 32, false);
        case 4: return quotient(bits);
        case 5: {
            reg a = pick(bits);
            return add(bits, "shr." + type(sign ? 's' : 'u', bits), a.name + ", " + std::to_string(by),
                       [&](int t) { return sign ? (uint64_t)(as_signed(a.v[t], bits) >> by) : a.v[t] >> by; });
        }
        case 6: {
            reg a = pick(bits);
            return add(bits, "shl." + b, a.name + ", " + std::to_string(by), [&](int t) { return a.v[t] << by; });
        }
        case 7: {
            reg a = pick(16), c = pick(16);
            return add(32, "mul.wide." + type(sign ? 's' : 'u', 16), a.name + ", " + c.name, [&](int t) {
                return sign ? (uint64_t)(as_signed(a.v[t], 16) * as_signed(c.v[t], 16)) : a.v[t] * c.v[t];
            });
        }
        default: {
            reg a = pick(bits), c = pick(bits);
            int op = (int)rng.below(6);
            static const char *const names[] = { "add.u", "sub.u", "mul.lo.u", "and.b", "or.b", "xor.b" };
            return add(bits, names[op] + std::to_string(bits), a.name + ", " + c.name, [&](int t) {
                uint64_t x = a.v[t], y = c.v[t];
                return op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : op == 3 ? x & y : op == 4 ? x | y : x ^ y;
            });
        }
        }
    }
};

static void run(uint64_t seed)
{
    static const uint32_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffff, 0xffff80, 0xffffff, 0x80000000,
                                      0xffffffff };
    program p(seed);
    std::vector<uint32_t> in;
    for (int i = 0; i < INPUTS; i++) {
        reg r = { 32, "%x" + std::to_string(i), {} };
        for (int t = 0; t < THREADS; t++)
            r.v.push_back(p.rng.below(3) ? edges[p.rng.below(13)] : p.rng.below(0xffffffff));
        in.insert(in.end(), r.v.begin(), r.v.end());
        p.text += ".reg .b32 " + r.name + ";\nld.global.b32 " + r.name + ", [%in+" + std::to_string(4 * THREADS * i) + "];\n";
        p.regs.push_back(r);
    }
    for (int i = 0; i < STEPS; i++)
        p.step();
    std::string source = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                         ".reg .b32 %t;\n.reg .b64 %in, %out, %at;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
                         "mov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 4;\nadd.u64 %in, %in, %at;\nadd.u64 %out, %out, %at;\n"
                         "add.u64 %out, %out, %at;\n" + p.text;
    std::vector<size_t> seen;
    for (size_t i = INPUTS; i < p.regs.size(); i++)
        if (p.rng.below(3) == 0 || i + 1 == p.regs.size()) {
            source += "st.global.b" + std::to_string(p.regs[i].bits) + " [%out+" + std::to_string(8 * THREADS * seen.size()) +
                      "], " + p.regs[i].name + ";\n";
            seen.push_back(i);
        }
    source += "ret;\n}\n";
    CUmodule module;
    CUfunction kernel;
    EXPECT(cuModuleLoadData(&module, source.c_str()) == CUDA_SUCCESS, "program %d", (int)seed);
    EXPECT(cuModuleGetFunction(&kernel, module, "k") == CUDA_SUCCESS, "program %d", (int)seed);
    Dev<uint32_t> from(in.data(), in.size());
    Dev<uint64_t> out(THREADS * seen.size());
    out.fill(0);
    uint32_t *a = from;
    uint64_t *b = out;
    void *args[] = { &a, &b };
    EXPECT(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS, "program %d", (int)seed);
    std::vector<uint64_t> got(THREADS * seen.size());
    out.get(got.data());
    for (size_t k = 0; k < seen.size(); k++)
        for (int t = 0; t < THREADS; t++) {
            const reg &r = p.regs[seen[k]];
            EXPECT(got[k * THREADS + t] == r.v[t], "program %d, thread %d: %s is %llx, not %llx", (int)seed, t, r.name.c_str(),
                   (unsigned long long)got[k * THREADS + t], (unsigned long long)r.v[t]);
        }
    EXPECT(cuModuleUnload(module) == CUDA_SUCCESS, "program %d", (int)seed);
}

int main()
{
    CHECK(cudaFree(0));
    for (int i = 0; i < PROGRAMS; i++)
        run(1 + i);
    return check_done();
}
