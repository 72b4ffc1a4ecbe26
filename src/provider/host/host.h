/* The host device's own structures, shared by the files of this folder and by nobody else.
 *
 * One machine, one lock; where there are several devices (ANYWARP_HOST_DEVICES) they have streams of their own and share all
 * else, faults too.  A stream is a queue of operations of which only the head may run; an operation is started when it is the
 * head and the operations of other streams it waits for are complete.  Kernels, copies and fills become *active*: workers claim
 * ranges of their shares through atomic counters and the last one to leave completes the operation.  Locked means aw_host.lock is
 * held. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HOST_HOST_H
#define AW_HOST_HOST_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anywarp/hostabi.h>
#include <anywarp/provider.h>

#include "base/status.h"
#include "context.h"

#define AW_ROOM "host"

enum {
    AW_HOST_WORKERS_MAX = 1024,
    AW_HOST_DEVICES_MAX = 16,
    AW_HOST_APART = 128,               /* bytes between what different processors write: they fetch lines in pairs */
    AW_HOST_GUESTS = 4,                /* threads that wait for a stream and help meanwhile */
    AW_HOST_SHARES_MAX = 64,           /* of an operation; where there are more workers, several begin in one */
    AW_HOST_BARRIERS = 16,
    AW_HOST_RESIDENT_CONTEXTS = 2048,  /* per worker; beyond it a worker starts no further block that is not cooperative */
};

/* Limits that the device reports and launches are held to. */
enum {
    AW_HOST_MAX_THREADS = 1024,
    AW_HOST_SM_THREADS = 2048,
    AW_HOST_SM_BLOCKS = 32,
    AW_HOST_SHARED_DEFAULT = 48 << 10,
    AW_HOST_SHARED_MAX = 163 << 10,
    AW_HOST_SHARED_SM = 164 << 10,
    AW_HOST_SHARED_RESERVED = 1 << 10, /* per block, as occupancy counts it */
    AW_HOST_SHARED_GRANULE = 1 << 10,  /* what a block gets is a multiple of */
    AW_HOST_WINDOW_PAGES = 42,         /* for the most that a block may have */
};

/* ---- operations and streams (stream.c) ---- */

enum aw_host_op_kind { AW_HOST_OP_KERNEL, AW_HOST_OP_MEMORY, AW_HOST_OP_EVENT, AW_HOST_OP_WAIT, AW_HOST_OP_CALLBACK,
                       AW_HOST_OP_INLINE, AW_HOST_OP_VALUE, AW_HOST_OP_PARTS };

struct aw_host_function;

/* With how many workers a kernel goes fastest (crowd.c); locked. */
struct aw_host_crowd {
    uint32_t level;                    /* 0: all, as nothing else is known */
    uint32_t turn;                     /* which other number is tried next */
    uint32_t patience;                 /* the next trial comes when so many times the last one's price have passed */
    /* cycles that the last trial took, and that have gone by since; a price of 0: there was none */
    uint64_t price, since;
    /* Launches too short for a trial: how many in a row have shown a crowd, and must (0: as at first); how many were kept to
     * one worker since; what a block took, in parts of a cycle, of the last that all ran. */
    uint32_t disturbed, needed, held;
    uint64_t all_each;
};

/* How a kernel's blocks have lately gone. */
struct aw_host_pace {
    struct aw_host_crowd crowd;
    _Atomic uint32_t block_cycles;     /* what each of the last piece took; 0: not known */
    _Atomic uint32_t brief;            /* pieces in a row whose blocks were short */
    _Atomic bool odd;                  /* the last piece took far longer than those before it */
};

struct aw_host_counting;
struct aw_host_kernel {
    struct aw_host_launch launch;
    const struct aw_host_object *code;
    const struct aw_host_loaded *object;
    const char *name;
    bool cooperative;
    uint32_t grid_workspace[2];        /* its size in bytes, and the counter of the grid's barrier */
    bool warps;                        /* run through code->warp on one context per warp */
    unsigned stack_class;
    const struct aw_host_function *function; /* as launched; NULL: in tests */
    struct aw_host_pace *pace;
    struct aw_host_counting *counting; /* count.c; NULL: its code does not */
};

/* What runs of a kernel's blocks go by, from start to end: another form of its code may come meanwhile. */
struct aw_host_code {
    const struct aw_host_object *object;
    bool warps;                        /* as struct aw_host_kernel has it, and so is: */
    unsigned stack_class;
};
struct aw_host_code aw_host_kernel_code(const struct aw_host_kernel *kernel);
void aw_host_function_replace(struct aw_function *function, struct aw_function *by);

