// PTX that compilers seldom write: elements whose number a register has, extern arrays that nothing defines, variables inside
// functions, several results, memory taken from the stack, tables of calls and branches, vector registers, address spaces asked
// about, clusters of one block, wide and vector accesses, vector atomics, video instructions.
// link: -lcuda
// bytes: vary, lanes meet in any order
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <string>
#include <vector>

#define DRV(call)                                                                    \
    do {                                                                             \
        CUresult drv_ = (call);                                                      \
        if (drv_ != CUDA_SUCCESS) {                                                  \
            const char *name_ = "?";                                                 \
            cuGetErrorName(drv_, &name_);                                            \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);        \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

enum { LANES = 96, SLOTS = 16 };

/* Each kernel gets (out, n): `out` holds 16 words for each of n threads of one block. */
static const char version[] = ".version 8.8\n.target sm_100\n.address_size 64\n";
static const char head[] = R"(
.const .align 4 .u32 outer[3] = {70, 71, 72};
.global .align 16 .b8 room[64];
.extern .shared .align 16 .b8 before[48];
.extern .shared .u16 turned[96];
.global .align 32 .b8 area[12288];

.func (.reg .u32 q) quotient(.reg .u32 a, .reg .u32 b)
{
    div.u32 q, a, b;
    ret;
}
.func (.reg .u32 r) difference(.reg .u32 a, .reg .u32 b)
{
    .reg .pred %p;
    sub.u32 r, a, b;
    setp.eq.u32 %p, b, 3;
    @%p ret;
    add.u32 r, r, 1000;
    ret;
}
/* How often it was called before, by this lane's own count in a variable of its own. */
.func (.param .u32 result) counted(.param .u32 lane)
{
    .reg .u32 %l, %v;
    .reg .u64 %a;
    .global .u32 count[96];
    .const .u32 step = 5;
    ld.param.u32 %l, [lane];
    mov.u64 %a, count;
    mad.wide.u32 %a, %l, 4, %a;
    ld.global.u32 %v, [%a];
    .reg .u32 %s;
    ld.const.u32 %s, [step];
    add.u32 %v, %v, %s;
    st.global.u32 [%a], %v;
    st.param.u32 [result], %v;
    ret;
}
)";
/* A kernel's first lines: %r0 the lane, %d0 its words. */
static std::string begin(const char *name)
{
    return std::string(".visible .entry ") + name + R"((.param .u64 out)
{
    .reg .pred %p<8>;
    .reg .b16 %h<16>;
    .reg .b32 %r<40>;
    .reg .b64 %d<20>;
    .reg .b128 %q<4>;
    .reg .f32 %f<16>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [out];
    mad.wide.u32 %d0, %r0, 64, %d0;
)";
}

/* Which of %d1 to %d6 lie in the space, as bits of one byte at [%d0+at]. */
static std::string ask(const char *space, const char *at)
{
    std::string text = "    mov.u32 %r2, 0;\n";
    for (int i = 0; i < 6; i++)
        text += std::string("    isspacep.") + space + " %p0, %d" + std::to_string(i + 1) + "; @%p0 or.b32 %r2, %r2, " +
                std::to_string(1 << i) + ";\n";
    return text + "    st.global.u8 [%d0+" + at + "], %r2;\n";
}

static const std::string functions = begin("functions") + R"(
table: .branchtargets A, B, C, DONE;
either: .calltargets quotient, difference;
alike: .callprototype (.reg .u32 _) _ (.reg .u32 _, .reg .u32 _);
    .global .u32 count[2] = {40, 41};
    { .global .u32 count = 9; ld.global.u32 %r1, [count]; }
    { .global .u64 at = count; ld.global.u64 %d1, [at]; ld.global.u32 %r2, [%d1+4]; }
    st.global.v2.u32 [%d0], {%r1, %r2};
    add.u32 %r3, %r0, 100;
    /* Every third lane calls the other function. */
    mov.u64 %d2, quotient;
    mov.u64 %d3, difference;
    rem.u32 %r6, %r0, 3;
    setp.eq.u32 %p0, %r6, 0;
    selp.b64 %d4, %d2, %d3, %p0;
    call (%r7), %d4, (%r3, 3), either;
    call (_), %d4, (%r3, 4), either;
    call (%r9), %d4, (%r3, 5), alike;
    st.global.v2.u32 [%d0+16], {%r7, %r9};
    { .param .u32 a, b; st.param.u32 [a], %r0; call (b), counted, (a); call (b), counted, (a); ld.param.u32 %r10, [b]; }
    st.global.u32 [%d0+28], %r10;
    rem.u32 %r11, %r0, 4;
    brx.idx %r11, table;
