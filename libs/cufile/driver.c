/* cuFile's driver, of which there is none: files are read and written through the host's own calls, as with NVIDIA's
 * compatibility mode. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "cufile_proto.h"

/* Of the release that the table was taken from: 1.20.0. */
enum { VERSION = 1200 };

/* What a program may set, none of which changes what is done.  The numbers at first are those of NVIDIA's configuration file as
 * it is installed; sizes in KiB. */
enum { SIZES = CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS + 1, BOOLS = CUFILE_PARAM_GDS_FALLBACK_IO + 1,
       STRINGS = CUFILE_PARAM_RDMA_TRANSPORT + 1, STRING_MAX = 4096, SLABS = 16 };
/* Buffers of the host that NVIDIA's compatibility mode copies through: `count` of `size` KiB each, of several sizes. */
struct slabs {
    int n;
    size_t size[SLABS], count[SLABS];
};
struct settings {
    size_t sizes[SIZES];
    bool bools[BOOLS];
    char strings[STRINGS][STRING_MAX];
    struct slabs slabs;
};
#define FIRST                                                                                                               \
    {                                                                                                                       \
        .sizes = { [CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH] = 128, [CUFILE_PARAM_EXECUTION_MAX_IO_THREADS] = 4,          \
                   [CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB] = 8 << 10,                                             \
                   [CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM] = 4,                                                    \
                   [CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] = 16 << 10,                                              \
                   [CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB] = 128 << 10,                                          \
                   [CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB] = 1 << 10,                                            \
                   [CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB] = 32 << 20,                                      \
                   [CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE] = 128, [CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB] = 4 },                \
        .bools = { [CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] = true, [CUFILE_PARAM_EXECUTION_PARALLEL_IO] = true,         \
                   [CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY] = true },                                                  \
        .strings = { [CUFILE_PARAM_LOGGING_LEVEL] = "ERROR" },                                                              \
        .slabs = { .n = 3, .size = { 4, 1 << 10, 16 << 10 }, .count = { 128, 64, 64 } },                                    \
    }
static const struct settings first = FIRST;

static struct {
    pthread_mutex_t lock;
    long uses;               /* how often it is open */
    struct settings now;     /* of the open driver */
    struct settings staged;  /* what it will be opened with */
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER, .now = FIRST, .staged = FIRST };

static struct settings *current(void)
{
    return driver.uses ? &driver.now : &driver.staged;
}

CUfileError_t awcufile_cuFileDriverOpen(void)
{
    pthread_mutex_lock(&driver.lock);
    if (!driver.uses++) {
        driver.now = driver.staged;
        driver.staged = first;
    }
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

CUfileError_t awcufile_cuFileDriverClose(void)
{
    pthread_mutex_lock(&driver.lock);
    bool open = driver.uses > 0;
    driver.uses -= open;
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ open ? CU_FILE_SUCCESS : CU_FILE_DRIVER_NOT_INITIALIZED, 0 };
}

long awcufile_cuFileUseCount(void)
{
    pthread_mutex_lock(&driver.lock);
    long uses = driver.uses;
    pthread_mutex_unlock(&driver.lock);
    return uses;
}

