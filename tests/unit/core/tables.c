/* Stand-ins for what the driver API's bodies take from the generated tables, which these tests do without. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/abi.h"

static int something;

const void *aw_abi_proc_find(const char *name, int cuda_version, uint64_t flags, int *ret_symbol_status)
{
    bool known = strcmp(name, "cuInit") == 0;
    *ret_symbol_status = known ? 0 : 1;
    return known ? (const void *)&something : NULL;
}

const char *aw_abi_error_name(int code, bool driver)
{
    return code == 1 ? "CUDA_ERROR_INVALID_VALUE" : NULL;
}

const char *aw_abi_error_text(int code, bool driver)
{
    return code == 1 ? "invalid argument" : NULL;
}
