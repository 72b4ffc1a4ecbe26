/* Two processes share a device's memory and an event, through the driver API.  Driven by tests/e2e/amd.py for cards and by
 * tests/e2e/ipc.py for the host device.
 *
 * The parent makes both and lets a kernel write; the child, a program of its own, waits for the event, reads what the kernel
 * wrote, adds to it with its own kernel, and records the event again, which the parent waits for.  usage: ipc FILE-OF-PTX
 * [memory]; with "memory" the event is left out.  Prints "shared" when all went well, else the lines that failed; 1 then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ipc_handle {
    char bytes[64];
};

extern int cuInit(unsigned flags);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuCtxSetCurrent(void *context);
extern int cuModuleLoadData(void **module, const void *image);
extern int cuModuleGetFunction(void **function, void *module, const char *name);
extern int cuMemAlloc_v2(uint64_t *ptr, size_t size);
extern int cuMemFree_v2(uint64_t ptr);
extern int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t size);
extern int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t size);
extern int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuStreamCreate(void **stream, unsigned flags);
extern int cuStreamSynchronize(void *stream);
extern int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
extern int cuEventCreate(void **event, unsigned flags);
extern int cuEventRecord(void *event, void *stream);
extern int cuEventQuery(void *event);
extern int cuEventSynchronize(void *event);
extern int cuEventDestroy_v2(void *event);
extern int cuIpcGetMemHandle(struct ipc_handle *handle, uint64_t ptr);
extern int cuIpcOpenMemHandle_v2(uint64_t *ptr, struct ipc_handle handle, unsigned flags);
extern int cuIpcCloseMemHandle(uint64_t ptr);
extern int cuIpcGetEventHandle(struct ipc_handle *handle, void *event);
extern int cuIpcOpenEventHandle(void **event, struct ipc_handle handle);
extern int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t ptr);

/* LAUNCHES take long enough for the other process to come too early if it does not wait. */
enum { N = 70000, BLOCK = 256, LAUNCHES = 50, EVENT_NO_TIMING = 2, EVENT_INTERPROCESS = 4, LAZY_PEER = 1 };

static int failures;
static const char *who = "parent";
static void *add, *context;
static uint32_t values[N];

#define EQ(a, b) check(__LINE__, #a " == " #b, (long long)(a), (long long)(b))

static void check(int line, const char *text, long long a, long long b)
{
    if (a == b)
        return;
    failures++;
    printf("%s, line %d: %s: %lld against %lld\n", who, line, text, a, b);
}

static void begin(const char *ptx)
{
    static char text[1 << 16];
    void *module;
    FILE *f = fopen(ptx, "rb");
    if (!f || !fread(text, 1, sizeof text - 1, f))
        exit(2);
    fclose(f);
    EQ(cuInit(0), 0);
    EQ(cuDevicePrimaryCtxRetain(&context, 0), 0);
    EQ(cuCtxSetCurrent(context), 0);
    EQ(cuModuleLoadData(&module, text), 0);
    EQ(cuModuleGetFunction(&add, module, "add"), 0);
    if (failures)
        exit(1);
}

/* p[i] += LAUNCHES * with, for all N. */
static void launch(uint64_t p, uint32_t with, void *stream)
{
    uint32_t n = N;
    void *params[] = { &p, &n, &with };
    for (int i = 0; i < LAUNCHES && !failures; i++)
        EQ(cuLaunchKernel(add, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL), 0);
}

/* How many are not i + with. */
static int wrong(uint64_t p, uint32_t with)
{
    int n = 0;
    EQ(cuMemcpyDtoH_v2(values, p, sizeof values), 0);
    for (uint32_t i = 0; i < N; i++)
        n += values[i] != i + with;
    return n;
}

static void give(int fd, const void *what, size_t size)
{
    if (write(fd, what, size) != (ssize_t)size)
        exit(3);
}

static void take(int fd, void *ret, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t n = read(fd, (char *)ret + got, size - got);
        if (n <= 0)
            exit(3);
        got += (size_t)n;
    }
}

