/* What the files of the thunk share.  Node 0 is the host's processor, nodes 1.. are the simulated cards. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_THUNK_H
#define SIM_THUNK_H

#include <hsakmt.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../sim.h"

#define THUNK_EXPORT __attribute__((visibility("default")))
#define THUNK_TRACE(...) do { if (sim_settings()->trace_thunk) sim_say(__VA_ARGS__); } while (0)
#define PACKET_TRACE(...) do { if (sim_settings()->trace_packets) sim_say(__VA_ARGS__); } while (0)

/* All cards' bits in a node mask. */
static inline uint32_t thunk_cards_mask(void)
{
    return ((1u << sim_settings()->n_cards) - 1) << 1;
}

/* The card of a node, NULL for the processor's and for none. */
static inline const struct sim_card *thunk_card(uint32_t node)
{
    return node && node <= sim_settings()->n_cards ? sim_settings()->cards[node - 1] : NULL;
}

/* Nanoseconds: the clock of the host and of all cards. */
uint64_t thunk_now(void);

/* event.c.  Any thread. */
void thunk_event_raise(uint32_t id);
/* Raises every event of the memory kind with this fault; ROCr ends the process on it unless a handler of the program takes it. */
void thunk_memory_fault(uint32_t node, uint64_t address);

/* A queue: one thread takes its packets. */
struct thunk_queue {
    uint32_t node;
    HSA_QUEUE_TYPE type;
    uint8_t *ring;
    uint64_t bytes;
    volatile uint64_t *read, *write; /* ROCr's or ours; AQL: packets, else bytes */
    volatile uint64_t *doorbell;
    uint64_t done;                   /* what *read holds */
    _Atomic bool stop;
    bool broken;                     /* an error was reported: nothing more is taken */
    bool asleep;                     /* with the lock of queue.c: the watcher looks after it */
    pthread_cond_t wake;
    pthread_t thread;
    struct sim_view view;            /* its thread's */
};

/* A condition to wait for on the queue's thread: polls with pauses, woken early by thunk_signal_changed.  False when the queue
 * must stop. */
bool thunk_wait(struct thunk_queue *q, bool (*is_met)(struct thunk_queue *q, const void *arg), const void *arg);
/* Some signal's value was changed by a queue: those that wait look again. */
void thunk_signal_changed(void);

/* doorbell.c: a page that tells of stores to it, where the system can.  The watcher's, except interrupt and disarm, which any
 * thread may call. */
void thunk_doorbell_init(void *page, size_t size); /* the pages must have been written to */
bool thunk_doorbell_arm(void);                     /* false: it cannot tell */
void thunk_doorbell_disarm(void);
void thunk_doorbell_wait(void);                    /* armed: returns disarmed, after a store or an interrupt */
void thunk_doorbell_interrupt(void);

/* aql.c and sdma.c: whether there is a packet; take it.  On the queue's thread, the first also on the watcher's. */
bool thunk_aql_ready(const struct thunk_queue *q);
void thunk_aql_take(struct thunk_queue *q);
bool thunk_sdma_ready(const struct thunk_queue *q);
void thunk_sdma_take(struct thunk_queue *q);

#endif
