/* What packages bring along of a newer C library answers as the C library's own does, where that has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The program's own: tools/compiler/find_object.c. */
int _dl_find_object(void *address, struct dl_find_object *ret_result);

typedef int find_fn(void *, struct dl_find_object *);

static int compare(find_fn *theirs, const char *what, void *address)
{
    struct dl_find_object ours = { 0 }, wanted = { 0 };
    int a = _dl_find_object(address, &ours), b = theirs(address, &wanted);
    if (a == b && (a != 0 || ours.dlfo_eh_frame == wanted.dlfo_eh_frame))
        return 0;
    printf("%s: %d, frames at %p; the C library says %d, %p\n", what, a, ours.dlfo_eh_frame, b, wanted.dlfo_eh_frame);
    return 1;
}

int main(void)
{
    find_fn *theirs = (find_fn *)(uintptr_t)dlvsym(RTLD_NEXT, "_dl_find_object", "GLIBC_2.35");
    void *heap = malloc(1);
    int bad = 0;
    if (!theirs)
        return 77; /* older, as the systems that it is for */
    bad += compare(theirs, "this program", (void *)(uintptr_t)main);
    bad += compare(theirs, "the C library", dlsym(RTLD_NEXT, "qsort"));
    bad += compare(theirs, "the heap", heap);
    bad += compare(theirs, "nothing", NULL);
    bad += compare(theirs, "the end", (void *)UINTPTR_MAX);
    free(heap);
    return bad ? 1 : 0;
}
