/* The hip provider against a stand-in that records each call, and against the real library where it is installed.
 * usage: test_hip [real] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/hip/hip.h"

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anywarp/env.h>
#include <anywarp/provider.h>

#include "base/status.h"

#define P (&aw_provider_hip)

static int failures;

#define CHECK(cond) ((cond) ? (void)0 : failed(__LINE__, #cond))
#define EQ(a, b) \
    ((long long)(a) == (long long)(b) ? (void)0 : failed_equal(__LINE__, #a " == " #b, (long long)(a), (long long)(b)))

static void failed(int line, const char *text)
{
    failures++;
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, text);
}

static void failed_equal(int line, const char *text, long long a, long long b)
{
    failed(line, text);
    fprintf(stderr, "    %lld against %lld\n", a, b);
}

/* ---- the stand-in ---- */

static char record[8192];
static const char *fail_name; /* this call fails with fail_error */
static int fail_error;
static int stand_count = 2, stand_version = 50221153, errors_cleared;
static const char *stand_arch = "gfx90a:sramecc+:xnack-";
static size_t arch_at = 396;
static uint64_t next_handle = 0x1000;
static size_t image_bytes; /* of what is loaded that are kept */

__attribute__((format(printf, 2, 3))) static int rec(const char *name, const char *fmt, ...)
{
    size_t n = strlen(record);
    va_list ap;
    n += (size_t)snprintf(record + n, sizeof record - n, "%s(", name + 3); /* less "hip" */
    va_start(ap, fmt);
    n += (size_t)vsnprintf(record + n, sizeof record - n, fmt, ap);
    va_end(ap);
    snprintf(record + n, sizeof record - n, ") ");
    return fail_name && strcmp(fail_name, name) == 0 ? fail_error : 0;
}

#define REC(...) rec(__func__, __VA_ARGS__)
#define U(p) ((unsigned long long)(uintptr_t)(p))

static void *handle(void)
{
    return (void *)(uintptr_t)(next_handle += 0x1000);
}

