/* The device, through the CUDA driver API and nothing else: whatever libcuda.so.1 the loader finds.  Also tests/matrix's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int size, int device);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(uint64_t *address, size_t size);
    int (*release)(uint64_t address);
    int (*write)(uint64_t to, const void *from, size_t size);
    int (*read)(void *to, uint64_t from, size_t size);
    int (*load)(void **module, const void *image, unsigned n, int *options, void **values);
    int (*unload)(void *module);
    int (*function)(void **function, void *module, const char *name);
    int (*global)(uint64_t *address, size_t *size, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **params, void **extra);
    int (*synchronize)(void);
    int (*error_name)(int error, const char **name);
} cuda;

static bool bind(void)
{
    static const struct {
        const char *name;
        void **to;
    } functions[] = {
        { "cuInit", (void **)&cuda.init },                        { "cuDeviceGet", (void **)&cuda.device_get },
        { "cuDeviceGetName", (void **)&cuda.device_name },        { "cuDevicePrimaryCtxRetain", (void **)&cuda.retain },
        { "cuCtxSetCurrent", (void **)&cuda.set_current },        { "cuMemAlloc_v2", (void **)&cuda.alloc },
        { "cuMemFree_v2", (void **)&cuda.release },
        { "cuMemcpyHtoD_v2", (void **)&cuda.write },              { "cuMemcpyDtoH_v2", (void **)&cuda.read },
        { "cuModuleLoadDataEx", (void **)&cuda.load },            { "cuModuleUnload", (void **)&cuda.unload },
        { "cuModuleGetFunction", (void **)&cuda.function },       { "cuModuleGetGlobal_v2", (void **)&cuda.global },
        { "cuLaunchKernel", (void **)&cuda.launch },              { "cuCtxSynchronize", (void **)&cuda.synchronize },
        { "cuGetErrorName", (void **)&cuda.error_name },
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library) {
        printf("device: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *functions[i].to = dlsym(library, functions[i].name);
        if (!*functions[i].to) {
            printf("device: libcuda.so.1 has no %s\n", functions[i].name);
            return false;
        }
    }
    return true;
}

bool oracle_device_open(char *name, size_t size)
{
    void *context;
    int device, error;

    if (!bind())
        return false;
    if ((error = cuda.init(0)) || (error = cuda.device_get(&device, 0)) || (error = cuda.device_name(name, (int)size, device)) ||
        (error = cuda.retain(&context, device)) || (error = cuda.set_current(context))) {
        printf("device: no device: %s\n", oracle_device_error(error));
        return false;
    }
    return true;
}

static bool ok(int error, const char *what)
{
    if (error)
        printf("device: %s: %s\n", what, oracle_device_error(error));
    return error == 0;
}

bool oracle_device_alloc(uint64_t *ret, size_t size)
{
    return ok(cuda.alloc(ret, size), "cuMemAlloc");
}

void oracle_device_free(uint64_t address)
{
    cuda.release(address);
}

bool oracle_device_write(uint64_t to, const void *from, size_t size)
{
    return ok(cuda.write(to, from, size), "cuMemcpyHtoD");
}

bool oracle_device_read(void *to, uint64_t from, size_t size)
{
    return ok(cuda.read(to, from, size), "cuMemcpyDtoH");
}

/* ---- Kernels as machine code: NVIDIA's assembler makes it of the text. */

static unsigned lift_arch, lift_isa;
static const char *assembler, *lifter;
static AW_VEC(uint32_t) refused; /* lines of the last text */

void oracle_device_lift(unsigned arch, const char *ptxas, unsigned isa)
{
    lift_arch = arch;
    assembler = ptxas;
    lift_isa = isa;
}

void oracle_device_lift_again(const char *anywarp)
{
    lifter = anywarp;
}

bool oracle_device_refuses(uint32_t line)
{
    for (size_t i = 0; i < refused.n; i++)
        if (refused.at[i] == line)
            return true;
    return false;
}

