/* NCCL between processes against plain loops: all types and reductions, every collective, groups, streams, graphs, split, shrink,
 * grow, revoke, suspend, abort,
 * errors.  Usage: nccl_test RANKS [quick | devices] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl.h"

int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaGetDeviceCount(int *n);
int cudaSetDevice(int device);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, cudaStream_t stream);
int cudaMemset(void *ptr, int value, size_t size);
int cudaDeviceSynchronize(void);
int cudaMemsetAsync(void *ptr, int value, size_t size, cudaStream_t stream);
int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaStreamQuery(cudaStream_t stream);
int cudaStreamDestroy(cudaStream_t stream);
int cudaStreamBeginCapture(cudaStream_t stream, int mode);
int cudaStreamEndCapture(cudaStream_t stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, cudaStream_t stream);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *exec);

enum { DEFAULT = 4, MAX = 4096 };
static int rank, ranks, bad;
static ncclComm_t comm;
static cudaStream_t stream;
static void *in, *out; /* device memory, 8 * MAX * ranks bytes */

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition))                                                                  \
            bad++, fprintf(stderr, "rank %d of %d, line %d: %s\n", rank, ranks, __LINE__, #condition); \
    } while (0)
#define FINE(call) CHECK((call) == 0)

/* ---- Types: small whole numbers, which all of them hold. */

static const struct {
    ncclDataType_t type;
    int size;
    int is_signed;
} types[] = { { ncclInt8, 1, 1 },    { ncclUint8, 1, 0 },    { ncclInt32, 4, 1 },      { ncclUint32, 4, 0 },
              { ncclInt64, 8, 1 },   { ncclUint64, 8, 0 },   { ncclFloat16, 2, 1 },    { ncclFloat32, 4, 1 },
              { ncclFloat64, 8, 1 }, { ncclBfloat16, 2, 1 }, { ncclFloat8e4m3, 1, 1 }, { ncclFloat8e5m2, 1, 1 } };

/* A float with `e` bits of exponent and `m` of fraction, of a number that it holds. */
static unsigned pack(double v, int e, int m)
{
    unsigned sign = v < 0;
    int exponent;
    if (v == 0)
        return 0;
    double f = frexp(fabs(v), &exponent); /* 0.5 to 1 */
    int bias = (1 << (e - 1)) - 1, biased = exponent - 1 + bias;
    unsigned fraction;
    if (biased < 1)
        fraction = (unsigned)ldexp(fabs(v), bias - 1 + m), biased = 0;
    else
        fraction = (unsigned)ldexp(f * 2 - 1, m);
    return sign << (e + m) | (unsigned)biased << m | fraction;
}

static double unpack(unsigned bits, int e, int m)
{
    int bias = (1 << (e - 1)) - 1, biased = (int)(bits >> m & ((1u << e) - 1));
    unsigned fraction = bits & ((1u << m) - 1);
    double v = biased ? ldexp(1 + ldexp((double)fraction, -m), biased - bias) : ldexp((double)fraction, 1 - bias - m);
    return bits >> (e + m) & 1 ? -v : v;
}

static void put(ncclDataType_t type, void *at, size_t i, double v)
{
    switch (type) {
    case ncclInt8: ((int8_t *)at)[i] = (int8_t)v; break;
    case ncclUint8: ((uint8_t *)at)[i] = (uint8_t)v; break;
    case ncclInt32: ((int32_t *)at)[i] = (int32_t)v; break;
    case ncclUint32: ((uint32_t *)at)[i] = (uint32_t)v; break;
    case ncclInt64: ((int64_t *)at)[i] = (int64_t)v; break;
    case ncclUint64: ((uint64_t *)at)[i] = (uint64_t)v; break;
    case ncclFloat32: ((float *)at)[i] = (float)v; break;
    case ncclFloat64: ((double *)at)[i] = v; break;
    case ncclFloat16: ((uint16_t *)at)[i] = (uint16_t)pack(v, 5, 10); break;
    case ncclBfloat16: ((uint16_t *)at)[i] = (uint16_t)pack(v, 8, 7); break;
    case ncclFloat8e4m3: ((uint8_t *)at)[i] = (uint8_t)pack(v, 4, 3); break;
    case ncclFloat8e5m2: ((uint8_t *)at)[i] = (uint8_t)pack(v, 5, 2); break;
    }
}