static int hipInit(unsigned flags) { return REC("%u", flags); }
static int hipGetDeviceCount(int *count) { *count = stand_count; return REC(" "); }
static int hipSetDevice(int device) { return REC("%d", device); }
static int hipRuntimeGetVersion(int *version) { *version = stand_version; return 0; }
static int hipDeviceGetAttribute(int *value, int attr, int device)
{
    *value = attr + 1000;
    return REC("%d,%d", attr, device);
}
static int hipDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "card gfx1 %d", device);
    return 0;
}
static int hipDeviceGetUuid(void *uuid, int device) { memset(uuid, 0x40 + device, 16); return 0; }
static int properties(void *prop, int device)
{
    snprintf(prop, 256, "AMD gfx1030 look-alike"); /* the name is no place to search */
    memcpy((char *)prop + 300, "gfxgfx", 6);
    memcpy((char *)prop + arch_at, stand_arch, strlen(stand_arch) + 1);
    return 0;
}
static int hipGetDeviceProperties(void *prop, int device) { return properties(prop, device) + REC("%d", device); }
static int hipGetDevicePropertiesR0600(void *prop, int device) { return properties(prop, device) + REC("%d", device); }
static int hipDeviceSynchronize(void) { return REC(" "); }
static int hipDeviceReset(void) { return REC(" "); }
static int hipGetLastError(void) { errors_cleared++; return 0; }
static size_t limit_most = SIZE_MAX;
static int hipDeviceSetLimit(int limit, size_t value)
{
    return REC("%d,%zu", limit, value) ? fail_error : value > limit_most ? 1 : 0;
}
static int hipMemGetInfo(size_t *left, size_t *total) { *left = 5; *total = 7; return REC(" "); }
static int hipMalloc(void **p, size_t size) { *p = handle(); return REC("%zu", size); }
static int hipFree(void *p) { return REC("%llx", U(p)); }
static int hipHostMalloc(void **p, size_t size, unsigned flags) { *p = handle(); return REC("%zu,%u", size, flags); }
static int hipHostFree(void *p) { return REC("%llx", U(p)); }
static int hipHostRegister(void *p, size_t size, unsigned flags) { return REC("%llx,%zu,%u", U(p), size, flags); }
static int hipHostUnregister(void *p) { return REC("%llx", U(p)); }
static int hipHostGetDevicePointer(void **d, void *p, unsigned flags)
{
    *d = (char *)p + 1;
    return REC("%llx,%u", U(p), flags);
}
static int hipMallocManaged(void **p, size_t size, unsigned flags) { *p = handle(); return REC("%zu,%u", size, flags); }
/* Memory for reserved addresses, which alone is written and read. */
enum { VMM_UNIT = 4096 };
static unsigned char vmm_bytes[2 * VMM_UNIT];
static bool in_vmm(const void *p)
{
    return (const unsigned char *)p >= vmm_bytes && (const unsigned char *)p < vmm_bytes + sizeof vmm_bytes;
}
static int hipMemGetAllocationGranularity(size_t *bytes, const void *prop, int option)
{
    const int *p = prop; /* type, kind of handle, location's type, its device */
    *bytes = VMM_UNIT;
    return REC("%d,%d,%d,%d,%d", p[0], p[1], p[2], p[3], option);
}
static int hipMemAddressReserve(void **p, size_t n, size_t align, void *wish, unsigned long long flags)
{
    *p = vmm_bytes;
    return REC("%zu,%zu,%llx,%llu", n, align, U(wish), flags);
}
static int hipMemAddressFree(void *p, size_t n) { return REC("%d,%zu", in_vmm(p), n); }
static int hipMemCreate(void **h, size_t n, const void *prop, unsigned long long flags)
{
    *h = handle();
    return REC("%zu,%d,%llu", n, ((const int *)prop)[3], flags);
}
static int hipMemRelease(void *h) { return REC("%llx", U(h)); }
static int hipMemMap(void *p, size_t n, size_t offset, void *h, unsigned long long flags)
{
    return REC("%d,%zu,%zu,%llx,%llu", in_vmm(p), n, offset, U(h), flags);
}
static int hipMemUnmap(void *p, size_t n) { return REC("%d,%zu", in_vmm(p), n); }
static int hipMemSetAccess(void *p, size_t n, const void *desc, size_t count)
{
    const int *d = desc; /* location's type, its device; access */
    return REC("%d,%zu,%d,%d,%d,%zu", in_vmm(p), n, d[0], d[1], d[2], count);
}
static int hipMemcpyAsync(void *d, const void *s, size_t n, int kind, void *stream)
{
    if (in_vmm(s)) {
        memcpy(d, s, n);
        return REC("vmm");
    }
    return REC("%llx,%llx,%zu,%d,%llx", U(d), U(s), n, kind, U(stream));
}
static int hipMemcpy2DAsync(void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind, void *stream)
{
    return REC("%llx,%zu,%llx,%zu,%zu,%zu,%d,%llx", U(d), dp, U(s), sp, w, h, kind, U(stream));
}
static int hipMemcpyPeerAsync(void *d, int dd, const void *s, int sd, size_t n, void *stream)
{
    return REC("%llx,%d,%llx,%d,%zu,%llx", U(d), dd, U(s), sd, n, U(stream));
}
static int hipMemsetD8Async(void *d, unsigned char v, size_t n, void *s)
{
    if (in_vmm(d))
        memset(d, v, n);
    return in_vmm(d) ? REC("vmm") : REC("%llx,%x,%zu,%llx", U(d), v, n, U(s));
}
static int hipMemsetD16Async(void *d, unsigned short v, size_t n, void *s) { return REC("%llx,%x,%zu,%llx", U(d), v, n, U(s)); }
static int hipMemsetD32Async(void *d, int v, size_t n, void *s) { return REC("%llx,%x,%zu,%llx", U(d), v, n, U(s)); }
static int hipStreamCreateWithPriority(void **s, unsigned flags, int p) { *s = handle(); return REC("%u,%d", flags, p); }
static int hipStreamDestroy(void *s) { return REC("%llx", U(s)); }
static int hipStreamQuery(void *s) { return REC("%llx", U(s)); }
static int hipStreamSynchronize(void *s) { return REC("%llx", U(s)); }
static int hipStreamWaitEvent(void *s, void *e, unsigned flags) { return REC("%llx,%llx,%u", U(s), U(e), flags); }
static int hipStreamAddCallback(void *s, void (*fn)(void *, int, void *), void *user, unsigned flags)
{
    int error = REC("%llx,%u", U(s), flags);
    if (!error)
        fn(s, 0, user);
    return error;
}
static int hipEventCreateWithFlags(void **e, unsigned flags) { *e = handle(); return REC("%u", flags); }
static int hipEventDestroy(void *e) { return REC("%llx", U(e)); }
static int hipEventRecord(void *e, void *s) { return REC("%llx,%llx", U(e), U(s)); }
static int hipEventQuery(void *e) { return REC("%llx", U(e)); }
static int hipEventSynchronize(void *e) { return REC("%llx", U(e)); }
static int hipEventElapsedTime(float *ms, void *a, void *b) { *ms = 2.5f; return REC("%llx,%llx", U(a), U(b)); }
static unsigned char last_image[1024];
static int hipModuleLoadData(void **m, const void *image)
{
    *m = handle();
    memcpy(last_image, image, image_bytes);
    return REC("%.3s", (const char *)image + 1);
}
static int hipModuleUnload(void *m) { return REC("%llx", U(m)); }
static int hipModuleGetFunction(void **f, void *m, const char *name) { *f = handle(); return REC("%llx,%s", U(m), name); }
static int hipFuncGetAttribute(int *value, int attr, void *f) { *value = 100 + attr; return REC("%d,%llx", attr, U(f)); }
static int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int threads, size_t dynamic)
{
    *blocks = 3;
    return REC("%llx,%d,%zu", U(f), threads, dynamic);
}
static int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                 unsigned shared, void *stream, void **params, void **extra)
{
    CHECK(!params && extra[0] == (void *)1 && extra[2] == (void *)2 && extra[4] == (void *)3);
    return REC("%llx,%u,%u,%u,%u,%u,%u,%u,%llx,%.4s,%zu", U(f), gx, gy, gz, bx, by, bz, shared, U(stream),
               (const char *)extra[1], *(size_t *)extra[3]);
}
static int hipDeviceCanAccessPeer(int *can, int device, int peer) { *can = 1; return REC("%d,%d", device, peer); }
static int hipDeviceEnablePeerAccess(int peer, unsigned flags) { return REC("%d,%u", peer, flags); }
static int hipDeviceDisablePeerAccess(int peer) { return REC("%d", peer); }
static int hipDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 1; *greatest = -1; return REC(" "); }
static int hipModuleLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                            unsigned shared, void *stream, void **params)
{
    return REC("%llx,%u,%u,%u,%u,%u,%u,%u,%llx,%.4s", U(f), gx, gy, gz, bx, by, bz, shared, U(stream), (const char *)params[0]);
}
static int hipMemGetAddressRange(void **base, size_t *size, void *p) { *base = p; *size = 77; return REC("%llx", U(p)); }
static int hipIpcGetMemHandle(void *h, void *p) { memset(h, 0x11, 64); return REC("%llx", U(p)); }
static int hipIpcOpenMemHandle(void **p, struct aw_ipc_handle h, unsigned flags)
{
    *p = handle();
    return REC("%x,%x,%u", h.bytes[0], h.bytes[63], flags);
}
static int hipIpcCloseMemHandle(void *p) { return REC("%llx", U(p)); }
static int hipIpcGetEventHandle(void *h, void *e) { memset(h, 0x22, 64); return REC("%llx", U(e)); }
static int hipIpcOpenEventHandle(void **e, struct aw_ipc_handle h)
{
    *e = handle();
    return REC("%x,%x", h.bytes[0], h.bytes[63]);
}
static int hipStreamWriteValue32(void *s, void *p, unsigned v, unsigned flags)
{
    return REC("%llx,%llx,%u,%u", U(s), U(p), v, flags);
}
static int hipStreamWriteValue64(void *s, void *p, unsigned long v, unsigned flags)
{
    return REC("%llx,%llx,%lu,%u", U(s), U(p), v, flags);
}
static int hipStreamWaitValue32(void *s, void *p, unsigned v, unsigned flags, unsigned mask)
{
    return REC("%llx,%llx,%u,%u,%x", U(s), U(p), v, flags, mask);
}
static int hipStreamWaitValue64(void *s, void *p, unsigned long v, unsigned flags, unsigned long mask)
{
    return REC("%llx,%llx,%lu,%u,%lx", U(s), U(p), v, flags, mask);
}

