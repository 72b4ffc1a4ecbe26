/* The kernels as CUDA C++ without CUDA's headers, and one that needs C++. */
/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))
#define GLOBAL __attribute__((device))
#include "kernels.h"

/* What a C++ runtime would bring. */
extern "C" DEVICE void __cxa_pure_virtual(void)
{
    __builtin_trap();
}

/* Virtual calls, a template over its element and a function object. */
struct Shape {
    DEVICE virtual u32 area(u32 scale) const = 0;
};
struct Square : Shape {
    u32 side;
    DEVICE Square(u32 s) : side(s) {}
    DEVICE u32 area(u32 scale) const override { return side * side * scale; }
};
struct Bar : Shape {
    u32 width, height;
    DEVICE Bar(u32 w, u32 h) : width(w), height(h) {}
    DEVICE u32 area(u32 scale) const override { return width * height + scale; }
};

template <typename T, int N, typename F> DEVICE T accumulate(T start, F step)
{
    for (int k = 0; k < N; k++)
        start = step(start, (T)k);
    return start;
}

KERNEL void classes(const u32 *in, u32 *out, u32 n)
{
    u32 i = element(), v = in[i];
    Square square(v & 255);
    Bar bar(v & 1023, i & 31);
    const Shape *shape = v & 4096 ? (const Shape *)&square : &bar;
    u64 wide = accumulate<u64, 5>((u64)v << 8, [=](u64 x, u64 k) { return x * 3 + (k ^ i); });
    out[i] = shape->area(v >> 20) + fold(wide);
}
