/* What the host lacks as an instruction, written as scalar SIMT IR that is linked in before the warp is vectorised: PTX's
 * approximations, conversions that LLVM would make library calls of, memory intrinsics.
 *
 * The approximations are at least as good as PTX ISA 9.0 §9.7.3 asks: ex2 1 ulp (also host/avx512.c's); lg2 2^-22; sin and cos
 * 2^-20.5 near 0 and sane for any argument; rcp, sqrt, div correctly rounded; rsqrt 1 ulp; tanh 2^-11.  Coefficients: Taylor and
 * atanh series (exact), minimax sets from the public-domain Cephes library. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <string.h>

static const char power_of_two[] =
    "; 2^f, 0 <= f <= 1, at most 0.91 units of 2^-23 wrong; 1 and 2 are exact.\n"
    "define linkonce_odr float @aw.soft.ex2.part(float %f) {\n"
    "  %p0 = call float @llvm.fma.f32(float 0x3F2C765A80000000, float %f, float 0x3F54621500000000)\n"
    "  %p1 = call float @llvm.fma.f32(float %p0, float %f, float 0x3F83D217C0000000)\n"
    "  %p2 = call float @llvm.fma.f32(float %p1, float %f, float 0x3FAC686B00000000)\n"
    "  %p3 = call float @llvm.fma.f32(float %p2, float %f, float 0x3FCEBFD780000000)\n"
    "  %p4 = call float @llvm.fma.f32(float %p3, float %f, float 0x3FE62E42A0000000)\n"
    "  %p5 = call float @llvm.fma.f32(float %p4, float %f, float 0x3FF0000000000000)\n"
    "  ret float %p5\n"
    "}\n"
    "; 2^x = 2^n 2^f, n the floor of x; two steps of scaling reach subnormal results.\n"
    "define linkonce_odr float @aw.ex2.f32(float %x) {\n"
    "  %low = fcmp olt float %x, 0xC063000000000000\n"
    "  %a = select i1 %low, float 0xC063000000000000, float %x\n"
    "  %high = fcmp ogt float %a, 0x4060000000000000\n"
    "  %y = select i1 %high, float 0x4060000000000000, float %a\n"
    "  %n = call float @llvm.floor.f32(float %y)\n"
    "  %f = fsub float %y, %n\n"
    "  %p = call float @aw.soft.ex2.part(float %f)\n"
    "  %shifted = fadd float %n, 0x4168000000000000\n"
    "  %bits = bitcast float %shifted to i32\n"
    "  %i = sub i32 %bits, 1262485504\n"
    "  %i1 = ashr i32 %i, 1\n"
    "  %i2 = sub i32 %i, %i1\n"
    "  %b1 = add i32 %i1, 127\n"
    "  %b2 = add i32 %i2, 127\n"
    "  %e1 = shl i32 %b1, 23\n"
    "  %e2 = shl i32 %b2, 23\n"
    "  %f1 = bitcast i32 %e1 to float\n"
    "  %f2 = bitcast i32 %e2 to float\n"
    "  %m1 = fmul float %p, %f1\n"
    "  %m2 = fmul float %m1, %f2\n"
    "  ret float %m2\n"
    "}\n"
    "; The same where subnormals are zero.  2^n is built of n + 127, the low bits of n + 127 + 1.5 * 2^23: zero for -127, "
    "infinite for 128.  A subnormal x\n"
    "; makes f 0 or 1, and 2^f is exact there.\n"
    "define linkonce_odr float @aw.ex2.ftz.f32(float %x) {\n"
    "  %low = fcmp olt float %x, 0xC05FC00000000000\n"
    "  %a = select i1 %low, float 0xC05FC00000000000, float %x\n"
    "  %high = fcmp ogt float %a, 0x4060000000000000\n"
    "  %y = select i1 %high, float 0x4060000000000000, float %a\n"
    "  %n = call float @llvm.floor.f32(float %y)\n"
    "  %f = fsub float %y, %n\n"
    "  %p = call float @aw.soft.ex2.part(float %f)\n"
    "  %shifted = fadd float %n, 0x4168000FE0000000\n"
    "  %bits = bitcast float %shifted to i32\n"
    "  %e = shl i32 %bits, 23\n"
    "  %power = bitcast i32 %e to float\n"
    "  %r = fmul float %p, %power\n"
    "  ret float %r\n"
    "}\n"
    "declare float @llvm.fma.f32(float, float, float)\n"
    "declare float @llvm.floor.f32(float)\n";

static const char prelude[] =
    "declare float @aw.ex2.f32(float)\n"
    "; bias + log2 x of a positive normal number: e + log2 m, m in [sqrt(1/2), sqrt(2)); log2 m by atanh's series.\n"
    "define linkonce_odr float @aw.soft.lg2.part(float %x, float %bias) {\n"
    "  %bits = bitcast float %x to i32\n"
    "  %rel = sub i32 %bits, 1060439283\n"
    "  %e = ashr i32 %rel, 23\n"
    "  %ebits = shl i32 %e, 23\n"
    "  %mbits = sub i32 %bits, %ebits\n"
    "  %m = bitcast i32 %mbits to float\n"
    "  %ef = sitofp i32 %e to float\n"
    "  %exp = fadd float %ef, %bias\n"
    "  %num = fsub float %m, 0x3FF0000000000000\n"
    "  %den = fadd float %m, 0x3FF0000000000000\n"
    "  %s = fdiv float %num, %den\n"
    "  %s2 = fmul float %s, %s\n"
    "  %q0 = call float @llvm.fma.f32(float 0x3FD484B140000000, float %s2, float 0x3FDA617620000000)\n"
    "  %q1 = call float @llvm.fma.f32(float %q0, float %s2, float 0x3FE2776C60000000)\n"
    "  %q2 = call float @llvm.fma.f32(float %q1, float %s2, float 0x3FEEC709E0000000)\n"
    "  %q3 = call float @llvm.fma.f32(float %q2, float %s2, float 0x4007154760000000)\n"
    "  %r = call float @llvm.fma.f32(float %s, float %q3, float %exp)\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.lg2.f32(float %x) {\n"
    "  %sub = fcmp olt float %x, 0x3810000000000000\n"
    "  %scaled = fmul float %x, 0x4160000000000000\n"
    "  %y = select i1 %sub, float %scaled, float %x\n"
    "  %bias = select i1 %sub, float 0xC037000000000000, float 0x0000000000000000\n"
    "  %r = call float @aw.soft.lg2.part(float %y, float %bias)\n"
    "  %inf = fcmp oeq float %x, 0x7FF0000000000000\n"
    "  %r1 = select i1 %inf, float 0x7FF0000000000000, float %r\n"
    "  %zero = fcmp oeq float %x, 0x0000000000000000\n"
    "  %r2 = select i1 %zero, float 0xFFF0000000000000, float %r1\n"
    "  %bad = fcmp ult float %x, 0x0000000000000000\n"
    "  %r3 = select i1 %bad, float 0x7FF8000000000000, float %r2\n"
    "  ret float %r3\n"
    "}\n"
    "define linkonce_odr float @aw.lg2.ftz.f32(float %x) {\n"
    "  %r = call float @aw.soft.lg2.part(float %x, float 0x0000000000000000)\n"
    "  %inf = fcmp oeq float %x, 0x7FF0000000000000\n"
    "  %r1 = select i1 %inf, float 0x7FF0000000000000, float %r\n"
    "  %zero = fcmp olt float %x, 0x3810000000000000\n"
    "  %r2 = select i1 %zero, float 0xFFF0000000000000, float %r1\n"
    "  %bad = fcmp ule float %x, 0xB810000000000000\n"
    "  %r3 = select i1 %bad, float 0x7FF8000000000000, float %r2\n"
    "  ret float %r3\n"
    "}\n"
    "; Quadrant and remainder of x by pi/2.  Large arguments take the reduction in double first, in a branch seldom taken.\n"
    "define linkonce_odr { float, i32 } @aw.soft.quadrant(float %x) {\n"
    "entry:\n"
    "  %abs = call float @llvm.fabs.f32(float %x)\n"
    "  %big = fcmp ogt float %abs, 0x40E7700000000000\n"
    "  br i1 %big, label %large, label %small\n"
    "large:\n"
    "  %xd = fpext float %x to double\n"
    "  %turns = fmul double %xd, 0x3FC45F306DC9C883\n"
    "  %whole = call double @llvm.rint.f64(double %turns)\n"
    "  %back = call double @llvm.fma.f64(double %whole, double 0xC01921FB54442D18, double %xd)\n"
    "  %back2 = call double @llvm.fma.f64(double %whole, double 0xBCB1A62633145C07, double %back)\n"
    "  %xr = fptrunc double %back2 to float\n"
    "  %xra = call float @llvm.fabs.f32(float %xr)\n"
    "  %wild = fcmp ogt float %xra, 0x4010000000000000\n"
    "  %xs = select i1 %wild, float 0x0000000000000000, float %xr\n"
    "  br label %small\n"
    "small:\n"
    "  %y = phi float [ %x, %entry ], [ %xs, %large ]\n"
    "  %k = fmul float %y, 0x3FE45F3060000000\n"
    "  %shifted = fadd float %k, 0x4168000000000000\n"
    "  %n = fsub float %shifted, 0x4168000000000000\n"
    "  %q = bitcast float %shifted to i32\n"
    "  %r0 = call float @llvm.fma.f32(float %n, float 0xBFF921FB60000000, float %y)\n"
    "  %r1 = call float @llvm.fma.f32(float %n, float 0x3E6777A5C0000000, float %r0)\n"
    "  %r = call float @llvm.fma.f32(float %n, float 0x3CDEE59DA0000000, float %r1)\n"
    "  %v0 = insertvalue { float, i32 } poison, float %r, 0\n"
    "  %v1 = insertvalue { float, i32 } %v0, i32 %q, 1\n"
    "  ret { float, i32 } %v1\n"
    "}\n"
    "; Sine of r + q * pi/2, |r| <= pi/4 and a little.\n"
    "define linkonce_odr float @aw.soft.sine(float %r, i32 %q) {\n"
    "  %r2 = fmul float %r, %r\n"
    "  %s0 = call float @llvm.fma.f32(float 0xBF29943F20000000, float %r2, float 0x3F811073C0000000)\n"
    "  %s1 = call float @llvm.fma.f32(float %s0, float %r2, float 0xBFC5555460000000)\n"
    "  %r3 = fmul float %r2, %r\n"
    "  %sine = call float @llvm.fma.f32(float %s1, float %r3, float %r)\n"
    "  %c0 = call float @llvm.fma.f32(float 0x3EF99EB9C0000000, float %r2, float 0xBF56C0C340000000)\n"
    "  %c1 = call float @llvm.fma.f32(float %c0, float %r2, float 0x3FA55554A0000000)\n"
    "  %r4 = fmul float %r2, %r2\n"
    "  %head = call float @llvm.fma.f32(float %r2, float 0xBFE0000000000000, float 0x3FF0000000000000)\n"
    "  %cosine = call float @llvm.fma.f32(float %c1, float %r4, float %head)\n"
    "  %odd = and i32 %q, 1\n"
    "  %swap = icmp ne i32 %odd, 0\n"
    "  %v = select i1 %swap, float %cosine, float %sine\n"
    "  %half = shl i32 %q, 30\n"
    "  %sign = and i32 %half, -2147483648\n"
    "  %vb = bitcast float %v to i32\n"
    "  %vs = xor i32 %vb, %sign\n"
    "  %res = bitcast i32 %vs to float\n"
    "  ret float %res\n"
    "}\n"
    "define linkonce_odr float @aw.sin.f32(float %x) {\n"
    "  %v = call { float, i32 } @aw.soft.quadrant(float %x)\n"
    "  %r = extractvalue { float, i32 } %v, 0\n"
    "  %q = extractvalue { float, i32 } %v, 1\n"
    "  %s = call float @aw.soft.sine(float %r, i32 %q)\n"
    "  %zero = fcmp oeq float %x, 0x0000000000000000\n"
    "  %t = select i1 %zero, float %x, float %s\n"
    "  ret float %t\n"
    "}\n"
    "define linkonce_odr float @aw.cos.f32(float %x) {\n"
    "  %v = call { float, i32 } @aw.soft.quadrant(float %x)\n"
    "  %r = extractvalue { float, i32 } %v, 0\n"
    "  %q = extractvalue { float, i32 } %v, 1\n"
    "  %q1 = add i32 %q, 1\n"
    "  %s = call float @aw.soft.sine(float %r, i32 %q1)\n"
    "  ret float %s\n"
    "}\n"
    "define linkonce_odr float @aw.rcp.f32(float %x) {\n"
    "  %r = fdiv float 0x3FF0000000000000, %x\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.rsqrt.f32(float %x) {\n"
    "  %s = call float @llvm.sqrt.f32(float %x)\n"
    "  %r = fdiv float 0x3FF0000000000000, %s\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.sqrt.f32(float %x) {\n"
    "  %r = call float @llvm.sqrt.f32(float %x)\n"
    "  ret float %r\n"
    "}\n"
    "; Subnormals to zero of their sign.\n"
    "define linkonce_odr float @aw.soft.flush(float %x) {\n"
    "  %abs = call float @llvm.fabs.f32(float %x)\n"
    "  %small = fcmp olt float %abs, 0x3810000000000000\n"
    "  %zero = call float @llvm.copysign.f32(float 0x0000000000000000, float %x)\n"
    "  %r = select i1 %small, float %zero, float %x\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.rcp.ftz.f32(float %x) {\n"
    "  %y = call float @aw.soft.flush(float %x)\n"
    "  %r = fdiv float 0x3FF0000000000000, %y\n"
    "  %z = call float @aw.soft.flush(float %r)\n"
    "  ret float %z\n"
    "}\n"
    "; No root of a normal number, nor its reciprocal, is subnormal.\n"
    "define linkonce_odr float @aw.rsqrt.ftz.f32(float %x) {\n"
    "  %y = call float @aw.soft.flush(float %x)\n"
    "  %r = call float @aw.rsqrt.f32(float %y)\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.sqrt.ftz.f32(float %x) {\n"
    "  %y = call float @aw.soft.flush(float %x)\n"
    "  %r = call float @llvm.sqrt.f32(float %y)\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.div.f32(float %x, float %y) {\n"
    "  %r = fdiv float %x, %y\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr float @aw.divfull.f32(float %x, float %y) {\n"
    "  %r = fdiv float %x, %y\n"
    "  ret float %r\n"
    "}\n"
    "define linkonce_odr double @aw.rcp.f64(double %x) {\n"
    "  %r = fdiv double 0x3FF0000000000000, %x\n"
    "  ret double %r\n"
    "}\n"
    "define linkonce_odr double @aw.rsqrt.f64(double %x) {\n"
    "  %s = call double @llvm.sqrt.f64(double %x)\n"
    "  %r = fdiv double 0x3FF0000000000000, %s\n"
    "  ret double %r\n"
    "}\n"
    "; tanh x: an odd polynomial near 0, else 1 - 2 / (e^(2x) + 1).\n"
    "define linkonce_odr float @aw.tanh.f32(float %x) {\n"
    "  %abs = call float @llvm.fabs.f32(float %x)\n"
    "  %z = fmul float %x, %x\n"
    "  %t0 = call float @llvm.fma.f32(float 0xBF775E1D40000000, float %z, float 0x3F952269C0000000)\n"
    "  %t1 = call float @llvm.fma.f32(float %t0, float %z, float 0xBFAB83C5A0000000)\n"
    "  %t2 = call float @llvm.fma.f32(float %t1, float %z, float 0x3FC1107260000000)\n"
    "  %t3 = call float @llvm.fma.f32(float %t2, float %z, float 0xBFD5555320000000)\n"
    "  %tz = fmul float %t3, %z\n"
    "  %near = call float @llvm.fma.f32(float %tz, float %x, float %x)\n"
    "  %twice = fmul float %abs, 0x4007154760000000\n"
    "  %e = call float @aw.ex2.f32(float %twice)\n"
    "  %e1 = fadd float %e, 0x3FF0000000000000\n"
    "  %d = fdiv float 0x4000000000000000, %e1\n"
    "  %far = fsub float 0x3FF0000000000000, %d\n"
    "  %isnear = fcmp olt float %abs, 0x3FE4000000000000\n"
    "  %r = select i1 %isnear, float %near, float %far\n"
    "  %signed = call float @llvm.copysign.f32(float %r, float %x)\n"
    "  ret float %signed\n"
    "}\n"
    "; double to half with one rounding: to float rounding to odd, then to half.\n"
    "define linkonce_odr half @aw.soft.f64.f16(double %x) {\n"
    "  %f = fptrunc double %x to float\n"
    "  %b = fpext float %f to double\n"
    "  %inexact = fcmp one double %b, %x\n"
    "  %ab = call double @llvm.fabs.f64(double %b)\n"
    "  %ax = call double @llvm.fabs.f64(double %x)\n"
    "  %over = fcmp ogt double %ab, %ax\n"
    "  %bits = bitcast float %f to i32\n"
    "  %less = sext i1 %over to i32\n"
    "  %down = add i32 %bits, %less\n"
    "  %one = zext i1 %inexact to i32\n"
    "  %odd = or i32 %down, %one\n"
    "  %r = bitcast i32 %odd to float\n"
    "  %h = fptrunc float %r to half\n"
    "  ret half %h\n"
    "}\n"
    "; float to bfloat, to nearest even.\n"
    "define linkonce_odr bfloat @aw.soft.f32.bf16(float %x) {\n"
    "  %bits = bitcast float %x to i32\n"
    "  %high = lshr i32 %bits, 16\n"
    "  %odd = and i32 %high, 1\n"
    "  %bias = add i32 %odd, 32767\n"
    "  %sum = add i32 %bits, %bias\n"
    "  %rounded = lshr i32 %sum, 16\n"
    "  %nan = fcmp uno float %x, %x\n"
    "  %quiet = or i32 %high, 64\n"
    "  %r = select i1 %nan, i32 %quiet, i32 %rounded\n"
    "  %t = trunc i32 %r to i16\n"
    "  %b = bitcast i16 %t to bfloat\n"
    "  ret bfloat %b\n"
    "}\n"
    "define linkonce_odr void @aw.soft.memcpy(ptr %to, ptr %from, i64 %n) {\n"
    "entry:\n"
    "  %any = icmp ne i64 %n, 0\n"
    "  br i1 %any, label %loop, label %done\n"
    "loop:\n"
    "  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]\n"
    "  %p = getelementptr i8, ptr %from, i64 %i\n"
    "  %q = getelementptr i8, ptr %to, i64 %i\n"
    "  %x = load i8, ptr %p\n"
    "  store i8 %x, ptr %q\n"
    "  %i1 = add i64 %i, 1\n"
    "  %more = icmp ult i64 %i1, %n\n"
    "  br i1 %more, label %loop, label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n"
    "define linkonce_odr void @aw.soft.memmove(ptr %to, ptr %from, i64 %n) {\n"
    "entry:\n"
    "  %any = icmp ne i64 %n, 0\n"
    "  %up = icmp ult ptr %to, %from\n"
    "  %last = sub i64 %n, 1\n"
    "  %first = select i1 %up, i64 0, i64 %last\n"
    "  %step = select i1 %up, i64 1, i64 -1\n"
    "  br i1 %any, label %loop, label %done\n"
    "loop:\n"
    "  %i = phi i64 [ %first, %entry ], [ %i1, %loop ]\n"
    "  %c = phi i64 [ 0, %entry ], [ %c1, %loop ]\n"
    "  %p = getelementptr i8, ptr %from, i64 %i\n"
    "  %q = getelementptr i8, ptr %to, i64 %i\n"
    "  %x = load i8, ptr %p\n"
    "  store i8 %x, ptr %q\n"
    "  %i1 = add i64 %i, %step\n"
    "  %c1 = add i64 %c, 1\n"
    "  %more = icmp ult i64 %c1, %n\n"
    "  br i1 %more, label %loop, label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n"
    "define linkonce_odr void @aw.soft.memset(ptr %to, i8 %x, i64 %n) {\n"
    "entry:\n"
    "  %any = icmp ne i64 %n, 0\n"
    "  br i1 %any, label %loop, label %done\n"
    "loop:\n"
    "  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]\n"
    "  %q = getelementptr i8, ptr %to, i64 %i\n"
    "  store i8 %x, ptr %q\n"
    "  %i1 = add i64 %i, 1\n"
    "  %more = icmp ult i64 %i1, %n\n"
    "  br i1 %more, label %loop, label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n"
    "declare float @llvm.fma.f32(float, float, float)\n"
    "declare double @llvm.fma.f64(double, double, double)\n"
    "declare float @llvm.fabs.f32(float)\n"
    "declare double @llvm.fabs.f64(double)\n"
    "declare float @llvm.floor.f32(float)\n"
    "declare float @llvm.sqrt.f32(float)\n"
    "declare double @llvm.sqrt.f64(double)\n"
    "declare float @llvm.copysign.f32(float, float)\n"
    "declare double @llvm.rint.f64(double)\n";

/* ---- Rewriting what the vectoriser and the machine do not take */

