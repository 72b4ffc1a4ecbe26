/* Redirection of a statically linked CUDA runtime: which functions an object defines, which runtime they are, and the patches
 * that send them to our libcudart. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PRELOAD_REDIRECT_H
#define AW_PRELOAD_REDIRECT_H

#include "preload/object.h"

enum aw_redirect_kind {
    AW_REDIRECT_NONE,     /* no runtime inside; it may use a shared one */
    AW_REDIRECT_STATIC,   /* a runtime inside, with a symbol table */
    AW_REDIRECT_STRIPPED, /* device code, and a runtime inside that no symbol table shows */
    AW_REDIRECT_CUT,      /* the same, as the file's end is missing and its symbol table with it */
};

struct aw_redirect_target {
    uint32_t index;   /* row of the table of names */
    uint64_t address; /* as in the file; add the load address */
    uint64_t size;
};

/* Room for every row of the table of names. */
#define AW_REDIRECT_MAX 1024
enum { AW_REDIRECT_RUNTIMES = 3 };
enum { AW_REDIRECT_PATCH = 14 }; /* bytes of code that are written over */

struct aw_redirect_plan {
    enum aw_redirect_kind kind;
    int runtime; /* 0, 1, 2 for libcudart.so.11.0, .12, .13 */
    size_t n;
    struct aw_redirect_target targets[AW_REDIRECT_MAX];
};

/* Reads what `elf` holds.  A function too short to be patched is left out. */
void aw_redirect_plan(const struct aw_elf *elf, struct aw_redirect_plan *ret_plan);

/* "libcudart.so.13" and so on. */
const char *aw_redirect_soname(int runtime);
const char *aw_redirect_name(uint32_t index);
/* Does the runtime have that function? */
bool aw_redirect_has(uint32_t index, int runtime);

/* Why calls of such an object cannot be led to us, and what to do: a sentence for STRIPPED and CUT, NULL for the others.
 * Static. */
const char *aw_redirect_hindrance(enum aw_redirect_kind kind);

/* Patches the planned functions of the object loaded at `base`; returns how many are redirected now, or -1 when its code could
 * not be made writable (errno says why; functions patched before that stay patched). */
int aw_redirect_apply(const struct aw_elf *elf, const struct aw_redirect_plan *plan, uintptr_t base);

/* Address of our function; called at most a few times per function, from the first call of it.  Never returns NULL: without our
 * library it says so on standard error and aborts, as the loader does for a library that is missing. */
void *aw_redirect_resolve(uint32_t slot);

#endif