A:  mov.u32 %r12, 11;
    bra DONE;
B:  mov.u32 %r12, 22;
C:  add.u32 %r12, %r12, 33;
    bra DONE;
DONE:
    st.global.u32 [%d0+32], %r12;
    ret;
}
)";
/* Several results exclude what needs a calling convention, and so have a module of their own. */
static const char divide[] = R"(
.func (.reg .u32 q, .reg .u32 r) divide(.reg .u32 a, .reg .u32 b)
{
    .reg .pred %p;
    div.u32 q, a, b;
    rem.u32 r, a, b;
    setp.ne.u32 %p, r, 0;
    @%p ret;
    mov.u32 r, 77;
    ret;
}
.func (.reg .v4 .u32 o, .reg .f32 last) spread(.reg .v2 .u32 a, .reg .u32 b)
{
    add.u32 o.x, a.x, b;
    add.u32 o.y, a.y, b;
    mov.u32 o.z, b + 7;
    mov.u32 o.w, a.x;
    mov.u32 a.x, 0;
    cvt.rn.f32.u32 last, b;
    ret;
}
)";
static const std::string results = begin("results") + R"(
    add.u32 %r1, %r0, 100;
    call (%r2, %r3), divide, (%r1, 7);
    call (_, %r4), divide, (%r1, 9);
    setp.ne.u32 %p0, %r0, %r0;
    @%p0 call (%r2, %r4), divide, (%r1, 1);
    st.global.v2.u32 [%d0], {%r2, %r3};
    st.global.u32 [%d0+8], %r4;
    .reg .v4 .u32 %v;
    .reg .v2 .u32 %w;
    .reg .f32 %f;
    mov.v2.u32 %w, {%r1, %r0};
    call (%v, %f), spread, (%w, %r1);
    st.global.v4.u32 [%d0+16], %v;
    cvt.rzi.u32.f32 %r5, %f;
    add.u32 %r5, %r5, %w.x;
    st.global.u32 [%d0+12], %r5;
    /* Sums of a register and a constant, where one is read. */
    st.global.u32 [%d0+32], %r0 + 5;
    add.u32 %r6, %r0 + 0xfffffff0, %r1+-2;
    st.global.u32 [%d0+36], %r6;
    setp.lt.u32 %p0, %r0 + 3, 10;
    selp.u32 %r7, %r0+1, %r0, %p0;
    st.global.u32 [%d0+40], %r7;
    mov.u64 %d1, %d0 + 0x100000008;
    sub.u64 %d1, %d1, %d0;
    st.global.u64 [%d0+48], %d1;
    st.global.u32 [%d0+56], 0;
    st.global.u16 [%d0+56], %r0 + 0xffff;
    ret;
}
)";
static const std::string stack = begin("stack") + R"(
    /* Lanes take different amounts, in a loop that gives back, and keep what they took before. */
    alloca.u64 %d1, 64, 32;
    cvt.u32.u64 %r1, %d1;
    and.b32 %r1, %r1, 31;
    st.global.u32 [%d0], %r1;
    st.local.u32 [%d1], %r0;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    and.b32 %r4, %r0, 7;
    add.u32 %r4, %r4, 300;