static double get(ncclDataType_t type, const void *at, size_t i)
{
    switch (type) {
    case ncclInt8: return ((const int8_t *)at)[i];
    case ncclUint8: return ((const uint8_t *)at)[i];
    case ncclInt32: return ((const int32_t *)at)[i];
    case ncclUint32: return ((const uint32_t *)at)[i];
    case ncclInt64: return (double)((const int64_t *)at)[i];
    case ncclUint64: return (double)((const uint64_t *)at)[i];
    case ncclFloat32: return ((const float *)at)[i];
    case ncclFloat64: return ((const double *)at)[i];
    case ncclFloat16: return unpack(((const uint16_t *)at)[i], 5, 10);
    case ncclBfloat16: return unpack(((const uint16_t *)at)[i], 8, 7);
    case ncclFloat8e4m3: return unpack(((const uint8_t *)at)[i], 4, 3);
    default: return unpack(((const uint8_t *)at)[i], 5, 2);
    }
}

/* What rank r has at i: -1, 0, 1 or 2 (unsigned: 0 to 2), so that sums and products of four are exact in fp8. */
static double element(int r, size_t i, int is_signed)
{
    return (double)((i * 7 + (size_t)r * 5 + i / 3) % (is_signed ? 4 : 3)) - (is_signed ? 1 : 0);
}

static double reduced(ncclRedOp_t op, size_t i, int is_signed)
{
    double v = element(0, i, is_signed);
    for (int r = 1; r < ranks; r++) {
        double e = element(r, i, is_signed);
        v = op == ncclProd ? v * e : op == ncclMax ? fmax(v, e) : op == ncclMin ? fmin(v, e) : v + e;
    }
    return v;
}

static void fill(size_t t, size_t n)
{
    void *host = calloc(n, 8);
    for (size_t i = 0; i < n; i++)
        put(types[t].type, host, i, element(rank, i, types[t].is_signed));
    cudaMemcpy(in, host, n * (size_t)types[t].size, DEFAULT);
    cudaMemset(out, 0x55, n * (size_t)types[t].size);
    cudaDeviceSynchronize(); /* the stream does not wait for the default one, where memory is set later than the call returns */
    free(host);
}

static void *fetch(const void *from, size_t size)
{
    void *host = calloc(1, size + 8);
    FINE(cudaStreamSynchronize(stream));
    cudaMemcpy(host, from, size, DEFAULT);
    return host;
}

/* ---- Reductions. */

static void reductions(size_t n)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int op = ncclSum; op <= ncclMin; op++) {
            size_t size = n * (size_t)types[t].size, wrong = 0;
            fill(t, n);
            FINE(ncclAllReduce(in, out, n, types[t].type, (ncclRedOp_t)op, comm, stream));
            void *got = fetch(out, size);
            for (size_t i = 0; i < n; i++)
                wrong += get(types[t].type, got, i) != reduced((ncclRedOp_t)op, i, types[t].is_signed);
            free(got);
            if (wrong)
                bad++, fprintf(stderr, "rank %d: type %d, op %d: %zu of %zu wrong\n", rank, types[t].type, op, wrong, n);
        }
}

static void averages(void)
{
    enum { N = 33 };
    const size_t average_types[] = { 2, 7, 8, 6 }; /* int32, f32, f64, f16 */
    for (size_t k = 0; k < 4; k++) {
        size_t t = average_types[k];
        fill(t, N);
        FINE(ncclAllReduce(in, in, N, types[t].type, ncclAvg, comm, stream)); /* in place */
        void *got = fetch(in, N * 8);
        for (size_t i = 0; i < N; i++) {
            double mean = reduced(ncclSum, i, 1) / ranks;
            CHECK(get(types[t].type, got, i) == (t == 2 ? trunc(mean) : mean));
        }
        free(got);
    }
}