/* The text with another .target, and a .version that the assembler knows, in a file; false when that cannot be written. */
static bool write_for(FILE *f, const char *text)
{
    const char *target = strstr(text, ".target sm_");
    unsigned major, minor;
    if (!target || sscanf(text, ".version %u.%u", &major, &minor) != 2)
        return false;
    unsigned isa = 10 * major + minor;
    isa = lift_isa && lift_isa < isa ? lift_isa : isa;
    fprintf(f, ".version %u.%u\n.target sm_%u%s", isa / 10, isa % 10, lift_arch, strchr(target, '\n'));
    return fclose(f) == 0;
}

/* Notes the lines that it names in errors. */
static bool run_assembler(const char *command)
{
    char said[1024];
    FILE *f = popen(command, "r");
    refused.n = 0;
    while (f && fgets(said, sizeof said, f)) {
        const char *at = strstr(said, ", line "), *error = at ? strstr(at, "; error") : NULL;
        if (error && !aw_vec_push(&refused, (uint32_t)strtoul(at + strlen(", line "), NULL, 10)))
            break;
    }
    return f && pclose(f) == 0;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);
        bytes = malloc((size_t)size + 1);
        rewind(f);
        if (bytes && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (f)
        fclose(f);
    return bytes;
}

/* The cubin `to` is made again of what its kernel is lifted to; one that cannot be lifted stays, and is refused when it is
 * loaded.
 * False: the assembler does not take that text. */
static bool assemble_again(const char *name, const char *from, const char *to)
{
    char command[4096];
    if (!lifter)
        return true;
    snprintf(command, sizeof command, "'%s' dump --ptx %s %s >%s 2>/dev/null", lifter, name, to, from);
    if (system(command) != 0)
        return true;
    snprintf(command, sizeof command, "'%s' -arch=sm_%u %s -o %s 2>&1", assembler, lift_arch, from, to);
    return run_assembler(command);
}

/* A cubin, to be freed; NULL where the assembler takes no such text for that architecture, or (*ret_again) what was lifted from
 * its own code. */
static char *assemble(const char *text, const char *name, bool *ret_again)
{
    char from[] = "/tmp/oracle-XXXXXX", to[sizeof from + 8], command[4096];
    int fd = mkstemp(from);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    char *cubin = NULL;
    snprintf(to, sizeof to, "%s.cubin", from);
    snprintf(command, sizeof command, "'%s' -arch=sm_%u %s -o %s 2>&1", assembler, lift_arch, from, to);
    bool made = f && write_for(f, text) && run_assembler(command);
    *ret_again = made && !assemble_again(name, from, to);
    if (made && !*ret_again)
        cubin = read_all(to);
    unlink(from);
    unlink(to);
    return cubin;
}

void *oracle_device_load(const char *text, const char *name, void **ret_kernel, char *why, size_t size)
{
    enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 }; /* CU_JIT_ERROR_LOG_BUFFER and its size in bytes */
    int options[] = { ERROR_LOG, ERROR_LOG_SIZE };
    void *values[] = { why, (void *)(uintptr_t)size }, *module;
    bool again = false;
    char *cubin = lift_arch ? assemble(text, name, &again) : NULL;

    if (lift_arch && !cubin) {
        snprintf(why, size, again ? "ptxas does not take what was lifted" : ORACLE_NOT_ASSEMBLED);
        return NULL;
    }
    why[0] = 0;
    int error = cuda.load(&module, cubin ? cubin : text, 2, options, values);
    free(cubin);
    if (error) {
        if (!why[0])
            snprintf(why, size, "%s", oracle_device_error(error));
        return NULL;
    }
    error = cuda.function(ret_kernel, module, name);
    if (error) {
        snprintf(why, size, "%s", oracle_device_error(error));
        cuda.unload(module);
        return NULL;
    }
    return module;
}

bool oracle_device_symbol(void *module, const char *name, uint64_t *ret_address)
{
    size_t size;
    return cuda.global(ret_address, &size, module, name) == 0;
}

void oracle_device_unload(void *module)
{
    cuda.unload(module);
}

int oracle_device_launch(void *kernel, unsigned blocks, unsigned threads, void **params)
{
    int error = cuda.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
    return error ? error : cuda.synchronize();
}

const char *oracle_device_error(int error)
{
    const char *name = "unknown error";
    if (cuda.error_name)
        cuda.error_name(error, &name);
    return name;
}