static struct aw_hip_api stand_in(void)
{
    return (struct aw_hip_api){
#define AW_HIP(name, required, params) .name = name,
#include "provider/hip/hip.def"
#undef AW_HIP
    };
}

/* Compares what was recorded since the last call. */
static void expect(int line, const char *calls)
{
    if (strcmp(record, calls) != 0) {
        failed(line, "recorded calls");
        fprintf(stderr, "    <%s>\n    <%s>\n", record, calls);
    }
    record[0] = '\0';
}
#define EXPECT(calls) expect(__LINE__, calls)

static struct aw_hip_api api;

static void open_stand_in(void)
{
    const char *why = NULL;
    api = stand_in();
    aw_hip_inject(&api);
    EQ(P->open(&why), AW_OK);
    record[0] = '\0';
    next_handle = 0x1000;
    errors_cleared = 0;
}

/* ---- tests ---- */

static void test_open(void)
{
    const char *why = NULL;
    api = stand_in();
    aw_hip_inject(&api);
    EQ(P->device_count(), 0);
    EQ(P->device_sync(0), AW_ERR_INVALID_DEVICE);
    EQ(P->open(&why), AW_OK);
    EXPECT("Init(0) GetDeviceCount( ) GetDevicePropertiesR0600(0) GetDevicePropertiesR0600(1) ");
    EQ(P->open(&why), AW_OK);
    EXPECT("");
    EQ(P->device_count(), 2);
    CHECK(strcmp(P->device_target(1), "gfx90a:sramecc+:xnack-") == 0);
    CHECK(P->device_target(2) == NULL && P->device_target(-1) == NULL);
    EQ(P->code_object_version(0), 4);
    EQ(P->code_object_version(2), 0);
    /* The structure of each version has the name elsewhere. */
    static const struct {
        const char *arch, *target;
        size_t at;
    } layouts[] = { { "gfx1030", "gfx1030", 396 },
                    { "gfx906:sramecc-:xnack-", "gfx906:sramecc-:xnack-", 1160 },
                    { "gfx942", "gfx942", 5000 } };
    for (size_t i = 0; i < 3; i++) {
        stand_arch = layouts[i].arch;
        arch_at = layouts[i].at;
        stand_version = i ? 60342131 : 50221153;
        open_stand_in();
        CHECK(strcmp(P->device_target(0), layouts[i].target) == 0);
        EQ(P->code_object_version(0), i ? 5 : 4);
    }
    api = stand_in();
    api.hipGetDevicePropertiesR0600 = NULL; /* HIP 5 */
    aw_hip_inject(&api);
    EQ(P->open(&why), AW_OK);
    EXPECT("Init(0) GetDeviceCount( ) GetDeviceProperties(0) GetDeviceProperties(1) ");
    static const struct {
        const char *call;
        int error, count;
        const char *why;
    } refusals[] = {
        { "hipInit", 100, 1, "HIP has no device; `anywarp doctor` looks for the reason" },
        { "hipGetDeviceCount", 3, 1, "HIP has no device: driver not initialised" },
        { NULL, 0, 0, "HIP has no device; `anywarp doctor` looks for the reason" },
        { "hipGetDevicePropertiesR0600", 1, 1, "HIP does not tell the architecture of device 0" },
    };
    for (size_t i = 0; i < 4; i++) {
        api = stand_in();
        aw_hip_inject(&api);
        fail_name = refusals[i].call;
        fail_error = refusals[i].error;
        stand_count = refusals[i].count;
        why = NULL;
        EQ(P->open(&why), AW_ERR_NO_DEVICE);
        CHECK(why && strcmp(why, refusals[i].why) == 0);
        EQ(P->device_count(), 0);
        fail_name = NULL;
        stand_count = 2;
        record[0] = '\0';
    }
    stand_arch = "no such thing";
    api = stand_in();
    aw_hip_inject(&api);
    EQ(P->open(&why), AW_ERR_NO_DEVICE);
    stand_arch = "gfx90a:sramecc+:xnack-";
    stand_version = 43021330; /* what ROCm 4.3 says */
    api = stand_in();
    aw_hip_inject(&api);
    EQ(P->open(&why), AW_ERR_NO_DEVICE);
    CHECK(strstr(why, "older than version 5") != NULL);
    stand_version = 50221153;
    record[0] = '\0';
}