LOOP:
    stacksave.u64 %d2;
    and.b32 %r5, %r2, 15;
    mad.lo.u32 %r5, %r5, 8, 16;
    cvt.u64.u32 %d3, %r5;
    alloca.u64 %d4, %d3;
    st.local.u32 [%d4], %r2;
    alloca.u64 %d5, 1024;
    st.local.u32 [%d5+1020], %r0;
    ld.local.u32 %r6, [%d4];
    add.u32 %r3, %r3, %r6;
    stackrestore.u64 %d2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p0, %r2, %r4;
    @%p0 bra LOOP;
    ld.local.u32 %r7, [%d1];
    st.global.v2.u32 [%d0+8], {%r3, %r7};
    sub.u64 %d6, %d4, %d1;
    st.global.u64 [%d0+16], %d6;
    ret;
}
)";
static const std::string overflow = begin("overflow") + R"(
LOOP:
    alloca.u64 %d1, 1024;
    st.local.u32 [%d1], %r0;
    st.global.u64 [%d0], %d1;
    bra LOOP;
}
)";
/* Integers for predicates: false where they are 0. */
static const std::string predicates = begin("predicates") + R"(
    setp.lt.u32 %p0, %r0, 40;
    xor.pred %p1, %p0, -1;
    xor.pred %p2, 2, %p0;
    xor.pred %p3, %p0, 0;
    and.pred %p4, %p0, 256;
    or.pred %p5, 0, %p0;
    or.pred %p6, %p0, 4;
    mov.u32 %r1, 0;
    @%p1 add.u32 %r1, %r1, 1;
    @%p2 add.u32 %r1, %r1, 2;
    @%p3 add.u32 %r1, %r1, 4;
    @%p4 add.u32 %r1, %r1, 8;
    @%p5 add.u32 %r1, %r1, 16;
    @%p6 add.u32 %r1, %r1, 32;
    st.global.u32 [%d0], %r1;
    ret;
}
)";
static const std::string elements = begin("elements") + R"(
    .local .v2 .u32 pairs[4];
    .global .u64 wide[4] = {5, 0x100000006, 7, 8};
    .reg .s32 %s0;
    cvt.u16.u32 %h0, %r0;
    st.shared.u16 turned[%r0], %h0;
    bar.sync 0;
    mov.s32 %s0, 95;
    sub.s32 %s0, %s0, %r0;
    ld.shared.u16 %h1, turned[%s0];
    cvt.u32.u16 %r1, %h1;
    st.global.u32 [%d0], %r1;
    rem.u32 %r2, %r0, 3;
    ld.const.u32 %r3, outer[%r2];
    st.global.u32 [%d0+4], %r3;
    cvt.u64.u32 %d1, %r2;
    add.u64 %d1, %d1, 0x300000000;
    ld.global.u64 %d2, wide[%d1+1];
    st.global.u64 [%d0+8], %d2;
    add.u32 %r4, %r2, 1;
    st.shared.u32 [before+4], 1;
    st.local.v2.u32 pairs[%r2], {%r0, 10};
    st.local.v2.u32 pairs[%r4], {%r4, 20};
    ld.local.v2.u32 {%r5, %r6}, pairs[%r4+-1];
    st.global.v2.u32 [%d0+16], {%r5, %r6};
    ret;
}
)";
static const std::string spaces = begin("spaces") + R"(
    .shared .align 16 .b8 tile[2048];
    .local .align 8 .b8 own[16];
    .const .u32 inner = 4;
    .reg .v4 .b32 %v;
    .reg .v2 .b64 %w;
    cvta.const.u64 %d1, outer;
    cvta.const.u64 %d2, inner;
    cvta.param.u64 %d3, out;
    cvta.global.u64 %d4, room;
    cvta.shared.u64 %d5, tile;
    cvta.local.u64 %d6, own;
    mov.u32 %r1, 0;
)"
    + ask("const", "0") + ask("param", "1") + ask("global", "2") + ask("shared", "3") + ask("local", "4") +
    ask("shared::cluster", "5") + R"(
    ld.u32 %r3, [%d1+8];
    ld.u32 %r4, [%d2];
    st.global.v2.u32 [%d0+8], {%r3, %r4};
    /* The block's shared memory by way of its cluster: generic, and in the window. */
    mapa.u64 %d7, tile, %r1;
    mul.wide.u32 %d8, %r0, 16;
    add.u64 %d7, %d7, %d8;
    st.u32 [%d7], %r0;
    mapa.shared::cluster.u32 %r5, tile+4, 0;
    mad.lo.u32 %r5, %r0, 16, %r5;
    add.u32 %r6, %r0, 7;
    st.shared::cluster.u32 [%r5], %r6;
    st.shared.u64 [%r5+4], -1;
    getctarank.shared::cluster.u32 %r7, %r5;
    bar.sync 0;
    xor.b32 %r8, %r0, 1;
    mov.u32 %r9, tile;
    mad.lo.u32 %r9, %r8, 16, %r9;
    ld.shared.v4.u32 %v, [%r9];
    st.global.v4.u32 [%d0+16], %v;
    bar.sync 0;
    setp.ne.u32 %p0, %r0, 1;
    @%p0 bra FILLED;
    mov.u32 %r10, tile;
    add.u32 %r10, %r10, 16;
    mov.u64 %d9, 32;
    st.bulk.weak.shared::cta [%r10], %d9, 0;
