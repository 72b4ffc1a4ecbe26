/* One program with the names of four: see standins.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ptxas.h"

int standin_fatal(const char *tool, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s fatal   : ", tool);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return STANDIN_FAILED;
}

/* The last version of the toolkit whose runtime the program that asks has loaded, where it is an older one than the driver's:
 * Triton knows of no assembler that is newer than itself.  INT_MAX: it has none loaded, or is not to be seen. */
static int caller_version(void)
{
    static const struct {
        const char *runtime;
        int last;
    } toolkits[] = { { "/libcudart.so.12", 12060 }, { "/libcudart.so.11.0", 11080 } };
    char path[64], line[PATH_MAX + 128];
    int last = INT_MAX;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)getppid());
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps))
        for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
            if (strstr(line, toolkits[i].runtime) && toolkits[i].last < last)
                last = toolkits[i].last;
    if (maps)
        fclose(maps);
    return last;
}

/* Triton looks for "release N.N", XLA for "VN.N.N". */
void standin_version(const char *tool, const char *what)
{
    int driver = aw_cuda_version(), caller = caller_version(), version = caller < driver ? caller : driver,
        major = version / 1000, minor = version % 1000 / 10;
    printf("%s: anywarp's stand-in for NVIDIA's %s; it makes PTX, not machine code\n"
           "Cuda compilation tools, release %d.%d, V%d.%d.0\n", tool, what, major, minor, major, minor);
}

void standin_help(const char *tool, const char *usage, const struct standin_option *options)
{
    printf("\nUsage  : %s %s\n\nanywarp's stand-in.  Options marked * are taken and have no consequence.\n\n", tool, usage);
    for (const struct standin_option *o = options; o->name; o++)
        printf("%s --%s%s  (-%s)\n", o->id ? " " : "*", o->name, o->kind == STANDIN_FLAG ? "" : " <value>", o->brief);
}

/* The option that `arg`, without its dashes, names, and where its value begins after '='. */
static const struct standin_option *option_find(const struct standin_option *options, const char *arg, const char **ret_value)
{
    size_t n = strcspn(arg, "=");
    *ret_value = arg[n] ? arg + n + 1 : NULL;
    for (const struct standin_option *o = options; o->name; o++)
        if ((strlen(o->name) == n && !strncmp(arg, o->name, n)) || (strlen(o->brief) == n && !strncmp(arg, o->brief, n)))
            return o;
    /* -O3, and what else of one letter has its value stuck to it. */
    for (const struct standin_option *o = options; o->name; o++)
        if (strlen(o->brief) == 1 && o->kind == STANDIN_VALUE && arg[0] == o->brief[0] && arg[1]) {
            *ret_value = arg + 1;
            return o;
        }
    return NULL;
}

int standin_next(struct standin_parser *p)
{
    if (p->next >= p->argc)
        return STANDIN_END;
    const char *arg = p->argv[p->next++], *name = arg;
    if (arg[0] != '-' || !arg[1]) {
        p->value = arg;
        return STANDIN_INPUT;
    }
    name += arg[1] == '-' ? 2 : 1;
    const struct standin_option *o = option_find(p->options, name, &p->value);
    if (!o) {
        standin_fatal(p->tool, "Unknown option '%s'", name);
        return STANDIN_BAD;
    }
    if (o->kind == STANDIN_FLAG && p->value) {
        standin_fatal(p->tool, "Value '%s' is not expected for option '%s'", p->value, o->name);
        return STANDIN_BAD;
    }
    if (o->kind == STANDIN_VALUE && !p->value) {
        if (p->next >= p->argc) {
            standin_fatal(p->tool, "Argument expected for option '%s'", o->name);
            return STANDIN_BAD;
        }
        p->value = p->argv[p->next++];
    }
    if (o->kind == STANDIN_BOOL && !p->value && p->next < p->argc &&
        (!strcmp(p->argv[p->next], "true") || !strcmp(p->argv[p->next], "false")))
        p->value = p->argv[p->next++];
    return o->id;
}

unsigned standin_sm(const char *name)
{
    static const char *const heads[] = { "sm_", "compute_", "lto_" };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t n = strlen(heads[i]);
        char *end;
        unsigned long sm = strncmp(name, heads[i], n) ? 0 : strtoul(name + n, &end, 10);
        if (sm >= 10 && sm < 1000 && (!*end || ((*end == 'a' || *end == 'f') && !end[1])))
            return (unsigned)sm;
    }
    return 0;
}

bool standin_write(const char *tool, const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool done = f && fwrite(bytes, 1, size, f) == size;
    done = f && fclose(f) == 0 && done;
    if (!done)
        standin_fatal(tool, "Could not write output file '%s'", path);
    return done;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int, char **);
    } tools[] = { { "ptxas", standin_ptxas }, { "nvlink", standin_nvlink }, { "fatbinary", standin_fatbinary },
                  { "cuobjdump", standin_cuobjdump } };
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (!strcmp(name, tools[i].name))
            return tools[i].run(argc, argv);
    fprintf(stderr, "%s: this program is called ptxas, nvlink, fatbinary or cuobjdump\n", name);
    return STANDIN_FAILED;
}
