// CUDA 11's texture and surface references, as a program of its time has them: structures registered beside the variables of its
// PTX, bound through libcudart.so.11.0, which is opened here because newer compilers know neither.  The fat binary is put
// together by hand.
// variants: shared
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "check.h"

// The reference's layout in CUDA 11.
struct Reference {
    int normalized, filter, address[3];
    cudaChannelFormatDesc channel;
    int srgb;
    unsigned anisotropy;
    int mip_filter;
    float bias, least, most;
    int no_trilinear, reserved[14];
};
static_assert(sizeof(Reference) == 124, "as CUDA 11 has it");

static Reference bytes_ref, line_ref;
static cudaChannelFormatDesc surface_ref;

static const char text[] = R"(
.version 4.0
.target sm_30
.address_size 64
.global .texref bytes_ref;
.global .texref line_ref;
.global .surfref surface_ref;
.visible .entry read(.param .u64 out)
{
    .reg .f32 %f<12>; .reg .b32 %r<12>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    add.f32 %f1, %f1, 0f3f000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [bytes_ref, {%f1, %f1}];
    tex.1d.v4.f32.s32 {%f7, %f8, %f9, %f10}, [line_ref, {%r1}];
    mul.lo.u32 %r2, %r1, 4;
    suld.b.1d.b32.zero %r3, [surface_ref, {%r2}];
    mad.wide.u32 %rd3, %r1, 16, %rd1;
    st.global.v2.f32 [%rd3], {%f3, %f4};
    st.global.f32 [%rd3+8], %f7;
    st.global.u32 [%rd3+12], %r3;
    ret;
}
)";

static struct {
    struct {
        uint32_t magic;
        uint16_t version, size;
        uint64_t bytes;
    } head;
    struct {
        uint16_t kind, version;
        uint32_t size;
        uint64_t bytes;
        uint32_t compressed, options;
        uint16_t minor, major;
        uint32_t sm, reserved[2];
        uint64_t flags, reserved2, uncompressed;
    } entry;
    char ptx[(sizeof text + 7) / 8 * 8];
} container = { { 0xba55ed50, 1, 16, 64 + sizeof container.ptx },
                { 1, 0x0101, 64, sizeof container.ptx, 0, 0, 0, 4, 30, {}, 0x11, 0, 0 },
                {} };

static const struct {
    uint32_t magic, version;
    const void *data, *extra;
} wrapper = { 0x466243b1, 1, &container, NULL };

static void read_stub() {}

static void *library;
template <class F> static F *find(const char *name)
{
    F *f = (F *)dlsym(library, name);
    if (!f) {
        std::printf("%s is not there\n", name);
        std::exit(1);
    }
    return f;
}

#define CALL(name, ...) CHECK(name(__VA_ARGS__))

