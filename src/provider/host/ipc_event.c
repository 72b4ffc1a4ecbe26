/* Events for other processes: their tickets, in a file that whoever has the handle maps.  Not when a record is complete, nor what
 * streams wait for (stream.c, value.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static struct aw_host_tickets *tickets_map(int fd)
{
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

int aw_host_tickets_make(struct aw_host_event *e)
{
    e->fd = aw_host_share_file(PAGE);
    e->tickets = e->fd >= 0 ? tickets_map(e->fd) : NULL;
    if (e->tickets)
        return AW_OK;
    if (e->fd >= 0)
        close(e->fd);
    return AW_ERR_OUT_OF_MEMORY;
}

void aw_host_tickets_free(struct aw_host_event *e)
{
    munmap(e->tickets, PAGE);
    if (e->fd >= 0)
        close(e->fd);
}

/* Records on several streams, or of several processes, may end in another order than they were made in: the latest is the
 * event. */
void aw_host_ticket_done(struct aw_host_event *e, uint64_t ticket)
{
    uint64_t done = atomic_load(&e->tickets->done);
    while (done < ticket && !atomic_compare_exchange_weak(&e->tickets->done, &done, ticket))
        ;
}

void aw_host_ticket_wait(const struct aw_host_event *e, uint64_t ticket)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };
    long pause = SHORTEST_NS;
    while (atomic_load(&e->tickets->done) < ticket && !aw_host_fault()) {
        nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
        pause = pause + pause / 8 < LONGEST_NS ? pause + pause / 8 : LONGEST_NS;
    }
}

int aw_host_ipc_event_get(struct aw_event *event, struct aw_ipc_handle *ret_handle)
{
    const struct aw_host_event *e = (const struct aw_host_event *)event;
    if (!e)
        return AW_ERR_INVALID_HANDLE;
    if (!e->tickets || e->fd < 0) /* only its owner gives it on */
        return AW_ERR_INVALID_VALUE;
    return aw_host_share_tell(AW_HOST_SHARED_EVENT, e->fd, 0, sizeof *e->tickets, ret_handle);
}

int aw_host_ipc_event_open(int dev, const struct aw_ipc_handle *handle, struct aw_event **ret_event)
{
    size_t offset, size;
    int fd;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    int status = aw_host_share_open(AW_HOST_SHARED_EVENT, handle, &fd, &offset, &size);
    if (status)
        return status;
    bool fits = offset == 0 && size == sizeof(struct aw_host_tickets);
    struct aw_host_tickets *tickets = fits ? tickets_map(fd) : NULL;
    struct aw_host_event *e = tickets ? calloc(1, sizeof *e) : NULL;
    close(fd);
    if (!e) {
        if (tickets)
            munmap(tickets, PAGE);
        return fits ? AW_ERR_OUT_OF_MEMORY : AW_ERR_INVALID_VALUE;
    }
    *e = (struct aw_host_event){ .refs = 1, .flags = AW_EVENT_NO_TIMING | AW_EVENT_INTERPROCESS, .tickets = tickets, .fd = -1 };
    *ret_event = (struct aw_event *)e;
    return AW_OK;
}