FILLED:
    bar.sync 0;
    mov.u32 %r10, tile;
    mad.lo.u32 %r10, %r0, 16, %r10;
    ld.shared.v2.b64 %w, [%r10];
    mov.v2.b64 {%w.y, %w.x}, %w;
    st.global.v2.b64 [%d0+32], %w;
    mov.v4.u32 %v, %ntid;
    st.global.v4.u32 [%d0+48], {%v.x, %v.y, %v.w, %r7};
    ret;
}
)";
static const std::string wide = begin("wide") + R"(
    mov.u64 %d1, area;
    mad.wide.u32 %d1, %r0, 64, %d1;
    cvt.u64.u32 %d2, %r0;
    not.b64 %d3, %d2;
    mov.b128 %q0, {%d2, %d3};
    st.global.b128 [%d1], %q0;
    st.release.gpu.global.b128 [%d1+16], %q0;
    ld.relaxed.gpu.global.b128 %q1, [%d1];
    ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];
    mov.b128 {%r9, %r10, %r11, %r12}, %q1;
    xor.b32 %r9, %r9, %r5;
    xor.b32 %r10, %r10, %r6;
    xor.b32 %r11, %r11, %r7;
    xor.b32 %r12, %r12, %r8;
    st.global.v8.b32 [%d1+32], {%r9, %r10, %r11, %r12, %r1, %r2, %r3, %r4};
    ld.volatile.global.v4.b64 {%d4, %d5, %d6, %d7}, [%d1+32];
    st.global.v2.b64 [%d0], {%d4, %d5};
    st.global.v2.b64 [%d0+16], {%d6, %d7};
    /* All lanes on the same elements. */
    cvt.rn.f32.u32 %f0, %r0;
    neg.f32 %f1, %f0;
    mov.f32 %f2, 0f3F800000;
    atom.global.add.v4.f32 {%f4, %f5, %f6, %f7}, [room], {%f0, %f1, %f2, %f2};
    cvt.rn.f16.u32 %h0, %r0;
    neg.f16 %h1, %h0;
    red.relaxed.gpu.global.max.noftz.v2.f16 [room+16], {%h0, %h1};
    mov.b32 %r13, {%h1, %h0};
    red.global.min.noftz.v2.f16x2 [room+24], {%r13, %r13};
    cvt.rn.bf16.f32 %h2, %f2;
    red.global.add.noftz.v4.bf16 [room+32], {%h2, %h2, %h2, %h2};
    mov.b32 %r17, 0x01fe03fc;
    mov.b32 %r18, 0;
    vadd4.u32.u32.u32.sat %r14, %r0, %r17, %r18;
    vmad.s32.u32.s32.shr7 %r15, %r0.b0, -%r13.h1, %r0;
    vset.u32.u32.lt.add %r16, %r0.b0, 50, %r0;
    st.global.v2.u32 [%d0+32], {%r14, %r15};
    st.global.u32 [%d0+40], %r16;
    ret;
}
)";

static const std::string sixteen = begin("sixteen") + R"(
    .global .align 16 .b8 counter[16];
    .shared .align 16 .b8 box[16];
    mov.u64 %d1, counter;
    mov.u64 %d2, 0;
    mov.b128 %q0, {%d2, %d2};
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra START;
    st.relaxed.gpu.global.b128 [counter], %q0;
    st.shared.b128 [box], %q0;
START:
    bar.sync 0;
    mov.u32 %r1, 0;
AGAIN:
    ld.relaxed.gpu.global.b128 %q0, [%d1];
