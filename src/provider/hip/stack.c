/* The stack of kernels that recurse: how much a thread gets.
 *
 * What a kernel without recursion needs, its object says exactly.  For one that recurses the compiler counts each function
 * once, and the rest is a guess that CUDA leaves to cudaLimitStackSize.  A frame here takes several times what it takes on
 * NVIDIA's cards (every saved vector register is 4 bytes of each lane, and there is no sharing of spilled scalars), so the
 * limit counts FACTOR times.
 *
 * Objects of version 5 say that they recurse, and HIP gives them the larger of its own limit and what they ask for: the limit
 * is set to the largest frame loaded so far and the guess.  Those of version 4 are given what they ask for, in which LLVM has
 * put ASSUMED for the guess: a larger one is written into the object as it is loaded, of up to 64 KiB. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "provider/hip/internal.h"

enum { FACTOR = 4, ASSUMED = 16384 };
enum { HIP_LIMIT_STACK = 0 };
/* What the register that holds it can say of a wave of 64: 128 KiB less a unit, on every card. */
enum { MOST = (128 << 10) - 16 };

static size_t guess(const struct aw_hip_device *d)
{
    size_t asked = atomic_load_explicit(&d->stack_bytes, memory_order_relaxed);
    return asked > MOST / FACTOR ? MOST : asked * FACTOR;
}

static uint32_t at_most(size_t bytes)
{
    return bytes > MOST ? MOST : (uint32_t)((bytes + 15) / 16 * 16);
}

uint32_t aw_hip_stack_fixed(int dev, const struct aw_hip_image *image)
{
    const struct aw_hip_device *d = &aw_hip.dev[dev];
    size_t more = guess(d);
    if (!(image->uses & AW_HIP_USES_STACK) || d->object_version != 4 || more <= ASSUMED || image->private_bytes >= MOST)
        return image->private_bytes;
    uint32_t wanted = at_most(image->private_bytes + more - ASSUMED), most = aw_hip_image_stack_most(image) & ~15u;
    return wanted > most ? most : wanted;
}

/* Tells HIP.  Which sizes it takes depends on its version: the largest not above what is wanted. */
static void limit_apply(struct aw_hip_device *d)
{
    uint32_t wanted = at_most(d->stack_frame + guess(d)), give = wanted;
    if (!d->stack_frame || wanted == d->stack_set || !aw_hip.api.hipDeviceSetLimit)
        return;
    while (aw_hip.api.hipDeviceSetLimit(HIP_LIMIT_STACK, give) != HIP_SUCCESS && give > 1024) {
        aw_hip.api.hipGetLastError();
        give = at_most(give / 2);
    }
    if (give < wanted)
        aw_say(CARD_STACK, give, wanted);
    d->stack_set = wanted;
}

void aw_hip_stack_loaded(int dev, const struct aw_hip_image *image)
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    if (!(image->uses & AW_HIP_USES_STACK) || d->object_version == 4)
        return;
    pthread_mutex_lock(&d->lock);
    if (image->private_bytes > d->stack_frame)
        d->stack_frame = image->private_bytes;
    limit_apply(d);
    pthread_mutex_unlock(&d->lock);
}

void aw_hip_stack_limit(int dev, size_t bytes)
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    pthread_mutex_lock(&d->lock);
    atomic_store(&d->stack_bytes, bytes);
    limit_apply(d);
    pthread_mutex_unlock(&d->lock);
}

void aw_hip_stack_reset(int dev)
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    pthread_mutex_lock(&d->lock);
    atomic_store(&d->stack_bytes, AW_HIP_STACK_DEFAULT);
    d->stack_frame = d->stack_set = 0; /* HIP's own has its first value again */
    pthread_mutex_unlock(&d->lock);
}
