/* A stand-in for NVIDIA's NVRTC: says in its outputs what it was asked, so that a test sees what came through ours. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    char ptx[1024];
};

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(struct program **prog, const char *src, const char *name, int n, const char *const *headers,
                       const char *const *names);
int nvrtcDestroyProgram(struct program **prog);
int nvrtcCompileProgram(struct program *prog, int n, const char *const *options);
int nvrtcGetPTXSize(struct program *prog, size_t *size);
int nvrtcGetPTX(struct program *prog, char *ptx);
int nvrtcGetCUBINSize(struct program *prog, size_t *size);
int nvrtcGetCUBIN(struct program *prog, char *cubin);
const char *nvrtcGetErrorString(int result);

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 77;
    return 0;
}

const char *nvrtcGetErrorString(int result)
{
    return result == 5 ? "the stand-in's invalid option" : "another";
}

int nvrtcCreateProgram(struct program **prog, const char *src, const char *name, int n, const char *const *headers,
                       const char *const *names)
{
    *prog = calloc(1, sizeof **prog);
    return *prog ? 0 : 1;
}

int nvrtcDestroyProgram(struct program **prog)
{
    free(*prog);
    *prog = NULL;
    return 0;
}

int nvrtcCompileProgram(struct program *prog, int n, const char *const *options)
{
    strcpy(prog->ptx, "ptx:");
    for (int i = 0; i < n; i++) {
        if (!strcmp(options[i], "-wrong"))
            return 5;
        strcat(strcat(prog->ptx, " "), options[i]);
    }
    return 0;
}

int nvrtcGetPTXSize(struct program *prog, size_t *size)
{
    *size = strlen(prog->ptx) + 1;
    return 0;
}

int nvrtcGetPTX(struct program *prog, char *ptx)
{
    strcpy(ptx, prog->ptx);
    return 0;
}

int nvrtcGetCUBINSize(struct program *prog, size_t *size)
{
    *size = sizeof "machine code";
    return 0;
}

int nvrtcGetCUBIN(struct program *prog, char *cubin)
{
    strcpy(cubin, "machine code");
    return 0;
}
