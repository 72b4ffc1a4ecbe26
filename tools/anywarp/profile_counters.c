/* `anywarp profile --counters`: what kernels' lanes loaded and stored, how many were in use, and what warps would have waited for
 * each other, by kernel and by line.  Who counts is src/provider/host/count.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "base/map.h"
#include "profile.h"

/* A record's numbers: times that warps ran an instruction; lanes that did; bytes. */
enum { WARPS, LANES, LOADED, STORED, SHARED_LOADED, SHARED_STORED, NUMBERS };
enum { BARRIERS, RAN_NS, WAITED_NS }; /* of a wait */

struct entry {
    const char *kernel, *place; /* place NULL: all of the kernel */
    uint64_t sums[NUMBERS], waits[3];
    uint64_t ns;                /* of the kernel's launches, while it counted */
};

struct entries {
    AW_VEC(struct entry) at;
    struct aw_map index;        /* by kernel and place: the entry's number and 1 */
};

static struct entry *entry_find(struct entries *e, const char *kernel, const char *place)
{
    struct aw_buf key = { 0 };
    aw_buf_printf(&key, "%s\t%s", kernel, place ? place : "");
    uintptr_t at = key.failed ? 0 : (uintptr_t)aw_map_find(&e->index, aw_buf_view(&key));
    if (!at && !key.failed && aw_vec_push(&e->at, ((struct entry){ .kernel = kernel, .place = place })) &&
        aw_map_put(&e->index, aw_buf_view(&key), (void *)e->at.n))
        at = e->at.n;
    aw_buf_fini(&key);
    return at ? &e->at.at[at - 1] : NULL;
}

static int by_warps(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->sums[WARPS] != y->sums[WARPS])
        return x->sums[WARPS] < y->sums[WARPS] ? 1 : -1;
    int kernels = strcmp(x->kernel, y->kernel);
    return kernels || !x->place ? kernels : strcmp(x->place, y->place);
}

static bool record_take(struct entries *kernels, struct entries *places, const struct aw_profile_record *r)
{
    bool counts = r->kind == AW_PROFILE_COUNT, waits = r->kind == AW_PROFILE_WAIT;
    struct entry *kernel = counts || waits ? entry_find(kernels, r->kernel, NULL) : NULL;
    struct entry *place = counts ? entry_find(places, r->kernel, r->name) : NULL;
    if (!counts && !waits)
        return true;
    if (!kernel || (counts && !place))
        return false;
    for (int i = 0; i < NUMBERS && counts; i++) {
        kernel->sums[i] += r->counts[i];
        place->sums[i] += r->counts[i];
    }
    for (int i = 0; i < 3 && waits; i++)
        kernel->waits[i] += r->counts[i];
    return true;
}

static void entries_fini(struct entries *e)
{
    aw_vec_fini(&e->at);
    aw_map_fini(&e->index);
}