static LLVMValueRef soft(LLVMModuleRef m, const char *name, LLVMTypeRef result, LLVMTypeRef *params, unsigned n)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m, name);
    return fn ? fn : LLVMAddFunction(m, name, LLVMFunctionType(result, params, n, 0));
}

static LLVMValueRef soft_call(LLVMBuilderRef b, LLVMModuleRef m, const char *name, LLVMTypeRef result, LLVMValueRef *args,
                              unsigned n)
{
    LLVMTypeRef types[4];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMValueRef fn = soft(m, name, result, types, n);
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

/* NULL: the conversion is fine as it is. */
static LLVMValueRef expand_fptrunc(LLVMBuilderRef b, LLVMModuleRef m, LLVMValueRef inst)
{
    LLVMValueRef x = LLVMGetOperand(inst, 0);
    LLVMTypeKind from = LLVMGetTypeKind(LLVMTypeOf(x)), to = LLVMGetTypeKind(LLVMTypeOf(inst));
    if (from == LLVMDoubleTypeKind && to == LLVMHalfTypeKind)
        return soft_call(b, m, "aw.soft.f64.f16", LLVMTypeOf(inst), &x, 1);
    if (from == LLVMFloatTypeKind && to == LLVMBFloatTypeKind)
        return soft_call(b, m, "aw.soft.f32.bf16", LLVMTypeOf(inst), &x, 1);
    return NULL;
}

static LLVMValueRef generic(LLVMBuilderRef b, LLVMValueRef p)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(LLVMGetTypeContext(LLVMTypeOf(p)), 0);
    return LLVMGetPointerAddressSpace(LLVMTypeOf(p)) ? LLVMBuildAddrSpaceCast(b, p, ptr, "") : p;
}

