/* What the two objects of this room share: the name by which the audit object finds the preload object's hook, and where our
 * libraries lie.
 *
 * libanywarp-preload.so is in the program's own namespace (LD_PRELOAD): it redirects the functions of a statically linked
 * runtime. libanywarp-audit.so is in a namespace of its own (LD_AUDIT): it sends the loader to our libraries and tells the
 * preload object of each object loaded, before that object's constructors run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PRELOAD_PRELOAD_H
#define AW_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AW_PRELOAD_SONAME "libanywarp-preload.so"
#define AW_PRELOAD_HOOK "aw_preload_hook"
/* Directory of libcudart.so.* and libcuda.so.1 where it is not the directory of the preload object. */
#define AW_PRELOAD_DIR_VARIABLE "ANYWARP_LIB_DIR"

/* What `configure` takes, from the environment; `inside` is any address in the calling object.  Compiled into both objects. */
void aw_preload_settings(const void *inside, char *ret_lib_dir, size_t size, bool *ret_verbose);

/* Exported by the preload object.  `self` holds its own address once the object is relocated: only then may `scan` be called. */
struct aw_preload_hook {
    const struct aw_preload_hook *self;
    /* To be called before the first `scan`: directory of our libraries, and whether to report each redirection.  At that time the
     * program's libc cannot give environment variables yet; the audit object's can. */
    void (*configure)(const char *lib_dir, bool verbose);
    /* Looks at one loaded object and redirects what it finds.  `path` is its file ("" for the program itself), `base` its load
     * address as in link_map.  Not thread-safe: the loader's lock is held. */
    void (*scan)(const char *path, uintptr_t base);
    /* Our library of that SONAME took the place of `path`.  Neither is copied; both stay.  As with `scan`. */
    void (*asked)(const char *soname, const char *path);
};

#endif