static void test_device(void)
{
    char name[64];
    uint8_t uuid[16];
    size_t left, total;
    int value;
    bool can = false;
    open_stand_in();
    EQ(P->device_name(1, name, sizeof name), AW_OK);
    CHECK(strcmp(name, "card gfx1 1") == 0);
    EQ(P->device_uuid(1, uuid), AW_OK);
    EQ(uuid[15], 0x41);
    EQ(P->device_memory(1, &left, &total), AW_OK);
    CHECK(left == 5 && total == 7);
    EXPECT("SetDevice(1) MemGetInfo( ) ");
    static const int numbers[AW_DEV_COUNT_] = { 63, 5, 60, 59, 19, 56, 26, 27, 28, 29, 30, 31, 74, 10002,
                                               71, 57, 87, 69, 67, 68, 16, 24, 9, 65, 10, 85, 15, 2 };
    for (int i = 0; i < AW_DEV_COUNT_; i++) {
        EQ(P->device_attr(0, i, &value), AW_OK);
        EQ(value, i == AW_DEV_MANAGED ? 1 : 1000 + numbers[i]); /* managed memory is emulated */
    }
    record[0] = '\0';
    fail_name = "hipDeviceGetAttribute";
    fail_error = 1;
    EQ(P->device_attr(0, AW_DEV_UNIFIED_ADDRESSING, &value), AW_OK); /* has a fallback */
    EQ(value, 1);
    EQ(P->device_attr(0, AW_DEV_MULTIPROCESSORS, &value), AW_ERR_INVALID_VALUE);
    EQ(errors_cleared, 2);
    fail_name = NULL;
    record[0] = '\0';
    EQ(P->peer_access(0, 1, &can), AW_OK);
    CHECK(can);
    EQ(P->peer_enable(0, 1, true), AW_OK);
    EQ(P->peer_enable(0, 1, false), AW_OK);
    EXPECT("SetDevice(0) DeviceCanAccessPeer(0,1) SetDevice(0) DeviceEnablePeerAccess(1,0) "
           "SetDevice(0) DeviceDisablePeerAccess(1) ");
}

