/* Stackful contexts for x86-64: guarded stacks and the switch, with the sanitizers' fiber annotations.
 * Not the decision who runs next (block.c), and not the signal handler (fault.c).
 *
 * The switch is called from one place only and ends in ret: so the return predictor, which holds the leaving context's calls,
 * is right for the context that is entered, as that one left through the same calls.
 * A barrier is entered by generated code at whichever barrier the warp is at, so there a ret would miss whenever a warp that
 * leaves at one barrier enters a warp that waits at another, as in every loop with two: its entry goes back by an indirect
 * jump, right into generated code with no return in between.  It saves no control words: generated code changes neither, and
 * every context of a run has the same. A saved frame is, from low to high: MXCSR and x87 control word, r15, r14, r13, r12,
 * rbx, rbp, where to go on.  A guarded call saves the same frame, so one landing serves both. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <anywarp/hostabi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#if !defined(__x86_64__)
#error "the host device switches stacks with x86-64 code: port the assembly and ucontext accesses of this file first"
#endif

#if AW_HOST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if AW_HOST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

uint32_t aw_host_switch_(void **ret_sp, void *to_sp, uint32_t value);
extern char aw_host_land_[];
extern char aw_host_enter_[];

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden aw_host_switch_\n.globl aw_host_switch_\n.type aw_host_switch_,@function\n"
    "aw_host_switch_:\n"
    "    .cfi_startproc\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    subq $8, %rsp\n"
    "    stmxcsr (%rsp)\n"
    "    fnstcw 4(%rsp)\n"
    "    movq %rsp, (%rdi)\n"
    "    movl %edx, %eax\n"
    "    movl (%rsp), %ecx\n"
    "    movzwl 4(%rsp), %edx\n"
    "    movq %rsi, %rsp\n"
    "    cmpl (%rsp), %ecx\n"
    "    jne aw_host_land_\n"
    "    cmpw 4(%rsp), %dx\n"
    "    je 1f\n"
    ".hidden aw_host_land_\n.globl aw_host_land_\n"
    "aw_host_land_:\n"
    "    ldmxcsr (%rsp)\n"
    "    fldcw 4(%rsp)\n"
    "1:  addq $8, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    retq\n"
    "    .cfi_endproc\n"
    ".size aw_host_switch_, . - aw_host_switch_\n"

    /* block, id, threads: saves, asks aw_host_barrier_next (block.c) for the stack pointer to go on with; NULL: goes on
     * itself. */
    ".p2align 4\n"
    ".hidden aw_host_barrier_\n.globl aw_host_barrier_\n.type aw_host_barrier_,@function\n"
    "aw_host_barrier_:\n"
    "    .cfi_startproc\n"
    "    pushq %rbp\n    .cfi_adjust_cfa_offset 8\n    pushq %rbx\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r12\n    .cfi_adjust_cfa_offset 8\n    pushq %r13\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r14\n    .cfi_adjust_cfa_offset 8\n    pushq %r15\n    .cfi_adjust_cfa_offset 8\n"
    "    subq $8, %rsp\n    .cfi_adjust_cfa_offset 8\n"
    "    movl $0x1f80, (%rsp)\n"
    "    movl $0x037f, 4(%rsp)\n"
    "    movq %rsp, %rcx\n"
    "    callq aw_host_barrier_next\n"
    "    testq %rax, %rax\n"
    "    jz 1f\n"
    "    movq %rax, %rsp\n"
    "    addq $8, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n    popq %rcx\n"
    "    jmpq *%rcx\n"
    "1:  addq $56, %rsp\n    .cfi_adjust_cfa_offset -56\n" /* the registers are as they were */
    "    retq\n"
    "    .cfi_endproc\n"
    ".size aw_host_barrier_, . - aw_host_barrier_\n"

    ".p2align 4\n"
    ".hidden aw_host_guard_call\n.globl aw_host_guard_call\n.type aw_host_guard_call,@function\n"
    "aw_host_guard_call:\n"
    "    .cfi_startproc\n"
    "    pushq %rbp\n    .cfi_adjust_cfa_offset 8\n    pushq %rbx\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r12\n    .cfi_adjust_cfa_offset 8\n    pushq %r13\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r14\n    .cfi_adjust_cfa_offset 8\n    pushq %r15\n    .cfi_adjust_cfa_offset 8\n"
    "    subq $8, %rsp\n    .cfi_adjust_cfa_offset 8\n"
    "    stmxcsr (%rsp)\n"
    "    fnstcw 4(%rsp)\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rdx, %rdi\n"
    "    callq *%rsi\n"
    "    xorl %eax, %eax\n"
    "    jmp aw_host_land_\n"
    "    .cfi_endproc\n"
    ".size aw_host_guard_call, . - aw_host_guard_call\n"

    ".p2align 4\n"
    ".hidden aw_host_enter_\n.globl aw_host_enter_\n"
    "aw_host_enter_:\n"
    "    .cfi_startproc\n"
    "    .cfi_undefined rip\n"
    "    xorl %ebp, %ebp\n"
    "    movq %r13, %rdi\n"
    "    callq *%r12\n"
    "    ud2\n"
    "    .cfi_endproc\n");

