/* Inside the host finisher: the form of code that is made quickly, one lane at a time (docs/host.md, "Quick code"). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_HOST_QUICK_H
#define AW_PTX_FINISH_HOST_QUICK_H

#include "base/arena.h"
#include "base/map.h"
#include "finish/host/host.h"

struct quick {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef nothing, i1, i8, i32, i64, ptr;
    LLVMValueRef kernel;
    const struct ptx_finish *finish;
    bool avx512;
    struct aw_buf *diags;
    struct aw_arena arena;
    bool lanes;             /* lanes need stacks of their own: they meet, or wait for each other */
    bool barrier;
    bool shared_is_generic; /* some address of shared memory becomes a generic one */
    struct aw_ptrmap polling; /* functions that look at what others may change, or call such */
    uint64_t local;         /* bytes of variables of a thread */
    uint32_t n_loops;       /* with places where lanes meet */
    int status;
};

/* The function at whose calls a kernel's lanes wait for those that go the same way, and the attribute of these calls: SIMT IR has
 * no word for it. */
#define QUICK_STEP "aw.quick.step"

/* Has a call an attribute with that name? */
bool ptx_quick_has(LLVMValueRef call, const char *attribute);

/* Says why there is no quick form of the kernel: enum aw_status AW_ERR_NOT_SUPPORTED. */
void ptx_quick_refuse(struct quick *q, const char *why);

/* The operation that lanes of a warp come to with a call, or -1. */
int ptx_quick_op(LLVMValueRef x);

/* ---- host/quick_sites.c */
/* Replaces the kernel's operations of a warp by calls of the runtime that say where they are; and has loops that may wait for
 * other lanes yield, in all functions. */
void ptx_quick_sites(struct quick *q);

/* ---- host/quick_exchange.c */
/* Do lanes of a warp perhaps exchange global memory in place, round by round, without meeting? */
bool ptx_quick_exchanges(struct quick *q, LLVMValueRef fn);

/* ---- host/quick.c, for both */
/* A field of the lane that the function runs for; and a service, called where the builder is. */
LLVMValueRef ptx_quick_lane(LLVMValueRef fn);
LLVMValueRef ptx_quick_field(struct quick *q, LLVMValueRef base, size_t offset, LLVMTypeRef type);
LLVMValueRef ptx_quick_service(struct quick *q, LLVMValueRef fn, size_t offset, LLVMTypeRef result, LLVMValueRef *args,
                               unsigned n);

#endif
