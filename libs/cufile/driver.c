/* cuFile's driver, of which there is none: files are read and written through the host's own calls, as with NVIDIA's
 * compatibility mode. */
/* SPDX-License-Identifier: Apache-2.0 */
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
