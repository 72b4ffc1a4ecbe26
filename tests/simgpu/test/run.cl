/* Kernels of test_run.py: what a launch hands to a kernel.  Built without device libraries. */
/* SPDX-License-Identifier: Apache-2.0 */

struct three {
    int a, b, c;
};

/* Every kind of argument, written back as 64-bit words. */
kernel void params(global long *out, char a, short b, int c, long d, float e, double f, struct three g)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = as_int(e);
    out[5] = as_long(f);
    out[6] = g.a;
    out[7] = g.b;
    out[8] = g.c;
}

/* Per work-item of a three-dimensional grid: block and item in it, found by the flat number from the sizes given. */
kernel void ids(global uint *out, int bx, int by, int bz, int gx, int gy)
{
    uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
    uint i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workgroup_id_y(), k = __builtin_amdgcn_workgroup_id_z();
    uint block = (k * gy + j) * gx + i, item = (z * by + y) * bx + x, size = bx * by * bz;
    out[block * size + item] = x | y << 5 | z << 10 | i << 15 | j << 20 | k << 25;
}

/* What the compiler reads from the dispatch packet (code object 4) or the hidden arguments (5 and 6). */
kernel void sizes(global uint *out)
{
    if (__builtin_amdgcn_workitem_id_x() == 0 && __builtin_amdgcn_workgroup_id_x() == 0) {
        out[0] = __builtin_amdgcn_workgroup_size_x();
        out[1] = __builtin_amdgcn_workgroup_size_y();
        out[2] = __builtin_amdgcn_workgroup_size_z();
        out[3] = __builtin_amdgcn_grid_size_x();
    }
}

#ifndef __GFX12__ /* which has no global sync */
/* All blocks meet at a global sync of `waves` waves, thrice; fewer blocks than that never pass. */
kernel void meet_gws(global volatile int *flag, global int *out, int waves)
{
    int block = (int)__builtin_amdgcn_workgroup_id_x();
    if (block == 0) {
        __builtin_amdgcn_ds_gws_init(waves - 1, 0);
        *flag = 1;
    }
    while (!*flag)
        __builtin_amdgcn_s_sleep(1);
    for (int i = 0; i < 3; i++)
        __builtin_amdgcn_ds_gws_barrier(waves - 1, 0);
    if (__builtin_amdgcn_workitem_id_x() == 0)
        out[block] = block + 1;
}
#endif

/* Memory of a block beyond what it declares. */
kernel void dynamic_lds(global int *out, local int *more)
{
    int t = (int)__builtin_amdgcn_workitem_id_x();
    more[t] = t * 5;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    out[t] = more[255 - t];
}

/* A loop of some length, so that the blocks of one launch are spread over threads. */
kernel void work(global uint *out, int rounds)
{
    uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(), x = i + 1;
    for (int r = 0; r < rounds; r++)
        x = x * 1664525u + 1013904223u;
    out[i] = x;
}
