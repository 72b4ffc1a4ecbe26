/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

struct body {
    float x, y, z, w;
};

static void run(void)
{
    const struct body *restrict bodies = HOST(BODIES, struct body);
    struct body *restrict accelerations = HOST(ACCELERATIONS, struct body);
    int count = n;
    float softening = soft;

#pragma omp parallel for
    for (int i = 0; i < count; i++) {
        struct body me = bodies[i];
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < count; j++) {
            float dx = bodies[j].x - me.x, dy = bodies[j].y - me.y, dz = bodies[j].z - me.z;
            float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float f = bodies[j].w * inv * inv * inv;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        accelerations[i] = (struct body){ax, ay, az, 0};
    }
}
