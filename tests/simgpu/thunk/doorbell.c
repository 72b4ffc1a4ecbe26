/* Sleeping until a doorbell is rung.
 *
 * ROCr rings by a plain store.  Where the kernel has userfaultfd, the page of the doorbells is write-protected while all
 * queues are idle, so that the store itself wakes the watcher; elsewhere thunk_doorbell_arm says no, and the watcher polls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static int faults = -1, calls = -1; /* userfaultfd, and an eventfd for thunk_doorbell_interrupt */
static struct uffdio_range range;

static void give_up(void)
{
    if (faults >= 0)
        close(faults);
    if (calls >= 0)
        close(calls);
    faults = calls = -1;
}

void thunk_doorbell_init(void *page, size_t size)
{
    struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
    range = (struct uffdio_range){ .start = (uintptr_t)page, .len = size };
    struct uffdio_register reg = { .range = range, .mode = UFFDIO_REGISTER_MODE_WP };
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    calls = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (faults < 0 || calls < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &reg) ||
        !(reg.ioctls >> _UFFDIO_WRITEPROTECT & 1))
        give_up();
}

bool thunk_doorbell_arm(void)
{
    struct uffdio_writeprotect protect = { .range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
    return faults >= 0 && ioctl(faults, UFFDIO_WRITEPROTECT, &protect) == 0;
}

void thunk_doorbell_disarm(void)
{
    struct uffdio_writeprotect protect = { .range = range };
    while (faults >= 0 && ioctl(faults, UFFDIO_WRITEPROTECT, &protect) && errno == EAGAIN)
        ;
}

void thunk_doorbell_interrupt(void)
{
    uint64_t one = 1;
    if (calls >= 0 && write(calls, &one, sizeof one) < 0)
        return; /* it is full: the watcher comes anyway */
}

void thunk_doorbell_wait(void)
{
    struct pollfd ends[2] = { { .fd = faults, .events = POLLIN }, { .fd = calls, .events = POLLIN } };
    while (poll(ends, 2, -1) < 0 && errno == EINTR)
        ;
    thunk_doorbell_disarm(); /* also lets those go on who ran into it */
    struct uffd_msg message;
    uint64_t count;
    while (read(faults, &message, sizeof message) > 0)
        ;
    while (read(calls, &count, sizeof count) > 0)
        ;
}
