/* Whether lanes that end before the others come to a barrier do something in global memory that those could notice.
 *
 * The machine puts off what such lanes do last until the others have ended, or the other way round; CUDA has it done before the
 * barrier, which waits for whoever has not ended.  It shows where the ones read what others write behind a barrier, or write what
 * those access there.  Not counted are accesses by different kernel arguments, and those of each thread's own element. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/release.h"

#include "base/vec.h"

typedef LLVMValueRef V;

struct global_access {
    V address;
    int64_t argument; /* that it is made from, or -1 */
    unsigned block;
    bool writes, atomic;
};

enum { PAIRS_MAX = 1 << 20 }; /* beyond that all are taken to meet */

static bool access_of(V x, struct global_access *ret)
{
    bool store = LLVMIsAStoreInst(x) != NULL, atomic = LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x);
    if (!store && !atomic && !LLVMIsALoadInst(x))
        return false;
    V address = LLVMGetOperand(x, store);
    bool written = store || atomic || !ptx_metadata(x, PTX_INVARIANT); /* by anyone, while the kernel runs */
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(address)) != AS_GLOBAL || !written)
        return false;
    *ret = (struct global_access){
        .address = address, .argument = ptx_release_argument(address), .writes = store || atomic, .atomic = atomic
    };
    return true;
}

/* By lanes of one block at different places. */
static bool may_meet(const struct global_access *a, const struct global_access *b)
{
    if ((!a->writes && !b->writes) || (a->atomic && b->atomic))
        return false;
    if (a->argument >= 0 && b->argument >= 0 && a->argument != b->argument)
        return false;
    return !ptx_release_own(a->address, b->address);
}

bool ptx_ends_disputed(struct flow *f, bool *ret)
{
    AW_VEC(struct global_access) last = { 0 }, later = { 0 };
    bool *behind = AW_NEW_ARRAY(&f->arena, bool, f->n), ok = behind != NULL;
    for (unsigned i = 0; ok && i < f->n; i++)
        if (f->blocks[i].waits && !behind[i]) { /* what is behind a barrier behind another has been marked */
            behind[i] = true;
            ok = ptx_flow_reach(f, i, behind);
        }
    for (unsigned i = 0; ok && i < f->n; i++)
        for (V x = LLVMGetFirstInstruction(f->blocks[i].bb); ok && x; x = LLVMGetNextInstruction(x)) {
            struct global_access a;
            if ((f->blocks[i].coming && !behind[i]) || !access_of(x, &a))
                continue;
            a.block = i;
            ok = (f->blocks[i].coming || aw_vec_push(&last, a)) && (!behind[i] || aw_vec_push(&later, a));
        }
    bool many = ok && last.n && later.n > PAIRS_MAX / last.n;
    for (size_t i = 0; ok && i < last.n; i++)
        for (size_t j = 0; j < later.n && !ret[last.at[i].block]; j++)
            ret[last.at[i].block] = many || may_meet(&last.at[i], &later.at[j]);
    aw_vec_fini(&last);
    aw_vec_fini(&later);
    return ok;
}