static void premultiplied(int on_device)
{
    enum { N = 100 };
    ncclRedOp_t op;
    float scalar = 0.5f, *device = NULL;
    cudaMalloc((void **)&device, 4);
    cudaMemcpy(device, &scalar, 4, DEFAULT);
    fill(7, N);
    FINE(ncclRedOpCreatePreMulSum(&op, on_device ? device : &scalar, ncclFloat32,
                                  on_device ? ncclScalarDevice : ncclScalarHostImmediate, comm));
    CHECK(ncclAllReduce(in, out, N, ncclFloat64, op, comm, stream) == ncclInvalidArgument); /* of another type */
    FINE(ncclAllReduce(in, out, N, ncclFloat32, op, comm, stream));
    float *got = fetch(out, N * 4);
    for (size_t i = 0; i < N; i++)
        CHECK(got[i] == 0.5 * reduced(ncclSum, i, 1));
    free(got);
    FINE(ncclRedOpDestroy(op, comm));
    CHECK(ncclAllReduce(in, out, N, ncclFloat32, op, comm, stream) == ncclInvalidArgument);
    cudaFree(device);
}

/* ---- The others. */

static void others(size_t n)
{
    size_t N = n * (size_t)ranks;
    int root = ranks - 1;
    float *got;
    fill(7, N);
    FINE(ncclReduce(in, out, n, ncclFloat32, ncclSum, root, comm, stream));
    got = fetch(out, n * 4);
    for (size_t i = 0; i < n; i++)
        CHECK(rank == root ? got[i] == reduced(ncclSum, i, 1) : ((uint32_t *)got)[i] == 0x55555555);
    free(got);
    FINE(ncclBroadcast(in, out, n, ncclFloat32, root, comm, stream));
    got = fetch(out, n * 4);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i] == element(root, i, 1));
    free(got);
    FINE(ncclAllGather(in, out, n, ncclFloat32, comm, stream));
    got = fetch(out, N * 4);
    for (size_t i = 0; i < N; i++)
        CHECK(got[i] == element((int)(i / n), i % n, 1));
    free(got);
    FINE(ncclReduceScatter(in, out, n, ncclFloat32, ncclSum, comm, stream));
    got = fetch(out, n * 4);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i] == reduced(ncclSum, (size_t)rank * n + i, 1));
    free(got);
    FINE(ncclAlltoAll(in, out, n, ncclFloat32, comm, stream));
    got = fetch(out, N * 4);
    for (size_t i = 0; i < N; i++)
        CHECK(got[i] == element((int)(i / n), (size_t)rank * n + i % n, 1));
    free(got);
    FINE(ncclGather(in, out, n, ncclFloat32, root, comm, stream));
    got = fetch(out, N * 4);
    for (size_t i = 0; rank == root && i < N; i++)
        CHECK(got[i] == element((int)(i / n), i % n, 1));
    free(got);
    FINE(ncclScatter(in, out, n, ncclFloat32, root, comm, stream));
    got = fetch(out, n * 4);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i] == element(root, (size_t)rank * n + i, 1));
    free(got);
}

/* A ring, a message to oneself, and two to the same peer in their order. */
static void transfers(void)
{
    enum { N = 1000 };
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    float *o = out, *i = in;
    fill(7, 2 * N);
    FINE(ncclGroupStart());
    FINE(ncclSend(i, N, ncclFloat32, next, comm, stream));
    FINE(ncclRecv(o, N, ncclFloat32, before, comm, stream));
    FINE(ncclSend(i + N, 10, ncclFloat32, next, comm, stream));
    FINE(ncclRecv(o + N, 10, ncclFloat32, before, comm, stream));
    FINE(ncclSend(i, 5, ncclFloat32, rank, comm, stream));
    FINE(ncclRecv(o + 2 * N, 5, ncclFloat32, rank, comm, stream));
    FINE(ncclAllReduce(i, o + 3 * N, 7, ncclFloat32, ncclSum, comm, stream));
    FINE(ncclGroupEnd());
    float *got = fetch(out, 4 * N * 4);
    for (size_t k = 0; k < N; k++)
        CHECK(got[k] == element(before, k, 1) && (k >= 10 || got[N + k] == element(before, N + k, 1)) &&
              (k >= 5 || got[2 * N + k] == element(rank, k, 1)) && (k >= 7 || got[3 * N + k] == reduced(ncclSum, k, 1)));
    free(got);
}

