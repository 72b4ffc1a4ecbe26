// __constant__ and __device__ variables: initialisers of all kinds (with addresses of other variables), access from several
// kernels, state that lives on between launches, copies to and from symbols, symbol addresses and sizes.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

struct Pair {
    char tag;
    double value;
};

__constant__ float coefficients[5] = {1.5f, -2.0f, 0.25f, 0.0f, 8.0f};
__constant__ Pair pairs[2] = {{'a', 0.1}, {'b', -7.5}};
__constant__ int unset[8];
__device__ int counter = 40;
__device__ unsigned char bytes[7] = {1, 2, 3, 250, 251, 252, 253};
__device__ long long wide = -0x123456789abcdefLL;
__device__ int table[4] = {10, 20, 30, 40};
__device__ int *table_second = &table[1];
__device__ const char *text = "constant text";
__device__ int *set_at_run_time;
static __device__ short hidden = -3;

__device__ void bump(int by)
{
    atomicAdd(&counter, by);
}

__global__ void read_all(double *out)
{
    double sum = 0;
    for (int i = 0; i < 5; i++)
        sum += coefficients[i] * (i + 1);
    out[0] = sum;
    out[1] = pairs[0].value + pairs[1].value + pairs[threadIdx.x & 1].tag;
    out[2] = unset[3];
    out[3] = bytes[3] + bytes[6];
    out[4] = (double)wide;
    out[5] = table_second[0] * 100 + table_second[2];
    int n = 0;
    while (text[n])
        n++;
    out[6] = n * 1000 + text[9];
    out[7] = hidden;
    bump(1);
}

__global__ void write_some(int *target)
{
    if (threadIdx.x == 0) {
        set_at_run_time = target;
        table_second = table;
        wide += 1;
        hidden *= 2;
    }
    bump(2);
}

__global__ void use_pointer()
{
    set_at_run_time[threadIdx.x] = table_second[threadIdx.x] + counter;
}

// Constant arrays one behind the other, by indices that begin before or behind them: machine code adds these to where an array
// begins, or to any place from which an index leads into it.
__constant__ float first_row[37];
__constant__ int second_row[100];
__constant__ float third_row[9];

__global__ void by_index(const int *index, float *out)
{
    int i = index[threadIdx.x];
    out[threadIdx.x * 4] = second_row[i - 1];
    out[threadIdx.x * 4 + 1] = second_row[99 - i];
    out[threadIdx.x * 4 + 2] = third_row[i % 9];
    out[threadIdx.x * 4 + 3] = first_row[36 - i % 37];
}

static void check_by_index()
{
    enum { N = 99 };
    float first[37], third[9], got[4 * N];
    int second[100], index[N];
    for (int i = 0; i < 37; i++)
        first[i] = i + 0.5f;
    for (int i = 0; i < 100; i++)
        second[i] = 1000 + i;
    for (int i = 0; i < 9; i++)
        third[i] = -i - 0.25f;
    for (int i = 0; i < N; i++)
        index[i] = i + 1;
    CHECK(cudaMemcpyToSymbol(first_row, first, sizeof first));
    CHECK(cudaMemcpyToSymbol(second_row, second, sizeof second));
    CHECK(cudaMemcpyToSymbol(third_row, third, sizeof third));
    Dev<int> indices(index, N);
    Dev<float> out(4 * N);
    by_index<<<1, N>>>(indices, out);
    CHECK_LAUNCH();
    out.get(got);
    for (int t = 0, i = 1; t < N; t++, i++) {
        const float want[4] = { float(second[i - 1]), float(second[99 - i]), third[i % 9], first[36 - i % 37] };
        for (int k = 0; k < 4; k++)
            EXPECT(got[t * 4 + k] == want[k], "row %d by index %d: %g, not %g", k, i, got[t * 4 + k], want[k]);
    }
}

// Parts of words and whole vectors, by an index and at places that are known.
__constant__ unsigned char some_bytes[20];
__constant__ short some_shorts[9];
__constant__ uint4 some_quads[3];

__global__ void parts(const int *index, int *out)
{
    int i = index[threadIdx.x], *o = out + threadIdx.x * 6;
    o[0] = some_bytes[7];
    o[1] = some_bytes[i];
    o[2] = some_shorts[5];
    o[3] = some_shorts[i - 1];
    o[4] = int(some_quads[1].z + some_quads[1].x);
    uint4 q = some_quads[i % 3];
    o[5] = int(q.x + q.w);
}

