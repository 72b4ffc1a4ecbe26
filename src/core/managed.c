/* Managed memory is usable everywhere at all times here, which grants more than any hint asks for: they are kept for who asks
 * what was said, and wrong ones are told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/managed.h"

#include <pthread.h>

#include "base/vec.h"
#include "core/memory.h"
#include "core/recorder.h"

/* CU_MEM_ADVISE_* */
enum { SET_READ_MOSTLY = 1, UNSET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED, UNSET_ACCESSED };
/* CU_MEM_ATTACH_* */
enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2, ATTACH_SINGLE = 4 };
enum { PAGE = 4096 }; /* hints are for whole ones */

/* What was said of some pages of an allocation; pieces of one do not overlap. */
struct piece {
    uint64_t allocation; /* its id: another one at the same place has none of this */
    uintptr_t begin, end;
    struct aw_managed_hints hints;
};

static struct {
    pthread_mutex_t lock;
    AW_VEC(struct piece) pieces;
} said = { .lock = PTHREAD_MUTEX_INITIALIZER };

static enum aw_status range_check(uintptr_t address, size_t size, uint64_t *ret_id)
{
    struct aw_mem mem;
    if (!size || !aw_mem_find(address, &mem) || !aw_mem_is_managed(&mem) || size > mem.size - (address - mem.base))
        return AW_ERR_INVALID_VALUE;
    *ret_id = mem.id;
    return AW_OK;
}

