/* AMD's unmodified HIP and ROCr over the simulated thunk: one case per run, named on the command line, with the folder of the
 * kernels' code objects (thunk-<card>.hsaco).  Exit status 0 passed, 1 failed, 77 there is no HIP to test with. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#ifndef HAVE_HIP
int main(void)
{
    puts("built without HIP");
    return 77;
}
#else

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 4096

#define CHECK(call) check((call), #call, __LINE__)
#define EXPECT(condition) do { if (!(condition)) fail(#condition, __LINE__); } while (0)

static const char *folder;

static void fail(const char *what, int line)
{
    fprintf(stderr, "line %d: %s\n", line, what);
    _exit(1);
}

static void check(hipError_t e, const char *what, int line)
{
    if (e != hipSuccess) {
        fprintf(stderr, "line %d: %s gives %d, %s\n", line, what, (int)e, hipGetErrorString(e));
        _exit(1);
    }
}

static hipModule_t load(void)
{
    hipDeviceProp_t prop;
    char path[1024], card[64];
    int device;
    hipModule_t module;
    CHECK(hipGetDevice(&device));
    CHECK(hipGetDeviceProperties(&prop, device));
    snprintf(card, sizeof card, "%.*s", (int)strcspn(prop.gcnArchName, ":"), prop.gcnArchName);
    snprintf(path, sizeof path, "%s/thunk-%s.hsaco", folder, card);
    CHECK(hipModuleLoad(&module, path));
    return module;
}

static hipFunction_t function(hipModule_t module, const char *name)
{
    hipFunction_t f;
    CHECK(hipModuleGetFunction(&f, module, name));
    return f;
}

static void launch(hipFunction_t f, unsigned blocks, unsigned threads, hipStream_t stream, void **args)
{
    CHECK(hipModuleLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, args, NULL));
}

static void *device_memory(size_t size)
{
    void *p;
    CHECK(hipMalloc(&p, size));
    return p;
}

static void expect_line(const int *h, int n)
{
    for (int i = 0; i < n; i++)
        EXPECT(h[i] == 3 * i + 7);
}

/* ---- Cases ---- */

