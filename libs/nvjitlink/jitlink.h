/* One link: options, PTX texts, what NVIDIA's library has of it, results. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJITLINK_JITLINK_H
#define AW_LIBS_NVJITLINK_JITLINK_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "nvjitlink_proto.h"

/* A text of the link; both owned. */
struct jitlink_text {
    char *ptr, *name;
    size_t len;
};

struct aw_jitlink {
    struct aw_jitlink *self; /* marks a live one */
    unsigned sm;             /* of -arch */
    bool lto, ptx, debug, completed;
    AW_VEC(char *) options;  /* owned; all of the user's */
    AW_VEC(struct jitlink_text) texts;
    struct aw_jitlink *original; /* NVIDIA's handle once there are LTO inputs; not ours to look into */
    char *image;             /* the result */
    size_t image_size;
    char *ptx_result;        /* with -ptx */
    size_t ptx_size;         /* with its NUL */
    struct aw_buf errors, infos;
};

/* ---- options.c: keeps and understands them; what is wrong is in the error log. */
nvJitLinkResult jitlink_options(struct aw_jitlink *link, uint32_t n, const char *const *options);

/* ---- inputs.c */
nvJitLinkResult jitlink_add(struct aw_jitlink *link, nvJitLinkInputType type, const void *data, size_t size, const char *name);

/* ---- texts.c: takes a copy of a PTX text, and checks it; what other inputs define may be missing. */
nvJitLinkResult jitlink_add_ptx(struct aw_jitlink *link, const char *text, size_t len, const char *name);
/* Does it all go together?  Then makes the image. */
nvJitLinkResult jitlink_link(struct aw_jitlink *link);

/* ---- lto.c: hands an input to NVIDIA's library; and PTX of all that were, added as a text. */
nvJitLinkResult jitlink_add_lto(struct aw_jitlink *link, nvJitLinkInputType type, const void *data, size_t size,
                                const char *name);
nvJitLinkResult jitlink_lto_finish(struct aw_jitlink *link);

#endif
