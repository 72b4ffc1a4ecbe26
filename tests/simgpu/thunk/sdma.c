/* The packets of a card's copy engine, as ROCr writes them for gfx9 and later. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <inttypes.h>
#include <string.h>

enum { OP_NOP = 0, OP_COPY = 1, OP_FENCE = 5, OP_TRAP = 6, OP_POLL = 8, OP_ATOMIC = 10, OP_FILL = 11, OP_TIMESTAMP = 13,
       OP_CACHES = 17 };
enum { COPY_LINEAR = 0, COPY_RECT = 4 };
enum { ATOMIC_ADD64 = 47 };
enum { MAX_WORDS = 13 };

static uint64_t rung(const struct thunk_queue *q)
{
    return __atomic_load_n((const uint64_t *)(uintptr_t)q->doorbell, __ATOMIC_ACQUIRE);
}

bool thunk_sdma_ready(const struct thunk_queue *q)
{
    return q->done < rung(q);
}

/* ---- Memory ---- */

static void fault(struct thunk_queue *q, uint64_t address, const char *what)
{
    char where[200];
    sim_map_describe(address, where, sizeof where);
    sim_say("page fault of the copy engine at %#" PRIx64 " (%s): %s", address, where, what);
    q->broken = true;
    thunk_memory_fault(q->node, address);
}

static void *at(struct thunk_queue *q, uint64_t address, size_t size, const char *what)
{
    void *p = sim_at(&q->view, address, size);
    if (!p)
        fault(q, address, what);
    return p;
}

/* As much of `size` bytes at `gpu` as lies in one piece; 0 after a fault. */
static size_t piece(struct thunk_queue *q, struct sim_view *view, uint64_t gpu, size_t size, char **ret_host, const char *what)
{
    view->node = q->node;
    *ret_host = sim_at(view, gpu, 1);
    if (!*ret_host) {
        fault(q, gpu, what);
        return 0;
    }
    return size <= view->hi - gpu ? size : view->hi - gpu;
}

static void copy(struct thunk_queue *q, uint64_t to, uint64_t from, uint64_t size)
{
    struct sim_view views[2] = { 0 };
    while (size) {
        char *source, *target;
        size_t n = piece(q, &views[0], from, size, &source, "the source of a copy");
        if (n)
            n = piece(q, &views[1], to, n, &target, "the target of a copy");
        if (!n)
            return;
        memmove(target, source, n);
        from += n, to += n, size -= n;
    }
}

static void fill(struct thunk_queue *q, uint64_t to, uint32_t word, uint64_t words)
{
    struct sim_view view = { 0 };
    while (words) {
        char *target;
        size_t n = piece(q, &view, to, words * 4, &target, "the target of a fill") / 4;
        if (!n)
            return;
        for (size_t i = 0; i < n; i++)
            memcpy(target + 4 * i, &word, 4);
        to += 4 * n, words -= n;
    }
}

static uint64_t pair(const uint32_t *p)
{
    return p[0] | (uint64_t)p[1] << 32;
}

/* One side of a copy of a box: address of its first element, bytes between rows and between slices. */
struct side {
    uint64_t base, pitch, slice;
};

static struct side side_of(const uint32_t *p, unsigned element)
{
    uint64_t x = p[2] & 0x3fff, y = p[2] >> 16 & 0x3fff, z = p[3] & 0x1fff;
    struct side s = { .pitch = (uint64_t)(p[3] >> 13) + 1, .slice = (uint64_t)(p[4] & 0xfffffff) + 1 };
    s.pitch <<= element;
    s.slice <<= element;
    s.base = pair(p) + (x << element) + y * s.pitch + z * s.slice;
    return s;
}

static void copy_box(struct thunk_queue *q, const uint32_t *p)
{
    unsigned element = p[0] >> 29; /* log2 of its bytes */
    struct side from = side_of(p + 1, element), to = side_of(p + 6, element);
    uint64_t row = ((uint64_t)(p[11] & 0x3fff) + 1) << element, rows = (p[11] >> 16 & 0x3fff) + 1, slices = (p[12] & 0x1fff) + 1;
    for (uint64_t z = 0; z < slices && !q->broken; z++)
        for (uint64_t y = 0; y < rows && !q->broken; y++)
            copy(q, to.base + y * to.pitch + z * to.slice, from.base + y * from.pitch + z * from.slice, row);
}

/* ---- Waiting for a word ---- */

struct poll {
    uint64_t address;
    uint32_t value, mask;
    unsigned how;
};