CUfileError_t awcufile_cuFileGetVersion(int *version)
{
    if (!version)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    *version = VERSION;
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

/* ---- Properties: those of NVIDIA's compatibility mode. */

CUfileError_t awcufile_cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
    if (!props)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    pthread_mutex_lock(&driver.lock);
    const struct settings *s = current();
    *props = (CUfileDrvProps_t){
        .nvfs = { .poll_thresh_size = s->sizes[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB],
                  .max_direct_io_size = s->sizes[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB],
                  .dcontrolflags = (unsigned)s->bools[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] << CU_FILE_USE_POLL_MODE |
                                   (unsigned)s->bools[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] << CU_FILE_ALLOW_COMPAT_MODE },
        .fflags = 1 << CU_FILE_BATCH_IO_SUPPORTED | 1 << CU_FILE_STREAMS_SUPPORTED,
        .max_device_cache_size = (unsigned)s->sizes[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB],
        .per_buffer_cache_size = (unsigned)s->sizes[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB],
        .max_device_pinned_mem_size = (unsigned)s->sizes[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB],
        .max_batch_io_size = (unsigned)s->sizes[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE],
        .max_batch_io_timeout_msecs = (unsigned)s->sizes[CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS],
    };
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

/* `kib` is at least 1, and fits an unsigned. */
static CUfileError_t limit_set(CUFileSizeTConfigParameter_t which, size_t kib)
{
    if (!kib || kib > 0xffffffff)
        return (CUfileError_t){ CU_FILE_DRIVER_UNSUPPORTED_LIMIT, 0 };
    pthread_mutex_lock(&driver.lock);
    current()->sizes[which] = kib;
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

CUfileError_t awcufile_cuFileDriverSetMaxDirectIOSize(size_t kib)
{
    return limit_set(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, kib);
}

CUfileError_t awcufile_cuFileDriverSetMaxCacheSize(size_t kib)
{
    return limit_set(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, kib);
}

CUfileError_t awcufile_cuFileDriverSetMaxPinnedMemSize(size_t kib)
{
    return limit_set(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, kib);
}

CUfileError_t awcufile_cuFileDriverSetPollMode(bool poll, size_t threshold)
{
    CUfileError_t status = limit_set(CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB, threshold);
    if (status.err != CU_FILE_SUCCESS)
        return status;
    pthread_mutex_lock(&driver.lock);
    current()->bools[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = poll;
    pthread_mutex_unlock(&driver.lock);
    return status;
}

/* ---- Parameters: read from what the driver is open with, else from what it will be; set only before it is opened. */

/* `at` is where a value lies in the settings.  Locks for as long as the value is copied. */
static CUfileError_t value_move(bool known, void *user, size_t at, size_t size, bool set)
{
    if (!known || !user)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    pthread_mutex_lock(&driver.lock);
    bool late = set && driver.uses;
    char *value = (char *)current() + at;
    if (!late && set)
        memcpy(value, user, size);
    else if (!late)
        memcpy(user, value, size);
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ late ? CU_FILE_DRIVER_ALREADY_OPEN : CU_FILE_SUCCESS, 0 };
}

#define AT(member, which) (offsetof(struct settings, member) + (size_t)(which) * sizeof first.member[0])

CUfileError_t awcufile_cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t which, size_t *value)
{
    return value_move(which >= 0 && which < SIZES, value, AT(sizes, which), sizeof *value, false);
}

CUfileError_t awcufile_cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t which, size_t value)
{
    return value_move(which >= 0 && which < SIZES, &value, AT(sizes, which), sizeof value, true);
}

CUfileError_t awcufile_cuFileGetParameterBool(CUFileBoolConfigParameter_t which, bool *value)
{
    return value_move(which >= 0 && which < BOOLS, value, AT(bools, which), sizeof *value, false);
}

CUfileError_t awcufile_cuFileSetParameterBool(CUFileBoolConfigParameter_t which, bool value)
{
    return value_move(which >= 0 && which < BOOLS, &value, AT(bools, which), sizeof value, true);
}

/* `len` must hold the text with its end. */
CUfileError_t awcufile_cuFileGetParameterString(CUFileStringConfigParameter_t which, char *text, int len)
{
    char value[STRING_MAX];
    CUfileError_t status = value_move(which >= 0 && which < STRINGS, value, AT(strings, which), sizeof value, false);
    if (status.err != CU_FILE_SUCCESS)
        return status;
    if (!text || len <= 0 || strlen(value) >= (size_t)len)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    strcpy(text, value);
    return status;
}

CUfileError_t awcufile_cuFileSetParameterString(CUFileStringConfigParameter_t which, const char *text)
{
    char value[STRING_MAX] = { 0 };
    if (!text || strlen(text) >= sizeof value)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    strcpy(value, text);
    return value_move(which >= 0 && which < STRINGS, value, AT(strings, which), sizeof value, true);
}

CUfileError_t awcufile_cuFileGetParameterPosixPoolSlabArray(size_t *sizes, size_t *counts, int n)
{
    struct slabs slabs;
    CUfileError_t status = value_move(sizes && counts, &slabs, offsetof(struct settings, slabs), sizeof slabs, false);
    if (status.err != CU_FILE_SUCCESS)
        return status;
    if (n != slabs.n)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    memcpy(sizes, slabs.size, (size_t)n * sizeof *sizes);
    memcpy(counts, slabs.count, (size_t)n * sizeof *counts);
    return status;
}

CUfileError_t awcufile_cuFileSetParameterPosixPoolSlabArray(const size_t *sizes, const size_t *counts, int n)
{
    struct slabs slabs = { .n = n };
    bool good = sizes && counts && n > 0 && n <= SLABS;
    for (int i = 0; good && i < n; i++) {
        slabs.size[i] = sizes[i];
        slabs.count[i] = counts[i];
        good = sizes[i] && counts[i];
    }
    return value_move(good, &slabs, offsetof(struct settings, slabs), sizeof slabs, true);
}