static bool gather(const struct aw_profile *profile, struct entries *ret_kernels, struct entries *ret_places)
{
    bool fine = true;
    for (size_t i = 0; i < profile->records.n && fine; i++)
        fine = record_take(ret_kernels, ret_places, &profile->records.at[i]);
    for (size_t i = 0; i < profile->records.n && fine; i++) {
        const struct aw_profile_record *r = &profile->records.at[i];
        for (size_t k = 0; r->kind == AW_PROFILE_KERNEL && k < ret_kernels->at.n; k++)
            if (!strcmp(r->name, ret_kernels->at.at[k].kernel))
                ret_kernels->at.at[k].ns += r->end - r->begin;
    }
    if (ret_kernels->at.n)
        qsort(ret_kernels->at.at, ret_kernels->at.n, sizeof *ret_kernels->at.at, by_warps);
    if (ret_places->at.n)
        qsort(ret_places->at.at, ret_places->at.n, sizeof *ret_places->at.at, by_warps);
    return fine;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* "12.3 MB" in nine columns; exact below 100,000. */
static const char *bytes_text(uint64_t bytes, char text[24])
{
    static const char *const units[] = { "kB", "MB", "GB", "TB", "PB" };
    double value = (double)bytes / 1e3;
    size_t i = 0;
    for (; value >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        value /= 1e3;
    if (bytes < 100000)
        snprintf(text, 24, "%" PRIu64 " B", bytes);
    else
        snprintf(text, 24, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[i]);
    return text;
}

static void kernel_text(const struct entry *e, FILE *out)
{
    char loaded[24], stored[24], shared[24], waits[16] = "";
    uint64_t bytes = e->sums[LOADED] + e->sums[STORED];
    char *plain = aw_demangle_text(e->kernel);
    if (e->waits[BARRIERS])
        snprintf(waits, sizeof waits, "%.1f%%", 100 * ratio(e->waits[WAITED_NS], e->waits[RAN_NS] + e->waits[WAITED_NS]));
    fprintf(out, "%14" PRIu64 " %6.2f %9s %9s %7.2f %9s %8s  %s\n", e->sums[WARPS], ratio(e->sums[LANES], e->sums[WARPS]),
            bytes_text(e->sums[LOADED], loaded), bytes_text(e->sums[STORED], stored), ratio(bytes, e->ns),
            bytes_text(e->sums[SHARED_LOADED] + e->sums[SHARED_STORED], shared), waits, plain ? plain : e->kernel);
    free(plain);
}

static void place_text(const struct entry *e, uint64_t all, FILE *out)
{
    char loaded[24], stored[24];
    char *plain = aw_demangle_text(e->kernel);
    fprintf(out, "%5.1f%% %6.2f %9s %9s  %s  %s\n", 100 * ratio(e->sums[WARPS], all), ratio(e->sums[LANES], e->sums[WARPS]),
            bytes_text(e->sums[LOADED], loaded), bytes_text(e->sums[STORED], stored), e->place, plain ? plain : e->kernel);
    free(plain);
}

static void more_text(const struct entries *e, unsigned top, FILE *out)
{
    if (top && e->at.n > top)
        fprintf(out, "       and %zu more (--top 0 shows all)\n", e->at.n - top);
}

bool aw_profile_counters(const struct aw_profile *profile, unsigned top, FILE *out)
{
    struct entries kernels = { 0 }, places = { 0 };
    uint64_t all = 0;
    bool fine = gather(profile, &kernels, &places);
    if (profile->counted && !kernels.at.n)
        fprintf(out, "\nNothing was counted: no kernel ran on the host device.\n");
    if (kernels.at.n)
        fprintf(out, "\nWhat kernels did, counted (times, and so GB/s, are of code that counts)\n"
                     "  instructions  lanes    loaded    stored    GB/s    shared  waiting  kernel\n");
    for (size_t i = 0; i < kernels.at.n && (!top || i < top); i++)
        kernel_text(&kernels.at.at[i], out);
    more_text(&kernels, top, out);
    for (size_t i = 0; i < places.at.n; i++)
        all += places.at.at[i].sums[WARPS];
    if (places.at.n)
        fprintf(out, "\nWhat lines did, shares of %" PRIu64 " instructions of warps\n"
                                                            " share  lanes    loaded    stored  line, kernel\n",
                all);
    for (size_t i = 0; i < places.at.n && (!top || i < top); i++)
        place_text(&places.at.at[i], all, out);
    more_text(&places, top, out);
    entries_fini(&kernels);
    entries_fini(&places);
    return fine;
}

static void entry_json(const struct entry *e, bool first, struct aw_buf *out)
{
    static const char *const names[NUMBERS] = { "warp_instructions", "lane_instructions", "loaded_bytes", "stored_bytes",
                                                "shared_loaded_bytes", "shared_stored_bytes" };
    char *plain = aw_demangle_text(e->kernel);
    aw_buf_printf(out, "%s\n   {\"kernel\": ", first ? "" : ",");
    aw_json_cstr(out, plain ? plain : e->kernel);
    free(plain);
    if (e->place) {
        aw_buf_printf(out, ", \"line\": ");
        aw_json_cstr(out, e->place);
    }
    for (int i = 0; i < NUMBERS; i++)
        aw_buf_printf(out, ", \"%s\": %" PRIu64, names[i], e->sums[i]);
    if (!e->place)
        aw_buf_printf(out, ", \"counting_ns\": %" PRIu64 ", \"barriers\": %" PRIu64 ", \"to_barriers_ns\": %" PRIu64
                           ", \"waiting_ns\": %" PRIu64,
                      e->ns, e->waits[BARRIERS], e->waits[RAN_NS], e->waits[WAITED_NS]);
    aw_buf_printf(out, "}");
}

bool aw_profile_counters_json(const struct aw_profile *profile, struct aw_buf *out)
{
    struct entries kernels = { 0 }, places = { 0 };
    bool fine = gather(profile, &kernels, &places);
    if (profile->counted) {
        aw_buf_printf(out, ",\n \"counters\": {\"kernels\": [");
        for (size_t i = 0; i < kernels.at.n; i++)
            entry_json(&kernels.at.at[i], i == 0, out);
        aw_buf_printf(out, "],\n  \"lines\": [");
        for (size_t i = 0; i < places.at.n; i++)
            entry_json(&places.at.at[i], i == 0, out);
        aw_buf_printf(out, "]}");
    }
    entries_fini(&kernels);
    entries_fini(&places);
    return fine;
}