/* Nothing waits but the stream: each step needs the one before. */
static void in_order(void)
{
    enum { N = 512, STEPS = 20 };
    FINE(cudaMemsetAsync(in, 0, N * 4, stream));
    for (int s = 0; s < STEPS; s++) {
        FINE(cudaMemsetAsync(in, s + 1, N * 4, stream));
        FINE(ncclAllReduce(in, out, N, ncclUint8, ncclMax, comm, stream));
        FINE(ncclBroadcast(out, (char *)in + N, N, ncclUint8, s % ranks, comm, stream));
        FINE(cudaMemcpyAsync((char *)out + (1 + s) * N, (char *)in + N, N, DEFAULT, stream));
    }
    unsigned char *got = fetch(out, (STEPS + 1) * N);
    for (int s = 0; s < STEPS; s++)
        CHECK(got[(1 + s) * N] == s + 1 && got[(2 + s) * N - 1] == s + 1);
    free(got);
}

static void graphs(void)
{
    enum { N = 64 };
    void *graph, *exec;
    fill(7, N);
    FINE(cudaStreamBeginCapture(stream, 1));
    FINE(ncclAllReduce(in, out, N, ncclFloat32, ncclSum, comm, stream));
    FINE(cudaMemcpyAsync(in, out, N * 4, DEFAULT, stream));
    FINE(cudaStreamEndCapture(stream, &graph));
    FINE(cudaGraphInstantiate(&exec, graph, 0));
    FINE(cudaGraphLaunch(exec, stream));
    FINE(cudaGraphLaunch(exec, stream));
    float *got = fetch(out, N * 4);
    for (size_t i = 0; i < N; i++)
        CHECK(got[i] == ranks * reduced(ncclSum, i, 1));
    free(got);
    FINE(cudaGraphExecDestroy(exec));
    FINE(cudaGraphDestroy(graph));
}

static void splits(void)
{
    ncclComm_t half = NULL, none = (ncclComm_t)1;
    int n = 0, r = -1;
    FINE(ncclCommSplit(comm, rank % 2, -rank, &half, NULL)); /* in reverse order */
    FINE(ncclCommCount(half, &n));
    FINE(ncclCommUserRank(half, &r));
    CHECK(n == (ranks + 1 - rank % 2) / 2 && r == n - 1 - rank / 2);
    fill(7, 10);
    FINE(ncclAllReduce(in, out, 10, ncclFloat32, ncclSum, half, stream));
    float *got = fetch(out, 40);
    for (size_t i = 0; i < 10; i++) {
        double sum = 0;
        for (int k = rank % 2; k < ranks; k += 2)
            sum += element(k, i, 1);
        CHECK(got[i] == sum);
    }
    free(got);
    FINE(ncclCommDestroy(half));
    half = NULL;
    FINE(ncclCommSplit(comm, rank ? 3 : -1, 0, rank ? &half : &none, NULL));
    CHECK(rank || !none);
    FINE(ncclCommDestroy(half));
}

static void wrong_arguments(void)
{
    CHECK(ncclAllReduce(NULL, out, 1, ncclFloat32, ncclSum, comm, stream) == ncclInvalidArgument);
    CHECK(ncclAllReduce(in, out, 1, (ncclDataType_t)99, ncclSum, comm, stream) == ncclInvalidArgument);
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, (ncclRedOp_t)77, comm, stream) == ncclInvalidArgument);
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, NULL, stream) == ncclInvalidArgument);
    CHECK(ncclBroadcast(in, out, 1, ncclFloat32, ranks, comm, stream) == ncclInvalidArgument);
    /* There are no windows, which is no error: collectives go without. */
    ncclWindow_t window = (ncclWindow_t)out;
    CHECK(ncclCommWindowRegister(comm, out, sizeof(float), &window, NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess && !window);
    CHECK(ncclCommWindowDeregister(comm, window) == ncclSuccess);
    CHECK(ncclCommWindowDeregister(comm, (ncclWindow_t)out) == ncclInvalidArgument);
    CHECK(ncclWinGetUserPtr(comm, window, &(void *){ NULL }) != ncclSuccess);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(ncclGroupSimulateEnd(NULL) == ncclInvalidUsage); /* a stub */
    CHECK(*ncclGetLastError(comm));
    FINE(ncclAllReduce(in, out, 0, ncclFloat32, ncclSum, comm, stream));
}

