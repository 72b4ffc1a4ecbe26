/* cuFile: what is written from device memory is in the file, and what is read from there is in device memory.  Usage:
 * cufile_test */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cufile.h"

int cudaMalloc(void **ptr, size_t size);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaMemset(void *ptr, int value, size_t size);
int cudaMemsetAsync(void *ptr, int value, size_t size, CUstream stream);
int cudaStreamCreate(CUstream *stream);
int cudaStreamSynchronize(CUstream stream);

static int bad;
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            bad++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)

enum { SIZE = (9 << 20) + 13, DEFAULT = 4 }; /* more than what goes through pinned memory at once */
static unsigned char *host, *back;
static char *device;

static void moves(const char *path, int flags)
{
    CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
    CUfileHandle_t f;
    d.handle.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | flags, 0600);
    if (d.handle.fd < 0 && errno == EINVAL)
        return; /* no such flag on this file system */
    CHECK(cuFileHandleRegister(&f, &d).err == CU_FILE_SUCCESS);
    cudaMemcpy(device, host, SIZE, DEFAULT);
    CHECK(cuFileWrite(f, device, SIZE - 5, 3, 5) == SIZE - 5); /* odd, on both sides */
    FILE *plain = fopen(path, "rb");
    CHECK(plain && fread(back, 1, SIZE, plain) == SIZE - 2);
    CHECK(!memcmp(back + 3, host + 5, SIZE - 5) && !back[0] && !back[2]);
    fclose(plain);
    cudaMemset(device, 0x33, SIZE);
    CHECK(cuFileRead(f, device, SIZE, 100, 1) == SIZE - 2 - 100); /* to the file's end */
    cudaMemcpy(back, device, SIZE, DEFAULT);
    CHECK(!memcmp(back + 1, host + 102, SIZE - 102) && back[0] == 0x33 && back[SIZE - 101] == 0x33);
    CHECK(cuFileRead(f, device, 10, SIZE, 0) == 0);
    cuFileHandleDeregister(f);
    CHECK(cuFileRead(f, device, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
    close(d.handle.fd);
}

static void in_order(const char *path)
{
    CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
    CUfileHandle_t f;
    CUstream stream;
    size_t size = 4096;
    off_t at = 0, offset = 0;
    ssize_t wrote = -7, got = -7;
    d.handle.fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK(cuFileHandleRegister(&f, &d).err == CU_FILE_SUCCESS && cudaStreamCreate(&stream) == 0);
    CHECK(cuFileStreamRegister(stream, 0).err == CU_FILE_SUCCESS);
    cudaMemsetAsync(device, 0x11, size, stream);
    CHECK(cuFileWriteAsync(f, device, &size, &at, &offset, &wrote, stream).err == CU_FILE_SUCCESS);
    cudaMemsetAsync(device, 0x22, size, stream);
    CHECK(cuFileReadAsync(f, device, &size, &at, &offset, &got, stream).err == CU_FILE_SUCCESS);
    CHECK(cudaStreamSynchronize(stream) == 0 && wrote == 4096 && got == 4096);
    cudaMemcpy(back, device, size, DEFAULT);
    CHECK(back[0] == 0x11 && back[4095] == 0x11);
    cuFileHandleDeregister(f);
    close(d.handle.fd);
}

/* Three writes at once, and three reads of which one is of a file that is not registered. */
static void batches(const char *path)
{
    enum { N = 3, PIECE = 5000 };
    CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
    CUfileHandle_t f;
    CUfileBatchHandle_t batch;
    CUfileIOParams_t io[N + 1];
    CUfileIOEvents_t events[N + 1];
    unsigned n = N;
    d.handle.fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK(cuFileHandleRegister(&f, &d).err == CU_FILE_SUCCESS);
    CHECK(cuFileBatchIOSetUp(&batch, N).err == CU_FILE_SUCCESS);
    CHECK(cuFileBatchIOSetUp(&batch, 0).err == CU_FILE_INVALID_VALUE);
    memset(io, 0, sizeof io);
    for (int i = 0; i <= N; i++) {
        io[i] = (CUfileIOParams_t){ .mode = CUFILE_BATCH, .fh = f, .opcode = CUFILE_WRITE, .cookie = (void *)(intptr_t)(i + 40) };
        io[i].u.batch.devPtr_base = device, io[i].u.batch.devPtr_offset = i * PIECE + 1;
        io[i].u.batch.file_offset = (N - 1 - i) * PIECE, io[i].u.batch.size = PIECE;
    }
    cudaMemcpy(device, host, SIZE, DEFAULT);
    CHECK(cuFileBatchIOSubmit(batch, N + 1, io, 0).err == CU_FILE_BATCH_FULL);
    CHECK(cuFileBatchIOSubmit(batch, N, io, 0).err == CU_FILE_SUCCESS);
    n = 2;
    CHECK(cuFileBatchIOGetStatus(batch, 3, &n, events, NULL).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileBatchIOGetStatus(batch, 1, &n, events, NULL).err == CU_FILE_SUCCESS && n == 2);
    n = N + 1;
    CHECK(cuFileBatchIOGetStatus(batch, 0, &n, events + 2, NULL).err == CU_FILE_SUCCESS && n == 1);
    for (int i = 0; i < N; i++)
        CHECK(events[i].status == CUFILE_COMPLETE && events[i].ret == PIECE && events[i].cookie == (void *)(intptr_t)(i + 40));
    CHECK(pread(d.handle.fd, back, N * PIECE, 0) == N * PIECE);
    for (int i = 0; i < N; i++)
        CHECK(!memcmp(back + (N - 1 - i) * PIECE, host + i * PIECE + 1, PIECE));
    cudaMemset(device, 0x44, SIZE);
    for (int i = 0; i < N; i++)
        io[i].opcode = CUFILE_READ;
    io[1].fh = &n;
    CHECK(cuFileBatchIOSubmit(batch, N, io, 0).err == CU_FILE_SUCCESS);
    n = N;
    CHECK(cuFileBatchIOGetStatus(batch, N, &n, events, NULL).err == CU_FILE_SUCCESS && n == N);
    CHECK(events[0].status == CUFILE_COMPLETE && events[2].status == CUFILE_COMPLETE && events[1].status == CUFILE_FAILED);
    CHECK((ssize_t)events[1].ret == -CU_FILE_HANDLE_NOT_REGISTERED);
    cudaMemcpy(back, device, SIZE, DEFAULT);
    CHECK(!memcmp(back + 1, host + 1, PIECE) && !memcmp(back + 2 * PIECE + 1, host + 2 * PIECE + 1, PIECE));
    CHECK(back[PIECE + 1] == 0x44 && back[0] == 0x44 && back[3 * PIECE + 1] == 0x44);
    io[0].mode = 0;
    CHECK(cuFileBatchIOSubmit(batch, 1, io, 0).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileBatchIOSubmit(NULL, 1, io, 0).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileBatchIOCancel(batch).err == CU_FILE_SUCCESS && cuFileBatchIOCancel(NULL).err == CU_FILE_INVALID_VALUE);
    cuFileBatchIODestroy(batch);
    cuFileHandleDeregister(f);
    close(d.handle.fd);
}

static void properties(void)
{
    CUfileDrvProps_t p;
    CHECK(cuFileDriverGetProperties(NULL).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileDriverGetProperties(&p).err == CU_FILE_SUCCESS && p.max_batch_io_size == 128 && p.nvfs.dcontrolflags == 2);
    CHECK(cuFileDriverSetMaxDirectIOSize(1024).err == CU_FILE_SUCCESS && cuFileDriverSetMaxCacheSize(77).err == CU_FILE_SUCCESS);
    CHECK(cuFileDriverSetMaxPinnedMemSize(99).err == CU_FILE_SUCCESS && cuFileDriverSetPollMode(true, 8).err == CU_FILE_SUCCESS);
    CHECK(cuFileDriverSetMaxPinnedMemSize(0).err == CU_FILE_DRIVER_UNSUPPORTED_LIMIT);
    CHECK(cuFileDriverGetProperties(&p).err == CU_FILE_SUCCESS && p.nvfs.max_direct_io_size == 1024);
    CHECK(p.max_device_cache_size == 77 && p.max_device_pinned_mem_size == 99);
    CHECK(p.nvfs.poll_thresh_size == 8 && p.nvfs.dcontrolflags == 3);
}

static void vectors(const char *path)
{
    CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
    CUfileHandle_t f;
    char here[50];
    d.handle.fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK(cuFileHandleRegister(&f, &d).err == CU_FILE_SUCCESS);
    cudaMemcpy(device, host, SIZE, DEFAULT);
    const CUfileIOVec_t out[] = { { device + 300, 101 }, { NULL, 0 }, { host + 7, 50 }, { device, 9 } };
    CHECK(cuFileWritev(f, out, 4, 2, 0) == 160);
    FILE *plain = fopen(path, "rb");
    CHECK(plain && fread(back, 1, SIZE, plain) == 162);
    CHECK(!memcmp(back + 2, host + 300, 101) && !memcmp(back + 103, host + 7, 50) && !memcmp(back + 153, host, 9));
    fclose(plain);
    cudaMemset(device, 0x33, SIZE);
    const CUfileIOVec_t in[] = { { here, 50 }, { device + 10, 100 }, { device + 500, 100 }, { device + 1000, 1 } };
    CHECK(cuFileReadv(f, in, 4, 3, 0) == 159); /* to the file's end, in the third */
    cudaMemcpy(back, device, SIZE, DEFAULT);
    CHECK(!memcmp(here, host + 301, 50) && !memcmp(back + 10, host + 351, 50) && !memcmp(back + 60, host + 7, 50));
    CHECK(!memcmp(back + 500, host, 9) && back[509] == 0x33 && back[1000] == 0x33);
    CHECK(cuFileReadv(f, in, 4, 3, 1) == -CU_FILE_INVALID_VALUE && cuFileReadv(f, NULL, 1, 0, 0) == -CU_FILE_INVALID_VALUE);
    cuFileHandleDeregister(f);
    CHECK(cuFileWritev(f, out, 4, 2, 0) == -CU_FILE_HANDLE_NOT_REGISTERED);
    close(d.handle.fd);
}

/* Before the driver is opened, and while it is. */
static void parameters(void)
{
    size_t size = 0;
    bool flag = false;
    char text[16], small[4];
    CUfileDrvProps_t p;
    const size_t sizes[] = { 64, 2048 }, counts[] = { 9, 3 }, none[] = { 9, 0 };
    size_t sizes_now[3], counts_now[3];
    CHECK(cuFileGetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, &size).err == CU_FILE_SUCCESS && size == 128);
    CHECK(cuFileGetParameterPosixPoolSlabArray(sizes_now, counts_now, 3).err == CU_FILE_SUCCESS);
    CHECK(sizes_now[0] == 4 && sizes_now[2] == 16384 && counts_now[0] == 128 && counts_now[2] == 64);
    CHECK(cuFileGetParameterPosixPoolSlabArray(sizes_now, counts_now, 2).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileSetParameterPosixPoolSlabArray(sizes, none, 2).err == CU_FILE_INVALID_VALUE &&
          cuFileSetParameterPosixPoolSlabArray(sizes, counts, 0).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileSetParameterPosixPoolSlabArray(sizes, counts, 2).err == CU_FILE_SUCCESS);
    CHECK(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, 2048).err == CU_FILE_SUCCESS);
    CHECK(cuFileSetParameterBool(CUFILE_PARAM_PROPERTIES_USE_POLL_MODE, true).err == CU_FILE_SUCCESS);
    CHECK(cuFileSetParameterString(CUFILE_PARAM_LOGGING_LEVEL, "DEBUG").err == CU_FILE_SUCCESS);
    CHECK(cuFileSetParameterSizeT(12, 1).err == CU_FILE_INVALID_VALUE &&
          cuFileSetParameterBool(-1, 1).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileGetParameterString(9, text, 16).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileDriverOpen().err == CU_FILE_SUCCESS);
    CHECK(cuFileDriverGetProperties(&p).err == CU_FILE_SUCCESS && p.per_buffer_cache_size == 2048 && p.nvfs.dcontrolflags == 3);
    CHECK(cuFileSetParameterSizeT(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 9).err == CU_FILE_DRIVER_ALREADY_OPEN);
    CHECK(cuFileSetParameterPosixPoolSlabArray(sizes, counts, 1).err == CU_FILE_DRIVER_ALREADY_OPEN);
    CHECK(cuFileGetParameterPosixPoolSlabArray(sizes_now, counts_now, 2).err == CU_FILE_SUCCESS);
    CHECK(!memcmp(sizes_now, sizes, sizeof sizes) && !memcmp(counts_now, counts, sizeof counts));
    CHECK(cuFileGetParameterBool(CUFILE_PARAM_PROPERTIES_USE_POLL_MODE, &flag).err == CU_FILE_SUCCESS && flag);
    CHECK(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, text, 16).err == CU_FILE_SUCCESS && !strcmp(text, "DEBUG"));
    CHECK(cuFileGetParameterString(CUFILE_PARAM_LOGGING_LEVEL, small, 4).err == CU_FILE_INVALID_VALUE);
    CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS);
    CHECK(cuFileGetParameterBool(CUFILE_PARAM_PROPERTIES_USE_POLL_MODE, &flag).err == CU_FILE_SUCCESS && !flag);
}

