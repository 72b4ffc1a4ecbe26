/* Accesses of kernels that generated code has found suspicious: each lane's is looked at by itself, and the first wrong one ends
 * the kernel (check_access of anywarp/hostabi.h).  Not what there is in memory: memory.c and shadow.c know. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "shadow.h"
#include "unwritten.h"

#include <stdio.h>

#include "base/log.h"

struct access {
    struct aw_host_run *run;
    const void *pc;
    uint64_t address;
    uint32_t thread, what;
};

static size_t bytes_of(const struct access *a)
{
    return a->what & AW_HOST_ACCESS_SIZE;
}

/* AW_OK, AW_ERR_MISALIGNED or AW_ERR_ILLEGAL_ADDRESS. */
static int judge(const struct access *a)
{
    uint64_t align = UINT64_C(1) << (a->what >> AW_HOST_ACCESS_ALIGN & 7);
    if (a->what & AW_HOST_ACCESS_SHARED && a->address + bytes_of(a) > a->run->block.launch->total_shared)
        return AW_ERR_ILLEGAL_ADDRESS;
    if (a->address & (align - 1))
        return AW_ERR_MISALIGNED;
    return a->what & AW_HOST_ACCESS_SHARED || aw_host_shadow_allows(a->address, bytes_of(a)) ? AW_OK : AW_ERR_ILLEGAL_ADDRESS;
}

/* ", thread (1,0,0), at FILE:LINE" */
static void thread_and_line(const struct access *a, char *ret_text, size_t size)
{
    const uint32_t *shape = a->run->block.launch->block;
    char line[800];
    snprintf(ret_text, size, ", thread (%u,%u,%u)%s", a->thread % shape[0], a->thread / shape[0] % shape[1],
             a->thread / shape[0] / shape[1], aw_host_locate(&a->run->op->kernel, (const char *)a->pc - 1, line, sizeof line));
}

static void access_tell(const struct access *a, int status)
{
    const struct aw_host_run *run = a->run;
    const uint32_t *at = run->block.ctaid;
    const char *how = status == AW_ERR_MISALIGNED ? "access that is not aligned, to" : "illegal access to";
    char access[120], place[900], what_is_there[1400] = "";
    if (a->what & AW_HOST_ACCESS_SHARED) {
        snprintf(access, sizeof access, "%s byte %u of shared memory, which has %u", how, (uint32_t)a->address,
                 run->block.launch->total_shared);
    } else {
        snprintf(access, sizeof access, "%s address %p", how, (void *)(uintptr_t)a->address);
        aw_host_memory_describe((uintptr_t)a->address, what_is_there, sizeof what_is_there);
    }
    thread_and_line(a, place, sizeof place);
    aw_say(KERNEL_TRAP, run->op->kernel.name, access, at[0], at[1], at[2], a->thread / 32, place, what_is_there);
}

bool aw_host_finding_new(const void *pc, const char *rule)
{
    enum { TOLD = 256 };
    static struct { const void *pc; const char *rule; } told[TOLD];
    static uint32_t n;
    static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&told_lock);
    bool known = n == TOLD;
    for (uint32_t i = 0; i < n && !known; i++)
        known = told[i].pc == pc && told[i].rule == rule;
    if (!known) {
        told[n].pc = pc;
        told[n++].rule = rule;
    }
    pthread_mutex_unlock(&told_lock);
    return !known;
}

/* Bytes that are read were never written: told, and then taken for written, as one such place is enough. */
static void unwritten_look(const struct access *a)
{
    static const char rule[] = "unwritten";
    uintptr_t first = 0;
    size_t n = a->what & AW_HOST_ACCESS_READ ? aw_host_unwritten_count((uintptr_t)a->address, bytes_of(a), &first) : 0;
    const uint32_t *at = a->run->block.ctaid;
    char place[900], what_is_there[1400];
    if (!n || !aw_host_finding_new(a->pc, rule))
        return;
    aw_host_thread.service++;
    thread_and_line(a, place, sizeof place);
    aw_host_memory_describe(first, what_is_there, sizeof what_is_there);
    aw_say(UNWRITTEN, a->run->op->kernel.name, n, bytes_of(a), (void *)first, at[0], at[1], at[2], a->thread / 32, place,
           what_is_there);
    aw_host_thread.service--;
}

void aw_host_check_access(struct aw_host_block *block, const uint64_t *addresses, uint32_t lanes, uint32_t thread, uint32_t what)
{
    struct access a = { (struct aw_host_run *)(void *)block, __builtin_return_address(0), 0, 0, what };
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        a.address = what & AW_HOST_ACCESS_SHARED ? (uint32_t)addresses[lane] : addresses[lane];
        a.thread = thread + lane;
        int status = judge(&a);
        if (status == AW_OK && !(what & AW_HOST_ACCESS_SHARED) && aw_host_unwritten_on()) {
            unwritten_look(&a);
            if (what & AW_HOST_ACCESS_WRITE)
                aw_host_unwritten_store((void *)(uintptr_t)a.address, bytes_of(&a));
        }
        if (status == AW_OK)
            continue;
        aw_host_thread.service++;
        if (aw_host_op_kill(a.run->op, status)) {
            access_tell(&a, status);
            aw_host_op_fault(a.run->op);
        }
        aw_host_thread.service--;
        aw_host_run_die(a.run);
    }
}
