/* AQL packets: launches, barriers, and what AMD adds to them; and how an error reaches ROCr.
 *
 * A queue's packets are executed one after the other, so each packet's barrier bit is kept without looking at it, and all memory
 * is coherent, so fences are no more than the processor's.  Every address in a packet is checked as a card's access would be. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PACKET 64u
enum { FORMAT_PM4 = 1, FORMAT_BARRIER_VALUE = 2 };

/* What the queue's inactive signal is set to: the bits ROCr 5.2 tells apart. */
enum { ERROR_SCRATCH = 1, ERROR_DIMENSIONS = 2, ERROR_GROUP_MEMORY = 4, ERROR_CODE = 8, ERROR_PACKET = 32, ERROR_GROUP_SIZE = 64,
       ERROR_APERTURE = 0x20000000, ERROR_ILLEGAL = 0x40000000 };
#define ERROR_TRAP 0x80000000ll

static amd_queue_t *amd_queue_of(const struct thunk_queue *q)
{
    return (amd_queue_t *)(void *)((char *)(uintptr_t)q->read - offsetof(amd_queue_t, read_dispatch_id));
}

static uint8_t *slot(const struct thunk_queue *q)
{
    return q->ring + q->done * PACKET % q->bytes;
}

static uint16_t header(const uint8_t *packet)
{
    return __atomic_load_n((const uint16_t *)(const void *)packet, __ATOMIC_ACQUIRE);
}

bool thunk_aql_ready(const struct thunk_queue *q)
{
    return q->done < *q->write && (header(slot(q)) >> HSA_PACKET_HEADER_TYPE & 0xff) != HSA_PACKET_TYPE_INVALID;
}

/* ---- Signals ---- */

static void page_fault(struct thunk_queue *q, uint64_t address, const char *what)
{
    char where[200];
    sim_map_describe(address, where, sizeof where);
    sim_say("page fault at %#" PRIx64 " (%s): %s", address, where, what);
    q->broken = true;
    thunk_memory_fault(q->node, address);
}

/* The signal of a handle, NULL (after a page fault) when it is not mapped for the card. */
static amd_signal_t *signal_at(struct thunk_queue *q, uint64_t handle)
{
    amd_signal_t *s = sim_at(&q->view, handle, sizeof *s);
    if (!s)
        page_fault(q, handle, "a packet's signal");
    return s;
}

/* Writes the event's number where the signal says, and raises it. */
static void notify(struct thunk_queue *q, const amd_signal_t *s)
{
    if (!s->event_mailbox_ptr)
        return;
    uint64_t *mailbox = sim_at(&q->view, s->event_mailbox_ptr, sizeof *mailbox);
    if (mailbox)
        __atomic_store_n(mailbox, s->event_id, __ATOMIC_RELEASE);
    thunk_event_raise(s->event_id);
}

static void complete(struct thunk_queue *q, uint64_t handle, uint64_t begin)
{
    amd_signal_t *s = handle ? signal_at(q, handle) : NULL;
    if (!s)
        return;
    s->start_ts = begin;
    s->end_ts = thunk_now();
    __atomic_fetch_sub((int64_t *)(uintptr_t)&s->value, 1, __ATOMIC_SEQ_CST);
    notify(q, s);
    thunk_signal_changed();
}

/* The queue goes no further; ROCr's handler of its inactive signal calls the program's callback with the error. */
static void queue_error(struct thunk_queue *q, int64_t code)
{
    uint64_t handle = amd_queue_of(q)->queue_inactive_signal.handle;
    q->broken = true;
    amd_signal_t *s = handle ? sim_at(&q->view, handle, sizeof *s) : NULL;
    if (!s)
        return;
    __atomic_store_n((int64_t *)(uintptr_t)&s->value, code, __ATOMIC_SEQ_CST);
    notify(q, s);
}

/* ---- Waiting for signals ---- */

struct condition {
    const uint64_t *handles;
    unsigned count;
    bool any;                 /* of them, rather than all */
    int64_t value, mask;
    hsa_signal_condition32_t compare;
};

static bool compare(int64_t value, hsa_signal_condition32_t how, int64_t with)
{
    switch (how) {
    case HSA_SIGNAL_CONDITION_EQ:
        return value == with;
    case HSA_SIGNAL_CONDITION_NE:
        return value != with;
    case HSA_SIGNAL_CONDITION_LT:
        return value < with;
    default:
        return value >= with;
    }
}

static bool is_met(struct thunk_queue *q, const void *arg)
{
    const struct condition *c = arg;
    unsigned named = 0, met = 0;
    for (unsigned i = 0; i < c->count; i++) {
        if (!c->handles[i])
            continue;
        amd_signal_t *s = signal_at(q, c->handles[i]);
        if (!s)
            return true; /* the queue is broken now */
        named++;
        met += compare(__atomic_load_n((int64_t *)(uintptr_t)&s->value, __ATOMIC_ACQUIRE) & c->mask, c->compare, c->value);
    }
    return c->any ? met || !named : met == named;
}

/* ---- Packets ---- */

/* The code for what a launch's packet or descriptor had wrong. */
static int64_t bad_packet_code(const struct sim_card *card, const hsa_kernel_dispatch_packet_t *p)
{
    uint64_t items = (uint64_t)p->workgroup_size_x * p->workgroup_size_y * p->workgroup_size_z;
    if (p->group_segment_size > card->lds_bytes)
        return ERROR_GROUP_MEMORY;
    if (items > 1024)
        return ERROR_GROUP_SIZE;
    if (!items || !p->grid_size_x || !p->grid_size_y || !p->grid_size_z)
        return ERROR_DIMENSIONS;
    return ERROR_CODE;
}