int main(void)
{
    char path[] = "cufile_test_XXXXXX";
    CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
    CUfileHandle_t f;
    int pipes[2];
    close(mkstemp(path));
    host = malloc(SIZE), back = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        host[i] = (unsigned char)(i * 7 + i / 251);
    cudaMalloc((void **)&device, SIZE);
    CHECK(cuFileDriverClose().err == CU_FILE_DRIVER_NOT_INITIALIZED);
    parameters();
    CHECK(cuFileDriverOpen().err == CU_FILE_SUCCESS && cuFileUseCount() == 1);
    moves(path, 0);
    vectors(path);
    moves(path, O_DIRECT);
    in_order(path);
    batches(path);
    properties();
    CHECK(cuFileBufRegister(device, SIZE, 0).err == CU_FILE_SUCCESS);
    CHECK(cuFileBufRegister(device, SIZE, 0).err == CU_FILE_MEMORY_ALREADY_REGISTERED);
    CHECK(cuFileBufDeregister(device).err == CU_FILE_SUCCESS);
    CHECK(cuFileBufDeregister(device).err == CU_FILE_MEMORY_NOT_REGISTERED);
    CHECK(pipe(pipes) == 0);
    d.handle.fd = pipes[0];
    CHECK(cuFileHandleRegister(&f, &d).err == CU_FILE_INVALID_FILE_TYPE);
    CHECK(cuFileDriverClose().err == CU_FILE_SUCCESS && cuFileUseCount() == 0);
    unlink(path);
    printf("%d wrong\n", bad);
    return bad != 0;
}
