/* Version numbers of cuSOLVER: of CUDA 12's last release and of the first of CUDA 13 that the tables were taken from. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cusolver_proto.h"

#define VERSION(lib, major, minor, patch)                                                       \
    cusolverStatus_t awcusolver_cusolverGetVersion_##lib(int *version)                          \
    {                                                                                           \
        if (!version)                                                                           \
            return CUSOLVER_STATUS_INVALID_VALUE;                                               \
        *version = (major)*1000 + (minor)*100 + (patch);                                        \
        return CUSOLVER_STATUS_SUCCESS;                                                         \
    }                                                                                           \
    cusolverStatus_t awcusolver_cusolverGetProperty_##lib(libraryPropertyType type, int *value) \
    {                                                                                           \
        if (!value || (unsigned)type > PATCH_LEVEL)                                             \
            return CUSOLVER_STATUS_INVALID_VALUE;                                               \
        *value = type == MAJOR_VERSION ? (major) : type == MINOR_VERSION ? (minor) : (patch);   \
        return CUSOLVER_STATUS_SUCCESS;                                                         \
    }

VERSION(11, 11, 7, 5)
VERSION(12, 12, 0, 4)