static void test_memory(void)
{
    void *d, *m, *h, *r;
    struct aw_pointer_info info;
    open_stand_in();
    EQ(P->mem_alloc(1, 100, &d), AW_OK);
    EQ(P->managed_alloc(0, 200, &m), AW_OK);
    EQ(P->host_alloc(0, 300, AW_HOST_MAPPED | AW_HOST_WRITE_COMBINED, &h), AW_OK);
    EQ(P->host_register(0, (void *)0x900, 50, AW_HOST_PORTABLE, &r), AW_OK);
    EXPECT("SetDevice(1) Malloc(100) SetDevice(0) MallocManaged(200,1) SetDevice(0) HostMalloc(300,6) "
           "SetDevice(0) HostRegister(900,50,1) HostGetDevicePointer(900,0) ");
    EQ(U(r), 0x901);
    EQ(P->pointer_info((char *)d + 99, &info), AW_OK);
    CHECK(info.base == d && info.size == 100 && info.device == 1 && !info.managed);
    EQ(P->pointer_info((char *)d + 100, &info), AW_ERR_INVALID_VALUE);
    EQ(P->pointer_info((char *)m + 1, &info), AW_OK);
    CHECK(info.managed && info.device == 0);
    EQ(P->pointer_info(h, &info), AW_OK);
    EQ(info.device, -1);
    EQ(P->mem_free(0, (char *)d + 1), AW_ERR_INVALID_VALUE);
    EQ(P->mem_free(0, h), AW_ERR_INVALID_VALUE);
    EQ(P->host_free(d), AW_ERR_INVALID_VALUE);
    record[0] = '\0';
    EQ(P->mem_free(1, d), AW_OK);
    EQ(P->mem_free(0, m), AW_OK);
    EQ(P->host_free(h), AW_OK);
    EQ(P->host_unregister((void *)0x900), AW_OK);
    EXPECT("SetDevice(1) StreamQuery(0) Free(2000) SetDevice(0) StreamQuery(0) Free(3000) "
           "StreamQuery(0) StreamQuery(0) HostFree(4000) StreamQuery(0) StreamQuery(0) HostUnregister(900) ");
    EQ(P->pointer_info(d, &info), AW_ERR_INVALID_VALUE);
    EQ(P->pointer_info((void *)0x901, &info), AW_ERR_INVALID_VALUE);
    fail_name = "hipMalloc";
    fail_error = 2;
    d = NULL;
    EQ(P->mem_alloc(0, 1, &d), AW_ERR_OUT_OF_MEMORY);
    CHECK(d == NULL);
    fail_name = NULL;
}

/* A device has virtual memory where all of it works, found out once; HIP 5 is not asked. */
static void test_vmm(void)
{
    const struct aw_provider_vmm *v = P->vmm;
    struct aw_vmm *memory;
    struct aw_pointer_info info;
    open_stand_in();
    record[0] = '\0';
    CHECK(!v->supported(0));
    EXPECT("");
    stand_version = 60000000;
    open_stand_in();
    record[0] = '\0';
    CHECK(v->supported(0) && v->supported(0));
    EXPECT("SetDevice(0) MemGetAllocationGranularity(1,0,1,0,0) SetDevice(0) MemAddressReserve(4096,0,0,0) SetDevice(0) "
           "MemCreate(4096,0,0) SetDevice(0) MemMap(1,4096,0,2000,0) SetDevice(0) MemSetAccess(1,4096,1,0,3,1) "
           "MemsetD8Async(vmm) StreamSynchronize(0) MemcpyAsync(vmm) StreamSynchronize(0) SetDevice(0) MemUnmap(1,4096) "
           "SetDevice(0) MemRelease(2000) SetDevice(0) MemAddressFree(1,4096) ");
    fail_name = "hipMemSetAccess";
    fail_error = 801;
    CHECK(!v->supported(1));
    fail_name = NULL;
    EXPECT("SetDevice(1) MemGetAllocationGranularity(1,0,1,1,0) SetDevice(0) MemAddressReserve(4096,0,0,0) SetDevice(1) "
           "MemCreate(4096,1,0) SetDevice(1) MemMap(1,4096,0,3000,0) SetDevice(1) MemSetAccess(1,4096,1,1,3,1) SetDevice(0) "
           "MemUnmap(1,4096) SetDevice(1) MemRelease(3000) SetDevice(0) MemAddressFree(1,4096) ");
    EQ(v->create(0, VMM_UNIT, true, &memory), AW_ERR_NOT_SUPPORTED);
    EQ(v->create(0, VMM_UNIT, false, &memory), AW_OK);
    EQ(v->map(vmm_bytes + VMM_UNIT, VMM_UNIT, memory), AW_OK);
    EQ(P->pointer_info(vmm_bytes + VMM_UNIT + 5, &info), AW_OK);
    EQ(info.device, 0);
    EQ(v->unmap(vmm_bytes + VMM_UNIT, VMM_UNIT), AW_OK);
    EQ(P->pointer_info(vmm_bytes + VMM_UNIT + 5, &info), AW_ERR_INVALID_VALUE);
    EQ(v->destroy(memory), AW_OK);
    stand_version = 50221153;
}

