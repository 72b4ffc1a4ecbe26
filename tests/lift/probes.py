"""PTX of our own that makes an assembler use the instructions which programs seldom have: matrices, asynchronous copies, state spaces."""
# SPDX-License-Identifier: Apache-2.0

KERNEL = '''.visible .entry k{number}(.param .u64 p, .param .u64 q)
{{
.reg .b32 %r<80>; .reg .b64 %l<20>; .reg .f64 %d<20>; .reg .pred %p<8>; .reg .b16 %h<8>;
.shared .align 16 .b8 s[1024];
ld.param.u64 %l0, [p];
ld.param.u64 %l1, [q];
{loads}
mov.u32 %r70, s;
{body}
{stores}
ret;
}}
'''
LOADS = '\n'.join(f'ld.global.u32 %r{i}, [%l0+{4 * i}];' for i in range(24)) + '\n' + \
    '\n'.join(f'ld.global.f64 %d{i}, [%l0+{512 + 8 * i}];' for i in range(8))
STORES = '\n'.join(f'st.global.u32 [%l1+{4 * i}], %r{40 + i};' for i in range(8)) + '\n' + \
    '\n'.join(f'st.global.f64 [%l1+{512 + 8 * i}], %d{10 + i};' for i in range(4))


def regs(first, n, kind='r'):
    return '{' + ', '.join(f'%{kind}{i}' for i in range(first, first + n)) + '}'


def mma(shape, types, counts, more='.row.col', kind='', pop='', tail=''):
    """Registers of d, a, b, c."""
    d, a, b, c = counts
    k = 'd' if kind == 'd' else 'r'
    first = (10, 0, 4, 6) if kind == 'd' else (40, 0, 8, 12)
    return f'mma{".sp" if kind == "sp" else ""}.sync.aligned.{shape}{more}.{types}{pop} {regs(first[0], d, k)}, {regs(first[1], a, k)}, ' \
        f'{regs(first[2], b, k)}, {regs(first[3], c, k)}{tail};'


