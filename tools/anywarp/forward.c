/* `anywarp compile`, as seen from `anywarp`: hands over to the compiler program, whose compile.c does the work. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/log.h"
#include "core/jit_process.h"

int aw_cmd_compile(int argc, char **argv)
{
    char path[4096], *why = NULL;
    if (aw_jit_find_compiler(path, sizeof path, &why) != AW_OK) {
        aw_tell("anywarp", COMPILER_MISSING, why ? why : "out of memory");
        free(why);
        return 1;
    }
    char **args = calloc((size_t)argc + 2, sizeof *args);
    if (!args) {
        aw_tell("anywarp", TOOL_MEMORY);
        return 1;
    }
    args[0] = path;
    memcpy(args + 1, argv, (size_t)argc * sizeof *args); /* argv[0] is "compile" */
    execv(path, args);
    aw_tell("anywarp", COMPILER_START, path, strerror(errno));
    free(args);
    return 1;
}