RETRY:
    mov.b128 {%d3, %d4}, %q0;
    add.u64 %d5, %d3, 1;
    add.u64 %d6, %d4, -3;
    mov.b128 %q1, {%d5, %d6};
    atom.relaxed.gpu.global.cas.b128 %q2, [%d1], %q0, %q1;
    mov.b128 {%d7, %d8}, %q2;
    setp.ne.u64 %p1, %d7, %d3;
    setp.ne.or.u64 %p1, %d8, %d4, %p1;
    mov.b128 %q0, %q2;
    @%p1 bra RETRY;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p2, %r1, 5;
    @%p2 bra AGAIN;
    /* Each lane leaves its number and finds another's: none twice. */
    cvt.u64.u32 %d2, %r0;
    add.u64 %d2, %d2, 1;
    not.b64 %d9, %d2;
    mov.b128 %q1, {%d2, %d9};
    atom.shared.exch.b128 %q2, [box], %q1;
    mov.b128 {%d7, %d8}, %q2;
    bar.sync 0;
    ld.relaxed.gpu.global.b128 %q0, [%d1];
    mov.b128 {%d3, %d4}, %q0;
    st.global.v2.b64 [%d0], {%d3, %d4};
    st.global.v2.b64 [%d0+16], {%d7, %d8};
    ret;
}
)";

static CUfunction kernel(CUmodule module, const char *name)
{
    CUfunction f;
    DRV(cuModuleGetFunction(&f, module, name));
    return f;
}

static std::vector<uint32_t> run(CUmodule module, const char *name)
{
    Dev<uint32_t> out(LANES * SLOTS);
    std::vector<uint32_t> host(LANES * SLOTS);
    out.fill(0xee);
    CUdeviceptr ptr = (CUdeviceptr)out.ptr;
    void *params[] = { &ptr };
    DRV(cuLaunchKernel(kernel(module, name), 1, 1, 1, LANES, 1, 1, 0, 0, params, 0));
    DRV(cuCtxSynchronize());
    out.get(host.data());
    return host;
}

#define AT(i, want) EXPECT(o[i] == (uint32_t)(want), "lane %u, word %d: %#x, not %#x", t, i, o[i], (unsigned)(want))

static void check_functions(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "functions");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS];
        uint32_t a = t + 100;
        AT(0, 9);
        AT(1, 41);
        AT(4, t % 3 ? a - 3 : a / 3);
        AT(5, t % 3 ? a - 5 + 1000 : a / 5);
        AT(7, 10);
        static const uint32_t taken[] = { 11, 55, 33, 0 };
        AT(8, taken[t % 4]);
    }
    CUdeviceptr where;
    size_t size;
    EXPECT(cuModuleGetGlobal(&where, &size, module, "count") == CUDA_ERROR_NOT_FOUND,
           "a function's variable has no name outside");
}

static void check_results(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "results");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS], a = t + 100;
        AT(0, a / 7);
        AT(1, a % 7 ? a % 7 : 77);
        AT(2, a % 9 ? a % 9 : 77);
        AT(3, a + a);
        AT(4, a + a);
        AT(5, t + a);
        AT(6, a + 7);
        AT(7, a);
        AT(8, t + 5);
        AT(9, t + a - 18);
        AT(10, t < 7 ? t + 1 : t);
        AT(12, 8);
        AT(13, 1);
        AT(14, (t + 0xffff) & 0xffff);
    }
}

static void check_stack(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "stack");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS];
        uint32_t n = (t & 7) + 300;
        AT(0, 0);
        AT(2, n * (n - 1) / 2);
        AT(3, t);
        AT(4, 64);
        AT(5, 0);
    }
}

static void check_spaces(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "spaces");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS], u = t ^ 1;
        AT(0, 0x10080403);
        EXPECT((o[1] & 0xffff) == 0x1020, "lane %u: %#x", t, o[1]);
        AT(2, 72);
        AT(3, 4);
        AT(4, u);
        AT(5, u + 7);
        AT(6, -1);
        AT(7, -1);
        bool zero = t == 1 || t == 2;
        AT(8, zero ? 0 : -1);
        AT(9, zero ? 0 : -1);
        AT(10, zero ? 0 : t);
        AT(11, zero ? 0 : t + 7);
        AT(12, LANES);
        AT(13, 1);
        AT(14, 0);
        AT(15, 0);
    }
}

static float of_half(uint16_t h)
{
    float m = (float)((h & 0x3ff) | (h & 0x7c00 ? 0x400 : 0)), e = (float)((h >> 10 & 31) ? (h >> 10 & 31) - 25 : -24);
    return (h & 0x8000 ? -m : m) * std::exp2(e);
}