enum { SMALL = 100, SMALL_SALT = 17 };

struct offer {
    struct ipc_handle memory, small, event;
    int has_event;
};

/* Memory of a few bytes, which others may lie beside. */
static void check_small(struct ipc_handle handle)
{
    unsigned char bytes[SMALL];
    uint64_t p = 0;
    int n = 0;
    EQ(cuIpcOpenMemHandle_v2(&p, handle, LAZY_PEER), 0);
    if (failures)
        return;
    EQ(cuMemcpyDtoH_v2(bytes, p, SMALL), 0);
    for (int i = 0; i < SMALL; i++)
        n += bytes[i] != (unsigned char)(i + SMALL_SALT);
    EQ(n, 0);
    EQ(cuIpcCloseMemHandle(p), 0);
}

/* A handle of memory that another thread writes to meanwhile: nothing of it is lost. */
enum { CHUNK = 1024, CHUNKS = 2048 };
static void *write_chunks(void *arg)
{
    static uint32_t chunk[CHUNK];
    const uint64_t *p = arg;
    EQ(cuCtxSetCurrent(context), 0);
    for (uint32_t c = 0; c < CHUNKS; c++) {
        for (uint32_t i = 0; i < CHUNK; i++)
            chunk[i] = c * CHUNK + i + 1;
        EQ(cuMemcpyHtoD_v2(*p + (uint64_t)c * sizeof chunk, chunk, sizeof chunk), 0);
    }
    return NULL;
}

static void written_meanwhile(void)
{
    static uint32_t all[CHUNK * CHUNKS];
    struct ipc_handle handle;
    uint64_t p;
    pthread_t thread;
    int lost = 0;
    EQ(cuMemAlloc_v2(&p, sizeof all), 0);
    EQ(cuMemcpyHtoD_v2(p, all, sizeof all), 0);
    EQ(pthread_create(&thread, NULL, write_chunks, &p), 0);
    usleep(1000);
    EQ(cuIpcGetMemHandle(&handle, p), 0);
    EQ(pthread_join(thread, NULL), 0);
    EQ(cuMemcpyDtoH_v2(all, p, sizeof all), 0);
    for (uint32_t i = 0; i < CHUNK * CHUNKS; i++)
        lost += all[i] != i + 1;
    EQ(lost, 0);
    EQ(cuMemFree_v2(p), 0);
}

static int child(const char *ptx, int in, int out)
{
    struct offer offer;
    uint64_t p = 0, base = 0, again;
    size_t size = 0;
    void *event = NULL, *stream;
    char word = 'd';
    who = "child";
    begin(ptx);
    EQ(cuStreamCreate(&stream, 1), 0);
    give(out, &word, 1);
    take(in, &offer, sizeof offer);
    EQ(cuIpcOpenMemHandle_v2(&p, offer.memory, LAZY_PEER), 0);
    check_small(offer.small);
    if (offer.has_event) {
        EQ(cuIpcOpenEventHandle(&event, offer.event), 0);
        EQ(cuStreamWaitEvent(stream, event, 0), 0);
        EQ(cuStreamSynchronize(stream), 0);
    }
    if (failures)
        return 1;
    EQ(cuMemGetAddressRange_v2(&base, &size, p + 100), 0);
    EQ(base, p);
    EQ(size >= sizeof values, 1);
    EQ(wrong(p, LAUNCHES * 20), 0);
    launch(p, 5, stream);
    if (offer.has_event) {
        EQ(cuEventRecord(event, stream), 0);
        give(out, &word, 1); /* the parent waits for the event while the kernel runs */
        EQ(cuEventSynchronize(event), 0);
    }
    EQ(cuStreamSynchronize(stream), 0);
    EQ(cuIpcGetMemHandle(&offer.memory, p), 1); /* only its owner gives it on */
    EQ(cuMemFree_v2(p), 1);
    EQ(cuIpcCloseMemHandle(p), 0);
    EQ(cuIpcCloseMemHandle(p), 1);
    EQ(cuMemcpyDtoH_v2(values, p, 4) != 0, 1);
    if (event)
        EQ(cuEventDestroy_v2(event), 0);
    memset(&offer.memory, 0x5a, sizeof offer.memory);
    EQ(cuIpcOpenMemHandle_v2(&again, offer.memory, LAZY_PEER) != 0, 1);
    give(out, &word, 1);
    return failures != 0;
}

