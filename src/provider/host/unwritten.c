/* What was never written: see unwritten.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwritten.h"
#include "shadow.h"

#include <anywarp/hostabi.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define SHADOW_BYTES ((size_t)1 << (AW_SHADOW_ADDRESS_BITS - 3))

static bool on;

static void shadow_map(void)
{
    on = aw_host_shadow_reserve(AW_UNWRITTEN_BASE);
}

bool aw_host_unwritten_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, shadow_map);
    return on;
}

bool aw_host_unwritten_on(void)
{
    return on;
}

static uint8_t *shadow_of(uintptr_t address)
{
    return (uint8_t *)(AW_UNWRITTEN_BASE + ((address & ((UINT64_C(1) << AW_SHADOW_ADDRESS_BITS) - 1)) >> 3));
}

void aw_host_unwritten_fresh(const void *begin, size_t bytes)
{
    uintptr_t at = (uintptr_t)begin;
    if (!on)
        return;
    memset(shadow_of(at), 0xff, bytes / 8);
    if (bytes % 8)
        *shadow_of(at + bytes) = (uint8_t)((1u << bytes % 8) - 1);
}

/* Others may write the rest of the eight meanwhile. */
static void bits_clear(uintptr_t at, unsigned bytes)
{
    uint8_t bits = (uint8_t)(((1u << bytes) - 1) << at % 8);
    if (*shadow_of(at) & bits)
        __atomic_fetch_and(shadow_of(at), (uint8_t)~bits, __ATOMIC_RELAXED);
}

/* Large areas go back to the system, which gives zeros again. */
static void zero(uint8_t *begin, size_t bytes)
{
    enum { LARGE = 1 << 16 };
    uint8_t *end = begin + bytes, *first = (uint8_t *)(((uintptr_t)begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    uint8_t *last = (uint8_t *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));
    if (bytes < LARGE) {
        memset(begin, 0, bytes);
        return;
    }
    memset(begin, 0, (size_t)(first - begin));
    madvise(first, (size_t)(last - first), MADV_DONTNEED);
    memset(last, 0, (size_t)(end - last));
}

void aw_host_unwritten_store(const void *begin, size_t bytes)
{
    uintptr_t at = (uintptr_t)begin;
    if (!on || !bytes)
        return;
    size_t head = -at % 8 < bytes ? -at % 8 : bytes;
    if (head)
        bits_clear(at, (unsigned)head);
    at += head;
    bytes -= head;
    if (bytes / 8)
        zero(shadow_of(at), bytes / 8);
    if (bytes % 8)
        bits_clear(at + bytes / 8 * 8, (unsigned)(bytes % 8));
}

size_t aw_host_unwritten_count(uintptr_t address, size_t bytes, uintptr_t *ret_first)
{
    size_t n = 0;
    for (size_t i = 0; on && i < bytes; i++) {
        if (!(*shadow_of(address + i) >> (address + i) % 8 & 1))
            continue;
        if (!n++)
            *ret_first = address + i;
    }
    return n;
}

void aw_host_unwritten_forget(void)
{
    if (on)
        madvise((void *)AW_UNWRITTEN_BASE, SHADOW_BYTES, MADV_DONTNEED); /* zero again */
}
