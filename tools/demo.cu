// An ordinary CUDA program: traces a scene of mirrors on a chequered floor, writes it as a PPM, and shows it in the terminal.
//
//     demo [--quiet] FILE.ppm
//
// Nothing in it knows of anywarp; nvcc builds it for any machine.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

enum { WIDTH = 640, HEIGHT = 400, SAMPLES = 2, BOUNCES = 5, SPHERES = 9, COLUMNS = 96 };

#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        cudaError_t err_ = (call);                                                                          \
        if (err_ != cudaSuccess) {                                                                          \
            std::fprintf(stderr, "demo.cu:%d: %s: %s\n", __LINE__, #call, cudaGetErrorString(err_));        \
            std::exit(1);                                                                                   \
        }                                                                                                   \
    } while (0)

struct Vec {
    float x, y, z;
};

__host__ __device__ inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline Vec operator*(Vec a, Vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
__host__ __device__ inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline Vec unit(Vec a) { return a * rsqrtf(dot(a, a)); }

struct Sphere {
    Vec centre;
    float radius;
    Vec colour;
    float mirror; // share of the light that is reflected
};

__constant__ Sphere spheres[SPHERES];

struct Hit {
    float distance;
    Vec normal, colour;
    float mirror;
};

__device__ bool hit_scene(Vec from, Vec along, Hit *ret_hit)
{
    ret_hit->distance = 1e30f;
    if (along.y < -1e-4f) {
        float t = -from.y / along.y;
        Vec p = from + along * t;
        if (t > 1e-3f && t < 60.0f) {
            bool dark = ((int)floorf(p.x) + (int)floorf(p.z)) & 1;
            *ret_hit = {t, {0, 1, 0}, dark ? Vec{0.10f, 0.12f, 0.16f} : Vec{0.85f, 0.83f, 0.78f}, 0.12f};
        }
    }
    for (int i = 0; i < SPHERES; i++) {
        Vec to = spheres[i].centre - from;
        float b = dot(to, along), d = b * b - dot(to, to) + spheres[i].radius * spheres[i].radius;
        if (d < 0)
            continue;
        float root = sqrtf(d), t = b - root > 1e-3f ? b - root : b + root;
        if (t > 1e-3f && t < ret_hit->distance) {
            Vec p = from + along * t;
            *ret_hit = {t, (p - spheres[i].centre) * (1 / spheres[i].radius), spheres[i].colour, spheres[i].mirror};
        }
    }
    return ret_hit->distance < 1e29f;
}

__device__ Vec sky(Vec along)
{
    float h = 0.5f * (along.y + 1), sun = fmaxf(dot(along, unit({-0.6f, 0.55f, 0.4f})), 0.0f);
    return Vec{0.95f, 0.60f, 0.35f} * (1 - h) + Vec{0.12f, 0.30f, 0.62f} * h + Vec{1, 0.85f, 0.6f} * powf(sun, 64.0f);
}

__device__ Vec trace(Vec from, Vec along)
{
    const Vec sun = unit({-0.6f, 0.55f, 0.4f});
    Vec light = {0, 0, 0}, share = {1, 1, 1};
    for (int bounce = 0; bounce < BOUNCES; bounce++) {
        Hit hit, blocker;
        if (!hit_scene(from, along, &hit))
            return light + share * sky(along);
        from = from + along * hit.distance;
        float lit = fmaxf(dot(hit.normal, sun), 0.0f);
        if (lit > 0 && hit_scene(from, sun, &blocker))
            lit = 0;
        Vec own = hit.colour * (0.25f + 0.9f * lit);
        float fog = expf(-0.03f * hit.distance);
        light = light + share * (own * fog + sky({along.x, 0, along.z}) * (1 - fog)) * (1 - hit.mirror);
        share = share * (hit.mirror * fog);
        if (share.x < 0.01f)
            break;
        along = unit(along - hit.normal * (2 * dot(along, hit.normal)));
    }
    return light;
}

__device__ unsigned char encode(float v)
{
    return (unsigned char)(255.0f * powf(fminf(fmaxf(v, 0.0f), 1.0f), 1 / 2.2f) + 0.5f);
}

__global__ void render(uchar3 *image)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    Vec sum = {0, 0, 0};
    for (int s = 0; s < SAMPLES * SAMPLES; s++) {
        float px = x + (s % SAMPLES + 0.5f) / SAMPLES, py = y + (s / SAMPLES + 0.5f) / SAMPLES;
        Vec along = unit({(px - WIDTH / 2) / HEIGHT, 0.42f - py / HEIGHT, 1.0f});
        sum = sum + trace({0, 1.6f, -6}, along);
    }
    sum = sum * (1.0f / (SAMPLES * SAMPLES));
    image[y * WIDTH + x] = make_uchar3(encode(sum.x), encode(sum.y), encode(sum.z));
}

