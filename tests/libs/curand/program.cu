// The host interface against cuRAND's functions for kernels, from the toolkit's own headers: the same states give the same bits
// and the same uniform and discrete numbers; normal ones agree within what the device's approximate sine does.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#if __has_include(<curand_kernel.h>)
#include <curand.h>
#include <curand_kernel.h>

#define CHECK(call)                                                \
    do {                                                           \
        int status_ = (int)(call);                                 \
        if (status_) {                                             \
            std::printf("%s: %d\n", #call, status_);               \
            std::exit(1);                                          \
        }                                                          \
    } while (0)

enum { TURNS = 48, STATES_XORWOW = 4096, STATES_MRG = 81920, STATES_PHILOX = 65536 };
static const unsigned long long SEED = 0x123456789abcull;

struct Results {
    unsigned bits[TURNS * 4];
    float uniform[TURNS * 4], normal[TURNS * 4], log_normal[TURNS * 4];
    double uniform_double[TURNS * 4], normal_double[TURNS * 4];
    unsigned discrete[TURNS * 4];
};

// Turn i of the numbers from `offset` on, of sub-sequences that take turns.
template <typename State> __device__ void start(State *s, unsigned long long turn, unsigned states)
{
    curand_init(SEED, turn % states, turn / states, s);
}

template <typename State>
__global__ void pairs(Results *r, unsigned long long offset, unsigned states, curandDiscreteDistribution_t d)
{
    int i = threadIdx.x;
    State s;
#define FRESH (start(&s, offset + i, states), &s)
    r->bits[i] = curand(FRESH);
    r->uniform[i] = curand_uniform(FRESH);
    r->uniform_double[i] = curand_uniform_double(FRESH);
    r->discrete[i] = curand_discrete(FRESH, d);
    float2 n = curand_normal2(FRESH), l = curand_log_normal2(FRESH, 0.5f, 0.25f);
    double2 w = curand_normal2_double(FRESH);
    r->normal[2 * i] = n.x, r->normal[2 * i + 1] = n.y;
    r->log_normal[2 * i] = l.x, r->log_normal[2 * i + 1] = l.y;
    r->normal_double[2 * i] = w.x, r->normal_double[2 * i + 1] = w.y;
}

__global__ void fours(Results *r, unsigned long long offset, curandDiscreteDistribution_t d)
{
    int i = threadIdx.x;
    unsigned long long turn = offset / 4 + i;
    curandStatePhilox4_32_10_t s;
#undef FRESH
#define FRESH (curand_init(SEED, turn % STATES_PHILOX, turn / STATES_PHILOX * 4, &s), &s)
    uint4 b = curand4(FRESH), k = curand_discrete4(FRESH, d);
    float4 u = curand_uniform4(FRESH), n = curand_normal4(FRESH), l = curand_log_normal4(FRESH, 0.5f, 0.25f);
    double2 v = curand_uniform2_double(FRESH), v2 = curand_uniform2_double(&s), w = curand_normal2_double(FRESH),
            w2 = curand_normal2_double(&s);
#define PUT(field, a, b, c, d) r->field[4 * i] = a, r->field[4 * i + 1] = b, r->field[4 * i + 2] = c, r->field[4 * i + 3] = d
    PUT(bits, b.x, b.y, b.z, b.w);
    PUT(discrete, k.x, k.y, k.z, k.w);
    PUT(uniform, u.x, u.y, u.z, u.w);
    PUT(normal, n.x, n.y, n.z, n.w);
    PUT(log_normal, l.x, l.y, l.z, l.w);
    PUT(uniform_double, v.x, v.y, v2.x, v2.y);
    PUT(normal_double, w.x, w.y, w2.x, w2.y);
}

template <typename T> static void same(const char *what, int type, const T *want, const T *device, size_t n, double error)
{
    std::vector<T> got(n);
    CHECK(cudaMemcpy(got.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        if (!(std::fabs((double)got[i] - (double)want[i]) <= error * (1 + std::fabs((double)want[i])))) {
            std::printf("%s of generator %d: [%zu] is %.17g, not %.17g\n", what, type, i, (double)got[i], (double)want[i]);
            std::exit(1);
        }
}

static void compare(curandRngType_t type, unsigned long long offset, const Results *in_kernel, int width, double lambda)
{
    Results *want = new Results;
    CHECK(cudaMemcpy(want, in_kernel, sizeof *want, cudaMemcpyDeviceToHost));
    curandGenerator_t g;
    void *p;
    CHECK(cudaMalloc(&p, sizeof(double) * TURNS * 4));
    CHECK(curandCreateGenerator(&g, type));
    CHECK(curandSetPseudoRandomGeneratorSeed(g, SEED));
    size_t one = TURNS * width, pair = TURNS * (width == 1 ? 2 : 4);
#define EACH(field, n, error, call)                               \
    CHECK(curandSetGeneratorOffset(g, offset));                   \
    CHECK(call);                                                  \
    same(#field, type, want->field, (decltype(&want->field[0]))p, n, error)
    EACH(bits, one, 0, curandGenerate(g, (unsigned *)p, one));
    EACH(uniform, one, 0, curandGenerateUniform(g, (float *)p, one));
    EACH(uniform_double, one, 0, curandGenerateUniformDouble(g, (double *)p, one));
    EACH(discrete, one, 0, curandGeneratePoisson(g, (unsigned *)p, one, lambda));
    EACH(normal, pair, 2e-6, curandGenerateNormal(g, (float *)p, pair, 0, 1));
    EACH(log_normal, pair, 2e-6, curandGenerateLogNormal(g, (float *)p, pair, 0.5f, 0.25f));
    EACH(normal_double, pair, 1e-14, curandGenerateNormalDouble(g, (double *)p, pair, 0, 1));
    CHECK(curandDestroyGenerator(g));
    CHECK(cudaFree(p));
    delete want;
}

// Points of Sobol's sequences, plain and scrambled, of `DIMENSIONS` dimensions: a thread has one of them.
enum { DIMENSIONS = 5 };
struct Points {
    unsigned bits[DIMENSIONS * TURNS];
    float uniform[DIMENSIONS * TURNS], normal[DIMENSIONS * TURNS];
};

__global__ void sobol(Points *r, curandDirectionVectors32_t *vectors, const unsigned *constants, unsigned offset)
{
    int d = threadIdx.x;
    curandStateSobol32_t s, s2, s3;
    curandStateScrambledSobol32_t t, t2, t3;
    curand_init(vectors[d], offset, &s), s2 = s3 = s;
    curand_init(vectors[d], constants ? constants[d] : 0, offset, &t), t2 = t3 = t;
    for (int i = d * TURNS; i < (d + 1) * TURNS; i++) {
        r->bits[i] = constants ? curand(&t) : curand(&s);
        r->uniform[i] = constants ? curand_uniform(&t2) : curand_uniform(&s2);
        r->normal[i] = constants ? curand_normal(&t3) : curand_normal(&s3);
    }
}

static void points(curandRngType_t type, unsigned offset)
{
    bool scrambled = type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32;
    curandDirectionVectors32_t *vectors;
    unsigned *constants = nullptr;
    void *v, *c = nullptr, *r, *p;
    Points *want = new Points;
    curandGenerator_t g;
    if (curandCreateGenerator(&g, type) == CURAND_STATUS_TYPE_ERROR) // not built in
        return;
    CHECK(curandGetDirectionVectors32(&vectors, scrambled ? CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6
                                                          : CURAND_DIRECTION_VECTORS_32_JOEKUO6));
    CHECK(cudaMalloc(&v, DIMENSIONS * sizeof *vectors));
    CHECK(cudaMemcpy(v, vectors, DIMENSIONS * sizeof *vectors, cudaMemcpyHostToDevice));
    if (scrambled) {
        CHECK(curandGetScrambleConstants32(&constants));
        CHECK(cudaMalloc(&c, DIMENSIONS * sizeof *constants));
        CHECK(cudaMemcpy(c, constants, DIMENSIONS * sizeof *constants, cudaMemcpyHostToDevice));
    }
    CHECK(cudaMalloc(&r, sizeof *want));
    CHECK(cudaMalloc(&p, sizeof *want));
    sobol<<<1, DIMENSIONS>>>((Points *)r, (curandDirectionVectors32_t *)v, (const unsigned *)c, offset);
    CHECK(cudaMemcpy(want, r, sizeof *want, cudaMemcpyDeviceToHost));
    CHECK(curandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS));
    EACH(bits, DIMENSIONS * TURNS, 0, curandGenerate(g, (unsigned *)p, DIMENSIONS * TURNS));
    EACH(uniform, DIMENSIONS * TURNS, 0, curandGenerateUniform(g, (float *)p, DIMENSIONS * TURNS));
    EACH(normal, DIMENSIONS * TURNS, 2e-6, curandGenerateNormal(g, (float *)p, DIMENSIONS * TURNS, 0, 1));
    CHECK(curandDestroyGenerator(g));
    CHECK(cudaFree(v));
    CHECK(cudaFree(c));
    CHECK(cudaFree(r));
    CHECK(cudaFree(p));
    delete want;
}

int main()
{
    Results *r;
    curandDiscreteDistribution_t d;
    const double lambda = 12.5;
    CHECK(cudaMalloc(&r, sizeof *r));
    CHECK(curandCreatePoissonDistribution(lambda, &d));
    for (unsigned long long offset : { 0ull, 4090ull, 1234567890123ull }) {
        pairs<curandStateXORWOW_t><<<1, TURNS>>>(r, offset, STATES_XORWOW, d);
        CHECK(cudaDeviceSynchronize());
        compare(CURAND_RNG_PSEUDO_XORWOW, offset, r, 1, lambda);
        pairs<curandStateMRG32k3a_t><<<1, TURNS>>>(r, offset, STATES_MRG, d);
        CHECK(cudaDeviceSynchronize());
        compare(CURAND_RNG_PSEUDO_MRG32K3A, offset, r, 1, lambda);
        offset &= ~3ull;
        fours<<<1, TURNS>>>(r, offset, d);
        CHECK(cudaDeviceSynchronize());
        compare(CURAND_RNG_PSEUDO_PHILOX4_32_10, offset, r, 4, lambda);
    }
    for (unsigned offset : { 0u, 1u, 77777u }) {
        points(CURAND_RNG_QUASI_SOBOL32, offset);
        points(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, offset);
    }
    CHECK(curandDestroyDistribution(d));
    CHECK(cudaFree(r));
    std::printf("PASS\n");
    return 0;
}
#else
int main()
{
    std::printf("SKIP: there are no headers of cuRAND to compare with\n");
    return 0;
}
#endif