enum { FRAME_FP, FRAME_R15, FRAME_R14, FRAME_R13, FRAME_R12, FRAME_RBX, FRAME_RBP, FRAME_PC, FRAME_WORDS };

/* Round to nearest, all exceptions masked, nothing flushed: what generated code expects, whatever the caller had set.
 * aw_host_barrier_ has the same numbers. */
#define FP_DEFAULT ((uint64_t)0x1f80 | (uint64_t)0x037f << 32)

/* Large, so that a frame with big local arrays cannot step over it. */
#define GUARD_BYTES ((size_t)1 << 20)

/* What our services (formatting of a double, stdio) may take on top of the kernel's own need. */
#if AW_HOST_ASAN || AW_HOST_TSAN
#define SERVICE_BYTES ((size_t)192 << 10)
#else
#define SERVICE_BYTES ((size_t)48 << 10)
#endif

/* Stacks are aligned alike, so their tops would all fall on the same few cache sets: each begins a little lower than the last. */
enum { COLOURS = 16, COLOUR_BYTES = 64 * 5 };

int aw_host_context_class(size_t bytes)
{
    if (bytes > ((size_t)1 << AW_HOST_STACK_MAX_SHIFT))
        return -1;
    bytes += COLOURS * COLOUR_BYTES;
    for (int i = 0; i < AW_HOST_STACK_CLASSES; i++) {
        if (bytes + SERVICE_BYTES <= (size_t)1 << (i + AW_HOST_STACK_MIN_SHIFT))
            return i;
    }
    return -1;
}

struct aw_host_context *aw_host_context_create(unsigned size_class)
{
    struct aw_host_context *c = aligned_alloc(64, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    static _Atomic uint32_t sequence;
    c->size_class = size_class;
    c->colour = atomic_fetch_add_explicit(&sequence, 1, memory_order_relaxed) % COLOURS * COLOUR_BYTES;
    c->stack_size = (size_t)1 << (size_class + AW_HOST_STACK_MIN_SHIFT);
    c->map_size = c->stack_size + GUARD_BYTES;
    c->map = mmap(NULL, c->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->map == MAP_FAILED)
        goto fail;
    c->stack = c->map + GUARD_BYTES;
    if (mprotect(c->stack, c->stack_size, PROT_READ | PROT_WRITE) != 0) {
        munmap(c->map, c->map_size);
        goto fail;
    }
    return c;
fail:
    free(c);
    return NULL;
}

/* ---- local memory */

/* Such as an index can hardly step over: 16 million ints.  Where there is no room for so much, a little. */
#define LOCAL_GUARD ((size_t)64 << 20)
#define LOCAL_GUARD_LEAST ((size_t)1 << 20)
#define LOCAL_LEAST ((size_t)16 << 10)

size_t aw_host_guard_bytes(size_t wanted, size_t least)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? least : wanted;
}

static void local_unmap(struct aw_host_context *c)
{
    if (c->local_map)
        munmap(c->local_map, c->local_map_size);
    c->local_map = c->local = NULL;
    c->local_size = 0;
}

static bool local_map(struct aw_host_context *c, size_t size, size_t guard)
{
    size_t all = size + 2 * guard;
    char *map = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if (mprotect(map + guard, size, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, all);
        return false;
    }
    c->local_map = map;
    c->local_map_size = all;
    c->local_guard = guard;
    return true;
}

