/* Stackful contexts: a stack, and the switch from one to another on the same thread.
 * Not a scheduler: who runs next is decided in block.c.  Nothing here locks; a context belongs to one worker. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HOST_CONTEXT_H
#define AW_HOST_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define AW_HOST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define AW_HOST_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AW_HOST_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define AW_HOST_TSAN 1
#endif
#endif

struct aw_host_block;
struct aw_host_run;
struct aw_host_lanes;

struct aw_host_context {
    /* What a barrier touches is in one cache line. */
    _Alignas(64) void *sp;        /* saved stack pointer while it does not run */
    struct aw_host_context *next; /* in a free list, ready queue or barrier */
    uint32_t warp, warps;         /* what runs on it; block.c's, as are: */
    uint32_t result;              /* of barrier_reduce, set by the warp that completes it */
    unsigned size_class;
    struct aw_host_run *run;
    struct aw_host_context *all;  /* all contexts that the run holds */
    char *stack;                  /* lowest usable byte; the guard lies below */
    size_t stack_size;
    char *map;                    /* whole mapping, guard included; NULL: a thread's own stack */
    size_t map_size;
    void *fiber;                  /* thread sanitizer's */
    unsigned entries;             /* since it was made, for that sanitizer */
    void *fake_stack;             /* address sanitizer's */
    unsigned colour;              /* bytes left unused at the top */
    char *local;                  /* the end of its local memory, NULL: none; a multiple of AW_HOST_LOCAL_ALIGN */
    size_t local_size;            /* bytes below it */
    char *local_map;              /* guards included */
    size_t local_map_size, local_guard;
    struct aw_host_lanes *lanes;  /* lanes.c's, NULL: none yet; owned */
};

enum { AW_HOST_STACK_MIN_SHIFT = 16, AW_HOST_STACK_MAX_SHIFT = 31 };
#define AW_HOST_STACK_CLASSES (AW_HOST_STACK_MAX_SHIFT - AW_HOST_STACK_MIN_SHIFT + 1)

/* The smallest class whose stacks hold `bytes` beside what our own services need; -1 when none does. */
int aw_host_context_class(size_t bytes);
/* A context with a stack of its class, guarded below; owned by the caller.  NULL when memory is out. */
struct aw_host_context *aw_host_context_create(unsigned size_class);
void aw_host_context_destroy(struct aw_host_context *context);
/* Sees that the context has at least `bytes` of local memory, with guards at both ends; what it had is gone if that was less.
 * False: memory is out. */
bool aw_host_context_local(struct aw_host_context *context, size_t bytes);
/* Makes the context begin at entry(context) when next switched to.  `entry` must never return. */
void aw_host_context_prepare(struct aw_host_context *context, void (*entry)(struct aw_host_context *));
/* Describes the thread's own stack, to be switched away from and back to. */
void aw_host_context_adopt(struct aw_host_context *context);
/* Is `address` in the guard below the context's stack, or the stack of a lane of its warp? */
bool aw_host_context_guards(const struct aw_host_context *context, const void *address);
/* Is it in one of those of its local memory?  -1: the lower, 1: the upper. */
int aw_host_context_guards_local(const struct aw_host_context *context, const void *address);

/* Leaves `from`, goes on in `to`, whose own switch then returns `value`.  `last`: `from` is not resumed but prepared again. */
uint32_t aw_host_context_switch(struct aw_host_context *from, struct aw_host_context *to, uint32_t value, bool last);
/* The service `barrier` where no sanitizer has to hear of the switch: generated code calls it, block.c's aw_host_barrier_next
 * decides. */
void aw_host_barrier_(struct aw_host_block *block, uint32_t id, uint32_t threads);
/* First thing in a context's entry. */
void aw_host_context_entered(struct aw_host_context *context);

/* For the signal handler: makes the interrupted thread go on in the suspended context or guarded call whose saved stack
 * pointer is `sp`, as if `value` had been handed over. */
void aw_host_context_redirect(void *ucontext, void *sp, uint32_t value);
/* The interrupted program counter. */
void *aw_host_context_pc(void *ucontext);
/* For the signal handler: tells address sanitizer that the thread is about to land on `to`. */
void aw_host_context_landing(struct aw_host_context *to);
/* After landing on `to` through the handler: the other sanitizer's part. */
void aw_host_context_landed(struct aw_host_context *to);

/* Of lanes.c: the stacks of the lanes of a context's warp; NULL is fine. */
void aw_host_lanes_destroy(struct aw_host_lanes *lanes);
/* Is `address` in a guard below one of them?  No where `lanes` is NULL. */
bool aw_host_lanes_guard(const struct aw_host_lanes *lanes, const void *address);

/* How large a guard to make: `wanted`, or `least` where the process may have only so much address space. */
size_t aw_host_guard_bytes(size_t wanted, size_t least);

/* Calls fn(arg).  Returns 0, or the value of a redirect to *ret_sp that cut the call short. */
uint32_t aw_host_guard_call(void **ret_sp, void (*fn)(void *), void *arg);

#endif