static void check_wide(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "wide");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS];
        for (int i = 0; i < 4; i++)
            AT(i, 0);
        AT(4, t);
        AT(5, 0);
        AT(6, ~t);
        AT(7, ~0u);
        AT(8, 0x01fe03ff - (0xff - (t + 0xfc > 0xff ? 0xff : t + 0xfc)));
        uint16_t half = 0; /* as cvt.rn.f16.u32 has it: exact for these */
        for (uint16_t h = 0; h < 0x7c00; h++)
            half = of_half(h) == (float)t ? h : half;
        int64_t c = (int64_t)t, product = (int64_t)t * (int64_t)(int16_t)half;
        AT(9, (uint32_t)((c - product) >> 7));
        AT(10, t + (t < 50));
    }
    CUdeviceptr where;
    size_t size;
    uint8_t room[64];
    DRV(cuModuleGetGlobal(&where, &size, module, "room"));
    DRV(cuMemcpyDtoH(room, where, sizeof room));
    float sums[4];
    uint16_t h[12];
    memcpy(sums, room, sizeof sums);
    memcpy(h, room + 16, sizeof h);
    float total = LANES * (LANES - 1) / 2;
    EXPECT(sums[0] == total && sums[1] == -total && sums[2] == LANES && sums[3] == LANES, "%g %g %g %g", sums[0], sums[1],
           sums[2], sums[3]);
    EXPECT(of_half(h[0]) == LANES - 1 && of_half(h[1]) == 0, "maxima %#x %#x", h[0], h[1]);
    EXPECT(of_half(h[4]) == -(LANES - 1) && of_half(h[5]) == 0 && h[4] == h[6] && h[5] == h[7], "minima %#x %#x", h[4], h[5]);
    EXPECT(h[8] == 0x42c0 && h[9] == 0x42c0 && h[10] == 0x42c0 && h[11] == 0x42c0, "bf16 sums %#x %#x", h[8], h[11]);
}

static void check_sixteen(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "sixteen");
    std::vector<int> found(LANES + 1);
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS], who = o[4];
        AT(0, LANES * 5);
        AT(1, 0);
        AT(2, -(LANES * 5 * 3));
        AT(3, -1);
        AT(6, who ? ~who : 0);
        EXPECT(who <= LANES && !found[who <= LANES ? who : 0]++, "lane %u found %u's, as another did", t, who);
    }
}

static void check_predicates(CUmodule module)
{
    std::vector<uint32_t> all = run(module, "predicates");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS];
        AT(0, t < 40 ? 4 + 8 + 16 + 32 : 1 + 2 + 32);
    }
}

static void check_elements(CUmodule module)
{
    static const uint64_t wide[] = { 5, 0x100000006, 7, 8 };
    std::vector<uint32_t> all = run(module, "elements");
    for (uint32_t t = 0; t < LANES; t++) {
        const uint32_t *o = &all[t * SLOTS];
        AT(0, 95 - t);
        AT(1, 70 + t % 3);
        AT(2, wide[t % 3 + 1]);
        AT(3, wide[t % 3 + 1] >> 32);
        AT(4, t);
        AT(5, 10);
    }
}

int main()
{
    CHECK(cudaFree(0));
    std::string text = std::string(version) + head + functions + stack + spaces + wide + sixteen + predicates;
    text += elements + overflow;
    std::string other = std::string(version) + divide + results;
    CUmodule module, second;
    DRV(cuModuleLoadData(&module, text.c_str()));
    DRV(cuModuleLoadData(&second, other.c_str()));
    check_functions(module);
    check_results(second);
    check_stack(module);
    check_spaces(module);
    check_wide(module);
    check_sixteen(module);
    check_predicates(module);
    check_elements(module);
    Dev<uint32_t> out(LANES * SLOTS);
    CUdeviceptr ptr = (CUdeviceptr)out.ptr;
    void *params[] = { &ptr };
    DRV(cuLaunchKernel(kernel(module, "overflow"), 1, 1, 1, LANES, 1, 1, 0, 0, params, 0));
    EXPECT(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED, "a stack without end was not noticed");
    int failed = check_done();
    std::fflush(stdout);
    std::_Exit(failed); /* after a fault nothing can be freed */
}
