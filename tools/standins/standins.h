/* Programs that stand in for those of NVIDIA's toolkit which other programs start to make machine code: ptxas, nvlink, fatbinary,
 * cuobjdump.  What they make holds PTX in the place of machine code: an ELF file of aw_fatbin_write, or a fat binary.  One
 * program with four names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_STANDINS_H
#define AW_TOOLS_STANDINS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

/* As NVIDIA's tools end. */
enum { STANDIN_FAILED = 255 };

int standin_ptxas(int argc, char **argv);
int standin_nvlink(int argc, char **argv);
int standin_fatbinary(int argc, char **argv);
int standin_cuobjdump(int argc, char **argv);

/* ---- Options: each with two names, with or without a value; the form is --long=value, --long value, -short=value, -short
 * value. */
struct standin_option {
    const char *name, *brief;
    enum { STANDIN_FLAG, STANDIN_VALUE, STANDIN_BOOL /* =true, =false or alone */ } kind;
    int id; /* 0: taken and of no consequence here */
};

struct standin_parser {
    const char *tool;
    const struct standin_option *options; /* name NULL ends */
    int argc, next;
    char **argv;
    /* Of the option just read. */
    const char *value;
};

enum { STANDIN_END = -1, STANDIN_BAD = -2, STANDIN_INPUT = -3 };
/* The next option's id; STANDIN_INPUT with a file's name in `value`; STANDIN_BAD: said what is wrong; STANDIN_END. */
int standin_next(struct standin_parser *parser);

/* "ptxas fatal   : text": always STANDIN_FAILED. */
int standin_fatal(const char *tool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void standin_version(const char *tool, const char *what);
void standin_help(const char *tool, const char *usage, const struct standin_option *options);

/* The number of sm_80, compute_90a and the like; 0: it is none. */
unsigned standin_sm(const char *name);

/* ---- Files. */
bool standin_write(const char *tool, const char *path, const void *bytes, size_t size);

/* PTX texts found in a file of any kind: PTX, an ELF file, a fat binary, a static library. */
struct standin_text {
    char *text, *name; /* owned */
    size_t len;
    unsigned sm;
    bool debug;
};
struct standin_texts {
    AW_VEC(struct standin_text) list;
    unsigned machine_code; /* entries that are NVIDIA's machine code */
};
/* Adds what `path` holds; false: it cannot be read or is none of these, which has been said. */
bool standin_read(const char *tool, const char *path, struct standin_texts *texts);
void standin_texts_fini(struct standin_texts *texts);
/* The .target of a PTX text; 0 when there is none. */
unsigned standin_target(const char *text, char *ret_suffix);

#endif
