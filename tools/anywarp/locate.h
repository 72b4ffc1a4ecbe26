/* Where the parts of anywarp lie, relative to the running `anywarp` program: in a build tree or installed anywhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_LOCATE_H
#define AW_TOOLS_LOCATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct aw_parts {
    char lib_dir[PATH_MAX];     /* holds libcudart.so.* and libcuda.so.1; "" when not found */
    char preload[PATH_MAX];     /* libanywarp-preload.so; "" when not found */
    char audit[PATH_MAX];       /* libanywarp-audit.so; "" when not found */
    char program_dir[PATH_MAX]; /* of the anywarp program itself */
    char toolkit[PATH_MAX];     /* holds the stand-ins for NVIDIA's ptxas and its kin; "" when they are not installed */
    char gdb[PATH_MAX];         /* anywarp.py for gdb; "" when it is not installed */
    char sim_dir[PATH_MAX];     /* holds the simulated card's libhsakmt.so.1; "" when it is not installed */
};

/* Looks for every part; true when all are there but perhaps the simulated card, the stand-ins and what is for gdb. */
bool aw_parts_locate(struct aw_parts *ret_parts);
/* May the loader be told of them?  It splits its lists at colons and knows no quoting. */
bool aw_parts_loadable(const struct aw_parts *parts);
/* What LD_PRELOAD is to hold, static or borrowed from `parts`: the preload object's path, or its bare name where the path has a
 * blank, at which the loader splits that list alone.  The audit object, told of by its whole path, finds the bare name. */
const char *aw_parts_preload(const struct aw_parts *parts);

/* The files that programs ask for, of CUDA's driver and runtimes, that are in lib_dir or, with `there` false, are not:
 * "libcuda.so.1 libcudart.so.12".  "": none. */
void aw_parts_list(const struct aw_parts *parts, bool there, char *ret_names, size_t size);

#endif
