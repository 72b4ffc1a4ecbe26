/* A driver-API program for the end-to-end tests of broken input: it loads what it is given, says what came back, and then proves
 * that it still lives by running a good kernel.  Not a unit test: tests/e2e/broken.py drives it.
 *
 *   client files FILE...     cuModuleLoad of each; prints "FILE RESULT" and the first line of no log
 *   client data FILE...      cuModuleLoadDataEx of each file's bytes, with a log buffer: "RESULT | first line of the log"
 *   client kernel FILE NAME  loads FILE and launches NAME with no arguments: "RESULT"
 * Every mode ends with "alive" when the good kernel gave its result. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int cuInit(unsigned flags);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuCtxSetCurrent(void *context);
extern int cuModuleLoad(void **module, const char *path);
extern int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values);
extern int cuModuleUnload(void *module);
extern int cuModuleGetFunction(void **function, void *module, const char *name);
extern int cuMemAlloc_v2(uint64_t *ptr, size_t size);
extern int cuMemFree_v2(uint64_t ptr);
extern int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t size);
extern int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuCtxSynchronize(void);
extern int cuGetErrorName(int error, const char **name);

static const char good[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry good(.param .u64 p)\n{\n .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    " ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mul.wide.u32 %rd2, %r1, 4;\n add.s64 %rd2, %rd1, %rd2;\n"
    " add.u32 %r2, %r1, 41;\n st.global.u32 [%rd2], %r2;\n ret;\n}\n";

static const char *name_of(int error)
{
    const char *name = NULL;

    return cuGetErrorName(error, &name) == 0 && name ? name : "?";
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    long size;

    if (f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
        (bytes = calloc(1, (size_t)size + 1)) != NULL && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    if (!bytes) {
        perror(path);
        exit(2);
    }
    return bytes;
}

static int load_data(const void *image, void **module, char *log, size_t size)
{
    int options[] = { 5, 6 }; /* error log buffer and its size in bytes */
    void *values[] = { log, (void *)size };

    log[0] = 0;
    int error = cuModuleLoadDataEx(module, image, 2, options, values);
    log[strcspn(log, "\n")] = 0;
    return error;
}

static int good_kernel(void)
{
    void *module, *function;
    uint32_t got[33];
    uint64_t out;
    char log[512];
    int error = load_data(good, &module, log, sizeof log);

    if (!error)
        error = cuModuleGetFunction(&function, module, "good");
    if (!error)
        error = cuMemAlloc_v2(&out, sizeof got);
    if (!error) {
        void *params[] = { &out };
        error = cuLaunchKernel(function, 1, 1, 1, 33, 1, 1, 0, NULL, params, NULL);
    }
    if (!error)
        error = cuMemcpyDtoH_v2(got, out, sizeof got);
    for (uint32_t i = 0; !error && i < 33; i++)
        error = got[i] == 41 + i ? 0 : -1;
    if (!error)
        error = cuMemFree_v2(out) || cuModuleUnload(module);
    if (error)
        printf("good kernel failed: %d %s %s\n", error, name_of(error), log);
    return error;
}

int main(int argc, char **argv)
{
    void *context, *module, *function;
    char log[4096];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (!strcmp(argv[1], "kernel") && argc == 4) {
        char *bytes = read_file(argv[2]);
        int error = load_data(bytes, &module, log, sizeof log);
        if (!error)
            error = cuModuleGetFunction(&function, module, argv[3]);
        if (!error)
            error = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
        if (!error)
            error = cuCtxSynchronize();
        printf("%s | %s\n", name_of(error), log);
        free(bytes);
    }
    for (int i = 2; i < argc && (!strcmp(argv[1], "files") || !strcmp(argv[1], "data")); i++) {
        log[0] = 0;
        module = NULL;
        int error;
        if (!strcmp(argv[1], "files")) {
            error = cuModuleLoad(&module, argv[i]);
        } else {
            char *bytes = read_file(argv[i]);
            error = load_data(bytes, &module, log, sizeof log);
            free(bytes);
        }
        printf("%s | %s\n", name_of(error), log);
        if (!error)
            cuModuleUnload(module);
    }
    if (good_kernel())
        return 1;
    puts("alive");
    return 0;
}
