/* Kernels of test_thunk.c.  Built without device libraries: only the compiler's own builtins. */
/* SPDX-License-Identifier: Apache-2.0 */
#define ITEM ((int)(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x()))

kernel void vecadd(global const float *a, global const float *b, global float *c, int n)
{
    int i = ITEM;
    if (i < n)
        c[i] = a[i] + b[i];
}

/* out[i] = 3 i + 7 */
kernel void line(global int *out, int n)
{
    int i = ITEM;
    if (i < n)
        out[i] = 3 * i + 7;
}

kernel void count(global int *out, int times)
{
    for (int i = 0; i < times; i++)
        __atomic_fetch_add(out, 1, __ATOMIC_RELAXED);
}

/* Sums 256 items of a block through LDS. */
kernel void sum(global const int *in, global int *out)
{
    local int part[256];
    int t = (int)__builtin_amdgcn_workitem_id_x();
    part[t] = in[ITEM];
    __builtin_amdgcn_s_barrier();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            part[t] += part[t + k];
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
        __builtin_amdgcn_s_barrier();
    }
    if (t == 0)
        out[__builtin_amdgcn_workgroup_id_x()] = part[0];
}

/* Every block waits until all `blocks` have come: they must be resident together. */
kernel void meet(global int *arrived, global int *out, int blocks)
{
    if (__builtin_amdgcn_workitem_id_x() == 0) {
        __atomic_fetch_add(arrived, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < blocks)
            __builtin_amdgcn_s_sleep(1);
    }
    __builtin_amdgcn_s_barrier();
    out[ITEM] = ITEM;
}

/* Block b waits for what block b + 1 writes: the last one must run while the first ones wait. */
kernel void chain(global int *flags, int blocks)
{
    int b = (int)__builtin_amdgcn_workgroup_id_x();
    if (__builtin_amdgcn_workitem_id_x() == 0) {
        while (b + 1 < blocks && !__atomic_load_n(&flags[b + 1], __ATOMIC_SEQ_CST))
            ;
        __atomic_store_n(&flags[b], blocks - b, __ATOMIC_SEQ_CST);
    }
}

kernel void store_at(ulong address)
{
    *(global int *)address = 1;
}

/* Through an address that may also be of LDS or of private memory. */
kernel void store_flat(ulong address)
{
    *(volatile int *)address = 1;
}

kernel void trap(int n)
{
    if ((int)__builtin_amdgcn_workitem_id_x() == n)
        __builtin_trap();
}

/* A private array that is indexed at run time: scratch memory. */
kernel void scratch(global int *out, int n)
{
    int a[37], i = ITEM, s = 0;
    for (int k = 0; k < 37; k++)
        a[k] = k * i;
    for (int k = 0; k < 64; k++) {
        int j = (k * i) % 37;
        a[j] ^= a[(j * 5 + i) % 37] + k;
    }
    for (int k = 0; k < 37; k++)
        s = s * 31 + a[k];
    if (i < n)
        out[i] = s;
}

kernel void spin(global volatile int *flag)
{
    while (!*flag)
        __builtin_amdgcn_s_sleep(2);
}
