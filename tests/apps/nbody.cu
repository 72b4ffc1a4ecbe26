// All-pairs gravity with tiles in shared memory, a few steps, against double on the processor.
// bytes: vary, the reciprocal square root is approximate
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { TILE = 64 };

__device__ float3 pull(float4 me, float4 other, float3 acc)
{
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float s = other.w * inv * inv * inv;
    acc.x += dx * s;
    acc.y += dy * s;
    acc.z += dz * s;
    return acc;
}

__global__ void step(const float4 *pos, float4 *new_pos, float3 *vel, int n, float dt)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 me = i < n ? pos[i] : make_float4(0, 0, 0, 0);
    float3 acc = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += TILE) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? pos[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; k++)
            acc = pull(me, tile[k], acc);
        __syncthreads();
    }
    if (i < n) {
        float3 v = vel[i];
        v.x += acc.x * dt;
        v.y += acc.y * dt;
        v.z += acc.z * dt;
        vel[i] = v;
        new_pos[i] = make_float4(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
    }
}

struct Body {
    double p[3], v[3], m;
};

static void step_host(std::vector<Body> &bodies, double dt)
{
    std::vector<Body> old = bodies;
    for (Body &b : bodies) {
        double acc[3] = {};
        for (const Body &o : old) {
            double d[3], r2 = 0.01;
            for (int c = 0; c < 3; c++)
                r2 += (d[c] = o.p[c] - b.p[c]) * d[c];
            for (int c = 0; c < 3; c++)
                acc[c] += d[c] * o.m / (r2 * sqrt(r2));
        }
        for (int c = 0; c < 3; c++) {
            b.v[c] += acc[c] * dt;
            b.p[c] += b.v[c] * dt;
        }
    }
}

int main()
{
    const int n = 300, steps = 3;
    const float dt = 0.01f;
    Rng rng(9);
    std::vector<Body> bodies(n);
    std::vector<float4> pos(n);
    std::vector<float3> vel(n);
    for (int i = 0; i < n; i++) {
        Body &b = bodies[i];
        pos[i] = make_float4((float)rng.range(-1, 1), (float)rng.range(-1, 1), (float)rng.range(-1, 1), 1.0f / n);
        vel[i] = make_float3(0, 0, 0);
        b = {{pos[i].x, pos[i].y, pos[i].z}, {0, 0, 0}, pos[i].w};
    }
    Dev<float4> a(pos.data(), n), b(n);
    Dev<float3> v(vel.data(), n);
    for (int s = 0; s < steps; s++) {
        step<<<(n + TILE - 1) / TILE, TILE>>>(s % 2 ? b : a, s % 2 ? a : b, v, n, dt);
        step_host(bodies, dt);
    }
    CHECK_LAUNCH();
    (steps % 2 ? b : a).get(pos.data());
    for (int i = 0; i < n; i++) {
        const double *w = bodies[i].p;
        EXPECT(fabs(pos[i].x - w[0]) < 1e-5 && fabs(pos[i].y - w[1]) < 1e-5 && fabs(pos[i].z - w[2]) < 1e-5,
               "body %d: (%g %g %g), expected (%g %g %g)", i, pos[i].x, pos[i].y, pos[i].z, w[0], w[1], w[2]);
    }
    return check_done();
}
