/* Generators, their settings, and generation as work of streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "curand"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/queue.h"
#include "curand_proto.h"
#include "fill.h"
#include "poisson.h"

enum { MAGIC = 0x72616e64 };

/* What queued work draws from: a generator that is set anew gets another, and the work keeps its own. */
struct source {
    int refs;
    pthread_mutex_t lock;
    const struct aw_rand_engine *engine; /* NULL: Sobol, of which state.offset goes on */
    struct aw_rand_sobol sobol;
    struct aw_rand_state state;
};

struct curandGenerator_st {
    uint32_t magic;
    bool on_host;
    curandRngType_t type;
    curandOrdering_t ordering;
    uint64_t seed, offset;
    unsigned dimensions;
    struct aw_lib_queue queue;
    struct source *source; /* NULL until numbers are asked for */
};

static void source_unref(struct source *s)
{
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->state.states);
    free(s);
}

static const struct aw_rand_engine *engine_of(curandRngType_t type)
{
    switch (type) {
    case CURAND_RNG_PSEUDO_XORWOW: return &aw_rand_xorwow;
    case CURAND_RNG_PSEUDO_MRG32K3A: return &aw_rand_mrg32k3a;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: return &aw_rand_philox;
    case CURAND_RNG_PSEUDO_MT19937: return &aw_rand_mt19937;
    case CURAND_RNG_PSEUDO_MTGP32: return &aw_rand_mtgp32;
    default: return NULL;
    }
}

static bool is_scrambled(curandRngType_t type)
{
    return type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}

static bool is_sobol(curandRngType_t type)
{
    return type == CURAND_RNG_QUASI_SOBOL32 || type == CURAND_RNG_QUASI_SOBOL64 || is_scrambled(type);
}

static bool is_wide(curandRngType_t type)
{
    return type == CURAND_RNG_QUASI_SOBOL64 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}

/* Sub-sequences that take turns, as cuRAND documents its orderings. */
static uint64_t states_of(curandRngType_t type, curandOrdering_t ordering)
{
    switch (type) {
    case CURAND_RNG_PSEUDO_XORWOW: return 4096;
    case CURAND_RNG_PSEUDO_MRG32K3A: return ordering == CURAND_ORDERING_PSEUDO_LEGACY ? 4096 : 81920;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: return 65536;
    default: return 1;
    }
}

static struct source *source_make(const struct curandGenerator_st *g)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->refs = 1;
    pthread_mutex_init(&s->lock, NULL);
    s->engine = engine_of(g->type);
    s->sobol = (struct aw_rand_sobol){ is_wide(g->type) ? 64 : 32, g->dimensions, is_scrambled(g->type) };
    s->state = (struct aw_rand_state){
        .type = g->type, .seed = g->seed, .offset = g->offset, .n_states = states_of(g->type, g->ordering)
    };
    return s;
}

/* ---- Generators */

static bool type_known(curandRngType_t type)
{
    switch (type) {
    case CURAND_RNG_PSEUDO_MTGP32: aw_say(RAND_MTGP32); return true;
    case CURAND_RNG_PSEUDO_MT19937: aw_say(RAND_MT19937); return true;
    default:
        if (is_sobol(type) && !aw_rand_sobol_dimensions())
            aw_say(RAND_SOBOL);
        else if (is_scrambled(type))
            aw_say(RAND_SCRAMBLED);
        return engine_of(type) || (is_sobol(type) && aw_rand_sobol_dimensions());
    }
}

static curandStatus_t create(curandGenerator_t *ret_generator, curandRngType_t type, bool on_host)
{
    if (type == CURAND_RNG_PSEUDO_DEFAULT)
        type = CURAND_RNG_PSEUDO_XORWOW;
    if (type == CURAND_RNG_QUASI_DEFAULT)
        type = CURAND_RNG_QUASI_SOBOL32;
    if (!ret_generator)
        return CURAND_STATUS_OUT_OF_RANGE;
    if (!type_known(type))
        return CURAND_STATUS_TYPE_ERROR;
    struct curandGenerator_st *g = calloc(1, sizeof *g);
    if (!g)
        return CURAND_STATUS_ALLOCATION_FAILED;
    *g = (struct curandGenerator_st){ .magic = MAGIC, .on_host = on_host, .type = type, .dimensions = 1 };
    g->ordering = is_sobol(type) ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_DEFAULT;
    if (!on_host && aw_lib_queue_init(&g->queue) != CUDA_SUCCESS) {
        free(g);
        return CURAND_STATUS_INITIALIZATION_FAILED;
    }
    *ret_generator = g;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, false);
}