/* Rank 0 waits for what never comes; its stream goes on once it aborts. */
static void aborts(void)
{
    ncclComm_t other;
    ncclResult_t error = ncclSuccess;
    FINE(ncclCommSplit(comm, 0, rank, &other, NULL));
    if (rank == 0) {
        FINE(ncclRecv(out, 4, ncclFloat32, 1, other, stream));
        usleep(50000);
        CHECK(cudaStreamQuery(stream) == 600); /* not ready */
        FINE(ncclCommAbort(other));
        FINE(cudaStreamSynchronize(stream));
        return;
    }
    /* The others hear of it. */
    FINE(ncclRecv(out, 4, ncclFloat32, 0, other, stream));
    for (int i = 0; i < 500 && error == ncclSuccess; i++, usleep(10000))
        FINE(ncclCommGetAsyncError(other, &error));
    CHECK(error == ncclRemoteError);
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, other, stream) == ncclRemoteError);
    FINE(ncclCommAbort(other));
    FINE(cudaStreamSynchronize(stream));
}

/* A sum over what was made of the communicator, of the ranks of it that `in_it` has, in their order. */
static void sums(ncclComm_t made, unsigned in_it, int line)
{
    int n = -1, r = -1, before = bad;
    FINE(ncclCommCount(made, &n));
    FINE(ncclCommUserRank(made, &r));
    CHECK(n == __builtin_popcount(in_it) && r == __builtin_popcount(in_it & ((1u << rank) - 1)));
    fill(7, 10);
    FINE(ncclAllReduce(in, out, 10, ncclFloat32, ncclSum, made, stream));
    float *got = fetch(out, 40);
    for (size_t i = 0; i < 10; i++) {
        double sum = 0;
        for (int k = 0; k < ranks; k++)
            sum += in_it >> k & 1 ? element(k, i, 1) : 0;
        CHECK(got[i] == sum);
    }
    free(got);
    if (bad != before)
        fprintf(stderr, "rank %d: from line %d\n", rank, line);
}

static void shrinks(void)
{
    ncclComm_t less = NULL;
    int last = ranks - 1, all_but_zero[16], wrong[2] = { ranks, rank };
    unsigned all = (1u << ranks) - 1;
    CHECK(ncclCommShrink(comm, &wrong[0], 1, &less, NULL, 0) == ncclInvalidArgument);
    CHECK(ncclCommShrink(comm, &wrong[1], 1, &less, NULL, 0) == ncclInvalidArgument);
    CHECK(ncclCommShrink(comm, NULL, 0, &less, NULL, 0) == ncclInvalidArgument);
    for (int round = 0; round < 2 && rank != last; round++) {
        FINE(ncclCommShrink(comm, &last, 1, &less, NULL, NCCL_SHRINK_DEFAULT));
        sums(less, all & ~(1u << last), __LINE__);
        FINE(ncclCommDestroy(less));
    }
    if (rank == 0) { /* alone */
        for (int i = 1; i < ranks; i++)
            all_but_zero[i - 1] = i;
        FINE(ncclCommShrink(comm, all_but_zero, ranks - 1, &less, NULL, NCCL_SHRINK_DEFAULT));
        sums(less, 1, __LINE__);
        FINE(ncclCommDestroy(less));
    } else if (ranks > 2) { /* without the one that served when they first met */
        FINE(ncclCommShrink(comm, &(int){ 0 }, 1, &less, NULL, NCCL_SHRINK_DEFAULT));
        sums(less, all & ~1u, __LINE__);
        FINE(ncclCommDestroy(less));
    }
    sums(comm, all, __LINE__); /* the parent is as it was */
}

