/* The `anywarp` program: finds the subcommand.  It links no LLVM, so that `anywarp run` starts at once; `compile` is
 * done by the compiler program (forward.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "anywarp.h"
#include "base/log.h"
#include "run.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    { "run", aw_cmd_run, "run a CUDA program" },
    { "trace", aw_cmd_trace, "run a CUDA program and write down its calls" },
    { "profile", aw_cmd_profile, "run a CUDA program and say what took its time" },
    { "check", aw_cmd_check, "run a CUDA program and find wrong accesses to memory, and races" },
    { "precompile", aw_cmd_precompile, "compile the kernels of programs, libraries or folders before they run" },
    { "info", aw_cmd_info, "show the devices, why they were chosen, and versions" },
    { "doctor", aw_cmd_doctor, "check the installation, the card and its permissions; say what to do" },
    { "dump", aw_cmd_dump, "show what CUDA code is inside a file; extract its PTX" },
    { "explain", aw_cmd_explain, "say what a message means and what to do, by the code at its end" },
    { "config", aw_cmd_config, "show the settings: what they mean, what they are and where that is said" },
    { "cache", aw_cmd_cache, "show, clear or verify the cache of compiled kernels" },
    { "compile", aw_cmd_compile, "compile PTX by hand: IR, assembly or a code object" },
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static int usage(FILE *out)
{
    fputs("usage: anywarp ./PROGRAM [arguments]        the same as anywarp run\n"
          "       anywarp COMMAND [arguments]\n"
          "       anywarp --help | --version [--json]\n\n"
          "Runs unmodified CUDA programs on AMD cards, and on machines with no GPU.\n\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
    fputs("\n`anywarp COMMAND --help` tells more.\n", out);
    return out == stderr ? 2 : 0;
}

/* Insertions, deletions and changes between two short words; 99 when one is long. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[32], n = (unsigned)strlen(b);
    if (n >= 32 || strlen(a) >= 32)
        return 99;
    for (unsigned i = 0; i <= n; i++)
        row[i] = i;
    for (unsigned k = 1; *a; a++, k++) {
        unsigned diagonal = row[0];
        row[0] = k;
        for (unsigned i = 1; i <= n; i++) {
            unsigned best = diagonal + (*a != b[i - 1]);
            diagonal = row[i];
            best = diagonal + 1 < best ? diagonal + 1 : best;
            row[i] = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
        }
    }
    return row[n];
}

static int unknown(const char *name)
{
    const char *near = NULL;
    unsigned best = 3;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        unsigned d = distance(name, commands[i].name);
        if (d < best || (strlen(name) >= 2 && strncmp(name, commands[i].name, strlen(name)) == 0)) {
            best = d < best ? d : best;
            near = commands[i].name;
        }
    }
    bool here = aw_run_is_here(name), file = here || (!near && strchr(name, '.'));
    aw_tell("anywarp", COMMAND_UNKNOWN, name,
            here   ? "to run the program: anywarp run ./"
            : near ? "did you mean '"
            : file ? "to run a program: anywarp run "
                   : "`anywarp --help` lists them",
            file   ? name
            : near ? near
                   : "",
            near && !here ? "'?" : "");
    return 2;
}

static int version(int n, char **words)
{
    bool json = n == 1 && !strcmp(words[0], "--json");
    if (n && !json)
        return usage(stderr);
    printf(json ? "{\"anywarp\": \"%s\"}\n" : "anywarp %s\n", AW_VERSION);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr);
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        if (argc < 3)
            return usage(stdout);
        if (aw_explain_is_code(argv[2]))
            return aw_cmd_explain(argc - 1, argv + 1);
        if (strcmp(argv[2], "quirks") == 0)
            return aw_cmd_config(argc - 1, argv + 1);
        name = argv[2]; /* `help dump` is `dump --help` */
        argv[1] = argv[2];
        argv[2] = "--help";
        argc = 3;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0)
        return version(argc - 2, argv + 2);
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    /* A path: no command has a slash. */
    return strchr(name, '/') ? aw_cmd_run(argc, argv) : unknown(name);
}