curandStatus_t awcurand_curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type)
{
    return create(generator, type, true);
}

static bool live(curandGenerator_t g)
{
    return g && g->magic == MAGIC;
}

curandStatus_t awcurand_curandDestroyGenerator(curandGenerator_t g)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    source_unref(g->source);
    g->magic = 0;
    free(g);
    return CURAND_STATUS_SUCCESS;
}

/* ---- Settings.  Each begins the sequence anew. */

static void restart(curandGenerator_t g)
{
    source_unref(g->source);
    g->source = NULL;
}

curandStatus_t awcurand_curandSetStream(curandGenerator_t g, cudaStream_t stream)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    g->queue.stream = stream;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, uint64_t seed)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    if (is_sobol(g->type))
        return CURAND_STATUS_TYPE_ERROR;
    g->seed = seed;
    restart(g);
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandSetGeneratorOffset(curandGenerator_t g, uint64_t offset)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    if (g->type == CURAND_RNG_PSEUDO_MT19937 || g->type == CURAND_RNG_PSEUDO_MTGP32)
        return CURAND_STATUS_TYPE_ERROR; /* nobody skips in these */
    g->offset = offset;
    restart(g);
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandSetGeneratorOrdering(curandGenerator_t g, curandOrdering_t ordering)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    bool quasi = ordering == CURAND_ORDERING_QUASI_DEFAULT, own = ordering == CURAND_ORDERING_PSEUDO_DYNAMIC;
    bool known = ordering == CURAND_ORDERING_PSEUDO_BEST || ordering == CURAND_ORDERING_PSEUDO_DEFAULT ||
                 ordering == CURAND_ORDERING_PSEUDO_LEGACY || quasi ||
                 (own && !g->on_host && g->type != CURAND_RNG_PSEUDO_MT19937);
    if (ordering == CURAND_ORDERING_PSEUDO_SEEDED)
        aw_say(RAND_SEEDED);
    if (!known || quasi != is_sobol(g->type))
        return CURAND_STATUS_OUT_OF_RANGE;
    g->ordering = ordering;
    restart(g);
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandSetQuasiRandomGeneratorDimensions(curandGenerator_t g, unsigned dimensions)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!is_sobol(g->type))
        return CURAND_STATUS_TYPE_ERROR;
    if (dimensions < 1 || dimensions > aw_rand_sobol_dimensions())
        return CURAND_STATUS_OUT_OF_RANGE;
    g->dimensions = dimensions;
    restart(g);
    return CURAND_STATUS_SUCCESS;
}

/* States are made with the first numbers; here only what they need is checked. */
curandStatus_t awcurand_curandGenerateSeeds(curandGenerator_t g)
{
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!g->source && !(g->source = source_make(g)))
        return CURAND_STATUS_ALLOCATION_FAILED;
    return CURAND_STATUS_SUCCESS;
}

/* ---- Numbers */

struct draw {
    struct aw_lib_job job;
    struct source *source;
    struct aw_rand_wish wish;
    struct aw_rand_poisson *poisson; /* owned, or NULL */
    size_t n;
};

static void run(struct aw_lib_job *job)
{
    struct draw *d = (struct draw *)job;
    struct source *s = d->source;
    void *out = job->spans[0].at;
    pthread_mutex_lock(&s->lock);
    if (s->engine && !s->state.made)
        s->state.made = s->engine->make(&s->state);
    if (!s->engine) {
        aw_rand_fill_sobol(&s->sobol, s->state.offset, &d->wish, d->n / s->sobol.dimensions, out);
        s->state.offset += d->n / s->sobol.dimensions;
    } else if (s->state.made) {
        aw_rand_fill(s->engine, &s->state, &d->wish, d->n, out);
    } else {
        free(s->state.states);
        s->state.states = NULL;
        job->status = CURAND_STATUS_ALLOCATION_FAILED;
        aw_say(RAND_MEMORY);
    }
    pthread_mutex_unlock(&s->lock);
}