/* Rank 0 leaves in the middle; the others wait for it in vain, and go on without it. */
static void shrinks_after_a_loss(void)
{
    ncclComm_t other, less;
    FINE(ncclCommSplit(comm, 0, rank, &other, NULL));
    if (rank == 0) {
        FINE(ncclCommAbort(other));
        return;
    }
    FINE(ncclRecv(out, 4, ncclFloat32, 0, other, stream));
    FINE(ncclCommShrink(other, &(int){ 0 }, 1, &less, NULL, NCCL_SHRINK_ABORT));
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, other, stream) != ncclSuccess);
    FINE(cudaStreamSynchronize(stream));
    sums(less, ((1u << ranks) - 1) & ~1u, __LINE__);
    FINE(ncclCommDestroy(less));
    FINE(ncclCommAbort(other));
}

/* Rank 0 joins the others, once by way of rank 1's id. */
static void grows(void)
{
    ncclComm_t others = NULL, all = NULL;
    ncclUniqueId id;
    FINE(ncclCommSplit(comm, rank ? 0 : -1, rank, &others, NULL));
    if (rank == 1) {
        FINE(ncclCommGetUniqueId(others, &id));
        CHECK(ncclCommGetUniqueId(others, &id) == ncclInvalidUsage);
        FINE(cudaMemcpy(in, &id, sizeof id, DEFAULT));
    }
    FINE(ncclBroadcast(in, out, sizeof id, ncclUint8, 1, comm, stream));
    void *got = fetch(out, sizeof id);
    memcpy(&id, got, sizeof id);
    free(got);
    if (rank) {
        CHECK(ncclCommGrow(others, ranks - 1, NULL, -1, &all, NULL) == ncclInvalidArgument);
        CHECK(ncclCommGrow(others, ranks, NULL, rank - 1, &all, NULL) == ncclInvalidArgument);
        FINE(ncclCommGrow(others, ranks, NULL, -1, &all, NULL));
        FINE(ncclCommDestroy(others));
    } else {
        CHECK(ncclCommGrow(NULL, ranks, NULL, ranks - 1, &all, NULL) == ncclInvalidArgument);
        FINE(ncclCommGrow(NULL, ranks, &id, ranks - 1, &all, NULL));
    }
    int n = 0, r = -1;
    FINE(ncclCommCount(all, &n));
    FINE(ncclCommUserRank(all, &r));
    CHECK(n == ranks && r == (rank ? rank - 1 : ranks - 1));
    fill(7, 10);
    FINE(ncclAllReduce(in, out, 10, ncclFloat32, ncclSum, all, stream));
    float *sum = fetch(out, 40);
    for (size_t i = 0; i < 10; i++)
        CHECK(sum[i] == reduced(ncclSum, i, 1));
    free(sum);
    FINE(ncclCommDestroy(all));
}

/* A receive without a send is under way; what is made of the communicator after is not touched by that. */
static void revokes(void)
{
    ncclComm_t other, half, less;
    ncclResult_t error = ncclRemoteError;
    unsigned even = 0x55555555u & ((1u << ranks) - 1);
    FINE(ncclCommSplit(comm, 0, rank, &other, NULL));
    FINE(ncclRecv(out, 4, ncclFloat32, (rank + 1) % ranks, other, stream));
    CHECK(ncclCommRevoke(other, 1) == ncclInvalidArgument);
    FINE(ncclCommRevoke(other, NCCL_REVOKE_DEFAULT));
    FINE(cudaStreamSynchronize(stream));
    FINE(ncclCommGetAsyncError(other, &error));
    CHECK(error == ncclSuccess);
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, other, stream) == ncclInvalidUsage);
    CHECK(ncclCommFinalize(other) == ncclInvalidUsage);
    for (int round = 0; round < 2; round++) {
        FINE(ncclCommSplit(other, rank % 2, rank, &half, NULL));
        sums(half, rank % 2 ? ((1u << ranks) - 1) & ~even : even, __LINE__);
        FINE(ncclCommDestroy(half));
    }
    if (rank != ranks - 1) {
        FINE(ncclCommShrink(other, &(int){ ranks - 1 }, 1, &less, NULL, NCCL_SHRINK_DEFAULT));
        sums(less, (1u << (ranks - 1)) - 1, __LINE__);
        FINE(ncclCommDestroy(less));
    }
    FINE(ncclCommDestroy(other));
}

