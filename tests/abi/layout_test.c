/* The layouts of CUDA's structures, as numbers: sizes and offsets measured on CUDA 11.8, 12.9 and 13.0.  Compiling it is the
 * test; the program only tells that it was compiled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart_types.h"

#include <stdio.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), "offset of " #type "." #field)

/* ---- Device properties.  11.8: 728 bytes, the head of 12's 1032; 13: 1008. */
SIZE(cudaDeviceProp_v12, 1032);
AT(cudaDeviceProp_v12, uuid, 256);
AT(cudaDeviceProp_v12, totalGlobalMem, 288);
AT(cudaDeviceProp_v12, warpSize, 308);
AT(cudaDeviceProp_v12, maxThreadsPerBlock, 320);
AT(cudaDeviceProp_v12, clockRate, 348);
AT(cudaDeviceProp_v12, major, 360);
AT(cudaDeviceProp_v12, multiProcessorCount, 388);
AT(cudaDeviceProp_v12, maxTexture2DGather, 448);
AT(cudaDeviceProp_v12, concurrentKernels, 576);
AT(cudaDeviceProp_v12, pciBusID, 584);
AT(cudaDeviceProp_v12, l2CacheSize, 616);
AT(cudaDeviceProp_v12, sharedMemPerMultiprocessor, 640);
AT(cudaDeviceProp_v12, cooperativeLaunch, 688);
AT(cudaDeviceProp_v12, sharedMemPerBlockOptin, 696);
AT(cudaDeviceProp_v12, reservedSharedMemPerBlock, 720);
AT(cudaDeviceProp_v12, hostRegisterSupported, AW_DEVICE_PROP_V11_SIZE);
AT(cudaDeviceProp_v12, unifiedFunctionPointers, 776);
_Static_assert(AW_DEVICE_PROP_V11_SIZE == 728, "CUDA 11.8's properties");
SIZE(cudaDeviceProp_v13, 1008);
AT(cudaDeviceProp_v13, warpSize, 308);
AT(cudaDeviceProp_v13, totalConstMem, 352);
AT(cudaDeviceProp_v13, major, 360);
AT(cudaDeviceProp_v13, multiProcessorCount, 384);
AT(cudaDeviceProp_v13, maxTexture2D, 404);
AT(cudaDeviceProp_v13, concurrentKernels, 560);
AT(cudaDeviceProp_v13, memoryBusWidth, 592);
AT(cudaDeviceProp_v13, sharedMemPerMultiprocessor, 624);
AT(cudaDeviceProp_v13, sharedMemPerBlockOptin, 672);
AT(cudaDeviceProp_v13, deviceNumaConfig, 756);
AT(cudaDeviceProp_v13, hostNumaMultinodeIpcSupported, 780);

/* ---- The others whose layout changed. */
SIZE(cudaPointerAttributes_v11, 24);
SIZE(cudaPointerAttributes_v13, 88);
AT(cudaPointerAttributes_v13, hostPointer, 16);
SIZE(cudaFuncAttributes_v11, 56);
SIZE(cudaFuncAttributes_v12, 144);
AT(cudaFuncAttributes_v12, maxThreadsPerBlock, 24);
AT(cudaFuncAttributes_v12, maxDynamicSharedSizeBytes, 44);
AT(cudaFuncAttributes_v12, clusterDimMustBeSet, 52);

/* ---- Runtime API. */
SIZE(dim3, 12);
SIZE(cudaExtent, 24);
SIZE(cudaPos, 24);
SIZE(cudaPitchedPtr, 32);
SIZE(cudaChannelFormatDesc, 20);
SIZE(cudaMemcpy3DParms, 160);
AT(cudaMemcpy3DParms, dstArray, 64);
AT(cudaMemcpy3DParms, kind, 152);
SIZE(cudaMemcpy3DPeerParms, 168);
AT(cudaMemcpy3DPeerParms, extent, 144);
SIZE(cudaArrayMemoryRequirements, 32);
SIZE(cudaResourceDesc, 64);
SIZE(cudaResourceDesc_v13, 144);
AT(cudaResourceDesc, res.linear.sizeInBytes, 40);
AT(cudaResourceDesc, res.pitch2D.pitchInBytes, 56);
SIZE(cudaTextureDesc, 72);
SIZE(cudaTextureDesc_v11, 68);
AT(cudaTextureDesc, borderColor, 24);
AT(cudaTextureDesc, seamlessCubemap, 68);
SIZE(cudaResourceViewDesc, 48);
SIZE(textureReference, 124);
AT(textureReference, channelDesc, 20);
AT(textureReference, disableTrilinearOptimization, 64);
SIZE(surfaceReference, 20);
SIZE(cudaLaunchConfig_t, 56);
AT(cudaLaunchConfig_t, dynamicSmemBytes, 24);
AT(cudaLaunchConfig_t, numAttrs, 48);
SIZE(cudaLaunchParams, 56);
SIZE(cudaIpcMemHandle_t, 64);
SIZE(cudaEglFrame, 280);

