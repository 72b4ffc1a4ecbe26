/* The environment's settings, read once, and the one place that prints messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../sim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"

static struct sim_settings settings;

static void problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void problem(const char *fmt, ...)
{
    va_list ap;
    if (settings.problem[0])
        return;
    va_start(ap, fmt);
    vsnprintf(settings.problem, sizeof settings.problem, fmt, ap);
    va_end(ap);
}

/* The next word of a comma-separated list into `word`; false at its end. */
static bool next_word(const char **list, char *word, size_t size)
{
    if (!*list || !**list)
        return false;
    size_t n = strcspn(*list, ",");
    snprintf(word, size, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

static void read_cards(void)
{
    enum { MAX = sizeof settings.cards / sizeof *settings.cards };
    const char *list = aw_env("ANYWARP_SIM");
    char word[64];
    if (!list || !*list)
        list = "gfx1030";
    while (next_word(&list, word, sizeof word)) {
        const struct sim_card *card = sim_card_find(word);
        if (!card) {
            char known[128] = "";
            for (size_t i = 0; sim_card_at(i); i++)
                snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", sim_card_at(i)->name);
            problem("ANYWARP_SIM: there is no simulated card '%s' (there are %s)", word, known);
        } else if (settings.n_cards == MAX) {
            problem("ANYWARP_SIM: at most %d cards", MAX);
        } else {
            settings.cards[settings.n_cards++] = card;
        }
    }
}

/* A number with an optional suffix K, M or G, at least `least`. */
static uint64_t read_number(const char *name, uint64_t fallback, uint64_t least)
{
    static const char suffixes[] = "KMG";
    const char *text = aw_env(name);
    if (!text || !*text)
        return fallback;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 0);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (end == text || errno || *text == '-' || (*end && (!suffix || end[1])) || n << shift >> shift != n || n << shift < least) {
        problem("%s='%s' is not a number of at least %llu", name, text, (unsigned long long)least);
        return fallback;
    }
    return n << shift;
}

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static void read_trace(void)
{
    const char *list = aw_env("ANYWARP_SIM_TRACE");
    char word[64];
    while (next_word(&list, word, sizeof word)) {
        bool all = strcmp(word, "all") == 0, known = all;
        known |= settings.trace_thunk |= all || strcmp(word, "thunk") == 0;
        known |= settings.trace_packets |= all || strcmp(word, "packets") == 0;
        known |= settings.trace_instructions |= all || strcmp(word, "instructions") == 0;
        if (!known)
            problem("ANYWARP_SIM_TRACE: '%s' is none of thunk, packets, instructions, all", word);
    }
}

static void read_check(void)
{
    const char *list = aw_env("ANYWARP_SIM_CHECK");
    char word[64];
    while (next_word(&list, word, sizeof word)) {
        bool known = strcmp(word, "race") == 0;
        settings.check_race |= known;
        if (!known)
            problem("ANYWARP_SIM_CHECK: '%s' is not race", word);
    }
}

static void read_all(void)
{
    const char *stats = aw_env("ANYWARP_SIM_STATS");
    read_cards();
    settings.threads = (unsigned)read_number("ANYWARP_SIM_THREADS", cores(), 1);
    settings.vram = read_number("ANYWARP_SIM_MEMORY", 8ull << 30, 64ull << 20) & ~0xfffull;
    settings.stats = stats && *stats && strcmp(stats, "0") != 0 ? stats : NULL;
    read_trace();
    read_check();
    /* isa/ is compiled for these. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        problem("the simulated card needs a processor with AVX2, FMA and F16C");
}

const struct sim_settings *sim_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &settings;
}

void sim_say(const char *fmt, ...)
{
    char line[1400];
    va_list ap;
    int n = snprintf(line, sizeof line, "simgpu: ");
    va_start(ap, fmt);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    /* In one piece, so that lines of several threads stay whole; stdio's lock may be held by a program in trouble. */
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}