bool aw_host_context_local(struct aw_host_context *c, size_t bytes)
{
    if (bytes <= c->local_size)
        return true;
    /* Areas are aligned alike, and begin at different places of the caches as stacks do. */
    size_t colour = c->colour / AW_HOST_LOCAL_ALIGN * AW_HOST_LOCAL_ALIGN, size = LOCAL_LEAST;
    while (size < bytes + colour)
        size *= 2;
    local_unmap(c);
    if (!local_map(c, size, aw_host_guard_bytes(LOCAL_GUARD, LOCAL_GUARD_LEAST)) && !local_map(c, size, LOCAL_GUARD_LEAST))
        return false;
    c->local = c->local_map + c->local_guard + size - colour;
    c->local_size = size - colour;
    return true;
}

int aw_host_context_guards_local(const struct aw_host_context *c, const void *address)
{
    size_t at = (uintptr_t)address - (uintptr_t)c->local_map;
    if (!c->local_map || at >= c->local_map_size)
        return 0;
    return at < c->local_guard ? -1 : at >= c->local_map_size - c->local_guard ? 1 : 0;
}

void aw_host_context_destroy(struct aw_host_context *c)
{
    if (!c)
        return;
#if AW_HOST_TSAN
    if (c->fiber)
        __tsan_destroy_fiber(c->fiber);
#endif
    if (c->map)
        munmap(c->map, c->map_size);
    local_unmap(c);
    aw_host_lanes_destroy(c->lanes);
    free(c);
}

void aw_host_context_prepare(struct aw_host_context *c, void (*entry)(struct aw_host_context *))
{
#if AW_HOST_ASAN
    __asan_unpoison_memory_region(c->stack, c->stack_size); /* frames of a run that ended by a fault */
#endif
    uint64_t *frame = (uint64_t *)(void *)(c->stack + c->stack_size - c->colour) - FRAME_WORDS;
    frame[FRAME_FP] = FP_DEFAULT;
    frame[FRAME_R12] = (uint64_t)(uintptr_t)entry;
    frame[FRAME_R13] = (uint64_t)(uintptr_t)c;
    frame[FRAME_PC] = (uint64_t)(uintptr_t)aw_host_enter_;
    c->sp = frame;
    c->fake_stack = NULL;
#if AW_HOST_TSAN
    /* Entries are never returned from, so a fiber keeps the frames of each, and has room for those of some 20,000. */
    if (c->entries++ % 1000 == 0) {
        if (c->fiber)
            __tsan_destroy_fiber(c->fiber);
        c->fiber = __tsan_create_fiber(0);
    }
#endif
}

void aw_host_context_adopt(struct aw_host_context *c)
{
    memset(c, 0, sizeof *c);
#if AW_HOST_ASAN
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        void *low = NULL;
        pthread_attr_getstack(&attr, &low, &c->stack_size);
        c->stack = low;
        pthread_attr_destroy(&attr);
    }
#endif
#if AW_HOST_TSAN
    c->fiber = __tsan_get_current_fiber();
#endif
}

bool aw_host_context_guards(const struct aw_host_context *c, const void *address)
{
    uintptr_t a = (uintptr_t)address;
    return (c->map && a >= (uintptr_t)c->map && a < (uintptr_t)c->stack) || aw_host_lanes_guard(c->lanes, address);
}

uint32_t aw_host_context_switch(struct aw_host_context *from, struct aw_host_context *to, uint32_t value, bool last)
{
#if AW_HOST_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &from->fake_stack, to->stack, to->stack_size);
#endif
#if AW_HOST_TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    uint32_t got = aw_host_switch_(&from->sp, to->sp, value);
#if AW_HOST_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
    return got;
}

void aw_host_context_entered(struct aw_host_context *c)
{
#if AW_HOST_ASAN
    __sanitizer_finish_switch_fiber(c->fake_stack, NULL, NULL);
#endif
}

void aw_host_context_redirect(void *ucontext, void *sp, uint32_t value)
{
    ucontext_t *uc = ucontext;
    uc->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
    uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)aw_host_land_;
    uc->uc_mcontext.gregs[REG_RAX] = value;
    uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400; /* direction flag: clear between functions */
}

void *aw_host_context_pc(void *ucontext)
{
    return (void *)(uintptr_t)((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];
}

void aw_host_context_landing(struct aw_host_context *to)
{
#if AW_HOST_ASAN
    __sanitizer_start_switch_fiber(NULL, to->stack, to->stack_size);
#endif
}

void aw_host_context_landed(struct aw_host_context *to)
{
#if AW_HOST_TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}