/* Bytes to move or set.  Units are rows for rectangles, else blocks of AW_HOST_COPY_UNIT bytes. */
struct aw_host_memory_op {
    struct aw_copy3d rect;             /* plain copies and fills use src, dst and width */
    uint32_t value;
    uint32_t element;                  /* bytes; 0: a copy */
    bool rows;
};

/* A value to write or to wait for. */
struct aw_host_value {
    void *ptr;
    uint64_t value;
    uint64_t since;                    /* when its turn came */
    unsigned bytes;                    /* 4 or 8 */
    enum aw_wait how;
    bool write;
    struct aw_host_event *of;          /* whose tickets it is one of, referred to; NULL: none */
};

struct aw_host_stream;

/* A part of an operation, claimed from its front. */
struct aw_host_share {
    _Alignas(AW_HOST_APART) _Atomic uint64_t claimed; /* the first that nobody has */
    uint64_t end;
    bool joined;                       /* some worker began here; locked */
};

/* What is being measured of a kernel that is watched (crowd.c); locked. */
enum aw_host_phase { AW_HOST_USUAL, AW_HOST_BEFORE, AW_HOST_OTHER, AW_HOST_AFTER }; /* the last three are a trial's */
struct aw_host_trial {
    _Atomic enum aw_host_phase phase;  /* written locked */
    uint32_t level, other;             /* workers that are wanted now, and in the trial */
    uint32_t pieces;                   /* run by all that are wanted, in this phase */
    uint64_t ns, blocks;               /* of these */
    double least;                      /* ns a block, of the piece with the fewest */
    uint64_t price;                    /* cycles since the trial began */
    double usual_cost, other_cost;     /* ns of processor time of each worker that go by for a block */
    /* of a short launch: least time of all workers that went by for a block, with one and with more; 0: none */
    _Atomic uint32_t alone, together;
    uint64_t begun;                    /* when it became active */
};
struct aw_host_stay {                  /* a worker's, for a piece */
    uint64_t ns;
    uint32_t comings;
    enum aw_host_phase phase;
};

struct aw_host_op {
    struct aw_host_op *next;           /* in its stream, or in the pool */
    struct aw_host_op *active_next, *active_prev;
    struct aw_host_stream *stream;
    uint64_t seq;
    enum aw_host_op_kind kind;
    const void *owner;                 /* whose end may end it; NULL: all's */
    uint32_t pending;                  /* operations of other streams it still waits for */
    struct aw_host_dep *dependents;    /* those that wait for it */
    bool started, active;
    bool here;                         /* the thread that launched the kernel runs it */
    /* Work that is claimed in pieces. */
    uint64_t total, piece;             /* the largest piece, where nothing is known of how long one takes */
    bool ordered;                      /* blocks may wait for earlier ones: all in one share */
    bool meets;                        /* blocks meet where they first yield */
    _Atomic uint64_t came;             /* blocks that have come so far, or ended before */
    uint32_t n_shares;
    _Atomic uint32_t open;             /* shares of which something is left */
    _Atomic bool small;                /* not worth a second worker, by what is known */
    _Atomic uint32_t users;            /* threads and parked blocks inside; written locked */
    _Atomic int killed;                /* a status: no further piece starts, running ones end when they can */
    /* How often `users` has changed, and the most there may be: at the limit it takes no more, and is not among the active;
     * above it, users leave.  Written locked. */
    _Atomic uint32_t comings, limit;
    bool watched;                      /* crowd.c sees to the limit */
    union {
        struct aw_host_kernel kernel;
        struct aw_host_memory_op memory;
        struct aw_host_value value;
        struct {
            struct aw_host_event *event;
            uint64_t ticket;           /* of an event for other processes */
        } record;
        struct {
            void (*fn)(void *);
            void *user;
        } callback;
        struct {
            void (*fn)(void *, uint32_t);
            void *user;
            pthread_cond_t *ended;     /* of the thread that waits for it */
            _Atomic bool done;         /* written locked */
        } parts;                       /* of no stream */
    };
    /* Kernel arguments or a copy's data: in place, or in `large`, which stays with the pooled operation while small. */
    _Alignas(64) char kernarg[512];
    char *large;
    size_t large_size;
    struct aw_host_trial trial;
    struct aw_host_share shares[];     /* aw_host_shares() */
};

struct aw_host_dep {                   /* op waits until the operation that has it in its list is complete */
    struct aw_host_dep *next;
    struct aw_host_op *op;
};

