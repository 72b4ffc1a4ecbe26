/* An LD_AUDIT object that makes the loader find no HIP, as on a machine where it is not installed.  Used by amd.py. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stddef.h>
#include <string.h>

unsigned la_version(unsigned version);
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag);

unsigned la_version(unsigned version)
{
    return version;
}

/* A name without a path is asked about once as such, so that it stands in the loader's message, and then for each place. */
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *slash = strrchr(name, '/');
    (void)cookie;
    if (strncmp(slash ? slash + 1 : name, "libamdhip64", 11) != 0 || (flag == LA_SER_ORIG && !slash))
        return (char *)name;
    return NULL;
}
