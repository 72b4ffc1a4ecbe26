/* Services that generated code calls beside barriers: printf, assert, trap, the device heap, the clock.
 * Not barriers and yield (block.c).  Kernel output is gathered and written to stdout at the points where CUDA does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/kprint.h"
#include "base/log.h"

/* CUDA's default buffer.  Beyond it CUDA drops the oldest output; we write it early instead. */
#define PRINT_LIMIT ((size_t)1 << 20)

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_buf print_buf;
static _Atomic size_t print_pending;

static struct aw_host_run *run_of(struct aw_host_block *block)
{
    return (struct aw_host_run *)(void *)block;
}

/* ---- output ---- */

static void print_write_locked(void)
{
    if (print_buf.len)
        fwrite(print_buf.ptr, 1, print_buf.len, stdout);
    if (print_buf.failed)
        aw_say(PRINTF_LOST);
    aw_buf_fini(&print_buf);
    memset(&print_buf, 0, sizeof print_buf);
    atomic_store_explicit(&print_pending, 0, memory_order_relaxed);
}

void aw_host_print_flush(void)
{
    if (!atomic_load_explicit(&print_pending, memory_order_acquire))
        return;
    pthread_mutex_lock(&print_lock);
    print_write_locked();
    pthread_mutex_unlock(&print_lock);
}

void aw_host_print_fork(int phase)
{
    if (phase == 0) {
        pthread_mutex_lock(&print_lock);
        return;
    }
    if (phase == 2) { /* the parent will print it */
        aw_buf_fini(&print_buf);
        memset(&print_buf, 0, sizeof print_buf);
        atomic_store(&print_pending, 0);
    }
    pthread_mutex_unlock(&print_lock);
}

static void print_add(const struct aw_buf *text)
{
    pthread_mutex_lock(&print_lock);
    aw_buf_add(&print_buf, text->ptr, text->len);
    if (print_buf.len >= PRINT_LIMIT)
        print_write_locked();
    else
        atomic_store_explicit(&print_pending, 1, memory_order_release);
    pthread_mutex_unlock(&print_lock);
}

/* ---- printf ---- */

static bool args_read(void *user, void *ret, uint64_t address, size_t size)
{
    (void)user;
    return address >= size && aw_host_peek(ret, (const void *)(uintptr_t)address, size); /* not from a NULL buffer */
}

static long string_read(void *user, char *ret, uint64_t address, size_t size)
{
    (void)user;
    return aw_host_peek_string(ret, (const char *)(uintptr_t)address, size);
}

static const struct aw_kprint_memory memory = { .args = args_read, .string = string_read };

static char *string_copy(const char *s)
{
    return aw_kprint_string((uintptr_t)s, &memory);
}

int32_t aw_host_vprintf(struct aw_host_block *block, const char *fmt, const void *packed)
{
    struct aw_buf out = { 0 };
    aw_host_thread.service++;
    int32_t n = -1;
    char *text = string_copy(fmt);
    if (text) {
        n = aw_kprint(&out, text, (uintptr_t)packed, &memory);
        print_add(&out);
    }
    aw_buf_fini(&out);
    free(text);
    aw_host_thread.service--;
    return n;
}

/* ---- assert, trap ---- */

void aw_host_assert_fail(struct aw_host_block *block, const char *message, const char *file, uint32_t line,
                         const char *function, uint32_t thread_linear, uint32_t more)
{
    struct aw_host_run *run = run_of(block);
    const uint32_t *shape = block->launch->block;
    aw_host_thread.service++;
    char *m = string_copy(message), *fi = string_copy(file), *fu = string_copy(function);
    const uint32_t thread[3] = { thread_linear % shape[0], thread_linear / shape[0] % shape[1],
                                 thread_linear / shape[0] / shape[1] };
    struct aw_buf out = { 0 };
    aw_kprint_assert(&out, m, fi, line, fu, block->ctaid, thread);
    if (out.len)
        fwrite(out.ptr, 1, out.len, stderr);
    aw_buf_fini(&out);
    free(m);
    free(fi);
    free(fu);
    if (aw_host_op_kill(run->op, AW_ERR_ASSERT))
        aw_host_op_fault(run->op);
    aw_host_thread.service--;
    if (!more)
        aw_host_run_die(run);
}

void aw_host_trap(struct aw_host_block *block, uint32_t status, const char *what)
{
    struct aw_host_run *run = run_of(block);
    aw_host_thread.service++;
    if (status == AW_OK || status >= AW_STATUS_COUNT)
        status = AW_ERR_LAUNCH_FAILED;
    if (aw_host_op_kill(run->op, (int)status)) {
        char *text = string_copy(what), place[800];
        const char *caller = (const char *)__builtin_return_address(0) - 1; /* where that is the kernel */
        aw_say(KERNEL_TRAP, run->op->kernel.name, text ? text : "trap", block->ctaid[0], block->ctaid[1], block->ctaid[2],
               block->warp, aw_host_locate(&run->op->kernel, caller, place, sizeof place), "");
        free(text);
        aw_host_op_fault(run->op);
    }
    aw_host_thread.service--;
    aw_host_run_die(run);
}

/* ---- heap and clock ---- */

void *aw_host_heap_malloc(struct aw_host_block *block, uint64_t size)
{
    aw_host_thread.service++;
    void *p = aw_host_heap_alloc(size ? (size_t)size : 1); /* none is some, as on NVIDIA's cards */
    aw_host_thread.service--;
    return p;
}

void aw_host_heap_free(struct aw_host_block *block, void *ptr)
{
    if (!ptr)
        return;
    aw_host_thread.service++;
    bool ok = aw_host_heap_release(ptr);
    aw_host_thread.service--;
    if (!ok)
        aw_host_trap(block, AW_ERR_LAUNCH_FAILED, "free() of a pointer that the device heap does not hold");
}

uint64_t aw_host_globaltimer(void)
{
    /* Real time at the first call, monotonic from there: loops that wait for it must end. */
    static _Atomic uint64_t offset;
    uint64_t now = aw_clock_ns(), add = atomic_load_explicit(&offset, memory_order_relaxed);
    if (!add) {
        uint64_t expected = 0;
        add = aw_clock_wall_ns() - now;
        if (!atomic_compare_exchange_strong(&offset, &expected, add))
            add = expected;
    }
    return now + add;
}