static void make_scene(void)
{
    Sphere s[SPHERES] = {{{0, 1.15f, 0.5f}, 1.15f, {0.9f, 0.9f, 0.95f}, 0.85f}};
    for (int i = 1; i < SPHERES; i++) {
        const float ring[8][2] = { { 2.6f, 0 },  { 1.9f, 1.9f },   { 0, 2.9f },     { -2.0f, 2.0f },
                                   { -2.7f, 0 }, { -1.7f, -1.7f }, { 0.2f, -2.4f }, { 1.8f, -1.6f } };
        float radius = 0.35f + 0.06f * (i % 4);
        Vec colour = {i % 3 == 0 ? 0.95f : 0.25f, i % 3 == 1 ? 0.75f : 0.3f, i % 3 == 2 ? 0.9f : 0.2f};
        s[i] = {{ring[i - 1][0], radius, ring[i - 1][1] + 0.5f}, radius, colour, i % 2 ? 0.15f : 0.4f};
    }
    CHECK(cudaMemcpyToSymbol(spheres, s, sizeof s));
}

// Two pixels a character: the upper half block in the upper one's colour on the lower one's.
static void show(const std::vector<uchar3> &image)
{
    const int rows = COLUMNS * HEIGHT / WIDTH / 2 * 2;
    for (int row = 0; row < rows; row += 2) {
        for (int column = 0; column < COLUMNS; column++) {
            int c[2][3];
            for (int half = 0; half < 2; half++) {
                int x0 = column * WIDTH / COLUMNS, x1 = (column + 1) * WIDTH / COLUMNS, n = 0;
                int y0 = (row + half) * HEIGHT / rows, y1 = (row + half + 1) * HEIGHT / rows, sum[3] = {};
                for (int y = y0; y < y1; y++)
                    for (int x = x0; x < x1; x++, n++) {
                        uchar3 p = image[y * WIDTH + x];
                        sum[0] += p.x, sum[1] += p.y, sum[2] += p.z;
                    }
                for (int k = 0; k < 3; k++)
                    c[half][k] = sum[k] / n;
            }
            std::printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\u2580", c[0][0], c[0][1], c[0][2], c[1][0], c[1][1], c[1][2]);
        }
        std::printf("\033[0m\n");
    }
}

int main(int argc, char **argv)
{
    bool quiet = argc > 2 && !strcmp(argv[1], "--quiet");
    const char *path = argv[argc - 1];
    if (argc < 2) {
        std::fprintf(stderr, "usage: demo [--quiet] FILE.ppm\n");
        return 2;
    }
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    auto start = std::chrono::steady_clock::now();
    std::vector<uchar3> image(WIDTH * HEIGHT);
    uchar3 *device;
    CHECK(cudaMalloc((void **)&device, image.size() * sizeof(uchar3)));
    make_scene();
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaEventRecord(before));
    render<<<dim3((WIDTH + 31) / 32, (HEIGHT + 3) / 4), dim3(32, 4)>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(after));
    CHECK(cudaMemcpy(image.data(), device, image.size() * sizeof(uchar3), cudaMemcpyDeviceToHost));
    float kernel_ms;
    CHECK(cudaEventElapsedTime(&kernel_ms, before, after));
    CHECK(cudaFree(device));
    double all_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

    FILE *f = std::fopen(path, "wb");
    if (!f || std::fprintf(f, "P6\n%d %d\n255\n", WIDTH, HEIGHT) < 0 ||
        std::fwrite(image.data(), sizeof(uchar3), image.size(), f) != image.size() || std::fclose(f) != 0) {
        std::perror(path);
        return 1;
    }
    if (!quiet && isatty(STDOUT_FILENO))
        show(image);
    std::printf("%d x %d pixels on %s: kernel %.1f ms, with start-up and copies %.1f ms\n", WIDTH, HEIGHT, prop.name, kernel_ms,
                all_ms);
    return 0;
}
