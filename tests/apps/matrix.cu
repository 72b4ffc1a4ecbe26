// Matrix products of warps: nvcuda::wmma in half, bfloat16, tf32, double and int8, tiled products that go through shared memory
// by cp.async-like copies, ldmatrix and mma.sync, and an attention-like chain of two products, all against the CPU.
// needs: -gencode arch=compute_80,code=compute_80
// variants: shared static debug
// bytes: vary, the order of the sums in a product is the card's own where it has instructions for them
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

/* ---- C = A * B + C by wmma: a warp has one tile of C; A is M x K by rows, B is K x N by columns (or rows) */
template <int M, int N, int K, class In, class Frag, class Acc, class BLayout>
__global__ void product(const In *a, const In *b, Acc *c, int m, int n, int k)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, tiles = n / N, row = warp / tiles * M, col = warp % tiles * N;
    constexpr bool b_rows = std::is_same<BLayout, wmma::row_major>::value;
    if (row >= m)
        return;
    wmma::fragment<wmma::matrix_a, M, N, K, Frag, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, Frag, BLayout> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
    wmma::load_matrix_sync(fc, c + row * n + col, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += K) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b_rows ? b + i * n + col : b + col * k + i, b_rows ? n : k);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] + fc.x[i];
    wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

static double number(__half v) { return __half2float(v); }
static double number(__nv_bfloat16 v) { return __bfloat162float(v); }
static double number(float v) { return v; }
static double number(double v) { return v; }
static double number(int v) { return v; }
static double number(signed char v) { return v; }
static double number(unsigned char v) { return v; }

template <class T> static T value_of(Rng &rng);
template <> __half value_of(Rng &rng) { return __float2half((float)rng.range(-2, 2)); }
template <> __nv_bfloat16 value_of(Rng &rng) { return __float2bfloat16((float)rng.range(-2, 2)); }
template <> float value_of(Rng &rng) { return (float)((int)rng.below(4001) - 2000) / 1024; } /* fits tf32 */
template <> double value_of(Rng &rng) { return rng.range(-2, 2); }
template <> int value_of(Rng &rng) { return (int)rng.below(20001) - 10000; }
template <> signed char value_of(Rng &rng) { return (signed char)rng.u32(); }
template <> unsigned char value_of(Rng &rng) { return (unsigned char)rng.u32(); }

template <int M, int N, int K, class In, class Frag, class Acc, class BLayout>
static void try_product(const char *name, double tolerance)
{
    const int m = 2 * M, n = 3 * N, k = 4 * K;
    constexpr bool b_rows = std::is_same<BLayout, wmma::row_major>::value;
    Rng rng(M * 100 + N + sizeof(In));
    std::vector<In> a(m * k), b(k * n);
    std::vector<Acc> c(m * n), d(m * n);
    for (auto &v : a)
        v = value_of<In>(rng);
    for (auto &v : b)
        v = value_of<In>(rng);
    for (auto &v : c)
        v = value_of<Acc>(rng);
    Dev<In> da(a.data(), a.size()), db(b.data(), b.size());
    Dev<Acc> dc(c.data(), c.size());
    product<M, N, K, In, Frag, Acc, BLayout><<<2, 96>>>(da, db, dc, m, n, k);
    CHECK_LAUNCH();
    dc.get(d.data());
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = number(c[i * n + j]);
            for (int x = 0; x < k; x++)
                sum += number(a[i * k + x]) * number(b[b_rows ? x * n + j : j * k + x]);
            double got = number(d[i * n + j]);
            EXPECT(std::fabs(got - 2 * sum) <= tolerance, "%s: row %d, column %d: got %g, want %g", name, i, j, got, 2 * sum);
        }
    }
}

/* ---- mma.sync by hand: C (f32) = A * B for 64 x 64 tiles of half, through shared memory and ldmatrix */
enum { TILE = 64, STEP = 32, PITCH = STEP + 8 };

static __device__ void load_four(uint32_t r[4], const void *row)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

static __device__ void load_two_transposed(uint32_t r[2], const void *row)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory");
}