struct aw_host_waiter {                /* a thread that waits; on its own stack */
    struct aw_host_waiter *next;
    uint64_t seq;
    pthread_cond_t cond;
};

struct aw_host_stream {
    unsigned flags;
    uint32_t device;
    uint32_t refs;                     /* handle, events, queued work, waiters; locked */
    struct aw_host_op *head, *tail;
    _Atomic uint64_t submitted;        /* written locked */
    _Atomic uint64_t completed;        /* written locked */
    uint64_t null_seen;                /* legacy order: how far the one has already waited for the other */
    uint64_t seen_null;
    uint64_t sync_mark;                /* a device_sync waits up to here */
    uint32_t lookers;                  /* threads that wait for it and are awake; locked */
    _Atomic bool wanted;               /* they shall help with what runs now */
    struct aw_host_waiter *waiters;
    struct aw_host_stream *prev, *next;
    bool fresh;                        /* in front of the list: it was given something since the default stream's last; locked */
    struct aw_host_stream *kick_next;
    bool kicked;
};

struct aw_host_event {
    uint32_t refs;                     /* handle and queued records; locked */
    unsigned flags;
    struct aw_host_stream *stream;     /* of the latest record; NULL before */
    uint64_t seq;
    struct aw_host_op *op;             /* the record, valid until the stream has completed seq */
    uint64_t time_ns;
    /* Of an event for other processes. */
    struct aw_host_tickets *tickets;   /* mapped; NULL: it is none */
    uint64_t ticket;                   /* of this process's latest record */
    int fd;                            /* the file of the tickets; -1: another process's, or none */
};

/* What processes see of a common event: each record takes the next ticket, and brings it back when it is complete. */
struct aw_host_tickets {
    _Atomic uint64_t given, done;      /* the latest */
};

/* ---- workers and blocks (pool.c, block.c) ---- */

struct aw_host_barrier {
    _Alignas(64) uint32_t arrived;     /* warps */
    uint32_t expected;                 /* warps; 0 = all that live */
    struct aw_host_context *first, **end; /* those who wait, the earliest first; `end` is valid while there is one */
    uint32_t waiting;                  /* how many they are */
    uint32_t popc;
    bool any, all, reduces;
    uint8_t op;
};

/* Ends of a step of a run. */
enum aw_host_outcome { AW_HOST_RUN_DONE = 1, AW_HOST_RUN_YIELD, AW_HOST_RUN_DEAD, AW_HOST_RUN_FAULT };

struct aw_host_worker;

/* Of counting code (count.c): what warps did up to each barrier, ns, which of its meetings that is, and since when the present
 * warp runs. */
struct aw_host_regions {
    uint64_t since, asked_wall, asked_own; /* the latter: when it was last asked how long the thread itself has run, and how
                                            * long */
    struct {
        uint64_t n, sum, most, meeting;
    } at[AW_HOST_BARRIERS];
};

/* A block in execution, or a range of blocks run one after another. */
struct aw_host_run {
    struct aw_host_block block;        /* first: generated code has its address */
    struct aw_host_context *current;
    struct aw_host_context *ready, **ready_end;
    uint32_t ring, ring_arrived;       /* contexts in the ring, 0: there is none; those of them that are at barrier 0 (block.c) */
    uint32_t n_ready;
    uint32_t next_warp, n_warps;       /* the first not yet started; all of the block, 0 where they are not run on contexts */
    uint32_t live;                     /* warps not yet returned */
    uint32_t streak, yields;           /* yields with nothing else in between, and in all since the block was last left */
    struct aw_host_worker *worker;
    struct aw_host_op *op;
    struct aw_host_code code;
    struct aw_host_run *next;          /* parked, or in the pool */
    uint64_t first, count;             /* blocks: the present one, where warps have contexts, and how many are left with it */
    struct aw_host_context *contexts;  /* all that it holds, by `all` */
    struct aw_host_context *ended;     /* of them, those that have returned */
    uint32_t n_contexts, n_ended;
    bool met;                          /* some barrier of the block was complete */
    uint32_t used_barriers;            /* bit set */
    char *window;                      /* shared memory, between guards */
    size_t window_bytes, window_guard;
    struct aw_host_barrier barriers[AW_HOST_BARRIERS];
    struct aw_host_comings *sync;         /* sync.c; NULL: nothing was asked */
    struct aw_host_race *races;        /* race.c; NULL: likewise.  Where the block's `race` is one, it is this */
    struct aw_host_regions regions;
};