/* What stands for a call that copies or fills memory; NULL: it is none. */
static const char *soft_memory(enum ptx_intrinsic id)
{
    switch (id) {
    case PTX_INTRINSIC_MEMCPY: case PTX_INTRINSIC_MEMCPY_INLINE: return "aw.soft.memcpy";
    case PTX_INTRINSIC_MEMMOVE: return "aw.soft.memmove";
    case PTX_INTRINSIC_MEMSET: case PTX_INTRINSIC_MEMSET_INLINE: return "aw.soft.memset";
    default: return NULL;
    }
}

static bool expand_memory(LLVMBuilderRef b, LLVMModuleRef m, LLVMValueRef inst)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(inst);
    const char *soft = soft_memory(id);
    if (!soft)
        return false;
    bool fills = id == PTX_INTRINSIC_MEMSET || id == PTX_INTRINSIC_MEMSET_INLINE;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetTypeContext(LLVMTypeOf(inst)));
    LLVMValueRef from = LLVMGetOperand(inst, 1);
    LLVMValueRef args[3] = { generic(b, LLVMGetOperand(inst, 0)), fills ? from : generic(b, from),
                             LLVMBuildIntCast2(b, LLVMGetOperand(inst, 2), i64, 0, "") };
    soft_call(b, m, soft, LLVMTypeOf(inst), args, 3);
    return true;
}

