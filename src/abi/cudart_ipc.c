/* Runtime API: memory and events of other processes, as the driver API has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_proto.h"
#include "abi/cudart.h"

cudaError_t awrt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    AW_RT_AS_DRIVER(awcu_cuIpcGetMemHandle(handle, (CUdeviceptr)(uintptr_t)devPtr));
}

cudaError_t awrt_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    AW_RT_AS_DRIVER(awcu_cuIpcOpenMemHandle_v2((CUdeviceptr *)devPtr, handle, flags));
}

cudaError_t awrt_cudaIpcCloseMemHandle(void *devPtr)
{
    AW_RT_AS_DRIVER(awcu_cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)devPtr));
}

cudaError_t awrt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    AW_RT_AS_DRIVER(awcu_cuIpcGetEventHandle(handle, (CUevent)event));
}

cudaError_t awrt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    AW_RT_AS_DRIVER(awcu_cuIpcOpenEventHandle((CUevent *)event, handle));
}