struct aw_host_worker {
    _Alignas(AW_HOST_APART) struct aw_host_context thread; /* the thread's own stack: where runs end and yield to */
    uint32_t index;                    /* %smid */
    uint32_t home, share;              /* where it begins in an operation, and where it is in the present one */
    bool guest, busy;
    struct aw_host_run *running;       /* what is on the processor */
    struct aw_host_run *parked;        /* runs that yielded */
    uint32_t parked_contexts;
    uint32_t idle_rounds;
    struct aw_host_run *free_runs[AW_HOST_WINDOW_PAGES + 1]; /* by how many pages of shared memory they have */
    struct aw_host_context *free_contexts[AW_HOST_STACK_CLASSES];
    pthread_cond_t wake;               /* where it sleeps */
    bool woken;                        /* it need not sleep on */
    int cpu;                           /* where it ran last before it slept */
    struct aw_host_worker *idle_next;  /* another that sleeps */
    _Atomic int thread_id;             /* of the thread that it is at present; 0: none */
    void *abandoned;                   /* the workers of the process this one was forked from */
    /* Written by the signal handler, read after landing. */
    int fault_signal, fault_code;
    bool fault_unaligned;              /* it was no wrong address, but one that the instruction cannot take */
    void *fault_address, *fault_pc;
};

/* Of one device: work of its default stream and of its blocking streams waits for each other, not for other devices'. */
struct aw_host_streams {
    struct aw_host_stream null_stream;
    struct aw_host_stream *first;      /* all, the null stream not included; the fresh ones first */
};

struct aw_host_device {
    pthread_mutex_t lock;
    bool opened;
    uint32_t n_workers;                /* how many there shall be; multiprocessors */
    uint32_t group;                    /* struct aw_host_launch has it */
    uint32_t n_started, n_idle, n_waking;
    struct aw_host_worker *idle_head;  /* those that sleep and were not told to wake; the last to fall asleep first */
    struct aw_host_worker *workers;    /* n_workers + AW_HOST_GUESTS */
    struct aw_host_op *active_head, *active_tail;
    _Atomic uint32_t n_active;
    uint32_t n_devices;                /* as many as ANYWARP_HOST_DEVICES says: they differ in their streams alone */
    struct aw_host_streams devices[AW_HOST_DEVICES_MAX];
    struct aw_host_stream *kick;
    struct aw_host_op *free_ops;
    struct aw_host_dep *free_deps;
    struct aw_host_op *callback_head, *callback_tail;
    pthread_cond_t callback_work;
    bool callback_started;
    struct aw_host_op *value_head;     /* by active_next: their turn has come */
    pthread_cond_t value_work;
    bool value_started;
    _Atomic uint64_t n_pending;        /* operations not complete; written locked */
    uint64_t grid_id;
    _Atomic int fault;
    size_t memory_total;
    /* guards lie where memory ends, not where a card notices; set before anything is allocated */
    bool exact;
    char name[128];
};

extern struct aw_host_device aw_host;

static inline void aw_host_lock(void)
{
    pthread_mutex_lock(&aw_host.lock);
}

static inline void aw_host_unlock(void)
{
    pthread_mutex_unlock(&aw_host.lock);
}

static inline int aw_host_fault(void)
{
    return atomic_load_explicit(&aw_host.fault, memory_order_acquire);
}

/* What this thread is doing, for the signal handler.  Initial-exec: a handler must not allocate. */
struct aw_host_thread {
    struct aw_host_worker *volatile worker; /* a run of this worker is on the processor */
    void *guard;                       /* innermost guarded call's saved stack pointer */
    int service;                       /* inside one of our services, where a fault would be our own bug */
    bool is_callback, is_worker;
    bool takes;                        /* will look for active operations itself before it rests */
    bool waited;                       /* since its last launch */
    struct aw_host_signal_stack *signal_stack; /* fault.c's, made when it first runs kernels; freed when the thread ends */
    bool keeps_stack;                  /* it is in place for good */
    int id;                            /* the system's, once asked for; 0: not yet */
    /* fault signals were, when last asked: by the time stamp counter; 0: they were not, or not asked */
    uint64_t unblocked;
    uint64_t moves_seen;               /* of memory, by the handler of faults */
};
extern __thread struct aw_host_thread aw_host_thread __attribute__((tls_model("initial-exec")));