static void expand_instruction(LLVMBuilderRef b, LLVMModuleRef m, LLVMValueRef inst)
{
    LLVMValueRef r = NULL;
    if (LLVMIsAFPTruncInst(inst)) {
        LLVMPositionBuilderBefore(b, inst);
        r = expand_fptrunc(b, m, inst);
        if (!r)
            return;
        LLVMReplaceAllUsesWith(inst, r);
        LLVMInstructionEraseFromParent(inst);
    } else if (LLVMIsACallInst(inst) && LLVMIsAFunction(LLVMGetCalledValue(inst))) {
        LLVMPositionBuilderBefore(b, inst);
        if (expand_memory(b, m, inst))
            LLVMInstructionEraseFromParent(inst);
    }
}

/* A bit cast between a small vector and something else, as shifts: the scalariser cannot take it. */
static LLVMValueRef vector_to_int(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef whole)
{
    LLVMContextRef c = LLVMGetTypeContext(whole);
    LLVMTypeRef type = LLVMTypeOf(x), elem = LLVMGetElementType(type);
    unsigned n = LLVMGetVectorSize(type), bits = LLVMGetIntTypeWidth(whole) / n;
    LLVMTypeRef piece = LLVMIntTypeInContext(c, bits);
    LLVMValueRef r = NULL;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef e = LLVMBuildExtractElement(b, x, LLVMConstInt(LLVMInt32TypeInContext(c), i, 0), "");
        e = LLVMBuildFreeze(b, e, ""); /* one element may be poison, but not the others for it */
        if (elem != piece)
            e = LLVMBuildBitCast(b, e, piece, "");
        e = LLVMBuildZExt(b, e, whole, "");
        e = i ? LLVMBuildShl(b, e, LLVMConstInt(whole, (uint64_t)i * bits, 0), "") : e;
        r = r ? LLVMBuildOr(b, r, e, "") : e;
    }
    return r;
}