static __device__ void multiply(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Four warps, each 32 x 32 of the tile: A by rows, B by rows (so that its fragments come by a transposing load). */
__global__ void __launch_bounds__(128) tiles(const __half *a, const __half *b, float *c, int n, int k)
{
    __shared__ __align__(16) __half sa[TILE][PITCH], sb[STEP][TILE + 8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wr = warp / 2 * 32, wc = warp % 2 * 32;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float acc[2][4][4] = {};
    for (int k0 = 0; k0 < k; k0 += STEP) {
        for (int i = threadIdx.x; i < TILE * STEP; i += 128) {
            sa[i / STEP][i % STEP] = a[(row0 + i / STEP) * k + k0 + i % STEP];
            sb[i / TILE][i % TILE] = b[(k0 + i / TILE) * n + col0 + i % TILE];
        }
        __syncthreads();
        for (int kk = 0; kk < STEP; kk += 16) {
            uint32_t fa[2][4], fb[4][2];
            for (int i = 0; i < 2; i++)
                load_four(fa[i], &sa[wr + 16 * i + lane % 16][kk + lane / 16 * 8]);
            for (int j = 0; j < 4; j++)
                load_two_transposed(fb[j], &sb[kk + lane % 16][wc + 8 * j]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    multiply(acc[i][j], fa[i], fb[j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++)
                c[(row0 + wr + 16 * i + lane / 4 + e / 2 * 8) * n + col0 + wc + 8 * j + lane % 4 * 2 + e % 2] = acc[i][j][e];
}

static void try_tiles()
{
    const int m = 128, n = 64, k = 96;
    Rng rng(7);
    std::vector<__half> a(m * k), b(k * n);
    std::vector<float> c(m * n);
    for (auto &v : a)
        v = value_of<__half>(rng);
    for (auto &v : b)
        v = value_of<__half>(rng);
    Dev<__half> da(a.data(), a.size()), db(b.data(), b.size());
    Dev<float> dc(c.size());
    tiles<<<dim3(n / TILE, m / TILE), 128>>>(da, db, dc, n, k);
    CHECK_LAUNCH();
    dc.get(c.data());
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int x = 0; x < k; x++)
                sum += number(a[i * k + x]) * number(b[x * n + j]);
            EXPECT(std::fabs(c[i * n + j] - sum) < 1e-3, "tiles: row %d, column %d: got %g, want %g", i, j, c[i * n + j], sum);
        }
    }
}

/* ---- Two products in a chain, as attention has: D of the first is A of the second, which its layout allows without a shuffle */
__global__ void chain(const uint32_t *q, const uint32_t *kt, const uint32_t *v, float *out)
{
    int lane = threadIdx.x % 32;
    uint32_t a[4], b[2], p[4];
    float s[2][4] = {}, o[4] = {};
    for (int i = 0; i < 4; i++)
        a[i] = q[4 * lane + i];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 2; i++)
            b[i] = kt[(half * 32 + lane) * 2 + i];
        multiply(s[half], a, b);
        __half2 low = __floats2half2_rn(s[half][0], s[half][1]), high = __floats2half2_rn(s[half][2], s[half][3]);
        memcpy(&p[2 * half], &low, 4);
        memcpy(&p[2 * half + 1], &high, 4);
    }
    for (int i = 0; i < 2; i++)
        b[i] = v[2 * lane + i];
    if (threadIdx.x < 32) /* one whole warp of two */
        multiply(o, p, b);
    for (int i = 0; i < 4; i++)
        out[4 * threadIdx.x + i] = o[i];
}

static void try_chain()
{
    Rng rng(11);
    float q[16][16], k[16][16], v[16][8], want[16][8];
    std::vector<uint32_t> fq(128), fk(128), fv(64);
    std::vector<float> got(256);
    auto pack = [](float low, float high) {
        return (uint32_t)__half_as_ushort(__float2half(low)) | (uint32_t)__half_as_ushort(__float2half(high)) << 16;
    };
    auto small = [&] { return (float)((int)rng.below(17) - 8) / 8; };
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            q[i][j] = small(), k[i][j] = small(), v[i][j % 8] = small();
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
            want[i][j] = 0;
            for (int x = 0; x < 16; x++) {
                float s = 0;
                for (int y = 0; y < 16; y++)
                    s += q[i][y] * k[y][x];
                want[i][j] += __half2float(__float2half(s)) * v[x][j];
            }
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 4; r++)
            fq[4 * lane + r] = pack(q[g + r % 2 * 8][2 * t + r / 2 * 8], q[g + r % 2 * 8][2 * t + 1 + r / 2 * 8]);
        for (int r = 0; r < 2; r++) {
            for (int half = 0; half < 2; half++)
                fk[(half * 32 + lane) * 2 + r] = pack(k[2 * t + 8 * r][g + 8 * half], k[2 * t + 1 + 8 * r][g + 8 * half]);
            fv[2 * lane + r] = pack(v[2 * t + 8 * r][g], v[2 * t + 1 + 8 * r][g]);
        }
    }
    Dev<uint32_t> dq(fq.data(), 128), dk(fk.data(), 128), dv(fv.data(), 64);
    Dev<float> out(256);
    chain<<<1, 64>>>(dq, dk, dv, out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int lane = 0; lane < 64; lane++) {
        for (int e = 0; e < 4; e++) {
            float w = lane < 32 ? want[lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2] : 0;
            EXPECT(std::fabs(got[4 * lane + e] - w) < 1e-4, "chain: lane %d, %d: got %g, want %g", lane, e, got[4 * lane + e], w);
        }
    }
}

int main()
{
    using row = wmma::row_major;
    using col = wmma::col_major;
    try_product<16, 16, 16, __half, __half, float, col>("half, float", 1e-3);
    try_product<16, 16, 16, __half, __half, __half, row>("half, half", 0.6);
    try_product<32, 8, 16, __half, __half, float, row>("half, float, m32n8k16", 1e-3);
    try_product<8, 32, 16, __half, __half, float, col>("half, float, m8n32k16", 1e-3);
    try_product<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, col>("bfloat16", 1e-3);
    try_product<32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, row>("bfloat16, m32n8k16", 1e-3);
    try_product<16, 16, 8, float, wmma::precision::tf32, float, col>("tf32", 1e-3);
    try_product<8, 8, 4, double, double, double, row>("double", 1e-12);
    try_product<16, 16, 16, signed char, signed char, int, col>("int8", 0);
    try_product<8, 32, 16, unsigned char, unsigned char, int, row>("uint8, m8n32k16", 0);
    try_tiles();
    try_chain();
    return check_done();
}
