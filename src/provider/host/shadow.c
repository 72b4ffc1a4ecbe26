/* What memory kernels may use: see shadow.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "shadow.h"

#include <anywarp/hostabi.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/demangle.h"

#define PAGE ((size_t)4096)
#define SHADOW_BYTES ((size_t)1 << (AW_SHADOW_ADDRESS_BITS - 3))

static bool on;

bool aw_host_shadow_reserve(uintptr_t base)
{
    void *begin = (void *)base;
    size_t bytes = SHADOW_BYTES + PAGE;
    void *map = mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                     0);
    if (map == begin) {
        madvise(map, bytes, MADV_DONTDUMP);
        madvise(map, bytes, MADV_NOHUGEPAGE);
    } else if (map != MAP_FAILED) {
        munmap(map, bytes);
    }
    return map == begin;
}

static void shadow_map(void)
{
    on = aw_host_shadow_reserve(AW_SHADOW_BASE);
}

bool aw_host_shadow_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, shadow_map);
    return on;
}

bool aw_host_shadow_on(void)
{
    return on;
}

static uint8_t *shadow_of(const void *address)
{
    return (uint8_t *)(AW_SHADOW_BASE + ((uintptr_t)address >> 3));
}

void aw_host_shadow_set(const void *begin, size_t bytes, enum aw_shadow what)
{
    if (!on)
        return;
    uint8_t *first = shadow_of(begin), *end = first + bytes / 8;
    uint8_t *page = (uint8_t *)(((uintptr_t)first + PAGE - 1) & ~(PAGE - 1)), *last = (uint8_t *)((uintptr_t)end & ~(PAGE - 1));
    if (what != AW_SHADOW_OPEN || page >= last) {
        memset(first, what, bytes / 8);
        return;
    }
    memset(first, 0, (size_t)(page - first));
    madvise(page, (size_t)(last - page), MADV_DONTNEED); /* zero again */
    memset(last, 0, (size_t)(end - last));
}

void aw_host_shadow_open(const void *begin, size_t bytes)
{
    if (!on)
        return;
    memset(shadow_of(begin), AW_SHADOW_OPEN, bytes / 8);
    if (bytes % 8)
        shadow_of(begin)[bytes / 8] = (uint8_t)(bytes % 8);
}

bool aw_host_shadow_allows(uintptr_t address, size_t bytes)
{
    for (size_t i = 0; on && i < bytes; i++) {
        uint8_t s = *shadow_of((const void *)(address + i));
        if (s && (address + i) % 8 >= (s < 8 ? s : 0))
            return false;
    }
    return true;
}

/* ---- Who allocated. */

struct aw_host_trace *aw_host_trace_take(void)
{
    struct aw_host_trace *trace = on ? malloc(sizeof *trace) : NULL;
    if (trace)
        trace->n = backtrace(trace->frames, AW_TRACE_DEPTH);
    return trace;
}

static bool is_own(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    return !strncmp(name, "libanywarp", 10) || !strncmp(name, "libcudart.so", 12) || !strncmp(name, "libcuda.so", 10);
}

void aw_host_trace_text(const struct aw_host_trace *trace, char *ret_text, size_t size)
{
    size_t at = 0;
    *ret_text = '\0';
    for (int i = 0; trace && i < trace->n && at < size; i++) {
        Dl_info info;
        char *address = (char *)trace->frames[i] - 1; /* in the call */
        if (!dladdr(address, &info) || !info.dli_fname || is_own(info.dli_fname))
            continue;
        char *plain = info.dli_sname ? aw_demangle_text(info.dli_sname) : NULL;
        const char *name = plain ? plain : info.dli_sname;
        at += (size_t)snprintf(ret_text + at, size - at, "%s%s%s%s+0x%zx%s", at ? " < " : "", name ? name : "", name ? " (" : "",
                               info.dli_fname, (size_t)(address - (char *)info.dli_fbase), name ? ")" : "");
        bool ends = info.dli_sname && !strcmp(info.dli_sname, "main");
        free(plain);
        if (ends)
            break;
    }
}