static LLVMValueRef int_to_vector(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type)
{
    LLVMTypeRef whole = LLVMTypeOf(x), elem = LLVMGetElementType(type);
    LLVMContextRef c = LLVMGetTypeContext(whole);
    unsigned n = LLVMGetVectorSize(type), bits = LLVMGetIntTypeWidth(whole) / n;
    LLVMTypeRef piece = LLVMIntTypeInContext(c, bits);
    LLVMValueRef r = LLVMGetPoison(type);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef e = i ? LLVMBuildLShr(b, x, LLVMConstInt(whole, (uint64_t)i * bits, 0), "") : x;
        e = LLVMBuildTrunc(b, e, piece, "");
        if (elem != piece)
            e = LLVMBuildBitCast(b, e, elem, "");
        r = LLVMBuildInsertElement(b, r, e, LLVMConstInt(LLVMInt32TypeInContext(c), i, 0), "");
    }
    return r;
}

static bool plain_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMPointerTypeKind;
}

/* As many elements on both sides. */
static LLVMValueRef each_bitcast(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef to)
{
    LLVMValueRef r = LLVMGetPoison(to);
    for (unsigned i = 0; i < LLVMGetVectorSize(to); i++) {
        LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(LLVMGetTypeContext(to)), i, 0);
        LLVMValueRef e = LLVMBuildBitCast(b, LLVMBuildExtractElement(b, x, at, ""), LLVMGetElementType(to), "");
        r = LLVMBuildInsertElement(b, r, e, at, "");
    }
    return r;
}