static void suspends(void)
{
    uint64_t value = 9;
    CHECK(ncclCommSuspend(comm, 0) == ncclInvalidArgument && ncclCommResume(comm) == ncclInvalidUsage);
    FINE(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
    FINE(ncclCommMemStats(comm, ncclStatGpuMemSuspended, &value));
    CHECK(value == 1);
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, comm, stream) == ncclInvalidUsage);
    FINE(ncclCommResume(comm));
    FINE(ncclCommMemStats(comm, ncclStatGpuMemSuspended, &value));
    CHECK(value == 0);
    CHECK(ncclCommMemStats(comm, (ncclCommMemStat_t)4, &value) == ncclInvalidArgument);
    sums(comm, (1u << ranks) - 1, __LINE__);
}

static int rank_main(const ncclUniqueId *id, int quick)
{
    int n, r;
    cudaMalloc(&in, 8 * MAX * (size_t)ranks);
    cudaMalloc(&out, 8 * MAX * (size_t)ranks);
    FINE(cudaStreamCreateWithFlags(&stream, 1));
    FINE(ncclCommInitRank(&comm, ranks, *id, rank));
    if (bad)
        return bad;
    FINE(ncclCommCount(comm, &n));
    FINE(ncclCommUserRank(comm, &r));
    CHECK(n == ranks && r == rank);
    reductions(quick ? 5 : 1);
    if (!quick)
        reductions(1001);
    averages();
    premultiplied(0);
    premultiplied(1);
    others(quick ? 3 : 777);
    if (ranks > 1) {
        transfers();
        splits();
        shrinks();
        shrinks_after_a_loss();
        grows();
        revokes();
    }
    suspends();
    in_order();
    graphs();
    wrong_arguments();
    if (ranks > 1)
        aborts();
    FINE(ncclCommFinalize(comm));
    CHECK(ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, comm, stream) == ncclInvalidUsage);
    FINE(ncclCommDestroy(comm));
    FINE(cudaStreamDestroy(stream));
    return bad;
}

/* Each group makes a communicator of every rank's; a sum of ones over it says how many are in it. */
static void ones(ncclComm_t *made, float **from, float **to, int first, int end, int expected)
{
    float one = 1, sum = 0;
    for (int d = first; d < end; d++)
        cudaMemcpy(from[d], &one, sizeof one, DEFAULT);
    FINE(ncclGroupStart());
    for (int d = first; d < end; d++)
        FINE(ncclAllReduce(from[d], to[d], 1, ncclFloat32, ncclSum, made[d], NULL));
    FINE(ncclGroupEnd());
    for (int d = first; d < end; d++) {
        FINE(cudaSetDevice(d));
        FINE(cudaStreamSynchronize(NULL));
        cudaMemcpy(&sum, to[d], sizeof sum, DEFAULT);
        CHECK(sum == (float)expected);
    }
}

static void devices_derived(ncclComm_t *comms, float **from, float **to)
{
    ncclComm_t half[16], less[16], grown[16];
    ncclUniqueId id;
    int last = ranks - 1;
    FINE(ncclGroupStart());
    for (int d = 0; d < ranks; d++)
        FINE(ncclCommSplit(comms[d], d % 2, d, &half[d], NULL));
    FINE(ncclGroupEnd());
    ones(half, from, to, 0, ranks, ranks / 2);
    FINE(ncclGroupStart());
    for (int d = 0; d < last; d++)
        FINE(ncclCommShrink(comms[d], &last, 1, &less[d], NULL, NCCL_SHRINK_DEFAULT));
    FINE(ncclGroupEnd());
    ones(less, from, to, 0, last, last);
    FINE(ncclCommGetUniqueId(less[0], &id));
    FINE(ncclGroupStart());
    for (int d = 0; d < ranks; d++) {
        FINE(cudaSetDevice(d));
        FINE(
            ncclCommGrow(d == last ? NULL : less[d], ranks, d && d != last ? NULL : &id, d == last ? last : -1, &grown[d], NULL));
    }
    FINE(ncclGroupEnd());
    ones(grown, from, to, 0, ranks, ranks);
    for (int d = 0; d < ranks; d++) {
        FINE(ncclCommDestroy(half[d]));
        FINE(ncclCommDestroy(grown[d]));
        if (d < last)
            FINE(ncclCommDestroy(less[d]));
    }
}