static bool is_aperture(uint64_t address)
{
    return address >> 32 == SIM_LDS_APERTURE >> 32 || address >> 32 == SIM_SCRATCH_APERTURE >> 32;
}

static void report_end(struct thunk_queue *q, const hsa_kernel_dispatch_packet_t *p, enum sim_end end,
                       const struct sim_report *report)
{
    if (end == SIM_END_STOPPED && q->stop)
        return;
    sim_say("%s", report->text);
    switch (end) {
    case SIM_END_FAULT:
        if (is_aperture(report->address)) {
            queue_error(q, ERROR_APERTURE);
        } else {
            q->broken = true;
            thunk_memory_fault(q->node, report->address);
        }
        break;
    case SIM_END_ILLEGAL:
        queue_error(q, ERROR_ILLEGAL);
        break;
    case SIM_END_BAD_PACKET:
        queue_error(q, bad_packet_code(thunk_card(q->node), p));
        break;
    default: /* a trap, and what hardware would never end */
        queue_error(q, ERROR_TRAP);
    }
}

static void launch(struct thunk_queue *q, const hsa_kernel_dispatch_packet_t *p)
{
    uint64_t begin = thunk_now();
    unsigned dimensions = p->setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS & 3;
    struct sim_dispatch d = {
        .card = thunk_card(q->node), .node = q->node, .descriptor = p->kernel_object,
        .grid = { p->grid_size_x, dimensions > 1 ? p->grid_size_y : 1, dimensions > 2 ? p->grid_size_z : 1 },
        .group = { p->workgroup_size_x, dimensions > 1 ? p->workgroup_size_y : 1, dimensions > 2 ? p->workgroup_size_z : 1 },
        .private_bytes = p->private_segment_size,
        .group_bytes = p->group_segment_size,
        .kernarg = (uint64_t)(uintptr_t)p->kernarg_address,
        .packet = (uint64_t)(uintptr_t)p, .queue = (uint64_t)(uintptr_t)amd_queue_of(q), .id = q->done,
    };
    struct sim_report report;
    PACKET_TRACE("queue %p packet %" PRIu64 ": launch %#" PRIx64 " grid %u,%u,%u block %u,%u,%u private %u LDS %u", (void *)q,
                 q->done, d.descriptor, d.grid[0], d.grid[1], d.grid[2], d.group[0], d.group[1], d.group[2], d.private_bytes,
                 d.group_bytes);
    enum sim_end end = sim_dispatch_run(&d, &q->stop, &report);
    if (end == SIM_END_DONE)
        complete(q, p->completion_signal.handle, begin);
    else
        report_end(q, p, end, &report);
}

static void barrier(struct thunk_queue *q, const struct condition *c, uint64_t completion)
{
    uint64_t begin = thunk_now();
    if (thunk_wait(q, is_met, c) && !q->broken)
        complete(q, completion, begin);
}

static void barrier_and_or(struct thunk_queue *q, const uint8_t *packet, bool any)
{
    hsa_barrier_and_packet_t p; /* that of OR has the same layout */
    memcpy(&p, packet, sizeof p);
    struct condition c = {
        .handles = &p.dep_signal[0].handle, .count = 5, .any = any, .mask = -1, .compare = HSA_SIGNAL_CONDITION_EQ
    };
    PACKET_TRACE("queue %p packet %" PRIu64 ": barrier %s", (void *)q, q->done, any ? "or" : "and");
    barrier(q, &c, p.completion_signal.handle);
}

static bool vendor(struct thunk_queue *q, const uint8_t *packet)
{
    hsa_amd_barrier_value_packet_t p;
    memcpy(&p, packet, sizeof p);
    PACKET_TRACE("queue %p packet %" PRIu64 ": AMD's, format %u", (void *)q, q->done, p.header.AmdFormat);
    if (p.header.AmdFormat == FORMAT_PM4) { /* caches and counters: nothing here to do */
        complete(q, p.completion_signal.handle, thunk_now());
        return true;
    }
    if (p.header.AmdFormat != FORMAT_BARRIER_VALUE)
        return false;
    struct condition c = { .handles = &p.signal.handle, .count = 1, .value = p.value, .mask = p.mask, .compare = p.cond };
    barrier(q, &c, p.completion_signal.handle);
    return true;
}

void thunk_aql_take(struct thunk_queue *q)
{
    uint8_t *packet = slot(q);
    unsigned type = header(packet) >> HSA_PACKET_HEADER_TYPE & 0xff;
    bool known = true;
    switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
        launch(q, (const hsa_kernel_dispatch_packet_t *)(const void *)packet);
        break;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
        barrier_and_or(q, packet, type == HSA_PACKET_TYPE_BARRIER_OR);
        break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
        known = vendor(q, packet);
        break;
    default:
        known = false;
    }
    if (!known) {
        sim_say("a packet of type %u, format %u is not known to the card", type, packet[2]);
        queue_error(q, ERROR_PACKET);
    }
    if (q->broken || q->stop)
        return;
    __atomic_store_n((uint16_t *)(void *)packet, (uint16_t)(HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE), __ATOMIC_RELEASE);
    q->done++;
    __atomic_store_n((uint64_t *)(uintptr_t)q->read, q->done, __ATOMIC_RELEASE);
}
