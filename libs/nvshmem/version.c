/* NVSHMEM's versions, and that it was not started: what can be asked before that. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nvshmem_host_proto.h"

/* Of OpenSHMEM's interface, and of the release that the table was taken from. */
enum { API_MAJOR = 1, API_MINOR = 3, MAJOR = 3, MINOR = 8, PATCH = 0 };
enum { STATUS_NOT_INITIALIZED = 0 };

void awnvshmem_host_nvshmem_info_get_version(int *major, int *minor)
{
    *major = API_MAJOR;
    *minor = API_MINOR;
}

/* `name` has room for 256 bytes, NVSHMEM_MAX_NAME_LEN. */
void awnvshmem_host_nvshmem_info_get_name(char *name)
{
    strcpy(name, "anywarp NVSHMEM v3.8.0");
}

void awnvshmem_host_nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = MAJOR;
    *minor = MINOR;
    *patch = PATCH;
}

int awnvshmem_host_nvshmemx_init_status(void)
{
    return STATUS_NOT_INITIALIZED;
}

int awnvshmem_host_nvshmemid_init_status(void)
{
    return STATUS_NOT_INITIALIZED;
}
