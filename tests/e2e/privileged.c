/* The program of privileged.py: starts CUDA through the libcuda named.  As a library (-DPLANTED) what a caller would have it
 * load: it writes the file that $PLANTED names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PLANTED
__attribute__((constructor)) static void planted(void)
{
    const char *path = getenv("PLANTED");
    int fd = path ? open(path, O_WRONLY | O_CREAT, 0600) : -1;
    if (fd >= 0)
        close(fd);
}
#else
#include <dlfcn.h>
#include <sys/auxv.h>

int main(int argc, char **argv)
{
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
    if (!init) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("secure=%lu euid=%u init=%d\n", getauxval(AT_SECURE), (unsigned)geteuid(), init(0));
    return 0;
}
#endif
