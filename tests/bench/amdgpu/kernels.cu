// Kernels whose code is compared: ours, made from the PTX that nvcc makes of this file, and clang's, made from this file itself.
// ratio.py says how each is launched, with what data.  Like the programs of tests/apps, in the usual styles of CUDA programs.
// SPDX-License-Identifier: Apache-2.0

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void triad(double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c, double s,
                                 int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        a[i] = b[i] + s * c[i];
}

extern "C" __global__ void reduce_shuffle(const float *in, float *out, int n)
{
    __shared__ float part[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < (int)(blockDim.x >> 5) ? part[lane] : 0.0f;
        for (int d = 16; d > 0; d >>= 1)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (lane == 0)
            out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_shared(const double *in, double *out, int n)
{
    __shared__ double cell[256];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    double sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n)
        sum += in[i + blockDim.x];
    cell[t] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            cell[t] += cell[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = cell[0];
}

extern "C" __global__ void scan(const int *in, int *out, int *sums, int n)
{
    __shared__ int part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, v, d);
        if (lane >= d)
            v += other;
    }
    if (lane == 31)
        part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int p = part[lane];
        for (int d = 1; d < 32; d <<= 1) {
            int other = __shfl_up_sync(~0u, p, d);
            if (lane >= d)
                p += other;
        }
        part[lane] = p;
    }
    __syncthreads();
    if (warp > 0)
        v += part[warp - 1];
    if (i < n)
        out[i] = v;
    if (threadIdx.x == blockDim.x - 1)
        sums[blockIdx.x] = v;
}

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void stencil(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = plane + y * nx + x;
    float below = in[at - plane], here = in[at];
    for (int z = 1; z < nz - 1; z++, at += plane) {
        float above = in[at + plane];
        out[at] = 0.4f * here + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + above + below);
        below = here;
        here = above;
    }
}

#define TILE 16
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        ta[ty][tx] = a[row * n + t + tx];
        tb[ty][tx] = b[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void nbody(const float4 *pos, float4 *acc, int n, float soft)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = pos[i];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += blockDim.x) {
        tile[threadIdx.x] = pos[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < (int)blockDim.x; j++) {
            float4 p = tile[j];
            float dx = p.x - me.x, dy = p.y - me.y, dz = p.z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
            float f = p.w * inv * inv * inv;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    acc[i] = make_float4(ax, ay, az, 0);
}

static __device__ float cumulative(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void black_scholes(float *__restrict__ call, float *__restrict__ put, const float *__restrict__ price,
                                         const float *__restrict__ strike, const float *__restrict__ years, float rate,
                                         float vol, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * vol * vol) * t) / (vol * root), d2 = d1 - vol * root;
    float n1 = cumulative(d1), n2 = cumulative(d2), e = expf(-rate * t);
    call[i] = s * n1 - x * e * n2;
    put[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
}

extern "C" __global__ void mandelbrot(int *out, int width, int height, float x0, float y0, float step, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[py * width + px] = n;
}

extern "C" __global__ void histogram(const unsigned *data, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned v = data[i];
        atomicAdd(&local[v & 255], 1);
        atomicAdd(&local[v >> 8 & 255], 1);
        atomicAdd(&local[v >> 16 & 255], 1);
        atomicAdd(&local[v >> 24], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b])
            atomicAdd(&bins[b], local[b]);
}

extern "C" __global__ void bitonic(unsigned *keys)
{
    __shared__ unsigned s[512];
    unsigned t = threadIdx.x, base = blockIdx.x * 512;
    s[t] = keys[base + t];
    s[t + 256] = keys[base + t + 256];
    for (unsigned size = 2; size <= 512; size <<= 1) {
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned at = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            unsigned a = s[at], b = s[at + stride];
            if ((a > b) == up) {
                s[at] = b;
                s[at + stride] = a;
            }
        }
    }
    __syncthreads();
    keys[base + t] = s[t];
    keys[base + t + 256] = s[t + 256];
}

extern "C" __global__ void spmv_scalar(int rows, const int *start, const int *col, const double *val, const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += val[i] * x[col[i]];
        y[row] = sum;
    }
}

extern "C" __global__ void spmv_warp(int rows, const int *start, const int *col, const float *val, const float *x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += val[i] * x[col[i]];
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void softmax(const float *in, float *out, int cols)
{
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const float *from = in + (long long)row * cols;
    float *to = out + (long long)row * cols, top = -3.402823e38f, sum = 0;
    for (int i = lane; i < cols; i += 32)
        top = fmaxf(top, from[i]);
    for (int d = 16; d; d >>= 1)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    for (int i = lane; i < cols; i += 32)
        sum += expf(from[i] - top);
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    float scale = 1.0f / sum;
    for (int i = lane; i < cols; i += 32)
        to[i] = expf(from[i] - top) * scale;
}

// Radix-2 decimation in time of 512 points a block, twiddles from a table.
extern "C" __global__ void fft(float2 *data, const float2 *twiddle)
{
    __shared__ float2 s[512];
    unsigned t = threadIdx.x;
    float2 *mine = data + blockIdx.x * 512;
    for (unsigned i = t; i < 512; i += 256) {
        unsigned r = 0;
        for (unsigned b = 0; b < 9; b++)
            r |= (i >> b & 1) << (8 - b);
        s[r] = mine[i];
    }
    for (unsigned half = 1; half < 512; half <<= 1) {
        __syncthreads();
        unsigned k = t & (half - 1), at = 2 * t - k;
        float2 w = twiddle[k * (256 / half)], a = s[at], b = s[at + half];
        float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
        s[at] = make_float2(a.x + re, a.y + im);
        s[at + half] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    for (unsigned i = t; i < 512; i += 256)
        mine[i] = s[i];
}

extern "C" __global__ void philox(uint4 *out, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned c0 = i, c1 = 0, c2 = 7, c3 = 0, k0 = seed, k1 = seed ^ 0x5bd1e995u;
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xd2511f53u, c0), l0 = 0xd2511f53u * c0, h1 = __umulhi(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[i] = make_uint4(c0, c1, c2, c3);
}

// Finaliser of murmur3 over 64 bits, and how many of a warp's hashes are odd.
extern "C" __global__ void hash64(const unsigned long long *in, unsigned long long *out, int *odd, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long h = i < n ? in[i] : 0;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ull;
    h ^= h >> 33;
    unsigned vote = __ballot_sync(~0u, (int)(h & 1));
    if ((threadIdx.x & 31) == 0)
        atomicAdd(odd, __popc(vote));
    if (i < n)
        out[i] = h % 1000003ull;
}

// Forces summed by atomics: what molecular dynamics does.
extern "C" __global__ void scatter_add(const int *to, const float *v, float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sums[to[i]], v[i]);
}