static void expand_bitcast(LLVMBuilderRef b, LLVMTargetDataRef layout, LLVMValueRef inst)
{
    LLVMValueRef x = LLVMGetOperand(inst, 0);
    LLVMTypeRef from = LLVMTypeOf(x), to = LLVMTypeOf(inst);
    if (!plain_vector(from) && !plain_vector(to))
        return;
    LLVMPositionBuilderBefore(b, inst);
    if (plain_vector(from) && plain_vector(to) && LLVMGetVectorSize(from) == LLVMGetVectorSize(to)) {
        LLVMReplaceAllUsesWith(inst, each_bitcast(b, x, to));
        LLVMInstructionEraseFromParent(inst);
        return;
    }
    LLVMTypeRef whole = LLVMIntTypeInContext(LLVMGetTypeContext(from), (unsigned)LLVMSizeOfTypeInBits(layout, from));
    LLVMValueRef i = plain_vector(from) ? vector_to_int(b, x, whole) : from == whole ? x : LLVMBuildBitCast(b, x, whole, "");
    LLVMValueRef r = plain_vector(to) ? int_to_vector(b, i, to) : to == whole ? i : LLVMBuildBitCast(b, i, to, "");
    LLVMReplaceAllUsesWith(inst, r);
    LLVMInstructionEraseFromParent(inst);
}

