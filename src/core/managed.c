/* Managed memory is usable everywhere at all times here, which grants more than any hint asks for: only wrong ones are told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/managed.h"

#include "core/recorder.h"
#include "core/memory.h"

enum { ADVISE_PREFERRED = 3, ADVISE_ACCESSED = 5, ADVISE_FIRST = 1, ADVISE_LAST = 6 }; /* CU_MEM_ADVISE_* */
enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2, ATTACH_SINGLE = 4 };                      /* CU_MEM_ATTACH_* */

static enum aw_status range_check(uintptr_t address, size_t size)
{
    struct aw_mem mem;
    if (!size || !aw_mem_find(address, &mem) || !aw_mem_is_managed(&mem) || size > mem.size - (address - mem.base))
        return AW_ERR_INVALID_VALUE;
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

enum aw_status aw_managed_prefetch(uintptr_t address, size_t size, struct aw_place place, unsigned flags)
{
    enum aw_status status = flags ? AW_ERR_INVALID_VALUE : range_check(address, size);
    return status ? status : place_check(place);
}

enum aw_status aw_managed_advise(uintptr_t address, size_t size, int advice, struct aw_place place)
{
    if (advice < ADVISE_FIRST || advice > ADVISE_LAST)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = range_check(address, size);
    bool placed = advice == ADVISE_PREFERRED || advice >= ADVISE_ACCESSED;
    return status || !placed ? status : place_check(place);
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