static void check_parts()
{
    enum { N = 8 };
    unsigned char bytes[20];
    short shorts[9];
    uint4 quads[3];
    int index[N], got[6 * N];
    for (int i = 0; i < 20; i++)
        bytes[i] = (unsigned char)(200 + i);
    for (int i = 0; i < 9; i++)
        shorts[i] = short(-3 * i);
    for (unsigned i = 0; i < 3; i++)
        quads[i] = make_uint4(i, 2 * i, 3 * i, 100 * i);
    for (int i = 0; i < N; i++)
        index[i] = i + 1;
    CHECK(cudaMemcpyToSymbol(some_bytes, bytes, sizeof bytes));
    CHECK(cudaMemcpyToSymbol(some_shorts, shorts, sizeof shorts));
    CHECK(cudaMemcpyToSymbol(some_quads, quads, sizeof quads));
    Dev<int> indices(index, N), out(6 * N);
    parts<<<1, N>>>(indices, out);
    CHECK_LAUNCH();
    out.get(got);
    for (int t = 0, i = 1; t < N; t++, i++) {
        const int want[6] = { bytes[7], bytes[i], shorts[5], shorts[i - 1], int(quads[1].z + quads[1].x),
                              int(quads[i % 3].x + quads[i % 3].w) };
        for (int k = 0; k < 6; k++)
            EXPECT(got[t * 6 + k] == want[k], "part %d by index %d: %d, not %d", k, i, got[t * 6 + k], want[k]);
    }
}

int main()
{
    check_by_index();
    check_parts();
    double got[8];
    Dev<double> out(8);
    Dev<int> target(4);
    read_all<<<1, 1>>>(out);
    CHECK_LAUNCH();
    out.get(got);
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, read_all));
    EXPECT(attr.constSizeBytes >= sizeof coefficients + sizeof pairs && attr.constSizeBytes < 2048, "%zu bytes",
           attr.constSizeBytes);
    const double want[8] = {1.5 - 4 + 0.75 + 40, 0.1 - 7.5 + 'a', 0, 250 + 253, -(double)0x123456789abcdefLL,
                            2040, 13 * 1000 + 't', -3};
    for (int i = 0; i < 8; i++)
        EXPECT(got[i] == want[i], "value %d: %.17g, expected %.17g", i, got[i], want[i]);

    write_some<<<1, 32>>>(target);
    use_pointer<<<1, 4>>>();
    CHECK_LAUNCH();
    int t[4], count;
    target.get(t);
    for (int i = 0; i < 4; i++)
        EXPECT(t[i] == 10 * (i + 1) + 40 + 1 + 64, "use_pointer %d: %d", i, t[i]);
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 105, "counter %d", count);
    long long w;
    CHECK(cudaMemcpyFromSymbol(&w, wide, sizeof w));
    EXPECT(w == -0x123456789abcdefLL + 1, "wide %llx", w);

    int fresh[8] = {0, 1, 2, 99, 4, 5, 6, 7}, two[2] = {77, 78}, back[8];
    CHECK(cudaMemcpyToSymbol(unset, fresh, sizeof fresh));
    CHECK(cudaMemcpyToSymbol(unset, two, sizeof two, 5 * sizeof(int)));
    CHECK(cudaMemcpyFromSymbol(back, unset, sizeof back));
    EXPECT(back[4] == 4 && back[5] == 77 && back[6] == 78 && back[7] == 7, "unset %d %d %d", back[4], back[5], back[7]);
    read_all<<<1, 1>>>(out);
    CHECK_LAUNCH();
    out.get(got);
    EXPECT(got[2] == 99, "unset[3] in the kernel: %g", got[2]);
    EXPECT(got[7] == -6, "hidden %g", got[7]);

    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&size, table));
    EXPECT(size == sizeof table, "size of table %zu", size);
    int direct[4];
    CHECK(cudaMemcpy(direct, address, sizeof direct, cudaMemcpyDeviceToHost));
    EXPECT(direct[3] == 40, "table[3] by address: %d", direct[3]);
    CHECK(cudaGetSymbolSize(&size, pairs));
    EXPECT(size == 32, "size of pairs %zu", size);
    return check_done();
}