/* device.c: the open function's parts and the clock. */
int aw_host_open(const char **ret_why);
const char *aw_host_target(void);      /* "host:x86-64-v3": what the compiler is asked for; static */
extern const char *aw_host_root;       /* what /proc and /sys lie under: "" but in tests */
uint32_t aw_host_cpu_count(void);      /* processors this process may use: affinity and cgroup quota */
bool aw_host_is_traced(void);          /* does a debugger watch this process? */
size_t aw_host_memory_limit(void);     /* bytes the process may have in all */
size_t aw_host_memory_available(void);
int aw_host_device_name(int dev, char *ret_name, size_t size);
const char *aw_host_device_target(int dev);
int aw_host_device_attr(int dev, enum aw_device_attr attr, int *ret_value);
int aw_host_device_uuid(int dev, uint8_t ret_uuid[16]);
int aw_host_device_memory(int dev, size_t *ret_free, size_t *ret_total);
bool aw_host_device_ok(int dev);       /* is `dev` ours and open? */

/* stream.c; locked unless said otherwise. */
int aw_host_op_create(enum aw_host_op_kind kind, struct aw_host_op **ret_op);
void aw_host_op_discard(struct aw_host_op *op);          /* one that was never submitted */
/* `size` bytes, 64-byte aligned, that live as long as the operation; NULL when memory is out.  Not locked. */
char *aw_host_op_buffer(struct aw_host_op *op, size_t size);
int aw_host_op_submit(struct aw_host_stream *stream, struct aw_host_op *op); /* on failure the operation is discarded */
void aw_host_op_complete(struct aw_host_op *op);         /* the head of its stream; starts what now can start */
bool aw_host_stream_idle(struct aw_host_stream *stream); /* a new operation would start at once */
/* not locked: what this thread has submitted is seen, and what has ended */
bool aw_host_any_pending(void);
bool aw_host_memory_take(size_t size);                   /* counts memory that lies elsewhere; false: there is no more */
void aw_host_memory_give(size_t size);
extern const struct aw_provider_vmm aw_host_vmm;
int aw_host_wait_all(void);                              /* all devices; unlocked; no printing */
struct aw_host_stream *aw_host_stream_of(int dev, struct aw_stream *stream); /* dev may be none: then any */
bool aw_host_helper_start(void *(*fn)(void *));          /* a thread without the program's signals; any lock */
/* Not locked: the provider's calls. */
int aw_host_device_sync(int dev);
int aw_host_stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret_stream);
int aw_host_stream_destroy(struct aw_stream *stream);
int aw_host_stream_query(int dev, struct aw_stream *stream);
int aw_host_stream_sync(int dev, struct aw_stream *stream);
int aw_host_stream_wait(int dev, struct aw_stream *stream, struct aw_event *event);
int aw_host_stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user);
int aw_host_stream_inline(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user);
int aw_host_event_create(int dev, unsigned flags, struct aw_event **ret_event);
int aw_host_event_destroy(struct aw_event *event);
int aw_host_event_record(int dev, struct aw_event *event, struct aw_stream *stream);
int aw_host_event_query(struct aw_event *event);
int aw_host_event_sync(struct aw_event *event);
int aw_host_event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret_ms);
/* ipc_event.c: events for other processes. */
int aw_host_tickets_make(struct aw_host_event *e);     /* a file of their own; AW_ERR_OUT_OF_MEMORY */
void aw_host_tickets_free(struct aw_host_event *e);
void aw_host_ticket_done(struct aw_host_event *e, uint64_t ticket);
/* Until the record of a ticket of another process is complete, or the device faults; not locked. */
void aw_host_ticket_wait(const struct aw_host_event *e, uint64_t ticket);
int aw_host_ipc_event_get(struct aw_event *event, struct aw_ipc_handle *ret_handle);
int aw_host_ipc_event_open(int dev, const struct aw_ipc_handle *handle, struct aw_event **ret_event);
void aw_host_streams_forked(void);     /* in a child: forgets work that no thread will ever do */

/* value.c */
void aw_host_value_start(struct aw_host_op *op);         /* locked: its turn has come */
int aw_host_stream_wait_ticket(int dev, struct aw_stream *stream, struct aw_host_event *e, uint64_t ticket);
void aw_host_values_forked(void);
int aw_host_stream_write_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes);
int aw_host_stream_wait_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes, enum aw_wait how,
                              const void *owner);

