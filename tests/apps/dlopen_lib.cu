// A program without CUDA that opens a library which has it: the library is linked as the variant says, so with static cudart
// the redirection must happen as it is opened; closing it unregisters its kernels, and it opens again.
// shared-object: dlopen_lib_part.cu
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

typedef int (*Run)(int, const char **);

int main(int argc, char **argv)
{
    char path[4096];
    const char *slash = strrchr(argv[0], '/');
    snprintf(path, sizeof path, "%.*s/dlopen_lib_part.so", slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
    for (int round = 0; round < 2; round++) {
        void *lib = dlopen(path, round ? RTLD_LAZY : RTLD_NOW);
        if (!lib) {
            std::printf("dlopen: %s\n", dlerror());
            return 1;
        }
        Run run = (Run)dlsym(lib, "part_run");
        const char *why = "no part_run";
        if (!run || run(1000 + round, &why) != 0) {
            std::printf("round %d: %s\n", round, why);
            return 1;
        }
        dlclose(lib);
    }
    std::printf("PASS\n");
    return 0;
}
