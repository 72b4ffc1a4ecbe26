/* cuobjdump: lists or prints the PTX in a file.  Machine code it names, and cannot show. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "standins.h"

#define TOOL "cuobjdump"

enum { HELP = 1, VERSION, LIST_PTX, DUMP_PTX, MACHINE_CODE, ALL };

static const struct standin_option options[] = {
    { "help", "h", STANDIN_FLAG, HELP },
    { "version", "V", STANDIN_FLAG, VERSION },
    { "list-ptx", "lptx", STANDIN_FLAG, LIST_PTX },
    { "dump-ptx", "ptx", STANDIN_FLAG, DUMP_PTX },
    { "dump-sass", "sass", STANDIN_FLAG, MACHINE_CODE },
    { "dump-elf", "elf", STANDIN_FLAG, MACHINE_CODE },
    { "list-elf", "lelf", STANDIN_FLAG, MACHINE_CODE },
    { "dump-resource-usage", "res-usage", STANDIN_FLAG, MACHINE_CODE },
    { "all-fatbin", "all", STANDIN_FLAG, ALL },
    { "gpu-architecture", "arch", STANDIN_VALUE, 0 },
    { NULL, NULL, STANDIN_FLAG, 0 },
};

static void print(const struct standin_texts *texts, bool list)
{
    for (size_t i = 0; i < texts->list.n; i++) {
        const struct standin_text *t = &texts->list.at[i];
        if (list)
            printf("PTX file %4zu: %s.%zu.sm_%u.ptx\n", i + 1, t->name, i + 1, t->sm);
        else
            printf("\nFatbin ptx code:\n================\narch = sm_%u\nidentifier: %s\n\n%s\n", t->sm, t->name, t->text);
    }
}

int standin_cuobjdump(int argc, char **argv)
{
    struct standin_parser p = { .tool = TOOL, .options = options, .argc = argc, .argv = argv, .next = 1 };
    const char *input = NULL;
    bool list = false, machine_code = false, ptx = false;
    for (int id; (id = standin_next(&p)) != STANDIN_END;)
        switch (id) {
        case STANDIN_BAD: return STANDIN_FAILED;
        case STANDIN_INPUT: input = p.value; break;
        case HELP: standin_help(TOOL, "[options] <file>", options); return 0;
        case VERSION: standin_version(TOOL, "object dumper"); return 0;
        case LIST_PTX: list = true; break;
        case DUMP_PTX: ptx = true; break;
        case MACHINE_CODE: machine_code = true; break;
        case ALL: break;
        }
    if (!input)
        return standin_fatal(TOOL, "No input file");
    struct standin_texts texts = { 0 };
    int status = standin_read(TOOL, input, &texts) ? 0 : STANDIN_FAILED;
    if (!status && machine_code)
        status = standin_fatal(TOOL,
                               texts.machine_code
                                   ? "'%s' holds machine code, which this stand-in does not show: `anywarp dump --code` does"
                                   : "'%s' holds PTX and no machine code",
                               input);
    else if (!status && !texts.list.n)
        status = standin_fatal(TOOL, "'%s' holds no PTX", input);
    if (!status && (list || ptx))
        print(&texts, list);
    standin_texts_fini(&texts);
    return status;
}