/* pool.c */
int aw_host_pool_init(void);
bool aw_host_pool_ready(void);                            /* locked: is there a worker, or could one be started? */
uint32_t aw_host_shares(void);                            /* how many an operation has at most */
/* locked: hands the operation, total, piece and order set, to the workers */
void aw_host_pool_activate(struct aw_host_op *op);
/* Locked, and may unlock meanwhile: gives a kernel to its stream, or runs it.  On failure the operation is discarded. */
int aw_host_pool_launch(struct aw_host_stream *stream, struct aw_host_op *op);
/* Locked, and unlocks meanwhile: runs some of the operation on the calling thread; false when there was nothing to do. */
bool aw_host_pool_help(struct aw_host_op *op);
void aw_host_pool_limit(struct aw_host_op *op, uint32_t limit); /* locked: from now on at most so many users, at least 1 */
/* locked: nanoseconds that whoever waits had better look before it sleeps */
uint64_t aw_host_pool_patience(void);
/* Not locked: the provider's calls. */
void aw_host_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user);
uint32_t aw_host_spread_threads(void);
void aw_host_pool_nudge(void);                            /* locked: sees that someone takes what the caller leaves */
void aw_host_pool_forked(void);
void aw_host_pool_killed(struct aw_host_op *op);          /* locked: it was killed by no user of it, and may have none */
/* Kills the operation with `status`; true for the first cause, who says what it was and then calls aw_host_op_fault: programs end
 * as soon as they see a fault, and what is not said by then is not heard.  One that is killed already, as its owner ends, is no
 * fault. */
bool aw_host_op_kill(struct aw_host_op *op, int status);
void aw_host_op_fault(struct aw_host_op *op);             /* what killed it becomes the device's sticky fault, the first one */

/* crowd.c: watched kernels, from where they are activated (locked) to where they complete (locked). */
void aw_host_crowd_begin(struct aw_host_op *op);
void aw_host_crowd_end(struct aw_host_op *op);
/* Not locked: around a piece of a watched kernel, of `blocks` blocks that took `cycles`. */
void aw_host_crowd_enter(const struct aw_host_op *op, struct aw_host_stay *ret_stay);
void aw_host_crowd_leave(struct aw_host_op *op, const struct aw_host_stay *stay, uint64_t cycles, uint64_t blocks);
/* Of a kernel's launch that is too short to be watched: it begins; a piece was run, with so many users all the time; it ends.
 * Begin and end locked. */
void aw_host_crowd_short_begin(struct aw_host_op *op);
void aw_host_crowd_short_note(struct aw_host_op *op, uint32_t users, uint64_t cycles, uint64_t blocks);
void aw_host_crowd_short_end(struct aw_host_op *op);

/* block.c */
extern const struct aw_host_services aw_host_services;
/* The warp that runs has arrived at barrier `id` with its registers saved at `sp`: whose registers to go on with, or NULL when
 * they are its own.  Called by aw_host_barrier_; does not return when the block is given up. */
void *aw_host_barrier_next(struct aw_host_block *block, uint32_t id, uint32_t threads, void *sp);
/* A run for the range; NULL when memory is out. */
struct aw_host_run *aw_host_run_start(struct aw_host_worker *worker, struct aw_host_op *op, uint64_t first, uint64_t count);
/* Runs until it is done or yields.  AW_HOST_RUN_YIELD or AW_HOST_RUN_DONE; after the latter finish it. */
enum aw_host_outcome aw_host_run_step(struct aw_host_run *run);
void aw_host_run_finish(struct aw_host_run *run);
void aw_host_worker_trim(struct aw_host_worker *worker);  /* frees pooled stacks and windows */
/* Leaves the current run for good, from a service. */
_Noreturn void aw_host_run_die(struct aw_host_run *run);

/* count.c: of an object's code, loaded as `object`, where it counts; else *ret_counting is NULL.  False: memory is out.  The
 * kernel's name is borrowed. */
bool aw_host_counting_begin(void *object, const char *kernel, struct aw_host_counting **ret_counting);
void aw_host_counting_end(struct aw_host_counting *counting); /* tells of it; NULL is fine */
const struct aw_host_services *aw_host_counting_services(void);
void aw_host_counting_run(struct aw_host_run *run);           /* it begins, on its worker */
void aw_host_counting_step(struct aw_host_run *run);          /* it goes on */

/* debugger.c: sets out what a debugger reads, once there are workers. */
void aw_host_debugger_tell(void);

/* access.c */
/* Is this the first finding of a rule (static) at that place of code?  A place is told once, however often it is passed. */
bool aw_host_finding_new(const void *pc, const char *rule);
void aw_host_check_access(struct aw_host_block *block, const uint64_t *addresses, uint32_t lanes, uint32_t thread, uint32_t what);

/* sync.c */
void aw_host_check_sync(struct aw_host_block *block, uint32_t what, uint32_t warp, uint32_t lanes, const uint32_t *masks,
                        uint32_t threads);