def bodies():
    """(first architecture, PTX)"""
    yield 75, mma('m16n8k8', 'f32.f16.f16.f32', (4, 2, 1, 4))
    yield 75, mma('m16n8k8', 'f16.f16.f16.f16', (2, 2, 1, 2))
    for a in ('s8', 'u8'):
        for b in ('s8', 'u8'):
            for sat in ('', '.satfinite'):
                yield 75, mma('m8n8k16', f's32.{a}.{b}.s32', (2, 1, 1, 2), '.row.col' + sat)
                yield 80, mma('m16n8k16', f's32.{a}.{b}.s32', (4, 2, 1, 4), '.row.col' + sat)
                yield 80, mma('m16n8k32', f's32.{a}.{b}.s32', (4, 4, 2, 4), '.row.col' + sat)
    for a in ('s4', 'u4'):
        for b in ('s4', 'u4'):
            yield 75, mma('m8n8k32', f's32.{a}.{b}.s32', (2, 1, 1, 2))
            yield 80, mma('m16n8k32', f's32.{a}.{b}.s32', (4, 2, 1, 4))
            yield 80, mma('m16n8k64', f's32.{a}.{b}.s32', (4, 4, 2, 4), '.row.col.satfinite')
    yield 75, mma('m8n8k128', 's32.b1.b1.s32', (2, 1, 1, 2), pop='.xor.popc')
    for op in ('.xor.popc', '.and.popc'):
        yield 80, mma('m8n8k128', 's32.b1.b1.s32', (2, 1, 1, 2), pop=op)
        yield 80, mma('m16n8k128', 's32.b1.b1.s32', (4, 2, 1, 4), pop=op)
        yield 80, mma('m16n8k256', 's32.b1.b1.s32', (4, 4, 2, 4), pop=op)
    yield 80, mma('m16n8k16', 'f32.f16.f16.f32', (4, 4, 2, 4))
    yield 80, mma('m16n8k16', 'f16.f16.f16.f16', (2, 4, 2, 2))
    yield 80, mma('m16n8k8', 'f32.bf16.bf16.f32', (4, 2, 1, 4))
    yield 80, mma('m16n8k16', 'f32.bf16.bf16.f32', (4, 4, 2, 4))
    yield 80, mma('m16n8k4', 'f32.tf32.tf32.f32', (4, 2, 1, 4))
    yield 80, mma('m16n8k8', 'f32.tf32.tf32.f32', (4, 4, 2, 4))
    yield 80, mma('m8n8k4', 'f64.f64.f64.f64', (2, 1, 1, 2), kind='d')
    for trans in ('', '.trans'):
        for n in (1, 2, 4):
            yield 75, f'ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {regs(40, n)}, [%r70+64];'
    for op in ('max', 'min.NaN'):
        for kind in ('f16x2', 'bf16x2'):  # three at once from sm_90 on, signs among them
            yield 80, f'neg.{kind} %r1, %r1;\nabs.{kind} %r2, %r2;\n{op}.{kind} %r40, %r0, %r1;\n{op}.{kind} %r40, %r40, %r2;'
    yield 90, 'mov.b32 {%h0, %h1}, %r0;\nmov.b32 {%h2, %h3}, %r1;\nmax.f16 %h4, %h0, %h3;\nmax.f16 %h4, %h4, %h1;\nmov.b32 %r40, {%h4, %h2};'
    yield 75, 'movmatrix.sync.aligned.m8n8.trans.b16 %r40, %r0;'
    for n in (4, 8, 16):
        for pre in ('', '.L2::64B', '.L2::128B', '.L2::256B'):
            yield 80, f'cp.async.ca.shared.global{pre} [%r70+32], [%l0+1024], {n};\ncp.async.commit_group;\ncp.async.wait_group 1;'
            if n == 16:
                yield 80, f'cp.async.cg.shared.global{pre} [%r70], [%l0+2000], {n}, %r1;\ncp.async.wait_all;'
        yield 80, f'setp.ne.u32 %p1, %r0, 0;\n@%p1 cp.async.ca.shared.global [%r70+16], [%l0], {n};\ncp.async.mbarrier.arrive.shared.b64 [%r70];'
    for space in ('global', 'shared', 'local', 'const'):
        yield 75, f'ld.global.u64 %l2, [%l0+800];\nisspacep.{space} %p1, %l2;\nselp.u32 %r40, 1, 0, %p1;'
    for op in ('and', 'or', 'xor'):
        yield 80, f'redux.sync.{op}.b32 %r40, %r0, -1;'
    for a in (f'.L1::{e}' for e in ('evict_normal', 'evict_unchanged', 'evict_first', 'evict_last', 'no_allocate')):
        yield 75, f'ld.global{a}.v2.u32 {{%r40, %r41}}, [%l0+8];\nst.global{a}.u32 [%l1+64], %r40;'
    for op in ('ca', 'cg', 'cs', 'lu', 'cv'):
        yield 75, f'ld.global.{op}.u32 %r40, [%l0+8];\nld.global.{op}.v4.u32 {regs(44, 4)}, [%l0+32];'
    for op in ('wb', 'cg', 'cs', 'wt'):
        yield 75, f'st.global.{op}.u32 [%l1+128], %r0;\nst.global.{op}.v2.u32 [%l1+136], {regs(1, 2)};'
    for f in ('prefetch.global.L1 [%l0+128]', 'prefetch.global.L2 [%l0+256]', 'prefetch.L1 [%l0]', 'prefetchu.L1 [%l0]',
              'nanosleep.u32 %r0', 'pmevent 3', 'brkpt', 'trap', 'membar.cta', 'membar.gl', 'membar.sys', 'fence.acq_rel.cta', 'fence.sc.gpu'):
        yield 75, f + ';'
    for sreg in ('laneid', 'warpid', 'nwarpid', 'smid', 'nsmid', 'gridid', 'clock', 'clock_hi', 'lanemask_eq', 'lanemask_le', 'lanemask_lt',
                 'lanemask_ge', 'lanemask_gt', 'globaltimer_lo', 'globaltimer_hi', 'dynamic_smem_size', 'total_smem_size', 'nctaid.x', 'ntid.y'):
        yield 75, f'mov.u32 %r40, %{sreg};'
    for sreg in ('clock64', 'globaltimer'):
        yield 75, f'mov.u64 %l3, %{sreg};\nst.global.u64 [%l1+900], %l3;'
    for op in ('all', 'any', 'uni'):
        yield 75, f'setp.gt.s32 %p1, %r0, 3;\nvote.sync.{op}.pred %p2, %p1, %r1;\nselp.u32 %r40, 1, 0, %p2;'
    yield 75, 'setp.gt.s32 %p1, %r0, 3;\nvote.sync.ballot.b32 %r40, %p1, -1;\nactivemask.b32 %r41;'
    yield from textures()
    for size in ('f16x2', 'bf16x2', 'f16', 'bf16', 'f32', 'f64'):
        kind = {'f64': '%d10, [%l1+512], %d0'}.get(size, '%h1, [%l1], %h0' if size in ('f16', 'bf16') else '%r40, [%l1], %r0')
        yield 90 if size in ('bf16', 'bf16x2') else 75, f'cvt.u16.u32 %h0, %r0;\natom.global.add{".noftz" if "16" in size else ""}.{size} {kind};'


