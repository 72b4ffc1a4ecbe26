/* What of the device's memory was never written: a bit for each byte (AW_UNWRITTEN_BASE of anywarp/hostabi.h), for
 * ANYWARP_HOST_CHECK=init.  Without that, all of this does nothing.  Any thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HOST_UNWRITTEN_H
#define AW_HOST_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins, before anything is allocated.  False when the system does not let it. */
bool aw_host_unwritten_init(void);
bool aw_host_unwritten_on(void);
/* Memory is given out: nothing of it was written.  `begin` is a multiple of eight. */
void aw_host_unwritten_fresh(const void *begin, size_t bytes);
void aw_host_unwritten_store(const void *begin, size_t bytes); /* these bytes were written */
/* How many of so many bytes never were; *ret_first is the first one's address. */
size_t aw_host_unwritten_count(uintptr_t address, size_t bytes, uintptr_t *ret_first);
/* Something may have written anywhere: a library on the processor, or a host function. */
void aw_host_unwritten_forget(void);

#endif