/* ", at FILE:LINE": where a warp that waits came to a barrier; "": that was not asked. */
const char *aw_host_sync_place(const struct aw_host_run *run, uint32_t warp, char *ret_text, size_t size);

/* race.c; see race.h, too */
void aw_host_check_race(struct aw_host_block *block, struct aw_host_race_sites *sites, uint32_t *site, const uint64_t *addresses,
                        uint32_t lanes, uint32_t thread, uint32_t what, const void *values);
void aw_host_check_order(struct aw_host_block *block, uint32_t what, uint32_t warp);

/* Lets another warp of the block go on, if one can: called by a warp on a stack of its own. */
void aw_host_turn(struct aw_host_block *block);

/* lanes.c: services of quick code. */
void aw_host_lanes_blocks(struct aw_host_block *block, uint64_t first, uint64_t count, aw_host_lane_fn *lane);
void aw_host_lanes_warp(struct aw_host_block *block, uint32_t warp, aw_host_lane_fn *lane);
uint64_t aw_host_lane_op(struct aw_host_lane *lane, const uint32_t *site, uint32_t mask, uint64_t a, uint64_t b, uint64_t c);
void aw_host_lane_yield(struct aw_host_lane *lane);

/* service.c */
int32_t aw_host_vprintf(struct aw_host_block *block, const char *format, const void *args);
void aw_host_assert_fail(struct aw_host_block *block, const char *message, const char *file, uint32_t line,
                         const char *function, uint32_t thread_linear, uint32_t more);
void aw_host_trap(struct aw_host_block *block, uint32_t status, const char *what);
void *aw_host_heap_malloc(struct aw_host_block *block, uint64_t size);
void aw_host_heap_free(struct aw_host_block *block, void *ptr);
uint64_t aw_host_globaltimer(void);
uint64_t aw_host_block_texel(struct aw_host_block *block, uint64_t address, uint32_t which, uint64_t descriptor);
void aw_host_print_flush(void);        /* writes what kernels have printed to stdout; not locked */
void aw_host_print_fork(int phase);    /* 0 prepare, 1 parent, 2 child */

/* fault.c */
int aw_host_fault_init(void);          /* installs the handlers, once */
/* The calling thread will run kernels: gives it a signal stack and unblocks what must be deliverable.  What was before is put
 * out for aw_host_fault_leave, which gives back what the program's threads had. */
struct aw_host_signals {
    stack_t stack;
    sigset_t mask;
    bool swapped;                      /* the thread has a signal stack of its own */
    bool blocked;                      /* it had blocked some of them: mask tells which */
};
int aw_host_fault_enter(struct aw_host_signals *ret_before);
void aw_host_fault_leave(const struct aw_host_signals *before);
/* Calls fn(arg); AW_ERR_ILLEGAL_ADDRESS when it touched memory that is not there. */
int aw_host_guarded(void (*fn)(void *), void *arg);
/* With the address of aw_host as the signal's value (stop.c), a thread leaves the killed kernel that it runs; with that of the
 * table of samples (sample.c) it counts where it is. */
#define AW_HOST_STOP_SIGNAL SIGILL
/* Sends it to a worker's thread, if it has one, with that value. */
void aw_host_interrupt(const struct aw_host_worker *worker, void *value);
bool aw_host_fault_ours(void);         /* is the handler of that signal still ours? */
/* Reads memory that may not be there: `size` bytes, or up to a NUL (or `size`); false or -1 when it is not. */
bool aw_host_peek(void *dst, const void *src, size_t size);
long aw_host_peek_string(char *dst, const char *src, size_t size);

/* stop.c: waits so long, then ends all that is still running, and does not start what is not.  The device is faulty then until it
 * is reset, unless that is an owner's work alone.  AW_ERR_NOT_READY: something could not be ended. */
int aw_host_device_stop(int dev, const void *owner, uint64_t grace_ns);

/* operand.c: is there an address such as the memory operand's of the instruction that was interrupted?  False where it has
 * none, or many. */
bool aw_host_operand_exists(const void *ucontext);

/* memory.c: the provider's calls, and the device heap. */
int aw_host_mem_alloc(int dev, size_t size, void **ret_ptr);
int aw_host_mem_alloc_shared(int dev, size_t size, void **ret_ptr);
int aw_host_ipc_mem_get(int dev, void *ptr, struct aw_ipc_handle *ret_handle);
int aw_host_ipc_mem_open(int dev, const struct aw_ipc_handle *handle, void **ret_ptr, size_t *ret_size);
int aw_host_ipc_mem_close(int dev, void *ptr);
/* Has memory that was not writable for a moment become so since *seen, a thread's, was set?  Waits for it.  For the handler of
 * faults. */
