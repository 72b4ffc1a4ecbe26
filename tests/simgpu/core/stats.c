/* What kernels did, by name, and how it is printed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../sim.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next; /* in order of first launch */
    struct sim_stats stats;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static const char *const class_name[] = {
#define X(name, text) #name,
    SIM_CLASSES(X)
#undef X
};
static const char *const class_text[] = {
#define X(name, text) text,
    SIM_CLASSES(X)
#undef X
};

void sim_stats_add(struct sim_stats *to, const struct sim_stats *from)
{
    /* The structure is nothing but counts. */
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;
    _Static_assert(sizeof *to % sizeof *a == 0, "counts only");
    for (size_t i = 0; i < sizeof *to / sizeof *a; i++)
        a[i] += b[i];
}

void sim_stats_record(const char *kernel, const struct sim_stats *stats)
{
    pthread_mutex_lock(&lock);
    struct entry **at = &entries;
    while (*at && strcmp((*at)->name, kernel) != 0)
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof **at + strlen(kernel) + 1)))
        strcpy((*at)->name, kernel);
    if (*at)
        sim_stats_add(&(*at)->stats, stats);
    pthread_mutex_unlock(&lock);
}

static uint64_t total(const struct sim_stats *s)
{
    uint64_t n = 0;
    for (int c = 0; c < SIM_CLASS_COUNT; c++)
        n += s->executed[c];
    return n;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_text(FILE *f, const struct entry *e)
{
    const struct sim_stats *s = &e->stats;
    uint64_t all = total(s), memory = s->executed[SIM_VMEM_LOAD] + s->executed[SIM_VMEM_STORE] + s->executed[SIM_VMEM_ATOMIC];
    fprintf(f, "%s: %" PRIu64 " launches, %" PRIu64 " waves, %" PRIu64 " instructions (%.1f million a second)\n", e->name,
            s->launches, s->waves, all, share(all, s->nanoseconds) * 1e3);
    for (int c = 0; c < SIM_CLASS_COUNT; c++)
        if (s->executed[c])
            fprintf(f, "  %-20s %14" PRIu64 "  %5.1f %%\n", class_text[c], s->executed[c], 100 * share(s->executed[c], all));
    fprintf(f, "  %-20s %13.1f %%  of the lanes of vector instructions\n", "active",
            100 * share(s->vector_lanes, s->vector_slots));
    fprintf(f, "  %-20s %14" PRIu64 "  bytes; stored %" PRIu64 ", scalar %" PRIu64 "; %.2f lines of 64 bytes an access\n",
            "loaded", s->loaded, s->stored, s->scalar_loaded, share(s->lines, memory));
    fprintf(f, "  %-20s %14" PRIu64 "  in %" PRIu64 " LDS accesses\n", "bank conflicts", s->lds_conflicts, s->lds_accesses);
    fprintf(f, "  %-20s %13.1f %%  of the waves that a SIMD can hold\n", "occupancy", 100 * share(s->occupancy, s->occupancy_of));
}

static void print_string(FILE *f, const char *text)
{
    putc('"', f);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < ' ' || *p == '"' || *p == '\\')
            fprintf(f, "\\u%04x", *p);
        else
            putc(*p, f);
    }
    putc('"', f);
}

static void print_json(FILE *f, const struct entry *e)
{
    const struct sim_stats *s = &e->stats;
    fputs("{\"kernel\":", f);
    print_string(f, e->name);
    fprintf(f, ",\"launches\":%" PRIu64 ",\"waves\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"executed\":{", s->launches,
            s->waves, total(s));
    for (int c = 0; c < SIM_CLASS_COUNT; c++)
        fprintf(f, "%s\"%s\":%" PRIu64, c ? "," : "", class_name[c], s->executed[c]);
    fprintf(f,
            "},\"vector_lanes\":%" PRIu64 ",\"vector_slots\":%" PRIu64 ",\"loaded\":%" PRIu64 ",\"stored\":%" PRIu64
            ",\"lines\":%" PRIu64,
            s->vector_lanes, s->vector_slots, s->loaded, s->stored, s->lines);
    fprintf(f, ",\"scalar_loaded\":%" PRIu64 ",\"lds_accesses\":%" PRIu64 ",\"lds_conflicts\":%" PRIu64 ",\"taken\":%" PRIu64,
            s->scalar_loaded, s->lds_accesses, s->lds_conflicts, s->taken);
    fprintf(f, ",\"occupancy\":%" PRIu64 ",\"occupancy_of\":%" PRIu64 ",\"nanoseconds\":%" PRIu64 "}\n", s->occupancy,
            s->occupancy_of, s->nanoseconds);
}

void sim_stats_print(int fd, bool json)
{
    FILE *f = fdopen(fd, "w");
    if (!f)
        return;
    pthread_mutex_lock(&lock);
    for (const struct entry *e = entries; e; e = e->next)
        (json ? print_json : print_text)(f, e);
    pthread_mutex_unlock(&lock);
    fclose(f);
}