/* All ranks in one thread, a device each, on default streams: none of them may hold up another's. */
static int devices_main(void)
{
    enum { N = 1000, MOST = 16 };
    ncclComm_t comms[MOST];
    float *from[MOST], *to[MOST], host[N];
    int visible = 0, device = -1;
    FINE(cudaGetDeviceCount(&visible));
    CHECK(visible == ranks);
    FINE(ncclCommInitAll(comms, ranks, NULL));
    CHECK(ncclCommInitAll(comms, ranks + 1, NULL) == ncclInvalidArgument);
    for (int d = 0; d < ranks; d++) {
        FINE(cudaSetDevice(d));
        FINE(ncclCommCuDevice(comms[d], &device));
        CHECK(device == d);
        cudaMalloc((void **)&from[d], sizeof host);
        cudaMalloc((void **)&to[d], sizeof host);
        for (size_t i = 0; i < N; i++)
            host[i] = (float)element(d, i, 1);
        cudaMemcpy(from[d], host, sizeof host, DEFAULT);
    }
    FINE(ncclGroupStart());
    for (int d = 0; d < ranks; d++)
        FINE(ncclAllReduce(from[d], to[d], N, ncclFloat32, ncclSum, comms[d], NULL));
    FINE(ncclGroupEnd());
    FINE(ncclGroupStart());
    for (int d = 0; d < ranks; d++) {
        FINE(ncclSend(to[d], 10, ncclFloat32, (d + 1) % ranks, comms[d], NULL));
        FINE(ncclRecv(from[d], 10, ncclFloat32, (d + ranks - 1) % ranks, comms[d], NULL));
    }
    FINE(ncclGroupEnd());
    for (int d = 0; d < ranks; d++) {
        FINE(cudaSetDevice(d));
        FINE(cudaStreamSynchronize(NULL));
        cudaMemcpy(host, to[d], sizeof host, DEFAULT);
        for (size_t i = 0; i < N; i++)
            CHECK(host[i] == reduced(ncclSum, i, 1));
        cudaMemcpy(host, from[d], sizeof host, DEFAULT);
        for (size_t i = 0; i < N; i++)
            CHECK(host[i] == (i < 10 ? reduced(ncclSum, i, 1) : element(d, i, 1)));
    }
    devices_derived(comms, from, to);
    for (int d = 0; d < ranks; d++)
        FINE(ncclCommDestroy(comms[d]));
    printf("%d devices, %d wrong\n", ranks, bad);
    return bad != 0;
}

int main(int argc, char **argv)
{
    ncclUniqueId id;
    int pipes[16][2], status, failed = 0;
    ranks = argc > 1 ? atoi(argv[1]) : 2;
    if (argc > 2 && !strcmp(argv[2], "devices"))
        return devices_main();
    for (int r = 0; r < ranks; r++)
        if (pipe(pipes[r]))
            return 1;
    for (rank = 0; rank < ranks; rank++) {
        pid_t pid = fork();
        if (pid)
            continue;
        alarm(120);
        if (rank == 0) {
            if (ncclGetUniqueId(&id) != ncclSuccess)
                return 1;
            for (int r = 1; r < ranks; r++)
                if (write(pipes[r][1], &id, sizeof id) != sizeof id)
                    return 1;
        } else if (read(pipes[rank][0], &id, sizeof id) != sizeof id)
            return 1;
        return rank_main(&id, argc > 2) != 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    printf("%d ranks, %d failed\n", ranks, failed);
    return failed != 0;
}
