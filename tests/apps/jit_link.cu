// Linking PTX through the driver API: functions and variables of other texts, weak and common definitions, a function pointer and
// an initialiser across texts; inputs from memory, from files and from a static library; results loaded as data, from a file, as
// a library and linked again; what is undefined, defined twice or does not parse is told in the log, by name.
// link: -lcuda
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <string>
#include <unistd.h>

#define DRV(call)                                                                    \
    do {                                                                             \
        CUresult drv_ = (call);                                                      \
        if (drv_ != CUDA_SUCCESS) {                                                  \
            const char *name_ = "?";                                                 \
            cuGetErrorName(drv_, &name_);                                            \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);        \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

#define HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"

// Calls what it does not have: a function, a variable, a common array, a function through a pointer in another text's variable.
static const char main_text[] = HEAD R"(
.extern .func (.param .b32 r) scale(.param .b32 a);
.extern .func (.param .b32 r) offset(.param .b32 a);
.extern .global .align 4 .u32 counter;
.extern .const .align 4 .b32 factors[4];
.common .global .align 4 .b8 scratch[16];
.extern .global .align 8 .u64 step;
.global .align 4 .u32 same_name = 5;

.visible .entry run(.param .u64 out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<14>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    {
        .param .b32 arg;
        .param .b32 result;
        st.param.b32 [arg], %r1;
        call.uni (result), scale, (arg);
        ld.param.b32 %r2, [result];
    }
    {
        .param .b32 arg;
        .param .b32 result;
        st.param.b32 [arg], %r2;
        call.uni (result), offset, (arg);
        ld.param.b32 %r3, [result];
    }
    ld.global.u64 %rd3, [step];
    {
        .param .b32 arg;
        .param .b32 result;
        st.param.b32 [arg], %r3;
        proto: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (result), %rd3, (arg), proto;
        ld.param.b32 %r4, [result];
    }
    and.b32 %r5, %r1, 3;
    mul.wide.u32 %rd4, %r5, 4;
    mov.u64 %rd5, factors;
    add.u64 %rd6, %rd5, %rd4;
    ld.const.u32 %r6, [%rd6];
    add.u32 %r7, %r4, %r6;
    ld.global.u32 %r8, [same_name];
    add.u32 %r9, %r7, %r8;
    atom.global.add.u32 %r10, [counter], 1;
    mov.u64 %rd7, scratch;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.global.u32 [%rd7+12], %r9;
    mul.wide.u32 %rd8, %r1, 4;
    add.u64 %rd9, %rd2, %rd8;
    st.global.u32 [%rd9], %r9;
    ret;
}
)";

static const char parts_text[] = HEAD R"(
.visible .global .align 4 .u32 counter = 100;
.visible .const .align 4 .b32 factors[4] = {1000, 2000, 3000, 4000};
.common .global .align 4 .b8 scratch[64];
.global .align 4 .u32 same_name = 7;
.func (.param .b32 r) plus_three(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.u32 %r2, %r1, 3;
    st.param.b32 [r], %r2;
    ret;
}
.visible .global .align 8 .u64 step = plus_three;
.visible .func (.param .b32 r) scale(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    ld.global.u32 %r2, [same_name];
    mul.lo.u32 %r3, %r1, %r2;
    st.param.b32 [r], %r3;
    ret;
}
.weak .func (.param .b32 r) offset(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.u32 %r2, %r1, 10;
    st.param.b32 [r], %r2;
    ret;
}
)";

// Takes the place of the weak one.
static const char strong_text[] = HEAD R"(
.visible .func (.param .b32 r) offset(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.u32 %r2, %r1, 20;
    st.param.b32 [r], %r2;
    ret;
}
)";

static const char broken_text[] = HEAD ".visible .func f()\n{\n    .reg .b32 %r<2>;\n    add.u32 %r0 %r1;\n    ret;\n}\n";
static const char unsupported_text[] = HEAD ".visible .entry k()\n{\n    .reg .b32 %r<2>;\n    frobnicate.u32 %r0, %r1;\n"
                                            "    ret;\n}\n";

