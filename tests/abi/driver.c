/* A program of the driver API, linked against libcuda.so.1: what cuGetProcAddress finds, stubs, error names.  The versions are
 * those at which CUDA's own driver changes its answer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/abi.h"

#include "check.h"

CUresult cuInit(unsigned flags);
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, int *status);
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuDeviceGetCount(int *count);
CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *address, size_t *size, CUgraphicsResource resource);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);

static const struct proc_case {
    const char *name;
    int version, flags;
    const char *export; /* NULL: not found */
    int status;
} proc_cases[] = {
    { "cuInit", 2000, 0, "cuInit", 0 },
    { "cuMemAlloc", 3010, 0, "cuMemAlloc", 0 },
    { "cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0 },
    { "cuMemAlloc", 13000, 1, "cuMemAlloc_v2", 0 },
    { "cuMemAlloc", 13000, 2, "cuMemAlloc_v2", 0 },
    { "cuMemAlloc", 1000, 0, NULL, 2 },
    { "cuMemcpyHtoD", 2000, 0, "cuMemcpyHtoD", 0 },
    { "cuMemcpyHtoD", 12000, 0, "cuMemcpyHtoD_v2", 0 },
    { "cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds", 0 },
    { "cuMemcpyHtoD", 6050, 2, NULL, 2 },
    { "cuMemcpyHtoDAsync", 7000, 2, "cuMemcpyHtoDAsync_v2_ptsz", 0 },
    { "cuLaunchKernel", 4000, 0, "cuLaunchKernel", 0 },
    { "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz", 0 },
    { "cuStreamGetCaptureInfo", 10010, 2, "cuStreamGetCaptureInfo_ptsz", 0 },
    { "cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2", 0 },
    { "cuStreamGetCaptureInfo", 12030, 2, "cuStreamGetCaptureInfo_v3_ptsz", 0 },
    { "cuGetProcAddress", 11030, 0, "cuGetProcAddress", 0 },
    { "cuGetProcAddress", 12000, 2, "cuGetProcAddress_v2", 0 },
    { "cuCtxGetDevice", 12090, 0, "cuCtxGetDevice", 0 },
    { "cuCtxGetDevice", 13000, 0, "cuCtxGetDevice_v2", 0 },
    { "cuMemPrefetchAsync", 12010, 2, "cuMemPrefetchAsync_ptsz", 0 },
    { "cuMemPrefetchAsync", 12020, 2, "cuMemPrefetchAsync_v2_ptsz", 0 },
    { "cuMemAlloc_v2", 13000, 0, NULL, 1 }, /* an export's name is not an API's name */
    { "cuNoSuchThing", 13000, 0, NULL, 1 },
    { "", 13000, 0, NULL, 1 },
};

static void procs(void)
{
    for (size_t i = 0; i < sizeof(proc_cases) / sizeof(proc_cases[0]); i++) {
        const struct proc_case *c = &proc_cases[i];
        void *function = (void *)1;
        int status = -1, before = failures;
        EQUAL(cuGetProcAddress_v2(c->name, &function, c->version, (cuuint64_t)c->flags, &status), CUDA_SUCCESS);
        CHECK(function == (c->export ? aw_abi_cuda_find(c->export) : NULL));
        EQUAL(status, c->status);
        if (failures != before)
            printf("    for %s, version %d, flags %d\n", c->name, c->version, c->flags);
    }
    void *function = NULL;
    EQUAL(cuGetProcAddress("cuMemAlloc", &function, 12000, 0), CUDA_SUCCESS);
    CHECK(function && function == aw_abi_cuda_find("cuMemAlloc_v2"));
    EQUAL(cuGetProcAddress("cuNoSuchThing", &function, 12000, 0), CUDA_ERROR_NOT_FOUND);
    EQUAL(cuGetProcAddress(NULL, &function, 12000, 0), CUDA_ERROR_INVALID_VALUE);

    int count = 0;
    CUresult (*count_get)(int *) = NULL;
    EQUAL(cuGetProcAddress_v2("cuDeviceGetCount", (void **)&count_get, 12000, 0, NULL), CUDA_SUCCESS);
    CHECK(count_get && count_get(&count) == CUDA_SUCCESS && count >= 1);
}

static void runtime_lookup(void)
{
    CHECK(aw_abi_cudart_find(11, "cudaMalloc") && aw_abi_cudart_find(12, "cudaMalloc") && aw_abi_cudart_find(13, "cudaMalloc"));
    CHECK(aw_abi_cudart_find(11, "cudaBindTexture") && !aw_abi_cudart_find(12, "cudaBindTexture"));
    CHECK(!aw_abi_cudart_find(11, "__cudaGetKernel") && aw_abi_cudart_find(13, "__cudaGetKernel"));
    CHECK(!aw_abi_cudart_find(10, "cudaMalloc") && !aw_abi_cudart_find(13, NULL) && !aw_abi_cudart_find(13, "cuda"));
    /* Same name, another structure: another function. */
    CHECK(aw_abi_cudart_find(12, "cudaPointerGetAttributes") != aw_abi_cudart_find(13, "cudaPointerGetAttributes"));
    CHECK(aw_abi_cudart_find(11, "cudaPointerGetAttributes") == aw_abi_cudart_find(12, "cudaPointerGetAttributes"));
}

int main(void)
{
    CUdeviceptr address = 0x99;
    int count;
    EQUAL(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EQUAL(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuInit(0), CUDA_SUCCESS);
    EQUAL(cuMemAlloc_v2(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
    EQUAL(address, 0x99);
    procs();
    runtime_lookup();

    const char *text;
    EQUAL(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text), CUDA_SUCCESS);
    CHECK(!strcmp(text, "CUDA_ERROR_NOT_FOUND"));
    EQUAL(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    CHECK(!strcmp(text, "out of memory"));
    EQUAL(cuGetErrorName((CUresult)9, &text), CUDA_ERROR_INVALID_VALUE); /* only the runtime has number 9 */
    for (int i = 0; i < 3; i++)
        EQUAL(cuGraphicsResourceGetMappedPointer_v2(&address, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
    EQUAL(address, 0x99);
    printf("%d failures\n", failures);
    return failures != 0;
}