static enum aw_status place_check(struct aw_place place)
{
    switch (place.type) {
    case AW_PLACE_DEVICE:
        return place.id >= 0 && aw_device_find(place.id) ? AW_OK : AW_ERR_INVALID_DEVICE;
    case AW_PLACE_HOST:
    case AW_PLACE_NUMA:
    case AW_PLACE_NUMA_CURRENT:
        return AW_OK;
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

/* ---- Pieces.  The lock is held. */

static bool overlaps(const struct piece *p, uint64_t id, uintptr_t begin, uintptr_t end)
{
    return p->allocation == id && p->begin < end && p->end > begin;
}

/* Cuts those that begin or end amid the range, so that each lies within or without. */
static bool cut(uint64_t id, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0, n = said.pieces.n; i < n; i++) {
        struct piece p = said.pieces.at[i];
        if (!overlaps(&p, id, begin, end))
            continue;
        struct piece before = p, behind = p;
        before.end = begin;
        behind.begin = end;
        if (!aw_vec_reserve(&said.pieces, 2))
            return false;
        if (p.begin < begin)
            said.pieces.at[said.pieces.n++] = before;
        if (p.end > end)
            said.pieces.at[said.pieces.n++] = behind;
        said.pieces.at[i].begin = p.begin > begin ? p.begin : begin;
        said.pieces.at[i].end = p.end < end ? p.end : end;
    }
    return true;
}

/* Where the next piece of the range begins that is not before `at`; `end` when there is none. */
static uintptr_t next_piece(uint64_t id, uintptr_t at, uintptr_t end)
{
    uintptr_t next = end;
    for (size_t i = 0; i < said.pieces.n; i++)
        if (overlaps(&said.pieces.at[i], id, at, next))
            next = said.pieces.at[i].begin > at ? said.pieces.at[i].begin : at;
    return next;
}

static uintptr_t end_of_piece(uint64_t id, uintptr_t at)
{
    for (size_t i = 0; i < said.pieces.n; i++)
        if (overlaps(&said.pieces.at[i], id, at, at + 1))
            return said.pieces.at[i].end;
    return at;
}

/* Pieces for all of the range. */
static bool fill(uint64_t id, uintptr_t begin, uintptr_t end)
{
    bool ok = cut(id, begin, end);
    for (uintptr_t at = begin; at < end && ok;) {
        uintptr_t next = next_piece(id, at, end);
        if (next > at)
            ok = aw_vec_push(&said.pieces, ((struct piece){ .allocation = id, .begin = at, .end = next }));
        at = next < end ? end_of_piece(id, next) : end;
    }
    return ok;
}

/* Of allocations that are gone. */
static void drop_stale(void)
{
    for (size_t i = said.pieces.n; i-- > 0;) {
        struct aw_mem mem;
        if (!aw_mem_find(said.pieces.at[i].begin, &mem) || mem.id != said.pieces.at[i].allocation)
            said.pieces.at[i] = said.pieces.at[--said.pieces.n];
    }
}

static void accessed(struct aw_managed_hints *hints, struct aw_place place, bool on)
{
    _Static_assert(AW_MAX_DEVICES <= 64, "a bit for each");
    uint64_t bit = place.type == AW_PLACE_DEVICE ? (uint64_t)1 << place.id : 0;
    hints->accessed = on ? hints->accessed | bit : hints->accessed & ~bit;
    if (!bit)
        hints->accessed_by_host = on;
}

static void advise(struct aw_managed_hints *hints, int advice, struct aw_place place)
{
    switch (advice) {
    case SET_READ_MOSTLY:
    case UNSET_READ_MOSTLY:
        hints->read_mostly = advice == SET_READ_MOSTLY;
        break;
    case SET_PREFERRED:
    case UNSET_PREFERRED:
        hints->preferred = advice == SET_PREFERRED ? place : (struct aw_place){ 0 };
        break;
    case SET_ACCESSED:
    case UNSET_ACCESSED:
        accessed(hints, place, advice == SET_ACCESSED);
        break;
    default: /* a prefetch */
        hints->prefetched = place;
    }
}

static enum aw_status note(uint64_t id, uintptr_t address, size_t size, int advice, struct aw_place place)
{
    uintptr_t begin = address / PAGE * PAGE, end = (address + size + PAGE - 1) / PAGE * PAGE;
    pthread_mutex_lock(&said.lock);
    drop_stale();
    bool ok = fill(id, begin, end);
    for (size_t i = 0; i < said.pieces.n && ok; i++)
        if (overlaps(&said.pieces.at[i], id, begin, end))
            advise(&said.pieces.at[i].hints, advice, place);
    pthread_mutex_unlock(&said.lock);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

/* ---- Hints. */

enum aw_status aw_managed_prefetch(uintptr_t address, size_t size, struct aw_place place, unsigned flags)
{
    uint64_t id;
    enum aw_status status = flags ? AW_ERR_INVALID_VALUE : range_check(address, size, &id);
    if (status == AW_OK)
        status = place_check(place);
    return status ? status : note(id, address, size, 0, place);
}

enum aw_status aw_managed_advise(uintptr_t address, size_t size, int advice, struct aw_place place)
{
    uint64_t id;
    if (advice < SET_READ_MOSTLY || advice > UNSET_ACCESSED)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = range_check(address, size, &id);
    bool placed = advice == SET_PREFERRED || advice >= SET_ACCESSED;
    if (status == AW_OK && placed)
        status = place_check(place);
    return status ? status : note(id, address, size, advice, place);
}

enum aw_status aw_managed_discard(uintptr_t address, size_t size)
{
    uint64_t id;
    return range_check(address, size, &id);
}

static bool same_place(struct aw_place a, struct aw_place b)
{
    return a.type == b.type && (a.id == b.id || (a.type != AW_PLACE_DEVICE && a.type != AW_PLACE_NUMA));
}

enum aw_status aw_managed_hints(uintptr_t address, size_t size, struct aw_managed_hints *ret_hints)
{
    uint64_t id;
    struct aw_managed_hints all = { 0 };
    size_t covered = 0;
    enum aw_status status = range_check(address, size, &id);
    if (status)
        return status;
    pthread_mutex_lock(&said.lock);
    for (size_t i = 0; i < said.pieces.n; i++) {
        const struct piece *p = &said.pieces.at[i];
        if (!overlaps(p, id, address, address + size))
            continue;
        if (!covered)
            all = p->hints;
        all.read_mostly &= p->hints.read_mostly;
        all.accessed &= p->hints.accessed;
        all.accessed_by_host &= p->hints.accessed_by_host;
        if (!same_place(all.preferred, p->hints.preferred))
            all.preferred = (struct aw_place){ 0 };
        if (!same_place(all.prefetched, p->hints.prefetched))
            all.prefetched = (struct aw_place){ 0 };
        covered += (p->end < address + size ? p->end : address + size) - (p->begin > address ? p->begin : address);
    }
    pthread_mutex_unlock(&said.lock);
    *ret_hints = covered == size ? all : (struct aw_managed_hints){ 0 };
    return AW_OK;
}

enum aw_status aw_managed_attach(struct aw_cstream *stream, uintptr_t address, size_t size, unsigned flags)
{
    struct aw_mem mem;
    enum aw_status refused;
    if (flags != ATTACH_GLOBAL && flags != ATTACH_HOST && flags != ATTACH_SINGLE)
        return AW_ERR_INVALID_VALUE;
    if (!aw_mem_find(address, &mem) || !aw_mem_is_managed(&mem) || (size && (address != mem.base || size != mem.size)))
        return AW_ERR_INVALID_VALUE;
    return aw_capture_any() && aw_capture_refuse(stream, &refused) ? refused : AW_OK;
}
