/* What memory kernels may use, to the byte, with ANYWARP_HOST_GUARD=byte: a shadow byte for each eight, which generated code
 * reads before each access (AW_SHADOW_BASE of anywarp/hostabi.h).  Without, all of this does nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HOST_SHADOW_H
#define AW_HOST_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum aw_shadow { AW_SHADOW_OPEN = 0, AW_SHADOW_CLOSED = 0xfa, AW_SHADOW_FREED = 0xfd };

/* Reserves a shadow's addresses from `base` on, of a byte for each eight of all that the device may have; its pages are the
 * system's zero page until something is written to them.  False when the system does not let it. */
bool aw_host_shadow_reserve(uintptr_t base);
/* Reserves this shadow, once.  False when the system does not let it. */
bool aw_host_shadow_init(void);
bool aw_host_shadow_on(void);
/* All bytes of a range become open, closed or freed.  Both its ends are multiples of eight. */
void aw_host_shadow_set(const void *begin, size_t bytes, enum aw_shadow what);
/* `bytes` from a multiple of eight on become open, and no others of the last eight. */
void aw_host_shadow_open(const void *begin, size_t bytes);
/* May all these bytes be accessed? */
bool aw_host_shadow_allows(uintptr_t address, size_t bytes);

/* Who allocated: return addresses, the innermost first.  NULL where bytes are not watched, or without memory; the caller
 * frees it. */
enum { AW_TRACE_DEPTH = 16 };
struct aw_host_trace {
    int n;
    void *frames[AW_TRACE_DEPTH];
};
struct aw_host_trace *aw_host_trace_take(void);
/* "main (./app+0x1234) < f (libx.so+0x10)", without anywarp's own frames; cut to `size`. */
void aw_host_trace_text(const struct aw_host_trace *trace, char *ret_text, size_t size);

#endif
