/* cuFile's driver, of which there is none: files are read and written through the host's own calls, as with NVIDIA's
 * compatibility mode. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "cufile_proto.h"

/* Of the release that the table was taken from: 1.20.0. */
enum { VERSION = 1200 };

static atomic_long uses; /* how often it is open */

CUfileError_t awcufile_cuFileDriverOpen(void)
{
    atomic_fetch_add(&uses, 1);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

CUfileError_t awcufile_cuFileDriverClose(void)
{
    long now = atomic_load(&uses);
    while (now > 0 && !atomic_compare_exchange_weak(&uses, &now, now - 1))
        ;
    return (CUfileError_t){ now > 0 ? CU_FILE_SUCCESS : CU_FILE_DRIVER_NOT_INITIALIZED, 0 };
}

long awcufile_cuFileUseCount(void)
{
    return atomic_load(&uses);
}

CUfileError_t awcufile_cuFileGetVersion(int *version)
{
    if (!version)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    *version = VERSION;
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

/* ---- Properties: those of NVIDIA's compatibility mode.  What is set is kept, and changes nothing. */

static struct {
    pthread_mutex_t lock;
    CUfileDrvProps_t props;
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER,
             .props = { .nvfs = { .poll_thresh_size = 4, .max_direct_io_size = 16 << 10,
                                  .dcontrolflags = 1 << CU_FILE_ALLOW_COMPAT_MODE },
                        .fflags = 1 << CU_FILE_BATCH_IO_SUPPORTED | 1 << CU_FILE_STREAMS_SUPPORTED,
                        .max_device_cache_size = 128 << 10, .per_buffer_cache_size = 1 << 10,
                        .max_device_pinned_mem_size = 32 << 20, .max_batch_io_size = 128 } };

CUfileError_t awcufile_cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
    if (!props)
        return (CUfileError_t){ CU_FILE_INVALID_VALUE, 0 };
    pthread_mutex_lock(&driver.lock);
    *props = driver.props;
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

/* `kib` is at least 1, and fits an unsigned. */
static CUfileError_t limit_set(unsigned *field, size_t *wide, size_t kib)
{
    if (!kib || kib > 0xffffffff)
        return (CUfileError_t){ CU_FILE_DRIVER_UNSUPPORTED_LIMIT, 0 };
    pthread_mutex_lock(&driver.lock);
    if (field)
        *field = (unsigned)kib;
    else
        *wide = kib;
    pthread_mutex_unlock(&driver.lock);
    return (CUfileError_t){ CU_FILE_SUCCESS, 0 };
}

CUfileError_t awcufile_cuFileDriverSetMaxDirectIOSize(size_t kib)
{
    return limit_set(NULL, &driver.props.nvfs.max_direct_io_size, kib);
}

CUfileError_t awcufile_cuFileDriverSetMaxCacheSize(size_t kib)
{
    return limit_set(&driver.props.max_device_cache_size, NULL, kib);
}

CUfileError_t awcufile_cuFileDriverSetMaxPinnedMemSize(size_t kib)
{
    return limit_set(&driver.props.max_device_pinned_mem_size, NULL, kib);
}

CUfileError_t awcufile_cuFileDriverSetPollMode(bool poll, size_t threshold)
{
    CUfileError_t status = limit_set(NULL, &driver.props.nvfs.poll_thresh_size, threshold);
    if (status.err != CU_FILE_SUCCESS)
        return status;
    pthread_mutex_lock(&driver.lock);
    driver.props.nvfs.dcontrolflags &= ~(1u << CU_FILE_USE_POLL_MODE);
    driver.props.nvfs.dcontrolflags |= (unsigned)poll << CU_FILE_USE_POLL_MODE;
    pthread_mutex_unlock(&driver.lock);
    return status;
}
