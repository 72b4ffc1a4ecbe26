/* Code in two forms: which one a launch takes that has to wait (docs/host.md, "Quick code").
 *
 * The good form is asked for in another thread.  Where it has not come after a while, the quick one is made by whoever waits, and
 * the other replaces it when it is there.  Thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_TIERS_H
#define AW_CORE_TIERS_H

#include "core/module.h"

/* Called once, by another thread, when the good form has come after all, or cannot be made; what had failed before is told by
 * whoever asked, the function's lock held.  `bytes` only with AW_OK, `diags` may be NULL; both are the caller's. */
typedef void aw_job_arrived(struct aw_func *func, const uint32_t block[3], enum aw_status status, const char *bytes, size_t size,
                            const char *diags);

/* As aw_module_compile, of the form that is there sooner, or of the only one that can be made: *ret_tier says which.  With the
 * quick one `arrived` is told of the other; the function's lock is held. */
enum aw_status aw_tiers_compile(struct aw_func *func, const uint32_t block[3], aw_job_arrived *arrived, enum aw_tier *ret_tier,
                                char **ret_bytes, size_t *ret_size, char **ret_diags);
/* The function goes: what is made for it is made all the same, for the cache, but nobody is told.  Waits where somebody is being
 * told, so its lock must not be held. */
void aw_tiers_forget(struct aw_func *func);

/* At the program's end: what has not been begun is left to a compiler process. */
void aw_tiers_leave(void);

#endif