static pid_t start(const char *self, const char *ptx, int *ret_in, int *ret_out)
{
    int there[2], back[2];
    char a[16], b[16];
    if (pipe(there) || pipe(back))
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        snprintf(a, sizeof a, "%d", there[0]);
        snprintf(b, sizeof b, "%d", back[1]);
        close(there[1]);
        close(back[0]);
        execl(self, self, ptx, "child", a, b, (char *)NULL);
        _exit(2);
    }
    close(there[0]);
    close(back[1]);
    *ret_in = back[0];
    *ret_out = there[1];
    return pid;
}

static int parent(const char *self, const char *ptx, int with_event)
{
    struct offer offer = { .has_event = with_event };
    int in, out, status = -1;
    uint64_t first, small, p;
    unsigned char bytes[SMALL];
    void *event = NULL, *plain, *stream;
    char word = 0;
    for (int i = 0; i < SMALL; i++)
        bytes[i] = (unsigned char)(i + SMALL_SALT);
    pid_t pid = start(self, ptx, &in, &out);
    begin(ptx);
    for (uint32_t i = 0; i < N; i++)
        values[i] = i;
    EQ(cuMemAlloc_v2(&first, 4096), 0);
    EQ(cuMemAlloc_v2(&small, SMALL), 0);
    EQ(cuMemcpyHtoD_v2(small, bytes, SMALL), 0);
    EQ(cuMemAlloc_v2(&p, sizeof values), 0);
    EQ(cuMemcpyHtoD_v2(p, values, sizeof values), 0);
    EQ(cuStreamCreate(&stream, 1), 0);
    EQ(cuEventCreate(&plain, EVENT_NO_TIMING), 0);
    static const struct ipc_handle zeros;
    memset(&offer.event, 1, sizeof offer.event);
    EQ(cuIpcGetEventHandle(&offer.event, plain), 1); /* it was not made for that */
    EQ(memcmp(&offer.event, &zeros, sizeof zeros), 0);
    EQ(cuIpcGetMemHandle(&offer.memory, p), 0);
    EQ(cuIpcGetMemHandle(&offer.small, small), 0);
    if (with_event) {
        EQ(cuEventCreate(&event, EVENT_NO_TIMING | EVENT_INTERPROCESS), 0);
        EQ(cuIpcGetEventHandle(&offer.event, event), 0);
    }
    take(in, &word, 1);
    launch(p, 20, stream);
    if (event)
        EQ(cuEventRecord(event, stream), 0);
    else
        EQ(cuStreamSynchronize(stream), 0);
    if (failures)
        return 1;
    give(out, &offer, sizeof offer);
    take(in, &word, 1);
    if (event) {
        EQ(cuEventSynchronize(event), 0);
        EQ(cuEventQuery(event), 0);
    }
    EQ(wrong(p, LAUNCHES * 25), 0);
    if (event)
        take(in, &word, 1);
    EQ(waitpid(pid, &status, 0), pid);
    EQ(status, 0);
    EQ(wrong(p, LAUNCHES * 25), 0); /* the child's end took nothing away */
    EQ(cuMemFree_v2(p), 0);
    EQ(cuMemFree_v2(small), 0);
    EQ(cuMemFree_v2(first), 0);
    written_meanwhile();
    if (event)
        EQ(cuEventDestroy_v2(event), 0);
    return failures != 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    alarm(60); /* a hang is a failure, too */
    if (argc == 5)
        return child(argv[1], atoi(argv[3]), atoi(argv[4]));
    if (argc < 2)
        return 2;
    int failed = parent(argv[0], argv[1], argc < 3);
    if (!failed)
        puts("shared");
    return failed;
}
