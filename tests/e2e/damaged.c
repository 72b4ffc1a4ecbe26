/* Runs damaged programs: each file named is loaded, some of its kernels launched with sound pointers, in a child of its own,
 * which ends by itself within the time given or is ended by its exit.  Says for each file what became of it:
 *
 *   damaged SECONDS FILE...      "FILE refused | ran | faulted | endless | DIED signal | HUNG"
 *
 * "endless": the work had not ended after SECONDS, and the program's exit ended it.  tests/e2e/damaged.py makes the files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int cuInit(unsigned flags);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuCtxSetCurrent(void *context);
extern int cuModuleLoadData(void **module, const void *image);
extern int cuModuleGetFunctionCount(unsigned *count, void *module);
extern int cuModuleEnumerateFunctions(void **functions, unsigned n, void *module);
extern int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size);
extern int cuMemAlloc_v2(uint64_t *ptr, size_t size);
extern int cuMemsetD8_v2(uint64_t ptr, unsigned char value, size_t n);
extern int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuStreamQuery(void *stream);

enum { BUFFER = 1 << 20, MOST_KERNELS = 64, LAUNCHED = 4, MOST_PARAMS = 64, NOT_READY = 600 };
enum { RAN, REFUSED, FAULTED, ENDLESS, STARTED_BADLY };

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 20);
    if (!f || !bytes || (fread(bytes, 1, (1 << 20) - 1, f) == 0 && ferror(f))) {
        perror(path);
        _exit(STARTED_BADLY);
    }
    fclose(f);
    return bytes;
}

/* Every parameter of 8 bytes or more is a pointer, or several; smaller ones are a small number. */
static int launch(void *function, uint64_t buffer)
{
    static uint64_t values[MOST_PARAMS][16];
    void *params[MOST_PARAMS];
    size_t offset, size = 0, n = 0;
    for (; n < MOST_PARAMS && cuFuncGetParamInfo(function, n, &offset, &size) == 0; n++) {
        if (size > sizeof values[n])
            return -1;
        for (size_t i = 0; i < 16; i++)
            values[n][i] = size < 8 ? 3 : buffer + 4096 * n;
        params[n] = values[n];
    }
    return cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int child(const char *path, double seconds)
{
    void *context, *module, *functions[MOST_KERNELS];
    unsigned n = 0;
    uint64_t buffer;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc_v2(&buffer, BUFFER) ||
        cuMemsetD8_v2(buffer, 0, BUFFER))
        return STARTED_BADLY;
    const char *text = read_file(path);
    if (cuModuleLoadData(&module, text) || cuModuleGetFunctionCount(&n, module))
        return REFUSED;
    n = n < MOST_KERNELS ? n : MOST_KERNELS;
    if (cuModuleEnumerateFunctions(functions, n, module))
        return REFUSED;
    int ended = REFUSED;
    for (unsigned i = n > LAUNCHED ? (unsigned)strlen(text) % (n - LAUNCHED) : 0, end = i + LAUNCHED; i < n && i < end; i++) {
        if (launch(functions[i], buffer))
            continue;
        int state;
        for (double begin = now(); (state = cuStreamQuery(NULL)) == NOT_READY;) {
            if (now() - begin > seconds)
                return ENDLESS;
            usleep(200);
        }
        if (state)
            return FAULTED; /* as on a card, the context has ended with it */
        ended = RAN;
    }
    return ended;
}

int main(int argc, char **argv)
{
    static const char *const words[] = { "ran", "refused", "faulted", "endless", "STARTED BADLY" };
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 2; i < argc; i++) {
        pid_t pid = fork();
        if (pid == 0)
            exit(child(argv[i], atof(argv[1])));
        int status = 0;
        double begin = now();
        while (waitpid(pid, &status, WNOHANG) == 0) {
            if (now() - begin > atof(argv[1]) + 120) {
                printf("%s HUNG\n", argv[i]);
                kill(pid, SIGKILL);
                waitpid(pid, &status, 0);
                begin = -1;
                break;
            }
            usleep(500);
        }
        if (begin < 0)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) <= STARTED_BADLY)
            printf("%s %s\n", argv[i], words[WEXITSTATUS(status)]);
        else
            printf("%s DIED %d\n", argv[i], status);
    }
    return 0;
}
