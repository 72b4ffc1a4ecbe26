/* NVRTC in front of NVIDIA's: a program asked for machine code of one architecture is compiled to PTX of it, and that PTX is what
 * nvrtcGetCUBIN gives.  Our module loader takes it, and so do our linkers, whatever they are told it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "nvrtc"
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "front/original.h"
#include "nvrtc_proto.h"

const char aw_front_variable[] = "ANYWARP_NVRTC";
const char aw_front_advice[] = "install it (pip: nvidia-cuda-nvrtc, for CUDA 12 and 11 nvidia-cuda-nvrtc-cu12 and -cu11)";

/* Programs whose machine code is their PTX. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static AW_VEC(nvrtcProgram) rewritten;

/* Marks a program, or not any more; false when memory is out. */
static bool mark(nvrtcProgram prog, bool on)
{
    bool done = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < rewritten.n; i++)
        if (rewritten.at[i] == prog) {
            rewritten.at[i] = rewritten.at[--rewritten.n];
            break;
        }
    if (on)
        done = aw_vec_push(&rewritten, prog);
    pthread_mutex_unlock(&lock);
    return done;
}

static bool marked(nvrtcProgram prog)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < rewritten.n && !found; i++)
        found = rewritten.at[i] == prog;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- Options. */

/* The value of the architecture option that `option` is, "" where it is the next argument; NULL: another option. */
static const char *architecture(const char *option)
{
    static const char *const names[] = { "--gpu-architecture", "-arch", "--gpu-arch", "-gpu-architecture" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(option, names[i], n) && (option[n] == '\0' || option[n] == '=' || option[n] == ' '))
            return option[n] ? option + n + 1 : option + n;
    }
    return NULL;
}

/* What makes NVRTC leave machine code and PTX aside. */
static bool other_output(const char *option)
{
    static const char *const names[] = { "-dlto", "--dlink-time-opt", "-dlto=true", "--dlink-time-opt=true", "-optix-ir",
                                         "--optix-ir" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(option, names[i]))
            return true;
    return false;
}

struct options {
    AW_VEC(const char *) list;
    AW_VEC(char *) owned;
    bool changed; /* machine code was asked for */
};

static void options_fini(struct options *options)
{
    for (size_t i = 0; i < options->owned.n; i++)
        free(options->owned.at[i]);
    aw_vec_fini(&options->owned);
    aw_vec_fini(&options->list);
}

/* `option` with compute_ in the place of sm_ at `at`. */
static bool rewrite(struct options *options, const char *option, const char *at)
{
    struct aw_buf text = { 0 };
    aw_buf_printf(&text, "%.*scompute_%s", (int)(at - option), option, at + 3);
    if (text.failed || !aw_vec_push(&options->owned, text.ptr)) {
        aw_buf_fini(&text);
        return false;
    }
    aw_say(NVRTC_OPTION, option, text.ptr);
    options->changed = true;
    return aw_vec_push(&options->list, text.ptr);
}

static bool options_read(struct options *options, int n, const char *const *given)
{
    bool other = false, value_next = false;
    for (int i = 0; i < n; i++)
        other |= given[i] && other_output(given[i]);
    for (int i = 0; i < n; i++) {
        const char *option = given[i], *value = option && !other ? (value_next ? option : architecture(option)) : NULL;
        value_next = value && value != option && !*value;
        if (value)
            value += strspn(value, " \t");
        if (value && !strncmp(value, "sm_", 3) ? !rewrite(options, option, value) : !aw_vec_push(&options->list, option))
            return false;
    }
    return true;
}

/* ---- Bodies. */

nvrtcResult awnvrtc_nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char *const *options)
{
    struct options read = { 0 };
    nvrtcResult result = NVRTC_ERROR_OUT_OF_MEMORY;
    if (numOptions < 0 || (numOptions && !options))
        return next_nvrtcCompileProgram(prog, numOptions, options);
    if (options_read(&read, numOptions, options) && mark(prog, read.changed))
        result = next_nvrtcCompileProgram(prog, numOptions, read.list.at);
    options_fini(&read);
    return result;
}

nvrtcResult awnvrtc_nvrtcDestroyProgram(nvrtcProgram *prog)
{
    if (prog)
        mark(*prog, false);
    return next_nvrtcDestroyProgram(prog);
}

nvrtcResult awnvrtc_nvrtcGetCUBINSize(nvrtcProgram prog, size_t *cubinSizeRet)
{
    return marked(prog) ? next_nvrtcGetPTXSize(prog, cubinSizeRet) : next_nvrtcGetCUBINSize(prog, cubinSizeRet);
}

nvrtcResult awnvrtc_nvrtcGetCUBIN(nvrtcProgram prog, char *cubin)
{
    return marked(prog) ? next_nvrtcGetPTX(prog, cubin) : next_nvrtcGetCUBIN(prog, cubin);
}

/* Asked for when something is wrong, which may be that there is nobody to hand it on to. */
const char *awnvrtc_nvrtcGetErrorString(nvrtcResult result)
{
    if (aw_original_there())
        return next_nvrtcGetErrorString(result);
    return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : result == NVRTC_ERROR_INTERNAL_ERROR ? "NVRTC_ERROR_INTERNAL_ERROR" :
                                                                                             "NVRTC_ERROR unknown";
}