static void test_copies(void)
{
    struct aw_stream *s;
    open_stand_in();
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    record[0] = '\0';
    EQ(P->copy(0, (void *)1, (void *)2, 3, AW_COPY_D2H, s), AW_OK);
    EQ(P->copy(0, (void *)1, (void *)2, 0, AW_COPY_D2H, s), AW_OK);
    EXPECT("SetDevice(0) StreamQuery(2000) MemcpyAsync(1,2,3,2,2000) SetDevice(0) ");
    EQ(P->copy_peer(1, (void *)1, 0, (void *)2, 3, NULL), AW_OK);
    EXPECT("SetDevice(1) MemcpyPeerAsync(1,1,2,0,3,0) ");
    EQ(P->fill(0, (void *)16, 0x12345678, 1, 5, s), AW_OK);
    EQ(P->fill(0, (void *)16, 0x12345678, 2, 6, s), AW_OK);
    EQ(P->fill(0, (void *)16, 0x12345678, 4, 7, s), AW_OK);
    EQ(P->fill(0, (void *)16, 0, 3, 7, s), AW_ERR_INVALID_VALUE);
    EXPECT("SetDevice(0) MemsetD8Async(10,78,5,2000) SetDevice(0) MemsetD16Async(10,5678,6,2000) "
           "SetDevice(0) MemsetD32Async(10,12345678,7,2000) SetDevice(0) ");
    struct aw_copy3d c = { .src = (void *)0x100, .dst = (void *)0x200, .src_pitch = 10, .dst_pitch = 11, .src_slice = 0x40,
                           .dst_slice = 0x50, .width = 8, .height = 3, .depth = 2, .kind = AW_COPY_H2D };
    EQ(P->copy3d(0, &c, s), AW_OK);
    EXPECT("SetDevice(0) StreamQuery(2000) Memcpy2DAsync(200,11,100,10,8,3,1,2000) Memcpy2DAsync(250,11,140,10,8,3,1,2000) ");
    c.dst_pitch = 7;
    EQ(P->copy3d(0, &c, s), AW_ERR_INVALID_PITCH);
    c.height = 1;
    c.depth = 1;
    EQ(P->copy3d(0, &c, s), AW_OK);
    EXPECT("SetDevice(0) StreamQuery(2000) MemcpyAsync(200,100,8,1,2000) ");
}

static int called;

static void on_call(void *user)
{
    called += *(int *)user;
}