struct Link {
    char errors[4096], info[1024];
    float ms = -1;
    void *values[5];
    CUlinkState state;
    Link()
    {
        static CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                                         CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
        errors[0] = info[0] = 0;
        values[0] = errors;
        values[1] = (void *)sizeof errors;
        values[2] = info;
        values[3] = (void *)sizeof info;
        values[4] = nullptr;
        DRV(cuLinkCreate(5, options, values, &state));
    }
    ~Link() { DRV(cuLinkDestroy(state)); }
    CUresult add(const char *text, const char *name)
    {
        return cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, name, 0, nullptr, nullptr);
    }
    std::string complete()
    {
        void *image;
        size_t size;
        DRV(cuLinkComplete(state, &image, &size));
        return std::string((const char *)image, size);
    }
};

// scratch is as large as the largest of its definitions.
static void check_module(CUmodule module, unsigned offset)
{
    CUfunction f;
    CUdeviceptr counter, scratch;
    size_t size;
    unsigned out[64], count, last;
    Dev<unsigned> data(64);
    unsigned *pointer = data;
    void *args[] = {&pointer};
    DRV(cuModuleGetFunction(&f, module, "run"));
    DRV(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    DRV(cuCtxSynchronize());
    data.get(out);
    for (unsigned t = 0; t < 64; t++)
        EXPECT(out[t] == t * 7 + offset + 3 + (t % 4 + 1) * 1000 + 5, "thread %u: %u", t, out[t]);
    DRV(cuModuleGetGlobal(&counter, &size, module, "counter"));
    DRV(cuMemcpyDtoH(&count, counter, sizeof count));
    EXPECT(size == 4 && count == 164, "counter of %zu bytes is %u", size, count);
    DRV(cuModuleGetGlobal(&scratch, &size, module, "scratch"));
    EXPECT(size == 64, "scratch has %zu bytes", size);
    DRV(cuMemcpyDtoH(&last, scratch + 12, sizeof last));
    EXPECT(last >= offset + 1000, "scratch[12] is %u", last);
}

static void load_and_check(const std::string &image, unsigned offset)
{
    CUmodule module;
    DRV(cuModuleLoadData(&module, image.data()));
    check_module(module, offset);
    DRV(cuModuleUnload(module));
}

static std::string in_any_order()
{
    std::string image;
    for (int order = 0; order < 3; order++) {
        Link link;
        if (order == 1)
            DRV(link.add(strong_text, "strong.ptx"));
        DRV(link.add(main_text, "main.ptx"));
        DRV(link.add(parts_text, "parts.ptx"));
        if (order == 2)
            DRV(link.add(strong_text, "strong.ptx"));
        image = link.complete();
        memcpy(&link.ms, &link.values[4], sizeof link.ms);
        EXPECT(link.ms > 0 && link.ms < 600000, "the link took %g ms", link.ms);
        EXPECT(link.values[1] == nullptr && !*link.errors, "an error log: %s", link.errors);
        load_and_check(image, order ? 20 : 10);
        if (order == 0)
            load_and_check(link.complete(), 10);
    }
    return image;
}

static void write_file(const std::string &path, const std::string &bytes)
{
    FILE *f = std::fopen(path.c_str(), "wb");
    if (!f || std::fwrite(bytes.data(), 1, bytes.size(), f) != bytes.size() || std::fclose(f) != 0) {
        std::printf("cannot write %s\n", path.c_str());
        std::exit(1);
    }
}

// A static library as ar writes it: a member with device code, and one that is none of ours.
static std::string archive(const std::string &object)
{
    std::string out = "!<arch>\n";
    const std::string members[][2] = {{"notes.txt/", "not an object\n"}, {"parts.o/", object}};
    for (auto &m : members) {
        char head[61];
        std::snprintf(head, sizeof head, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", m[0].c_str(), 0, 0, 0, "100644", m[1].size());
        out += head + m[1];
        if (out.size() % 2)
            out += '\n';
    }
    return out;
}

static void from_files(const std::string &whole)
{
    std::string dir = "jit_link_files." + std::to_string(getpid()), part;
    CUmodule module;
    {
        Link link;
        DRV(link.add(parts_text, "parts.ptx"));
        part = link.complete();
    }
    write_file(dir + ".ptx", main_text);
    write_file(dir + ".cubin", part);
    write_file(dir + ".a", archive(part));
    for (int kind = 0; kind < 3; kind++) {
        Link link;
        DRV(cuLinkAddFile(link.state, CU_JIT_INPUT_PTX, (dir + ".ptx").c_str(), 0, nullptr, nullptr));
        if (kind == 0)
            DRV(cuLinkAddFile(link.state, CU_JIT_INPUT_CUBIN, (dir + ".cubin").c_str(), 0, nullptr, nullptr));
        else if (kind == 1)
            DRV(cuLinkAddFile(link.state, CU_JIT_INPUT_LIBRARY, (dir + ".a").c_str(), 0, nullptr, nullptr));
        else
            DRV(cuLinkAddData(link.state, CU_JIT_INPUT_OBJECT, (void *)part.data(), part.size(), "part", 0, nullptr, nullptr));
        load_and_check(link.complete(), 10);
        EXPECT(cuLinkAddFile(link.state, CU_JIT_INPUT_PTX, "no such file", 0, nullptr, nullptr) == CUDA_ERROR_FILE_NOT_FOUND,
               "a file that is not there");
    }
    write_file(dir + ".cubin", whole);
    DRV(cuModuleLoad(&module, (dir + ".cubin").c_str()));
    check_module(module, 20);
    DRV(cuModuleUnload(module));
    for (const char *end : {".ptx", ".cubin", ".a"})
        unlink((dir + end).c_str());
}

// The image is gone when its kernel is first used.
static void as_library(std::string whole)
{
    CUlibrary library;
    CUmodule module;
    DRV(cuLibraryLoadData(&library, whole.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    memset(&whole[0], 0, whole.size());
    DRV(cuLibraryGetModule(&module, library));
    check_module(module, 20);
    DRV(cuLibraryUnload(library));
}

static void expect_log(const Link &link, CUresult got, CUresult want, const char *a, const char *b, const char *c)
{
    EXPECT(got == want, "got %d, expected %d", (int)got, (int)want);
    EXPECT(strstr(link.errors, a) && strstr(link.errors, b) && strstr(link.errors, c), "the log lacks %s, %s or %s: %s", a, b, c,
           link.errors);
    EXPECT((size_t)link.values[1] == strlen(link.errors) + 1, "the log's size is %zu", (size_t)link.values[1]);
}

static void failures(const std::string &whole)
{
    void *image;
    size_t size;
    {
        Link link;
        expect_log(link, link.add(broken_text, "broken.ptx"), CUDA_ERROR_INVALID_PTX, "broken.ptx:7", "error", "%r1");
    }
    {
        Link link;
        DRV(link.add(main_text, "main.ptx"));
        expect_log(link, cuLinkComplete(link.state, &image, &size), CUDA_ERROR_UNKNOWN, "main.ptx", "undefined", "scale");
    }
    {
        Link link;
        DRV(link.add(strong_text, "one.ptx"));
        DRV(link.add(strong_text, "two.ptx"));
        expect_log(link, cuLinkComplete(link.state, &image, &size), CUDA_ERROR_UNKNOWN, "two.ptx:5", "offset", "one.ptx:5");
    }
    {
        Link link;
        DRV(link.add(unsupported_text, "odd.ptx"));
        expect_log(link, cuLinkComplete(link.state, &image, &size), CUDA_ERROR_INVALID_PTX, "odd.ptx:7", "frobnicate", "'k'");
    }
    {
        Link link;
        EXPECT(cuLinkAddData(link.state, CU_JIT_INPUT_NVVM, (void *)"BC", 2, "x.bc", 0, nullptr, nullptr) != CUDA_SUCCESS,
               "NVVM");
        expect_log(link, cuLinkAddData(link.state, CU_JIT_INPUT_OBJECT, (void *)"text", 4, "x.o", 0, nullptr, nullptr),
                   CUDA_ERROR_INVALID_IMAGE, "x.o", "ELF", "");
        EXPECT(cuLinkComplete(link.state, &image, &size) != CUDA_SUCCESS, "nothing to link");
        EXPECT(cuLinkAddData(link.state, (CUjitInputType)17, (void *)"", 1, "", 0, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE,
               "a type");
    }
    for (size_t cut : {size_t(16), size_t(63), size_t(64), whole.size() / 2, whole.size() - 1}) {
        Link link;
        EXPECT(cuLinkAddData(link.state, CU_JIT_INPUT_CUBIN, (void *)whole.data(), cut, "cut", 0, nullptr, nullptr) !=
                   CUDA_SUCCESS,
               "an image of %zu bytes was taken", cut);
    }
    EXPECT(cuLinkDestroy((CUlinkState)&size) == CUDA_ERROR_INVALID_HANDLE, "not a link");
}

int main()
{
    CHECK(cudaFree(nullptr));
    std::string whole = in_any_order();
    from_files(whole);
    as_library(whole);
    failures(whole);
    return check_done();
}