int main()
{
    library = dlopen("libcudart.so.11.0", RTLD_NOW);
    if (!library) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    memcpy(container.ptx, text, sizeof text);
    auto register_binary = find<void **(const void *)>("__cudaRegisterFatBinary");
    auto register_end = find<void(void **)>("__cudaRegisterFatBinaryEnd");
    auto register_function = find<void(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *)>(
        "__cudaRegisterFunction");
    auto register_texture = find<void(void **, const void *, const void **, const char *, int, int, int)>(
        "__cudaRegisterTexture");
    auto register_surface = find<void(void **, const void *, const void **, const char *, int, int)>("__cudaRegisterSurface");
    auto bind_linear = find<cudaError_t(size_t *, const Reference *, const void *, const cudaChannelFormatDesc *, size_t)>(
        "cudaBindTexture");
    auto bind_array = find<cudaError_t(const Reference *, cudaArray_t, const cudaChannelFormatDesc *)>("cudaBindTextureToArray");
    auto bind_surface = find<cudaError_t(const void *, cudaArray_t, const cudaChannelFormatDesc *)>("cudaBindSurfaceToArray");
    auto unbind = find<cudaError_t(const Reference *)>("cudaUnbindTexture");
    auto get_reference = find<cudaError_t(const Reference **, const void *)>("cudaGetTextureReference");
    auto get_offset = find<cudaError_t(size_t *, const Reference *)>("cudaGetTextureAlignmentOffset");
    auto malloc_array = find<cudaError_t(cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t, unsigned)>(
        "cudaMallocArray");
    auto to_array = find<cudaError_t(cudaArray_t, size_t, size_t, const void *, size_t, cudaMemcpyKind)>("cudaMemcpyToArray");
    auto from_array = find<cudaError_t(void *, cudaArray_t, size_t, size_t, size_t, cudaMemcpyKind)>("cudaMemcpyFromArray");
    auto launch = find<cudaError_t(const void *, dim3, dim3, void **, size_t, cudaStream_t)>("cudaLaunchKernel");
    auto malloc_device = find<cudaError_t(void **, size_t)>("cudaMalloc");
    auto copy = find<cudaError_t(void *, const void *, size_t, cudaMemcpyKind)>("cudaMemcpy");

    void **binary = register_binary(&wrapper);
    register_function(binary, (const char *)read_stub, (char *)"read", "read", -1, NULL, NULL, NULL, NULL, NULL);
    register_texture(binary, &bytes_ref, NULL, "bytes_ref", 2, 1, 0);
    register_texture(binary, &line_ref, NULL, "::line_ref", 1, 0, 0); /* as nvcc names static ones */
    register_surface(binary, &surface_ref, NULL, "::surface_ref", 1, 0);
    register_end(binary);

    const int n = 8;
    unsigned char bytes[n][n][2];
    float line[n], *d_line;
    int words[n], back[n];
    for (int i = 0; i < n * n * 2; i++)
        (&bytes[0][0][0])[i] = (unsigned char)(i * 3);
    for (int i = 0; i < n; i++)
        line[i] = 1.5f * i, words[i] = 1000 - i;
    cudaChannelFormatDesc two = { 8, 8, 0, 0, cudaChannelFormatKindUnsigned }, one = { 32, 0, 0, 0, cudaChannelFormatKindFloat },
                          word = { 32, 0, 0, 0, cudaChannelFormatKindSigned };
    cudaArray_t array, row;
    CALL(malloc_array, &array, &two, n, n, 0);
    CALL(malloc_array, &row, &word, n, 0, cudaArraySurfaceLoadStore);
    // In two pieces, the first of which ends within a row.
    CALL(to_array, array, 0, 0, bytes, 37, cudaMemcpyHostToDevice);
    CALL(to_array, array, 37 % 16, 37 / 16, &bytes[0][0][0] + 37, sizeof bytes - 37, cudaMemcpyHostToDevice);
    unsigned char all[n][n][2];
    CALL(from_array, all, array, 0, 0, sizeof all, cudaMemcpyDeviceToHost);
    EXPECT(memcmp(all, bytes, sizeof all) == 0, "the array is not what was copied");
    CALL(to_array, row, 0, 0, words, sizeof words, cudaMemcpyHostToDevice);
    CALL(from_array, back, row, 4, 0, 12, cudaMemcpyDeviceToHost);
    EXPECT(back[0] == 999 && back[2] == 997, "part of a row: %d %d", back[0], back[2]);
    CALL(malloc_device, (void **)&d_line, sizeof line);
    CALL(copy, d_line, line, sizeof line, cudaMemcpyHostToDevice);

    size_t offset = 5;
    const Reference *found;
    Reference stranger = {};
    bytes_ref.address[0] = bytes_ref.address[1] = bytes_ref.address[2] = cudaAddressModeClamp;
    CHECK_ERR(get_offset(&offset, &line_ref), cudaErrorInvalidTextureBinding);
    CALL(bind_array, &bytes_ref, array, &two);
    CALL(bind_linear, &offset, &line_ref, d_line, &one, UINT32_MAX);
    CALL(bind_surface, &surface_ref, row, &word);
    EXPECT(offset == 0, "offset %zu", offset);
    CALL(get_offset, &offset, &line_ref);
    CALL(get_reference, &found, &bytes_ref);
    EXPECT(found == &bytes_ref, "another reference came back");
    CHECK_ERR(bind_array(&stranger, array, &two), cudaErrorInvalidTexture);
    CHECK_ERR(bind_surface(&bytes_ref, row, &word), cudaErrorInvalidSurface);

    struct {
        float x, y, line;
        int word;
    } out[n];
    void *d_out;
    CALL(malloc_device, &d_out, sizeof out);
    void *args[] = { &d_out };
    CALL(launch, (const void *)read_stub, dim3(1), dim3(n), args, 0, NULL);
    CALL(copy, out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) {
        EXPECT(out[i].x == bytes[i][i][0] / 255.0f && out[i].y == bytes[i][i][1] / 255.0f, "bytes %d: %g %g", i, out[i].x,
               out[i].y);
        EXPECT(out[i].line == line[i], "line %d: %g", i, out[i].line);
        EXPECT(out[i].word == words[i], "word %d: %d", i, out[i].word);
    }
    CALL(unbind, &line_ref);
    CHECK_ERR(get_offset(&offset, &line_ref), cudaErrorInvalidTextureBinding);
    return check_done();
}