static void vecadd(void)
{
    enum { COUNT = 10007 };
    hipFunction_t f = function(load(), "vecadd");
    float *a = malloc(COUNT * 4), *b = malloc(COUNT * 4), *c = malloc(COUNT * 4);
    void *da = device_memory(COUNT * 4), *db = device_memory(COUNT * 4), *dc = device_memory(COUNT * 4);
    int n = COUNT;
    for (int i = 0; i < COUNT; i++)
        a[i] = (float)i, b[i] = (float)(2 * i) + 0.5f;
    CHECK(hipMemcpy(da, a, COUNT * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b, COUNT * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(dc, 0xff, COUNT * 4));
    launch(f, (COUNT + 255) / 256, 256, NULL, (void *[]){ &da, &db, &dc, &n });
    CHECK(hipMemcpy(c, dc, COUNT * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(c[i] == a[i] + b[i]);
}

static void kernels(void)
{
    hipModule_t m = load();
    static int in[N], out[N];
    void *di = device_memory(sizeof in), *dout = device_memory(sizeof out);
    int n = N, expected = 0;
    for (int i = 0; i < N; i++)
        in[i] = i * 7 - 1000;
    CHECK(hipMemcpy(di, in, sizeof in, hipMemcpyHostToDevice));
    launch(function(m, "sum"), N / 256, 256, NULL, (void *[]){ &di, &dout });
    CHECK(hipMemcpy(out, dout, N / 256 * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        expected += in[i];
    EXPECT(out[0] == expected);

    launch(function(m, "scratch"), N / 64, 64, NULL, (void *[]){ &dout, &n });
    CHECK(hipMemcpy(out, dout, sizeof out, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i += 97) {
        unsigned a[37], s = 0;
        for (unsigned k = 0; k < 37; k++)
            a[k] = k * (unsigned)i;
        for (int k = 0; k < 64; k++) {
            int j = (k * i) % 37;
            a[j] ^= a[(j * 5 + i) % 37] + (unsigned)k;
        }
        for (int k = 0; k < 37; k++)
            s = s * 31 + a[k];
        EXPECT((unsigned)out[i] == s);
    }

    int times = 100, counted;
    CHECK(hipMemset(dout, 0, 4));
    launch(function(m, "count"), 64, 64, NULL, (void *[]){ &dout, &times });
    CHECK(hipMemcpy(&counted, dout, 4, hipMemcpyDeviceToHost));
    EXPECT(counted == 64 * 64 * 100);
}

/* Blocks that wait for each other, in both directions. */
static void waiting(void)
{
    hipModule_t m = load();
    static int out[64 * 64];
    void *flags = device_memory(4096), *arrived = device_memory(4), *dout = device_memory(sizeof out);
    int blocks = 64;
    CHECK(hipMemset(flags, 0, 4096));
    CHECK(hipMemset(arrived, 0, 4));
    launch(function(m, "chain"), 64, 64, NULL, (void *[]){ &flags, &blocks });
    CHECK(hipMemcpy(out, flags, 64 * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(out[i] == 64 - i);
    launch(function(m, "meet"), 64, 64, NULL, (void *[]){ &arrived, &dout, &blocks });
    CHECK(hipMemcpy(out, dout, sizeof out, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64 * 64; i++)
        EXPECT(out[i] == i);
}

static void copies(void)
{
    hipFunction_t f = function(load(), "line");
    size_t big = 24u << 20;
    char *h = malloc(big), *g = malloc(big), *pinned, *managed;
    void *d = device_memory(big), *e = device_memory(big);
    for (size_t i = 0; i < big; i++)
        h[i] = (char)(i * 2654435761u >> 13);
    CHECK(hipMemcpy(d, h, big, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(e, d, big, hipMemcpyDeviceToDevice));
    CHECK(hipMemcpy(g, e, big, hipMemcpyDeviceToHost));
    EXPECT(!memcmp(g, h, big));
    CHECK(hipMemcpy((char *)d + 3, h + 5, 1001, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(g, (char *)d + 3, 1001, hipMemcpyDeviceToHost));
    EXPECT(!memcmp(g, h + 5, 1001));
    CHECK(hipMemcpy2D(g, 300, d, 512, 100, 40, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(h, d, big, hipMemcpyDeviceToHost));
    for (int y = 0; y < 40; y++)
        EXPECT(!memcmp(g + 300 * y, h + 512 * y, 100));
    CHECK(hipMemset((char *)e + 1, 0x5a, 10001));
    CHECK(hipMemcpy(g, e, 10003, hipMemcpyDeviceToHost));
    EXPECT(g[1] == 0x5a && g[10001] == 0x5a && g[0] == 0x12 + (g[0] - 0x12) && g[10002] != 0x5a + 256);
    CHECK(hipMemsetD32(e, 0x12345678, 1000));
    CHECK(hipMemcpy(g, e, 4000, hipMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        EXPECT(((int *)(void *)g)[i] == 0x12345678);

    int n = N;
    void *seen;
    CHECK(hipHostMalloc((void **)&pinned, N * 4, 0));
    CHECK(hipHostGetDevicePointer(&seen, pinned, 0));
    launch(f, N / 64, 64, NULL, (void *[]){ &seen, &n });
    CHECK(hipDeviceSynchronize());
    expect_line((int *)(void *)pinned, N);

    CHECK(hipMallocManaged((void **)&managed, N * 4, hipMemAttachGlobal));
    launch(f, N / 64, 64, NULL, (void *[]){ &managed, &n });
    CHECK(hipDeviceSynchronize());
    expect_line((int *)(void *)managed, N);
    CHECK(hipFree(managed));
    CHECK(hipHostFree(pinned));
    CHECK(hipFree(d));
    CHECK(hipFree(e));
}

static void registered(void)
{
    hipFunction_t f = function(load(), "line");
    int n = N, *memory = malloc(N * 4 + 100), *odd = memory + 5;
    for (int round = 0; round < 3; round++) {
        void *seen;
        memset(memory, 0, N * 4 + 100);
        CHECK(hipHostRegister(odd, N * 4, 0));
        CHECK(hipHostGetDevicePointer(&seen, odd, 0));
        launch(f, N / 64, 64, NULL, (void *[]){ &seen, &n });
        CHECK(hipDeviceSynchronize());
        expect_line(odd, N);
        EXPECT(memory[4] == 0 && odd[N] == 0);
        CHECK(hipHostUnregister(odd));
    }
}

/* More than the card has is refused, and all of it can be had again after a free. */
static void memory(void)
{
    size_t available, total;
    void *p[64];
    int n = 0;
    CHECK(hipMemGetInfo(&available, &total));
    EXPECT(total == 256u << 20); /* ANYWARP_SIM_MEMORY */
    EXPECT(hipMalloc(&p[0], 1ull << 40) == hipErrorOutOfMemory);
    EXPECT(hipMalloc(&p[0], total + 4096) == hipErrorOutOfMemory);
    for (int round = 0; round < 2; round++) {
        n = 0;
        while (n < 64 && hipMalloc(&p[n], 25u << 20) == hipSuccess)
            n++;
        EXPECT(n >= 9 && n <= 10);
        EXPECT(hipMalloc(&p[n], 25u << 20) == hipErrorOutOfMemory);
        while (n)
            CHECK(hipFree(p[--n]));
    }
    CHECK(hipMalloc(&p[0], 230u << 20));
    CHECK(hipMemset((char *)p[0] + (222u << 20), 1, 8u << 20));
    CHECK(hipDeviceSynchronize());
}

static void set_flag(hipStream_t stream, hipError_t status, void *flag)
{
    (void)stream;
    *(volatile int *)flag = status == hipSuccess ? 42 : -1;
}

static void events(void)
{
    hipFunction_t f = function(load(), "line");
    hipStream_t a, b;
    hipEvent_t begin, end;
    int n = N, flag = 0, *host;
    float ms = -1;
    void *d = device_memory(N * 4);
    CHECK(hipStreamCreate(&a));
    CHECK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    CHECK(hipHostMalloc((void **)&host, N * 4, 0));
    for (int round = 0; round < 20; round++) {
        flag = 0;
        CHECK(hipMemsetAsync(d, 0, N * 4, a));
        CHECK(hipEventRecord(begin, a));
        launch(f, N / 64, 64, a, (void *[]){ &d, &n });
        CHECK(hipEventRecord(end, a));
        CHECK(hipStreamAddCallback(a, set_flag, &flag, 0));
        CHECK(hipStreamWaitEvent(b, end, 0));
        CHECK(hipMemcpyAsync(host, d, N * 4, hipMemcpyDeviceToHost, b));
        CHECK(hipStreamSynchronize(b));
        expect_line(host, N);
        CHECK(hipStreamSynchronize(a));
        EXPECT(flag == 42);
        CHECK(hipEventElapsedTime(&ms, begin, end));
        EXPECT(ms > 0 && ms < 10000);
        EXPECT(hipStreamQuery(a) == hipSuccess && hipEventQuery(end) == hipSuccess);
    }
    CHECK(hipEventDestroy(begin));
    CHECK(hipEventDestroy(end));
    CHECK(hipStreamDestroy(a));
    CHECK(hipStreamDestroy(b));
}

static hipFunction_t shared_line;

static void *use_stream(void *unused)
{
    hipStream_t s;
    int n = N, *host = malloc(N * 4);
    void *d = device_memory(N * 4);
    CHECK(hipStreamCreate(&s));
    for (int i = 0; i < 30; i++) {
        CHECK(hipMemsetAsync(d, 0, N * 4, s));
        launch(shared_line, N / 64, 64, s, (void *[]){ &d, &n });
        CHECK(hipMemcpyAsync(host, d, N * 4, hipMemcpyDeviceToHost, s));
        CHECK(hipStreamSynchronize(s));
        expect_line(host, N);
    }
    CHECK(hipStreamDestroy(s));
    free(host);
    return unused;
}

static void streams(void)
{
    pthread_t threads[8];
    shared_line = function(load(), "line");
    for (int i = 0; i < 8; i++)
        EXPECT(!pthread_create(&threads[i], NULL, use_stream, NULL));
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    hipStream_t many[64];
    for (int i = 0; i < 64; i++)
        CHECK(hipStreamCreate(&many[i]));
    void *d = device_memory(N * 4);
    int n = N, *host = malloc(N * 4);
    for (int i = 0; i < 64; i++)
        launch(shared_line, N / 64, 64, many[i], (void *[]){ &d, &n });
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host, d, N * 4, hipMemcpyDeviceToHost));
    expect_line(host, N);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* An idle queue takes a packet soon, and burns no processor time meanwhile. */
static void idle(void)
{
    enum { ROUNDS = 50 };
    hipFunction_t f = function(load(), "line");
    int n = 64;
    double least = 1e9;
    void *d = device_memory(N * 4);
    launch(f, 1, 64, NULL, (void *[]){ &d, &n });
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < ROUNDS; i++) {
        usleep(30000);
        double begin = seconds(CLOCK_MONOTONIC);
        launch(f, 1, 64, NULL, (void *[]){ &d, &n });
        CHECK(hipDeviceSynchronize());
        double took = seconds(CLOCK_MONOTONIC) - begin;
        least = took < least ? took : least;
    }
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    sleep(2);
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    printf("launch on an idle queue: %.0f us at best; idle: %.1f %% of a core\n", least * 1e6, used / 2 * 100);
    fflush(stdout);
    EXPECT(least < 1e-2); /* 50 us where nothing else runs */
    EXPECT(used / 2 < 0.2);
}

static void two_cards(void)
{
    int count, can, n = N, host[N];
    void *d[2];
    hipModule_t m[2];
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count == 2);
    for (int i = 0; i < 2; i++) {
        CHECK(hipSetDevice(i));
        m[i] = load();
        d[i] = device_memory(sizeof host);
        CHECK(hipMemset(d[i], 0, sizeof host));
    }
    launch(function(m[1], "line"), N / 64, 64, NULL, (void *[]){ &d[1], &n });
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpyPeer(d[0], 0, d[1], 1, sizeof host));
    CHECK(hipSetDevice(0));
    CHECK(hipMemcpy(host, d[0], sizeof host, hipMemcpyDeviceToHost));
    expect_line(host, N);
    CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 1);
    CHECK(hipDeviceEnablePeerAccess(1, 0));
    CHECK(hipMemset(d[1], 0, sizeof host));
    launch(function(m[0], "line"), N / 64, 64, NULL, (void *[]){ &d[1], &n }); /* card 0 writes card 1's memory */
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host, d[1], sizeof host, hipMemcpyDeviceToHost));
    expect_line(host, N);
}

/* Stands for the kernel on the host's side; never called. */
static void cooperative_kernel(void)
{
}

/* HIP 5.2 launches cooperatively only what it was given as a program's own kernel: a bundle with one code object, registered as
 * compiled programs do it. */
extern void **__hipRegisterFatBinary(const void *wrapper);
extern void __hipRegisterFunction(void **modules, const void *host, char *device, const char *name, unsigned limit, void *tid,
                                  void *bid, void *block, void *grid, int *warp);

static struct {
    char magic[24];
    uint64_t count;
    uint64_t host_offset, host_size, host_length;
    char host[27];
    uint64_t offset, size, length;
    char target[40];
} __attribute__((packed)) *bundle;

static void make_bundle(const char *card)
{
    static struct { uint32_t magic, version; const void *data; void *unused; } wrapper = { 0x48495046, 1, NULL, NULL };
    enum { AT = 4096 };
    char path[1024];
    snprintf(path, sizeof path, "%s/thunk-%s.hsaco", folder, card);
    FILE *f = fopen(path, "rb");
    EXPECT(f);
    bundle = aligned_alloc(AT, AT + (1 << 20));
    memset(bundle, 0, AT);
    memcpy(bundle->magic, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(bundle->host, "host-x86_64-unknown-linux--", 27);
    bundle->count = 2;
    bundle->host_offset = bundle->offset = AT;
    bundle->host_length = 27;
    bundle->length = (uint64_t)snprintf(bundle->target, sizeof bundle->target, "hipv4-amdgcn-amd-amdhsa--%s", card);
    EXPECT(bundle->length < sizeof bundle->target);
    bundle->size = fread((char *)bundle + AT, 1, 1 << 20, f);
    fclose(f);
    wrapper.data = bundle;
    static char name[] = "meet";
    __hipRegisterFunction(__hipRegisterFatBinary(&wrapper), cooperative_kernel, name, name, ~0u, NULL, NULL, NULL, NULL, NULL);
}

static void cooperative(void)
{
    int supported, each, *out;
    hipDeviceProp_t prop;
    CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
    EXPECT(supported == 1);
    CHECK(hipGetDeviceProperties(&prop, 0));
    make_bundle("gfx1030");
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, cooperative_kernel, 64, 0));
    int blocks = each * prop.multiProcessorCount;
    printf("%d blocks a compute unit, %d compute units\n", each, prop.multiProcessorCount);
    size_t size = (size_t)blocks * 64 * 4;
    void *arrived = device_memory(4), *dout = device_memory(size), *args[] = { &arrived, &dout, &blocks };
    out = malloc(size);
    CHECK(hipMemset(arrived, 0, 4));
    CHECK(hipLaunchCooperativeKernel(cooperative_kernel, (dim3){ (unsigned)blocks, 1, 1 }, (dim3){ 64, 1, 1 }, args, 0, NULL));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(out, dout, size, hipMemcpyDeviceToHost));
    for (int i = 0; i < blocks * 64; i++)
        EXPECT(out[i] == i);
}

/* ---- Faults: in a child, whose end and last words are looked at ---- */

static void wild_store(void)
{
    unsigned long address = 0x123456789000ul;
    launch(function(load(), "store_at"), 1, 64, NULL, (void *[]){ &address });
    CHECK(hipDeviceSynchronize());
}

static void trapping(void)
{
    int n = 3;
    launch(function(load(), "trap"), 1, 64, NULL, (void *[]){ &n });
    CHECK(hipDeviceSynchronize());
}

static void expect_death(void (*what)(void), const char *word)
{
    int pipes[2], status;
    char text[8192];
    size_t used = 0;
    EXPECT(!pipe(pipes));
    pid_t child = fork();
    EXPECT(child >= 0);
    if (!child) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        what();
        _exit(0);
    }
    close(pipes[1]);
    for (ssize_t got; used + 1 < sizeof text && (got = read(pipes[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    printf("%s", text);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(text, word)) {
        fprintf(stderr, "status %#x, no '%s' in: %s\n", (unsigned)status, word, text);
        _exit(1);
    }
}

static void fault(void)
{
    expect_death(wild_store, "0x123456789000");
}

static void trap(void)
{
    expect_death(trapping, "trap");
}

/* A child process sees what this one writes to the card's memory, and the other way round. */
static void ipc(void)
{
    int to_child[2], to_parent[2], status, n = N, host[N];
    hipIpcMemHandle_t handle;
    EXPECT(!pipe(to_child) && !pipe(to_parent));
    pid_t child = fork(); /* before HIP begins here: each has its own */
    EXPECT(child >= 0);
    if (!child) {
        void *p;
        EXPECT(read(to_child[0], &handle, sizeof handle) == sizeof handle);
        CHECK(hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess));
        CHECK(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
        expect_line(host, N);
        CHECK(hipMemset(p, 0x11, sizeof host));
        CHECK(hipDeviceSynchronize());
        CHECK(hipIpcCloseMemHandle(p));
        EXPECT(write(to_parent[1], "x", 1) == 1);
        _exit(0);
    }
    void *d = device_memory(sizeof host);
    char done;
    launch(function(load(), "line"), N / 64, 64, NULL, (void *[]){ &d, &n });
    CHECK(hipDeviceSynchronize());
    CHECK(hipIpcGetMemHandle(&handle, d));
    EXPECT(write(to_child[1], &handle, sizeof handle) == sizeof handle);
    close(to_parent[1]);
    EXPECT(read(to_parent[0], &done, 1) == 1);
    CHECK(hipMemcpy(host, d, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == 0x11111111);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* At its end the process writes what each kernel did, found by name, into the file ANYWARP_SIM_STATS names. */
static void statistics(void)
{
    char name[] = "/tmp/simgpu-stats-XXXXXX", json[sizeof name + 5], text[65536];
    int status, fd = mkstemp(name);
    EXPECT(fd >= 0);
    snprintf(json, sizeof json, "%s.json", name);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (!child) {
        setenv("ANYWARP_SIM_STATS", json, 1);
        vecadd();
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    FILE *f = fopen(json, "r");
    EXPECT(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    close(fd);
    unlink(json);
    unlink(name);
    EXPECT(strstr(text, "{\"kernel\":\"vecadd\",\"launches\":1,\"waves\":320,"));
    EXPECT(strstr(text, "\"stored\":40028"));
}

/* ANYWARP_SIM names no card: HIP finds no device, and one line says why. */
static void no_card(void)
{
    int count = -1;
    hipError_t e = hipGetDeviceCount(&count);
    EXPECT(e == hipErrorNoDevice || (e == hipSuccess && count == 0));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "vecadd", vecadd }, { "kernels", kernels }, { "waiting", waiting }, { "copies", copies }, { "registered", registered },
    { "memory", memory }, { "events", events }, { "streams", streams }, { "idle", idle }, { "two_cards", two_cards },
    { "cooperative", cooperative }, { "fault", fault }, { "trap", trap }, { "ipc", ipc }, { "statistics", statistics },
    { "no_card", no_card },
};

int main(int argc, char **argv)
{
    if (argc == 3) {
        folder = argv[2];
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (!strcmp(cases[i].name, argv[1])) {
                cases[i].run();
                printf("%s passed\n", argv[1]);
                fflush(stdout);
                return 0;
            }
        }
    }
    fputs("usage: test_thunk CASE FOLDER; cases:", stderr);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fprintf(stderr, " %s", cases[i].name);
    fputs("\n", stderr);
    return 1;
}
#endif