/* ---- Driver API. */
SIZE(CUuuid, 16);
SIZE(CUdevprop, 56);
SIZE(CUmemLocation, 8);
SIZE(CUmemAccessDesc, 12);
SIZE(CUmemPoolProps, 88);
AT(CUmemPoolProps, win32SecurityAttributes, 16);
SIZE(CUmemPoolPtrExportData, 64);
SIZE(CUmemAllocationProp, 32);
SIZE(CUmemcpyAttributes, 24);
SIZE(CUexecAffinityParam, 8);
SIZE(CUctxCreateParams, 24);
SIZE(CUlaunchAttributeValue, 64);
SIZE(CUlaunchAttribute, 72);
AT(CUlaunchAttribute, value, 8);
SIZE(CUlaunchConfig, 56);
AT(CUlaunchConfig, hStream, 32);
SIZE(CUDA_LAUNCH_PARAMS, 56);
AT(CUDA_LAUNCH_PARAMS, hStream, 40);
SIZE(CUDA_KERNEL_NODE_PARAMS_v1, 56);
SIZE(CUDA_KERNEL_NODE_PARAMS, 72);
SIZE(CUDA_MEMSET_NODE_PARAMS, 40);
SIZE(CUDA_HOST_NODE_PARAMS, 16);
SIZE(CUDA_MEMCPY2D, 128);
SIZE(CUDA_MEMCPY2D_v1, 96);
SIZE(CUdevResource, 144);
AT(CUdevResource, sm, 96);
AT(CUdevResource, nextResource, 136);
SIZE(CUDA_MEMCPY3D, 200);
AT(CUDA_MEMCPY3D, dstXInBytes, 88);
AT(CUDA_MEMCPY3D, WidthInBytes, 176);
SIZE(CUDA_MEMCPY3D_v1, 144);
SIZE(CUDA_MEMCPY3D_PEER, 200);
AT(CUDA_MEMCPY3D_PEER, dstContext, 152);
SIZE(CUDA_ARRAY_DESCRIPTOR, 24);
SIZE(CUDA_ARRAY3D_DESCRIPTOR, 40);
SIZE(CUDA_ARRAY_DESCRIPTOR_v1, 16);
SIZE(CUDA_ARRAY3D_DESCRIPTOR_v1, 24);
SIZE(CUDA_ARRAY_MEMORY_REQUIREMENTS, 32);
SIZE(CUDA_RESOURCE_DESC, 144);
AT(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes, 40);
AT(CUDA_RESOURCE_DESC, flags, 136);
SIZE(CUDA_TEXTURE_DESC, 104);
AT(CUDA_TEXTURE_DESC, borderColor, 40);
SIZE(CUDA_RESOURCE_VIEW_DESC, 112);
SIZE(CUstreamBatchMemOpParams, 48);
AT(CUstreamBatchMemOpParams, waitValue.alias, 32);
SIZE(CUeglFrame, 64);

/* ---- Graphs. */
SIZE(CUgraphEdgeData, 8);
SIZE(CUgraphNodeParams, 256);
AT(CUgraphNodeParams, kernel, 16);
AT(CUgraphNodeParams, memcpy.copyParams, 32);
AT(CUgraphNodeParams, memset.ctx, 56);
AT(CUgraphNodeParams, reserved2, 248);
SIZE(CUDA_MEM_ALLOC_NODE_PARAMS, 120);
AT(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs, 88);
AT(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize, 104);
AT(CUDA_MEM_ALLOC_NODE_PARAMS, dptr, 112);
SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS, 32);
AT(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out, 24);
SIZE(CUgraphExecUpdateResultInfo, 24);
AT(CUgraphExecUpdateResultInfo, errorFromNode, 16);
SIZE(cudaGraphNodeParams, 256);
AT(cudaGraphNodeParams, memcpy.copyParams, 32);
SIZE(cudaKernelNodeParams, 56);
AT(cudaKernelNodeParams, kernelParams, 40);

int main(void)
{
    puts("layouts hold");
    return 0;
}