static void forget(struct aw_lib_job *job)
{
    struct draw *d = (struct draw *)job;
    source_unref(d->source);
    free(d->poisson);
}

static curandStatus_t check(curandGenerator_t g, const void *out, size_t n, const struct aw_rand_wish *wish)
{
    bool quasi = live(g) && is_sobol(g->type), normal = wish->kind == AW_RAND_NORMAL || wish->kind == AW_RAND_LOG_NORMAL;
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    if (wish->kind == AW_RAND_BITS && wish->wide != is_wide(g->type))
        return CURAND_STATUS_TYPE_ERROR;
    if ((quasi && n % g->dimensions) || (!quasi && normal && n % 2))
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (n > (size_t)1 << 48 || (n && !out))
        return CURAND_STATUS_OUT_OF_RANGE;
    return quasi && !(is_wide(g->type) ? (const void *)aw_rand_sobol_vectors64(is_scrambled(g->type), NULL)
                                       : aw_rand_sobol_vectors32(is_scrambled(g->type), NULL))
               ? CURAND_STATUS_ALLOCATION_FAILED
               : CURAND_STATUS_SUCCESS;
}

/* `poisson`, where the wish is discrete, is taken over. */
static curandStatus_t generate(curandGenerator_t g, void *out, size_t n, struct aw_rand_wish wish,
                               struct aw_rand_poisson *poisson)
{
    enum { SMALL = 2048 };
    int status = 0;
    wish.discrete = poisson ? &poisson->m2 : NULL;
    curandStatus_t checked = check(g, out, n, &wish);
    if (checked == CURAND_STATUS_SUCCESS && n)
        checked = awcurand_curandGenerateSeeds(g);
    if (checked != CURAND_STATUS_SUCCESS || n == 0) {
        free(poisson);
        return checked;
    }
    size_t bytes = n * aw_rand_size(&wish);
    struct draw d = {
        .job = { .run = run, .forget = forget, .size = sizeof d, .n_spans = 1 }, .wish = wish, .poisson = poisson, .n = n
    };
    d.job.spans[0] = (struct aw_lib_span){ out, bytes, 1, bytes, 1, 0, AW_LIB_OUT };
    d.source = g->source;
    __atomic_add_fetch(&d.source->refs, 1, __ATOMIC_RELAXED);
    if (g->on_host) {
        run(&d.job);
        forget(&d.job);
        return (curandStatus_t)d.job.status;
    }
    CUresult result = aw_lib_submit(&g->queue, &d.job, n <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &status);
    if (result != CUDA_SUCCESS)
        return result == AW_LIB_NO_MEMORY ? CURAND_STATUS_ALLOCATION_FAILED : CURAND_STATUS_LAUNCH_FAILURE;
    return (curandStatus_t)status;
}

curandStatus_t awcurand_curandGenerate(curandGenerator_t g, unsigned *out, size_t n)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_BITS, false }, NULL);
}

curandStatus_t awcurand_curandGenerateLongLong(curandGenerator_t g, uint64_t *out, size_t n)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_BITS, true }, NULL);
}

curandStatus_t awcurand_curandGenerateUniform(curandGenerator_t g, float *out, size_t n)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_UNIFORM, false }, NULL);
}

curandStatus_t awcurand_curandGenerateUniformDouble(curandGenerator_t g, double *out, size_t n)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_UNIFORM, true }, NULL);
}

curandStatus_t awcurand_curandGenerateNormal(curandGenerator_t g, float *out, size_t n, float mean, float stddev)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_NORMAL, false, mean, stddev }, NULL);
}

curandStatus_t awcurand_curandGenerateNormalDouble(curandGenerator_t g, double *out, size_t n, double mean, double stddev)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_NORMAL, true, mean, stddev }, NULL);
}

curandStatus_t awcurand_curandGenerateLogNormal(curandGenerator_t g, float *out, size_t n, float mean, float stddev)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_LOG_NORMAL, false, mean, stddev }, NULL);
}