bool aw_host_memory_moved(uint64_t *seen);
/* share.c: a file of that many zeros, which keeps its size; -1: none. */
int aw_host_share_file(size_t bytes);
/* Writes whole pages to its begin, but those of zeros, which so take no memory. */
bool aw_host_share_fill(int fd, const char *from, size_t bytes);
/* Says in a handle where the bytes from `offset` on of a file of ours are, and what they are. */
enum aw_host_shared { AW_HOST_SHARED_MEMORY, AW_HOST_SHARED_EVENT };
int aw_host_share_tell(enum aw_host_shared what, int fd, size_t offset, size_t size, struct aw_ipc_handle *ret_handle);
/* Opens what a handle says; AW_ERR_INVALID_VALUE: it is none of that kind, or there is no such file any more.  *ret_fd is the
 * caller's. */
int aw_host_share_open(enum aw_host_shared what, const struct aw_ipc_handle *handle, int *ret_fd, size_t *ret_offset,
                       size_t *ret_size);
int aw_host_mem_free(int dev, void *ptr);
int aw_host_host_alloc(int dev, size_t size, unsigned flags, void **ret_ptr);
int aw_host_host_free(void *ptr);
int aw_host_host_register(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr);
int aw_host_host_unregister(void *ptr);
int aw_host_managed_alloc(int dev, size_t size, void **ret_ptr);
int aw_host_pointer_info(const void *ptr, struct aw_pointer_info *ret_info);
void *aw_host_heap_alloc(size_t size);
bool aw_host_heap_release(void *ptr);
size_t aw_host_memory_used(void);
/* ", N bytes past the end of an allocation of M bytes at P, allocated by ...": what there is near an address; "": nothing. */
bool aw_host_mem_complain(const void *address, size_t bytes, const char *what);
void aw_host_memory_describe(uintptr_t address, char *ret_text, size_t size);
int aw_host_limit_set(int dev, enum aw_limit limit, size_t bytes);
void aw_host_limits_reset(void);
void aw_host_memory_fork(int phase);

/* copy.c */
void aw_host_copy_piece(struct aw_host_op *op, uint64_t first, uint64_t count);
int aw_host_copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream);
int aw_host_copy3d(int dev, const struct aw_copy3d *copy, struct aw_stream *stream);
int aw_host_fill(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream);
int aw_host_copy_pageable(int dev, void *dst, const void *src, size_t size, struct aw_stream *stream);
int aw_host_copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream);

/* object.c */
int aw_host_object_load(int dev, const void *bytes, size_t size, struct aw_object **ret_object);
int aw_host_object_unload(struct aw_object *object);
int aw_host_object_locator(struct aw_object *object, aw_locate_fn *locate, void *user);

/* sample.c: only where aw_trace_samples() */
struct aw_host_sampled {
    const void *object;                /* as struct aw_host_kernel has it */
    uintptr_t code, code_size, base;   /* `base`: what is added to the addresses of `elf` */
    const void *elf;
    size_t elf_size;
    const char *kernel;
};
void aw_host_sample_start(void);
void aw_host_sample_tell(const struct aw_host_sampled *sampled); /* and forgets; nothing of it runs any more */
void aw_host_sample_end(void);
/* In the signal handler. */
bool aw_host_sample_asked(const siginfo_t *info);
void aw_host_sample_take(void *context);
/* Where in the source `pc`, an instruction of the kernel's, comes from, as ", at FILE:LINE"; "" when nobody knows.  May take
 * as long as compiling the kernel does; not for signal handlers. */
const char *aw_host_locate(const struct aw_host_kernel *kernel, const void *pc, char *ret_text, size_t size);
bool aw_host_object_has(const struct aw_host_kernel *kernel, const void *pc); /* is that in its code?  For signal handlers */
int aw_host_object_function(struct aw_object *object, const char *name, struct aw_function **ret_function);
int aw_host_function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret_value);
int aw_host_function_set_shared(struct aw_function *function, size_t dynamic_shared);
int aw_host_kernel_attr(uint32_t static_shared, enum aw_function_attr attr, int *ret_value);
int aw_host_kernel_occupancy(uint32_t static_shared, int block_threads, size_t dynamic_shared, int *ret_blocks);
int aw_host_occupancy(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks);
int aw_host_launch(int dev, struct aw_function *function, const struct aw_launch *launch, struct aw_stream *stream);

#endif
