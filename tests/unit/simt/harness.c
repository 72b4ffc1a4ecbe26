/* See harness.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "lower/simt.h"
#include "finish/host/host.h"
#include "finish/target.h"
#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- From text to a loaded object */

static LLVMModuleRef parse(LLVMContextRef c, const char *ir, struct aw_buf *diags)
{
    LLVMModuleRef m = NULL;
    char *message = NULL;
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "test");
    if (LLVMParseIRInContext(c, text, &m, &message)) {
        aw_buf_printf(diags, "parse: %s\n", message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMSetTarget(m, ptx_target_host.lower.triple);
    LLVMSetDataLayout(m, ptx_target_host.lower.data_layout);
    return m;
}

/* Traits as the lowering declares them, so the optimiser sees the same. */
static void declare_traits(LLVMModuleRef m)
{
    for (int id = 0; id < PTX_SIMT_COUNT; id++) {
        const char *name = ptx_simt_info((enum ptx_simt)id)->name;
        LLVMValueRef old = LLVMGetNamedFunction(m, name);
        if (!old || !LLVMIsDeclaration(old))
            continue;
        LLVMSetValueName2(old, "old", 3);
        LLVMValueRef fn = ptx_simt_declare(m, (enum ptx_simt)id);
        LLVMReplaceAllUsesWith(old, fn);
        LLVMDeleteFunction(old);
        static const char *const names[] = { "convergent", "nounwind", "noreturn" };
        for (LLVMUseRef use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use))
            for (int i = 0; i < 3; i++) {
                unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
                LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
                if (a)
                    LLVMAddCallSiteAttribute(LLVMGetUser(use), (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
            }
    }
}

bool seeds_wanted(unsigned long *first, unsigned long *count)
{
    const char *wish = getenv("AW_FUZZ");
    if (wish && sscanf(wish, "%lu:%lu", first, count) < 1) {
        fprintf(stderr, "AW_FUZZ=%s is not FIRST or FIRST:COUNT\n", wish);
        abort();
    }
    return wish != NULL;
}

/* $AW_TEST_HOST is another machine to make code for where a test says "host". */
static const char *machine(const char *target)
{
    const char *other = getenv("AW_TEST_HOST");
    return other && !strcmp(target, "host") ? other : target;
}

static int finish_ir(const char *ir, const char *target, const uint32_t block[3], uint32_t static_shared, int emit,
                     struct ptx_result *result, struct aw_buf *diags)
{
    ptx_llvm_init();
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m = parse(c, ir, diags);
    int status = -1;
    if (m) {
        declare_traits(m);
        struct aw_compile_options o = { .target = machine(target), .opt_level = 3 };
        if (block)
            memcpy(o.block, block, sizeof o.block);
        struct ptx_finish f = { .options = &o, .emit = (enum aw_emit)emit, .kernel = "k", .static_shared = static_shared,
                                .param_size = 64, .kernarg_size = 80 };
        status = ptx_target_host.finish(m, &f, result, diags);
        LLVMDisposeModule(m);
    }
    LLVMContextDispose(c);
    return status;
}

static void *load_bytes(const char *bytes, size_t size, struct aw_buf *diags)
{
    /* The loader takes two objects of one path for the same, so each needs its own number. */
    static int next = 100;
    char path[64];
    int first = memfd_create("object", 0), fd = fcntl(first, F_DUPFD, next++);
    void *handle = NULL;
    close(first);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            aw_buf_printf(diags, "dlopen: %s\n", dlerror());
    }
    close(fd);
    return handle;
}

static bool load_result(struct ptx_result *r, struct built *ret, struct aw_buf *diags)
{
    ret->handle = load_bytes(r->bytes, r->size, diags);
    ret->object = ret->handle ? dlsym(ret->handle, AW_HOST_OBJECT_SYMBOL) : NULL;
    free(r->bytes);
    return ret->object != NULL;
}

bool build_simt(const char *ir, const char *target, const uint32_t block[3], uint32_t static_shared, struct built *ret,
                struct aw_buf *diags)
{
    struct ptx_result r = { 0 };
    return !finish_ir(ir, target, block, static_shared, AW_EMIT_CODE_OBJECT, &r, diags) && load_result(&r, ret, diags);
}

void unload(struct built *b)
{
    dlclose(b->handle);
}

char *emit_simt(const char *ir, const char *target, int emit, struct aw_buf *diags)
{
    struct ptx_result r = { 0 };
    return finish_ir(ir, target, NULL, 0, emit, &r, diags) ? NULL : r.bytes;
}

/* ---- A host device on one thread */

enum { MAX_WARPS = 32 };

struct device {
    struct aw_host_block block; /* first, as generated code has its address */
    const struct built *built;
    ucontext_t main, warp[MAX_WARPS];
    void *stack[MAX_WARPS];
    char *local; /* one warp's after the other's, block.local_size bytes each */
    bool done[MAX_WARPS], waiting[MAX_WARPS];
    uint32_t waits_for[MAX_WARPS], needs[16], arrived[16], popc[16], ands[16], ors[16], reduced[16];
    uint32_t warps;
    struct outcome out;
    jmp_buf end;
};

static struct device *device_of(struct aw_host_block *b)
{
    return (struct device *)b;
}

/* Lets a barrier go when every warp that has not ended waits, or enough threads came. */
static void release(struct device *d)
{
    uint32_t alive = 0;
    for (uint32_t w = 0; w < d->warps; w++)
        alive += !d->done[w];
    for (uint32_t id = 0; id < 16; id++) {
        uint32_t need = d->needs[id] ? d->needs[id] / 32 : alive;
        if (!d->arrived[id] || d->arrived[id] < need)
            continue;
        d->arrived[id] = 0;
        d->reduced[id] = d->popc[id] | d->ands[id] << 16 | d->ors[id] << 17;
        d->popc[id] = d->ors[id] = 0;
        d->ands[id] = 1;
        for (uint32_t w = 0; w < d->warps; w++)
            if (d->waiting[w] && d->waits_for[w] == id)
                d->waiting[w] = false;
    }
}

static void s_barrier(struct aw_host_block *b, uint32_t id, uint32_t threads)
{
    struct device *d = device_of(b);
    uint32_t w = b->warp;
    d->needs[id] = threads;
    d->arrived[id]++;
    d->waiting[w] = true;
    d->waits_for[w] = id;
    swapcontext(&d->warp[w], &d->main);
}

static void s_arrive(struct aw_host_block *b, uint32_t id, uint32_t threads)
{
    struct device *d = device_of(b);
    d->needs[id] = threads;
    d->arrived[id]++;
    d->out.arrivals++;
}

static uint32_t s_reduce(struct aw_host_block *b, uint32_t id, uint32_t threads, uint32_t op, uint32_t active, uint32_t predicate)
{
    struct device *d = device_of(b);
    d->popc[id] += (uint32_t)__builtin_popcount(predicate);
    d->ands[id] &= (predicate & active) == active;
    d->ors[id] |= predicate != 0;
    s_barrier(b, id, threads);
    uint32_t r = d->reduced[id];
    return op == 0 ? r & 0xffff : op == 1 ? r >> 16 & 1 : r >> 17 & 1;
}

uint32_t *third_yield_sets;

static void s_yield(struct aw_host_block *b)
{
    if (++device_of(b)->out.yields == 3 && third_yield_sets)
        *third_yield_sets = 1;
}

static int32_t s_vprintf(struct aw_host_block *b, const char *format, const void *args)
{
    struct device *d = device_of(b);
    size_t n = strlen(d->out.output);
    snprintf(d->out.output + n, sizeof d->out.output - n, "%s:%d;", format, *(const int *)args);
    return 1;
}

static void s_assert(struct aw_host_block *b, const char *message, const char *file, uint32_t line, const char *function,
                     uint32_t thread, uint32_t more)
{
    struct device *d = device_of(b);
    d->out.assert_threads |= UINT64_C(1) << thread % 64;
    snprintf(d->out.output, sizeof d->out.output, "%s %s %u %s", message, file, line, function);
    d->out.status = AW_ERR_ASSERT;
    if (!more)
        longjmp(d->end, 1);
}

static void s_trap(struct aw_host_block *b, uint32_t status, const char *what)
{
    struct device *d = device_of(b);
    assert(what && *what);
    d->out.status = status;
    memcpy(d->out.ctaid, b->ctaid, sizeof d->out.ctaid);
    d->out.warp = b->warp;
    longjmp(d->end, 1);
}

static void *s_malloc(struct aw_host_block *b, uint64_t size)
{
    return malloc(size);
}

static void s_free(struct aw_host_block *b, void *p)
{
    free(p);
}

static uint64_t s_globaltimer(void)
{
    return 12345;
}

static const struct aw_host_services services = {
    .barrier = s_barrier, .barrier_reduce = s_reduce, .yield = s_yield, .vprintf = s_vprintf, .assert_fail = s_assert,
    .trap = s_trap, .malloc = s_malloc, .free = s_free, .globaltimer = s_globaltimer, .barrier_arrive = s_arrive,
};

static void warp_main(unsigned hi, unsigned lo, unsigned w)
{
    struct device *d = (struct device *)((uintptr_t)hi << 32 | lo);
    d->block.local = d->local + (w + 1) * d->block.local_size;
    d->built->object->warp(&d->block, w);
    d->done[w] = true;
    swapcontext(&d->warp[w], &d->main);
}

static void run_block(struct device *d)
{
    size_t stack = d->built->object->stack_bytes + 65536;
    for (uint32_t w = 0; w < d->warps; w++) {
        d->done[w] = d->waiting[w] = false;
        d->stack[w] = mmap(NULL, stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        getcontext(&d->warp[w]);
        d->warp[w].uc_stack.ss_sp = d->stack[w];
        d->warp[w].uc_stack.ss_size = stack;
        d->warp[w].uc_link = NULL;
        makecontext(&d->warp[w], (void (*)(void))warp_main, 3, (unsigned)((uintptr_t)d >> 32), (unsigned)(uintptr_t)d, w);
    }
    for (uint32_t left = d->warps, stuck = 0; left && stuck < 4;) {
        stuck++;
        for (uint32_t w = 0; w < d->warps; w++) {
            if (d->done[w] || d->waiting[w])
                continue;
            stuck = 0;
            d->block.warp = w;
            swapcontext(&d->main, &d->warp[w]);
            left -= d->done[w];
        }
        release(d);
        if (stuck == 4)
            d->out.status = 9999; /* a deadlock */
    }
    for (uint32_t w = 0; w < d->warps; w++)
        munmap(d->stack[w], stack);
}

bool launch_by_warps;

struct outcome launch(const struct built *b, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_shared,
                      const void *kernarg)
{
    struct device *d = calloc(1, sizeof *d);
    struct aw_host_launch l = {
        .grid_id = 7, .kernarg = kernarg, .services = &services, .dynamic_shared = dynamic_shared, .group = 5
    };
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    l.threads = block[0] * block[1] * block[2];
    l.warps = (l.threads + 31) / 32;
    l.total_shared = ((b->object->static_shared + 15) & ~15u) + dynamic_shared;
    d->built = b;
    d->warps = l.warps;
    d->block.launch = &l;
    d->block.warp = 99; /* `blocks` sets it */
    d->block.shared = aligned_alloc(64, (l.total_shared + 127) & ~63u);
    memset(d->block.shared, 0, l.total_shared); /* tests may count on that; kernels may not */
    memset(d->ands, 0, sizeof d->ands);
    for (int i = 0; i < 16; i++)
        d->ands[i] = 1;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    size_t local = ((size_t)b->object->local_stack + 4095) & ~(size_t)4095;
    if (local) {
        d->local = mmap(NULL, local * MAX_WARPS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        d->block.local_size = local;
    }
    if (!setjmp(d->end)) {
        if (!(b->object->flags & (AW_HOST_BARRIER | AW_HOST_YIELD)) && !launch_by_warps) {
            d->block.local = d->local + local;
            b->object->blocks(&d->block, 0, blocks / 2);
            d->block.local = d->local + local;
            b->object->blocks(&d->block, blocks / 2, blocks - blocks / 2);
        } else {
            for (uint64_t i = 0; i < blocks; i++) {
                d->block.ctaid[0] = (uint32_t)(i % grid[0]);
                d->block.ctaid[1] = (uint32_t)(i / grid[0] % grid[1]);
                d->block.ctaid[2] = (uint32_t)(i / grid[0] / grid[1]);
                run_block(d);
            }
        }
    }
    struct outcome out = d->out;
    free(d->block.shared);
    if (local)
        munmap(d->local, local * MAX_WARPS);
    free(d);
    return out;
}

/* ---- The scalar reference */

static const char where_ir[] =
    "@where = global [12 x i32] zeroinitializer\n"
    "define i32 @aw.tid.x() { %v = load i32, ptr @where ret i32 %v }\n"
    "define i32 @aw.tid.y() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 4) ret i32 %v }\n"
    "define i32 @aw.tid.z() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 8) ret i32 %v }\n"
    "define i32 @aw.ntid.x() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 12) ret i32 %v }\n"
    "define i32 @aw.ntid.y() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 16) ret i32 %v }\n"
    "define i32 @aw.ntid.z() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 20) ret i32 %v }\n"
    "define i32 @aw.ctaid.x() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 24) ret i32 %v }\n"
    "define i32 @aw.ctaid.y() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 28) ret i32 %v }\n"
    "define i32 @aw.ctaid.z() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 32) ret i32 %v }\n"
    "define i32 @aw.nctaid.x() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 36) ret i32 %v }\n"
    "define i32 @aw.nctaid.y() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 40) ret i32 %v }\n"
    "define i32 @aw.nctaid.z() { %v = load i32, ptr getelementptr (i8, ptr @where, i64 44) ret i32 %v }\n"
    "define void @aw.scalar.entry(ptr %kernarg) {\n"
    "  %p = addrspacecast ptr %kernarg to ptr addrspace(4)\n"
    "  call void @k(ptr addrspace(4) %p)\n"
    "  ret void\n"
    "}\n"
    "declare void @k(ptr addrspace(4))\n";

bool build_scalar(const char *ir, struct scalar *ret, struct aw_buf *diags)
{
    ptx_llvm_init();
    LLVMContextRef c = LLVMContextCreate();
    LLVMModuleRef m = parse(c, ir, diags), lib = parse(c, where_ir, diags);
    LLVMTargetRef target;
    char *message = NULL;
    bool ok = m && lib;
    if (ok) {
        LLVMValueRef k = LLVMGetNamedFunction(m, "k");
        LLVMRemoveEnumAttributeAtIndex(k, 1, LLVMGetEnumAttributeKindForName("byref", 5));
        ok = !LLVMLinkModules2(m, lib) && !LLVMGetTargetFromTriple(ptx_target_host.lower.triple, &target, &message);
    }
    struct ptx_result object = { 0 }, so = { 0 };
    if (ok) {
        LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, ptx_target_host.lower.triple, "haswell", "",
                                                          LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelDefault);
        ok = ptx_emit_machine(m, tm, LLVMObjectFile, &object, diags) == 0 &&
             ptx_link_shared("elf_x86_64", &(struct ptx_bytes){ object.bytes, object.size }, 1, &so, diags) == 0;
        LLVMDisposeTargetMachine(tm);
    }
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(c);
    if (ok) {
        ret->handle = load_bytes(so.bytes, so.size, diags);
        ok = ret->handle != NULL;
    }
    if (ok) {
        *(void **)&ret->kernel = dlsym(ret->handle, "aw.scalar.entry");
        ret->where = dlsym(ret->handle, "where");
    }
    free(object.bytes);
    free(so.bytes);
    return ok && ret->kernel && ret->where;
}

void run_scalar(const struct scalar *s, const uint32_t grid[3], const uint32_t block[3], const void *kernarg)
{
    memcpy(s->where + 3, block, 12);
    memcpy(s->where + 9, grid, 12);
    uint32_t *t = s->where, *c = s->where + 6;
    for (c[2] = 0; c[2] < grid[2]; c[2]++)
        for (c[1] = 0; c[1] < grid[1]; c[1]++)
            for (c[0] = 0; c[0] < grid[0]; c[0]++)
                for (t[2] = 0; t[2] < block[2]; t[2]++)
                    for (t[1] = 0; t[1] < block[1]; t[1]++)
                        for (t[0] = 0; t[0] < block[0]; t[0]++)
                            s->kernel(kernarg);
}

void unload_scalar(struct scalar *s)
{
    dlclose(s->handle);
}