static void test_streams(void)
{
    struct aw_stream *s;
    struct aw_event *e;
    int seven = 7;
    float ms = 0;
    open_stand_in();
    EQ(P->stream_create(1, AW_STREAM_NON_BLOCKING, -1, &s), AW_OK);
    EQ(P->event_create(1, AW_EVENT_NO_TIMING | AW_EVENT_INTERPROCESS, &e), AW_OK);
    EXPECT("SetDevice(1) StreamCreateWithPriority(1,-1) SetDevice(1) EventCreateWithFlags(6) ");
    EQ(P->event_record(1, e, s), AW_OK);
    EQ(P->stream_wait(1, NULL, e), AW_OK);
    EQ(P->event_query(e), AW_OK);
    EQ(P->event_sync(e), AW_OK);
    EQ(P->event_elapsed(e, e, &ms), AW_OK);
    CHECK(ms == 2.5f);
    EXPECT("SetDevice(1) EventRecord(3000,2000) SetDevice(1) StreamWaitEvent(0,3000,0) SetDevice(1) EventQuery(3000) "
           "SetDevice(1) EventQuery(3000) SetDevice(1) EventElapsedTime(3000,3000) ");
    EQ(P->stream_callback(1, s, on_call, &seven), AW_OK);
    EQ(called, 7);
    record[0] = '\0';
    fail_name = "hipStreamAddCallback";
    fail_error = 801;
    EQ(P->stream_callback(1, s, on_call, &seven), AW_ERR_NOT_SUPPORTED);
    EQ(called, 7);
    fail_name = "hipStreamQuery";
    fail_error = 600;
    errors_cleared = 0;
    EQ(P->stream_query(1, s), AW_ERR_NOT_READY);
    EQ(errors_cleared, 0);
    fail_name = NULL;
    record[0] = '\0';
    EQ(P->stream_sync(1, s), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(P->event_destroy(e), AW_OK);
    EQ(P->stream_destroy(s), AW_OK);
    EXPECT("SetDevice(1) StreamQuery(2000) SetDevice(0) StreamQuery(0) EventDestroy(3000) "
           "SetDevice(1) StreamQuery(2000) StreamDestroy(2000) ");
    EQ(P->event_destroy(NULL), AW_ERR_INVALID_HANDLE);
    EQ(P->stream_destroy(NULL), AW_ERR_INVALID_HANDLE);
}

static void test_code(void)
{
    char image[128] = "\177ELF\2\1\1";
    struct aw_object *o = NULL;
    struct aw_function *f;
    int value;
    open_stand_in();
    EQ(P->object_load(1, "short", 5, &o), AW_ERR_INVALID_IMAGE);
    EQ(P->object_load(1, image + 1, 100, &o), AW_ERR_INVALID_IMAGE);
    CHECK(o == NULL);
    EQ(P->object_load(1, image, sizeof image, &o), AW_OK);
    EQ(P->object_function(o, "k", &f), AW_OK);
    EXPECT("SetDevice(1) ModuleLoadData(ELF) SetDevice(1) ModuleGetFunction(2000,k) ");
    for (int i = 0; i < AW_FN_COUNT_; i++) {
        EQ(P->function_attr(f, i, &value), AW_OK);
        EQ(value, 100 + i);
    }
    EQ(P->occupancy(f, 64, 10, &value), AW_OK);
    EQ(value, 3);
    record[0] = '\0';
    struct aw_launch l = { .grid = { 1, 2, 3 }, .block = { 4, 5, 6 }, .shared_bytes = 7, .kernarg = "args", .kernarg_size = 4 };
    EQ(P->launch(1, f, &l, NULL), AW_OK);
    EXPECT("SetDevice(1) ModuleLaunchKernel(3000,1,2,3,4,5,6,7,0,args,4) ");
    EQ(P->launch(0, f, &l, NULL), AW_ERR_INVALID_DEVFUNC);
    l.cooperative = true;
    l.grid[0] = 3 * 1063; /* blocks per multiprocessor times multiprocessors */
    l.grid[1] = l.grid[2] = 1;
    EQ(P->launch(1, f, &l, NULL), AW_OK);
    CHECK(strstr(record, "ModuleLaunchCooperativeKernel(") != NULL);
    record[0] = '\0';
    l.grid[0]++;
    EQ(P->launch(1, f, &l, NULL), AW_ERR_COOPERATIVE_TOO_LARGE);
    CHECK(strstr(record, "ModuleLaunch") == NULL);
    EQ(P->function_set_shared(f, 1074 - 101), AW_OK);
    EQ(P->function_set_shared(f, 1074 - 100), AW_ERR_INVALID_VALUE);
    record[0] = '\0';
    EQ(P->object_unload(o), AW_OK);
    EXPECT("SetDevice(1) StreamQuery(0) ModuleUnload(2000) ");
}

/* An object whose kernel asks for `bytes` of private memory, recurses and asks for the time. */
static struct recursive {
    Elf64_Ehdr head;
    Elf64_Phdr load;
    Elf64_Shdr section[3];
    Elf64_Sym symbol[4];
    char names[40];
    uint32_t descriptor[16];
    struct aw_clock_scale scale;
} recursive_image(uint32_t bytes)
{
    struct recursive r = { .head = { .e_ident = "\177ELF\2\1\1",
                                     .e_phoff = offsetof(struct recursive, load),
                                     .e_phentsize = sizeof r.load,
                                     .e_phnum = 1,
                                     .e_shoff = offsetof(struct recursive, section),
                                     .e_shentsize = sizeof r.section[0],
                                     .e_shnum = 3 },
                           .load = { .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof r } };
    r.section[1] = (Elf64_Shdr){
        .sh_type = SHT_DYNSYM, .sh_offset = offsetof(struct recursive, symbol), .sh_size = sizeof r.symbol, .sh_link = 2
    };
    r.section[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
                                 .sh_offset = offsetof(struct recursive, names),
                                 .sh_size = sizeof r.names };
    memcpy(r.names, "\0k.kd\0" AW_CLOCK_SYMBOL "\0" AW_STACK_SYMBOL, sizeof "\0k.kd\0" AW_CLOCK_SYMBOL "\0" AW_STACK_SYMBOL);
    r.symbol[1] = (Elf64_Sym){ .st_name = 1, .st_value = 0x1000 + offsetof(struct recursive, descriptor), .st_size = 64 };
    r.symbol[2] = (Elf64_Sym){ .st_name = 6, .st_value = 0x1000 + offsetof(struct recursive, scale), .st_size = sizeof r.scale };
    r.symbol[3] = (Elf64_Sym){ .st_name = sizeof "\0k.kd\0" AW_CLOCK_SYMBOL };
    r.scale.ns = 10;
    r.descriptor[1] = bytes;
    return r;
}

/* Objects of version 5 and later: HIP is told how much stack there has to be, and their own sizes stay. */
static void test_stack(void)
{
    struct aw_object *o[4];
    struct recursive image[] = { recursive_image(96), recursive_image(2000), recursive_image(32), recursive_image(64) };
    stand_version = 60342131;
    open_stand_in();
    EQ(P->limit_set(0, AW_LIMIT_STACK, 2048), AW_OK);
    EXPECT("SetDevice(0) "); /* nobody recurses */
    for (int i = 0; i < 3; i++)
        EQ(P->object_load(0, &image[i], sizeof image[i], &o[i]), AW_OK);
    EXPECT("SetDevice(0) DeviceGetAttribute(10017,0) DeviceGetAttribute(5,0) ModuleLoadData(ELF) DeviceSetLimit(0,8288) "
           "SetDevice(0) DeviceGetAttribute(10017,0) DeviceGetAttribute(5,0) ModuleLoadData(ELF) DeviceSetLimit(0,10192) "
           "SetDevice(0) DeviceGetAttribute(10017,0) DeviceGetAttribute(5,0) ModuleLoadData(ELF) ");
    EQ(P->limit_set(0, AW_LIMIT_STACK, 1024), AW_OK);
    EQ(P->limit_set(0, AW_LIMIT_STACK, 1 << 20), AW_OK);
    EXPECT("SetDevice(0) DeviceSetLimit(0,6096) SetDevice(0) DeviceSetLimit(0,131056) ");
    limit_most = 65536;
    EQ(P->limit_set(0, AW_LIMIT_STACK, 32000), AW_OK);
    EXPECT("SetDevice(0) DeviceSetLimit(0,130000) DeviceSetLimit(0,65008) ");
    limit_most = SIZE_MAX;
    EQ(P->device_reset(0), AW_OK); /* and HIP's is its own again */
    record[0] = '\0';
    EQ(P->object_load(0, &image[3], sizeof image[3], &o[3]), AW_OK);
    EXPECT("SetDevice(0) DeviceGetAttribute(10017,0) DeviceGetAttribute(5,0) ModuleLoadData(ELF) DeviceSetLimit(0,4160) ");
    for (int i = 0; i < 4; i++)
        EQ(P->object_unload(o[i]), AW_OK);
    stand_version = 50221153;
}

/* The card's own clocks are written into what asks for the time; where HIP does not tell, the object's stay. */
static void test_clock(void)
{
    struct recursive image = recursive_image(96);
    struct aw_object *o;
    struct aw_clock_scale scale;
    for (int known = 0; known < 2; known++) {
        open_stand_in();
        fail_name = known ? NULL : "hipDeviceGetAttribute";
        fail_error = 1;
        image_bytes = sizeof image;
        EQ(P->object_load(0, &image, sizeof image, &o), AW_OK);
        image_bytes = 0;
        fail_name = NULL;
        memcpy(&scale, last_image + offsetof(struct recursive, scale), sizeof scale);
        if (!known) {
            EQ(scale.ns, 10);
            continue;
        }
        /* The stand-in's clocks: 11017 kHz the steady one, 1005 kHz the processors'. */
        EQ(scale.ns, 90);
        CHECK(fabs((double)scale.ns_part * 0x1p-64 - (1e6 / 11017 - 90)) < 1e-12);
        EQ(scale.cycles, 0);
        CHECK(fabs((double)scale.cycles_part * 0x1p-64 - 1005.0 / 11017) < 1e-12);
        EQ(P->object_unload(o), AW_OK);
    }
}

static void test_faults(void)
{
    void *p;
    struct aw_pointer_info info;
    open_stand_in();
    EQ(P->mem_alloc(0, 10, &p), AW_OK);
    fail_name = "hipStreamQuery";
    fail_error = 700;
    EQ(P->device_sync(0), AW_ERR_ILLEGAL_ADDRESS);
    fail_error = 719;
    EQ(P->device_sync(0), AW_ERR_LAUNCH_FAILED); /* what this waiting found */
    fail_name = NULL;
    EQ(P->device_fault(0), AW_ERR_ILLEGAL_ADDRESS); /* the first */
    EQ(P->device_fault(1), AW_OK);
    EQ(P->device_reset(0), AW_OK);
    EQ(P->device_fault(0), AW_OK);
    EQ(P->pointer_info(p, &info), AW_ERR_INVALID_VALUE);
}

/* The real library on this machine: with a device all is well; without one there is one clear line and no crash. */
static int test_real(void)
{
    const char *why = NULL;
    static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" };
    bool present = false;
    for (int i = 0; i < 3 && !present; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        present = handle != NULL;
    }
    aw_hip_inject(NULL);
    int status = P->open(&why);
    fprintf(stderr, "    %s: %s\n", present ? "library present" : "no library", status == AW_OK ? P->device_target(0) : why);
    if (status == AW_OK) {
        CHECK(P->device_count() > 0 && strncmp(P->device_target(0), "gfx", 3) == 0);
        return failures != 0;
    }
    EQ(status, AW_ERR_NO_DEVICE);
    CHECK(why && *why && !strchr(why, '\n'));
    CHECK(why && (present ? strncmp(why, "HIP has no device", 17) == 0 : strstr(why, "not installed") != NULL));
    EQ(P->device_count(), 0);
    EQ(P->open(&why), AW_ERR_NO_DEVICE); /* and again */
    if (failures)
        return 1;
    return present ? 0 : 77; /* meson: skipped */
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "real") == 0)
        return test_real();
    test_open();
    test_device();
    test_memory();
    test_vmm();
    test_copies();
    test_streams();
    test_code();
    test_stack();
    test_clock();
    test_faults();
    aw_hip_inject(NULL);
    fprintf(stderr, failures ? "%d FAILED\n" : "all passed\n", failures);
    return failures != 0;
}
