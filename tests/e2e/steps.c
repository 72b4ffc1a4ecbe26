/* A CUDA program whose arguments are what it does, for the tests of what a program sees when something is wrong: it prints each
 * step's result and goes on, whatever that was.  Not a unit test: tests/e2e/amd.py drives it.
 *
 *   init                  cuInit, and the primary context of device 0
 *   name                  prints the device's name
 *   load=FILE             cuModuleLoadData of the file's bytes
 *   launch=NAME[:ADDRESS] one block of one thread; its only argument is the address, else 4 bytes of memory
 *   sync  free            cuCtxSynchronize, cuMemFree of that memory
 *   read                  the 4 bytes, as a number
 *   reset                 cuDevicePrimaryCtxReset
 *   values                a stream waits for a value, and writes one once it is there; -1 when it did not wait
 *   malloc=BYTES          the runtime's cudaMalloc (and cudaFree)
 *   last                  the runtime's cudaGetLastError
 *   rtsync                the runtime's cudaDeviceSynchronize
 *   exit=N                ends with this status; else with 0 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int cuInit(unsigned flags);
extern int cuDeviceGetName(char *name, int size, int device);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuDevicePrimaryCtxReset_v2(int device);
extern int cuCtxSetCurrent(void *context);
extern int cuModuleLoadData(void **module, const void *image);
extern int cuModuleGetFunction(void **function, void *module, const char *name);
extern int cuMemAlloc_v2(uint64_t *ptr, size_t size);
extern int cuMemFree_v2(uint64_t ptr);
extern int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t size);
extern int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuCtxSynchronize(void);
extern int cuMemHostAlloc(void **ptr, size_t size, unsigned flags);
extern int cuStreamCreate(void **stream, unsigned flags);
extern int cuStreamQuery(void *stream);
extern int cuStreamSynchronize(void *stream);
extern int cuStreamWaitValue32_v2(void *stream, uint64_t ptr, uint32_t value, unsigned flags);
extern int cuStreamWriteValue64_v2(void *stream, uint64_t ptr, uint64_t value, unsigned flags);
extern int cudaMalloc(void **ptr, size_t size);
extern int cudaFree(void *ptr);
extern int cudaGetLastError(void);
extern int cudaDeviceSynchronize(void);

static void *module;
static uint64_t memory;

static int init(void)
{
    void *context;
    int error = cuInit(0);
    if (!error)
        error = cuDevicePrimaryCtxRetain(&context, 0);
    return error ? error : cuCtxSetCurrent(context);
}

static int name(void)
{
    char text[256];
    int error = cuDeviceGetName(text, sizeof text, 0);
    if (!error)
        printf("name: %s\n", text);
    return error;
}

static int load(const char *path)
{
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes - 1, f) : 0;
    if (f)
        fclose(f);
    bytes[n] = 0;
    return cuModuleLoadData(&module, bytes);
}

static int launch(char *what)
{
    void *function;
    char *colon = strchr(what, ':');
    uint64_t address = colon ? strtoull(colon + 1, NULL, 0) : 0;
    int error = 0;
    if (colon)
        *colon = 0;
    else if (!memory)
        error = cuMemAlloc_v2(&memory, 4);
    if (!colon)
        address = memory;
    if (!error)
        error = cuModuleGetFunction(&function, module, what);
    void *params[] = { &address };
    return error ? error : cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static int read_back(void)
{
    unsigned value = 0;
    int error = cuMemcpyDtoH_v2(&value, memory, sizeof value);
    if (!error)
        printf("value: %u\n", value);
    return error;
}

static int values(void)
{
    enum { NON_BLOCKING = 1, MAPPED = 2, EQ = 1, NOT_READY = 600 };
    void *stream, *host;
    uint64_t result = 0, out;
    int error = cuMemAlloc_v2(&out, sizeof result);
    if (!error)
        error = cuMemHostAlloc(&host, 4, MAPPED);
    if (error)
        return error;
    __atomic_store_n((uint32_t *)host, 0, __ATOMIC_RELEASE);
    error = cuStreamCreate(&stream, NON_BLOCKING);
    if (!error)
        error = cuStreamWaitValue32_v2(stream, (uint64_t)(uintptr_t)host, 3, EQ);
    if (!error)
        error = cuStreamWriteValue64_v2(stream, out, 1ull << 40 | 5, 0);
    if (error || cuStreamQuery(stream) != NOT_READY)
        return error ? error : -1;
    __atomic_store_n((uint32_t *)host, 3, __ATOMIC_RELEASE);
    error = cuStreamSynchronize(stream);
    if (!error)
        error = cuMemcpyDtoH_v2(&result, out, sizeof result);
    return error ? error : result == (1ull << 40 | 5) ? 0 : -1;
}

static int runtime_malloc(const char *bytes)
{
    void *p = NULL;
    int error = cudaMalloc(&p, strtoull(bytes, NULL, 0));
    return error ? error : cudaFree(p);
}

static int step(const char *what, char *with)
{
    static const struct {
        const char *name;
        int (*fn)(void);
    } plain[] = {
        { "init", init }, { "name", name }, { "sync", cuCtxSynchronize }, { "read", read_back }, { "last", cudaGetLastError },
        { "rtsync", cudaDeviceSynchronize },
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(what, plain[i].name))
            return plain[i].fn();
    if (!strcmp(what, "values"))
        return values();
    if (!strcmp(what, "free"))
        return cuMemFree_v2(memory);
    if (!strcmp(what, "reset"))
        return cuDevicePrimaryCtxReset_v2(0);
    if (!strcmp(what, "load") && with)
        return load(with);
    if (!strcmp(what, "launch") && with)
        return launch(with);
    if (!strcmp(what, "malloc") && with)
        return runtime_malloc(with);
    fprintf(stderr, "steps: unknown step %s\n", what);
    exit(99);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        char *with = strchr(argv[i], '=');
        if (with)
            *with++ = 0;
        if (!strcmp(argv[i], "exit") && with)
            return atoi(with);
        printf("%s %d\n", argv[i], step(argv[i], with));
    }
    return 0;
}