static bool is_met(struct thunk_queue *q, const void *arg)
{
    const struct poll *poll = arg;
    const uint32_t *p = at(q, poll->address, 4, "a word to wait for");
    if (!p)
        return true; /* the queue is broken now */
    uint32_t now = __atomic_load_n(p, __ATOMIC_ACQUIRE) & poll->mask, value = poll->value;
    switch (poll->how) {
    case 1:
        return now < value;
    case 2:
        return now <= value;
    case 3:
        return now == value;
    case 4:
        return now != value;
    case 5:
        return now >= value;
    case 6:
        return now > value;
    default:
        return true;
    }
}

static void poll_word(struct thunk_queue *q, const uint32_t *p)
{
    bool flush = p[0] >> 26 & 1 || p[2] >> 31; /* of the host's path to the card's memory: no word of memory */
    struct poll poll = { .address = pair(p + 1), .value = p[3], .mask = p[4], .how = p[0] >> 28 & 7 };
    if (!flush)
        thunk_wait(q, is_met, &poll);
}

/* ---- Packets ---- */

/* Words of the packet, 0 when it is none that is known. */
static unsigned length(const uint32_t *p)
{
    unsigned op = p[0] & 0xff, sub = p[0] >> 8 & 0xff;
    switch (op) {
    case OP_NOP:
        return 1 + (p[0] >> 16 & 0x3fff);
    case OP_COPY:
        return sub == COPY_LINEAR ? 7 : sub == COPY_RECT ? 13 : 0;
    case OP_FENCE:
        return 4;
    case OP_TRAP:
        return 2;
    case OP_POLL:
        return 6;
    case OP_ATOMIC:
        return p[0] >> 25 == ATOMIC_ADD64 ? 8 : 0;
    case OP_FILL:
        return 5;
    case OP_TIMESTAMP:
        return 3;
    case OP_CACHES:
        return 5;
    default:
        return 0;
    }
}

static void execute(struct thunk_queue *q, const uint32_t *p)
{
    uint64_t *wide;
    uint32_t *word;
    switch (p[0] & 0xff) {
    case OP_COPY:
        if ((p[0] >> 8 & 0xff) == COPY_LINEAR)
            copy(q, pair(p + 5), pair(p + 3), (uint64_t)(p[1] & 0x3fffffff) + 1);
        else
            copy_box(q, p);
        break;
    case OP_FENCE:
        if ((word = at(q, pair(p + 1), 4, "a fence")))
            __atomic_store_n(word, p[3], __ATOMIC_SEQ_CST);
        break;
    case OP_TRAP:
        thunk_event_raise(p[1] & 0xfffffff);
        break;
    case OP_POLL:
        poll_word(q, p);
        break;
    case OP_ATOMIC:
        if ((wide = at(q, pair(p + 1), 8, "an atomic")))
            __atomic_fetch_add(wide, pair(p + 3), __ATOMIC_SEQ_CST);
        thunk_signal_changed();
        break;
    case OP_FILL:
        fill(q, pair(p + 1), p[3], ((uint64_t)(p[4] & 0x3fffffff) + 4) / 4);
        break;
    case OP_TIMESTAMP:
        if ((wide = at(q, pair(p + 1), 8, "a timestamp")))
            __atomic_store_n(wide, thunk_now(), __ATOMIC_SEQ_CST);
        break;
    }
}

void thunk_sdma_take(struct thunk_queue *q)
{
    uint64_t offset = q->done % q->bytes, left = rung(q) - q->done;
    uint32_t p[MAX_WORDS] = { 0 };
    memcpy(p, q->ring + offset, q->bytes - offset < sizeof p ? q->bytes - offset : sizeof p);
    unsigned words = length(p);
    if (!words || words * 4ull > left || words * 4ull > q->bytes - offset) {
        sim_say("a copy engine's packet 0x%08x at %" PRIu64 " is not known or not whole", p[0], q->done);
        q->broken = true;
        thunk_memory_fault(q->node, (uint64_t)(uintptr_t)q->ring + offset);
        return;
    }
    PACKET_TRACE("copy queue %p at %" PRIu64 ": op %u.%u, %u words", (void *)q, q->done, p[0] & 0xff, p[0] >> 8 & 0xff, words);
    execute(q, p);
    if (q->broken || q->stop)
        return;
    q->done += words * 4ull;
    __atomic_store_n((uint64_t *)(uintptr_t)q->read, q->done, __ATOMIC_RELEASE);
}
