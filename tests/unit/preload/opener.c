/* A program without CUDA that opens the libraries named on its command line, twice each, and runs them.  With -DUSES_RUNTIME it
 * also calls a shared libcudart itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>

#ifdef USES_RUNTIME
const char *cudaGetErrorString(int code);
#endif

int main(int argc, char **argv)
{
    int failures = 0;
#ifdef USES_RUNTIME
    printf("shared: %s\n", cudaGetErrorString(7));
#endif
    for (int i = 1; i < argc; i++)
        for (int round = 0; round < 2; round++) {
            void *lib = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*report)(const char *) = lib ? (int (*)(const char *))dlsym(lib, "program_report") : NULL;
            const char *(*text)(int) = lib ? (const char *(*)(int))dlsym(lib, "cudaGetErrorString") : NULL;
            if (report)
                failures += report("library");
            else if (text)
                printf("opened: %s\n", text(7));
            else
                printf("%s\n", dlerror()), failures++;
            if (lib)
                dlclose(lib);
        }
    return failures != 0;
}