/* ---- Passes over the module */

static void each(LLVMModuleRef module, bool bitcasts)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                if (!bitcasts)
                    expand_instruction(b, module, x);
                else if (LLVMIsABitCastInst(x))
                    expand_bitcast(b, layout, x);
            }
    LLVMDisposeBuilder(b);
}

void ptx_host_split_vectors(LLVMModuleRef module)
{
    each(module, true);
}

/* Does the module use something of the prelude?  Most kernels do not, and reading it takes as long as all their scalar passes. */
/* Does the text define something that the module calls? */
static bool wanted(LLVMModuleRef module, const char *text)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t len;
        char name[64];
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f))
            continue;
        int n = snprintf(name, sizeof name, " @%s(", LLVMGetValueName2(f, &len));
        for (const char *at = n > 0 && (size_t)n < sizeof name ? strstr(text, name) : NULL; at; at = strstr(at + 1, name)) {
            const char *line = at;
            while (line > text && line[-1] != '\n')
                line--;
            if (!strncmp(line, "define ", 7))
                return true;
        }
    }
    return false;
}

static int link_text(LLVMModuleRef module, const char *ir, struct aw_buf *diags)
{
    if (!wanted(module, ir))
        return AW_OK;
    LLVMContextRef c = LLVMGetModuleContext(module);
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRange(ir, strlen(ir), "host prelude", 1);
    LLVMModuleRef lib;
    char *message = NULL;
    if (LLVMParseIRInContext(c, text, &lib, &message)) {
        aw_buf_printf(diags, "error: internal: host prelude: %s\n", message ? message : "");
        LLVMDisposeMessage(message);
        return AW_ERR_NOT_SUPPORTED;
    }
    LLVMSetTarget(lib, LLVMGetTarget(module));
    LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(module));
    if (LLVMLinkModules2(module, lib)) {
        aw_buf_printf(diags, "error: internal: host prelude does not link\n");
        return AW_ERR_NOT_SUPPORTED;
    }
    return AW_OK;
}

int ptx_host_expand(LLVMModuleRef module, bool avx512, struct aw_buf *diags)
{
    LLVMContextRef c = LLVMGetModuleContext(module);
    each(module, false);
    if (avx512 && LLVMGetNamedFunction(module, "aw.tanh.f32"))
        ptx_simt_declare(module, PTX_SIMT_EX2_F32); /* with what is known of it; the prelude has its bare name */
    int status = link_text(module, prelude, diags);
    if (status == AW_OK && !avx512)
        status = link_text(module, power_of_two, diags);
    if (status != AW_OK)
        return status;
    unsigned inl = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c, inl, 0));
        }
    return AW_OK;
}