def textures():
    """Each way with a handle that is a parameter and with one that is loaded."""
    flat = (('1d', '{%r1}'), ('2d', '{%r1, %r2}'), ('3d', '{%r1, %r2, %r3, %r4}'), ('a1d', '{%r0, %r1}'), ('a2d', '{%r0, %r1, %r2, %r3}'))
    for handle in ('%l0', '%l5'):
        load = 'ld.global.u64 %l5, [%l0+888];\n'
        four = '{%r40, %r41, %r42, %r43}'
        for mode in ('', '.level', '.grad'):
            for dim, at in flat + (('cube', '{%r1, %r2, %r3, %r4}'), ('acube', '{%r0, %r1, %r2, %r3}')):
                if mode == '.grad' and 'cube' in dim:
                    continue
                n = {'1d': 1, 'a1d': 1, '3d': 4}.get(dim, 2)
                more = {'': '', '.level': ', %r5', '.grad': f', {regs(6, n)}, {regs(10, n)}'}[mode]
                yield 75, load + f'tex{mode}.{dim}.v4.f32.f32 {four}, [{handle}, {at}]{more};'
        for comp in 'rgba':
            yield 75, load + f'tld4.{comp}.2d.v4.u32.f32 {four}, [{handle}, {{%r1, %r2}}];'
        yield 75, load + f'tex.2d.v4.u32.s32 {four}, [{handle}, {{%r1, %r2}}];\ntex.1d.v4.u32.s32 {{%r44, %r45, %r46, %r47}}, [{handle}, {{%r1}}];'
        yield 75, load + f'txq.width.b32 %r40, [{handle}];\ntxq.height.b32 %r41, [{handle}];'
        for clamp in ('trap', 'clamp', 'zero'):
            for dim, at in flat:
                yield 75, load + f'suld.b.{dim}.v4.b32.{clamp} {four}, [{handle}, {at}];\nsust.b.{dim}.v2.b32.{clamp} [{handle}, {at}], {{%r7, %r8}};'
            yield 75, load + f'suld.b.2d.b8.{clamp} %h1, [{handle}, {{%r1, %r2}}];\nsust.p.2d.v4.b32.{clamp} [{handle}, {{%r1, %r2}}], {four};\n' \
                f'sured.b.add.2d.u32.{clamp} [{handle}, {{%r1, %r2}}], %r3;\nsured.b.max.1d.s32.{clamp} [{handle}, {{%r1}}], %r3;\n' \
                f'sured.b.or.1d.b32.{clamp} [{handle}, {{%r1}}], %r3;\nsured.p.min.1d.b32.{clamp} [{handle}, {{%r1}}], %r3;'


def module(arch):
    """All probes for this architecture, a kernel each."""
    kernels = [body for first, body in bodies() if first <= int(arch)]
    return f'.version 8.0\n.target sm_{arch}\n.address_size 64\n' + ''.join(
        KERNEL.format(number=i, loads=LOADS, body=body, stores=STORES) for i, body in enumerate(kernels))
