/* Fuzz target for the whole compiler: any bytes as PTX, compiled for the host and for AMDGPU.  Every kernel must come out as
 * code or with a message; the compiler must neither die nor call its own IR invalid, nor take more than LONGEST seconds.
 * Which target and which kernel an input is compiled for follows from its bytes, so that an input reproduces alone; with
 * AW_FUZZ_RATE=N all but one input in N go as far as IR only.
 *
 * Seeds are the *.ptx files of the folder $AW_FUZZ_SEEDS, by default those of tests/ptx/lower. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/compiler.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "fuzz.h"

#ifndef SEED_DIR
#define SEED_DIR "."
#endif

enum { LONGEST = 30 }; /* seconds of processor time for one kernel; SIGPROF ends the process */

static void compile(struct aw_compiler_module *module, uint64_t choice)
{
    const struct aw_manifest *manifest = aw_compiler_manifest(module);
    if (!manifest->n_kernels)
        return;
    const struct aw_manifest_kernel *kernels = (const void *)((const char *)manifest + manifest->kernels);
    const char *name = (const char *)manifest + manifest->strings + kernels[(choice >> 8) % manifest->n_kernels].name;
    struct aw_compile_options options = { .target = choice & 1 ? "gfx1100" : "host:haswell", .opt_level = choice & 6 ? 3 : 0 };
    char *bytes = NULL, *diags = NULL;
    size_t size = 0;

    enum aw_emit emit = !aw_fuzz_deep(choice) ? AW_EMIT_IR : choice & 1 ? AW_EMIT_OBJ : AW_EMIT_CODE_OBJECT;
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = LONGEST }, NULL);
    int status = aw_compiler_compile(module, name, &options, emit, &bytes, &size, NULL, &diags);
    setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
    if (!diags || strstr(diags, "error: internal") || (status != 0 && !strstr(diags, "error: ")) || (status == 0 && !bytes)) {
        fprintf(stderr, "kernel %s for %s: status %d\n%s\n", name, options.target, status, diags ? diags : "no messages");
        abort();
    }
    free(bytes);
    free(diags);
}

/* All kernels can be lowered as far as their text tells. */
bool aw_fuzz_accepts(const uint8_t *data, size_t size)
{
    const struct aw_text text = { (const char *)data, size, "fuzz" };
    struct aw_compiler_module *module = NULL;
    char *diags = NULL;
    bool ok = aw_compiler_open(&text, 1, &module, &diags) == 0;
    free(diags);
    if (!ok)
        return false;
    const struct aw_manifest *manifest = aw_compiler_manifest(module);
    const struct aw_manifest_kernel *kernels = (const void *)((const char *)manifest + manifest->kernels);
    for (uint32_t i = 0; i < manifest->n_kernels; i++)
        ok = ok && !(kernels[i].flags & AW_KERNEL_BROKEN);
    ok = ok && manifest->n_kernels;
    aw_compiler_close(module);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct aw_text text = { (const char *)data, size, "fuzz" };
    struct aw_compiler_module *module = NULL;
    char *diags = NULL;
    if (aw_compiler_open(&text, 1, &module, &diags) == 0) {
        compile(module, aw_fuzz_digest(data, size));
        aw_compiler_close(module);
    }
    free(diags);
    return 0;
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    const char *dir = getenv("AW_FUZZ_SEEDS");
    char pattern[PATH_MAX];
    glob_t found;
    unsigned n = 0;
    snprintf(pattern, sizeof pattern, "%s/*.ptx", dir ? dir : SEED_DIR);
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc && n < max; i++) {
        FILE *f = fopen(found.gl_pathv[i], "rb");
        char *bytes = f ? malloc(1 << 20) : NULL;
        if (bytes)
            ret_seeds[n++] = (struct aw_fuzz_seed){ bytes, fread(bytes, 1, 1 << 20, f) };
        if (f)
            fclose(f);
    }
    globfree(&found);
    return n;
}