curandStatus_t awcurand_curandGenerateLogNormalDouble(curandGenerator_t g, double *out, size_t n, double mean, double stddev)
{
    return generate(g, out, n, (struct aw_rand_wish){ AW_RAND_LOG_NORMAL, true, mean, stddev }, NULL);
}

curandStatus_t awcurand_curandGeneratePoisson(curandGenerator_t g, unsigned *out, size_t n, double lambda)
{
    struct aw_rand_poisson *poisson;
    size_t size;
    if (!live(g))
        return CURAND_STATUS_NOT_INITIALIZED;
    curandStatus_t status = aw_rand_poisson_make(lambda, &poisson, &size);
    return status == CURAND_STATUS_SUCCESS ? generate(g, out, n, (struct aw_rand_wish){ AW_RAND_DISCRETE, false }, poisson)
                                           : status;
}

/* The methods differ in speed alone. */
curandStatus_t awcurand_curandGeneratePoissonMethod(curandGenerator_t g, unsigned *out, size_t n, double lambda,
                                                    curandMethod_t method)
{
    return (unsigned)method <= CURAND_POISSON ? awcurand_curandGeneratePoisson(g, out, n, lambda) : CURAND_STATUS_OUT_OF_RANGE;
}

/* ---- Tables and version */

static bool table_said(bool is_scrambled_set)
{
    if (!aw_rand_sobol_dimensions())
        aw_say(RAND_DIRECTIONS);
    else if (is_scrambled_set)
        aw_say(RAND_SCRAMBLED);
    return aw_rand_sobol_dimensions() != 0;
}

curandStatus_t awcurand_curandGetDirectionVectors32(curandDirectionVectors32_t **ret_vectors, curandDirectionVectorSet_t set)
{
    bool scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6;
    if (!ret_vectors || (!scrambled && set != CURAND_DIRECTION_VECTORS_32_JOEKUO6) || !table_said(scrambled))
        return CURAND_STATUS_OUT_OF_RANGE;
    const uint32_t *v = aw_rand_sobol_vectors32(scrambled, NULL);
    if (v)
        *ret_vectors = (curandDirectionVectors32_t *)(uintptr_t)v;
    return v ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

curandStatus_t awcurand_curandGetDirectionVectors64(curandDirectionVectors64_t **ret_vectors, curandDirectionVectorSet_t set)
{
    bool scrambled = set == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6;
    if (!ret_vectors || (!scrambled && set != CURAND_DIRECTION_VECTORS_64_JOEKUO6) || !table_said(scrambled))
        return CURAND_STATUS_OUT_OF_RANGE;
    const uint64_t *v = aw_rand_sobol_vectors64(scrambled, NULL);
    if (v)
        *ret_vectors = (curandDirectionVectors64_t *)(uintptr_t)v;
    return v ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

curandStatus_t awcurand_curandGetScrambleConstants32(unsigned **ret_constants)
{
    const uint32_t *constants = NULL;
    if (!ret_constants || !table_said(true))
        return CURAND_STATUS_OUT_OF_RANGE;
    if (!aw_rand_sobol_vectors32(true, &constants))
        return CURAND_STATUS_ALLOCATION_FAILED;
    *ret_constants = (unsigned *)(uintptr_t)constants;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandGetScrambleConstants64(uint64_t **ret_constants)
{
    const uint64_t *constants = NULL;
    if (!ret_constants || !table_said(true))
        return CURAND_STATUS_OUT_OF_RANGE;
    if (!aw_rand_sobol_vectors64(true, &constants))
        return CURAND_STATUS_ALLOCATION_FAILED;
    *ret_constants = (uint64_t *)(uintptr_t)constants;
    return CURAND_STATUS_SUCCESS;
}

/* Of CUDA 13.0's: one library serves all versions of CUDA. */
curandStatus_t awcurand_curandGetVersion(int *version)
{
    if (!version)
        return CURAND_STATUS_OUT_OF_RANGE;
    *version = 10400;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandGetProperty(libraryPropertyType type, int *value)
{
    if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)
        return CURAND_STATUS_OUT_OF_RANGE;
    *value = type == MAJOR_VERSION ? 10 : type == MINOR_VERSION ? 4 : 0;
    return CURAND_STATUS_SUCCESS;
}
