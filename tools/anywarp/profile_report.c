/* `anywarp profile`'s tables: what took how long, by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "base/map.h"
#include "profile.h"

/* All records of one kind and name. */
struct row {
    const struct aw_profile_record *first;
    uint64_t count, total, min, max, bytes, failed; /* ns */
    bool several;                                   /* grids and blocks differ */
};

struct table {
    AW_VEC(struct row) rows;
    uint64_t total; /* ns, of all rows */
};

static int by_total(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->total != y->total ? x->total < y->total ? 1 : -1 : strcmp(x->first->name, y->first->name);
}

static void row_add(struct row *row, const struct aw_profile_record *r)
{
    uint64_t time = r->end - r->begin;
    row->count++;
    row->total += time;
    row->min = row->count == 1 || time < row->min ? time : row->min;
    row->max = time > row->max ? time : row->max;
    row->bytes += r->bytes;
    row->failed += r->failed;
    if (r->kind == AW_PROFILE_KERNEL)
        row->several |= strcmp(r->grid, row->first->grid) != 0 || strcmp(r->block, row->first->block) != 0;
}

/* Gathers records of the kinds from `from` to `to`. */
static bool table_make(const struct aw_profile *profile, enum aw_profile_kind from, enum aw_profile_kind to, struct table *ret)
{
    struct aw_map index = { 0 };
    bool fine = true;
    *ret = (struct table){ 0 };
    for (size_t i = 0; fine && i < profile->records.n; i++) {
        const struct aw_profile_record *r = &profile->records.at[i];
        if (r->kind < from || r->kind > to)
            continue;
        uintptr_t at = (uintptr_t)aw_map_find(&index, aw_str_from(r->name)); /* the row's number and 1 */
        if (!at) {
            fine = aw_vec_push(&ret->rows, (struct row){ .first = r }) &&
                   aw_map_put(&index, aw_str_from(r->name), (void *)ret->rows.n);
            at = ret->rows.n;
        }
        if (fine)
            row_add(&ret->rows.at[at - 1], r);
        ret->total += r->end - r->begin;
    }
    aw_map_fini(&index);
    if (ret->rows.n)
        qsort(ret->rows.at, ret->rows.n, sizeof *ret->rows.at, by_total);
    return fine;
}

/* "12.3 us" in eight columns. */
static const char *time_text(uint64_t ns, char text[16])
{
    static const struct {
        uint64_t from, unit;
        const char *name;
    } units[] = { { 1000000000, 1000000000, "s" }, { 1000000, 1000000, "ms" }, { 1000, 1000, "us" }, { 0, 1, "ns" } };
    size_t i = 0;
    while (ns < units[i].from)
        i++;
    double value = (double)ns / (double)units[i].unit;
    snprintf(text, 16, "%.*f %s", value < 10 && i < 3 ? 2 : value < 100 && i < 3 ? 1 : 0, value, units[i].name);
    return text;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* What else is to be said of a row: grid and block, bandwidth, failures. */
static void row_note(const struct row *row, char *text, size_t size)
{
    const struct aw_profile_record *r = row->first;
    *text = '\0';
    if (r->kind == AW_PROFILE_KERNEL)
        snprintf(text, size, "%s", row->several ? "  (several grids)" : "");
    if (r->kind == AW_PROFILE_KERNEL && !row->several)
        snprintf(text, size, "  <<<(%s), (%s), %s>>>", r->grid, r->block, r->shared);
    if ((r->kind == AW_PROFILE_COPY || r->kind == AW_PROFILE_FILL) && row->total)
        snprintf(text, size, "  %" PRIu64 " bytes, %.2f GB/s", row->bytes, (double)row->bytes / (double)row->total);
    if (row->failed)
        snprintf(text, size, "  %" PRIu64 " failed", row->failed);
}

static void table_text(const struct table *table, const char *title, const char *of, uint64_t whole, unsigned top, FILE *out)
{
    char total[16], mean[16], min[16], max[16], note[256];
    if (!table->rows.n)
        return;
    fprintf(out, "\n%s, %s in all\n%6s %9s %8s %9s %9s %9s  name\n", title, time_text(table->total, total), of, "total", "count",
            "mean", "min", "max");
    for (size_t i = 0; i < table->rows.n && (!top || i < top); i++) {
        const struct row *row = &table->rows.at[i];
        char *plain = aw_demangle_text(row->first->name);
        row_note(row, note, sizeof note);
        fprintf(out, "%5.1f%% %9s %8" PRIu64 " %9s %9s %9s  %s%s\n", share(row->total, whole), time_text(row->total, total),
                row->count, time_text(row->total / row->count, mean), time_text(row->min, min), time_text(row->max, max),
                plain ? plain : row->first->name, note);
        free(plain);
    }
    if (top && table->rows.n > top)
        fprintf(out, "       and %zu more (--top 0 shows all)\n", table->rows.n - top);
}

static void table_json(const struct table *table, const char *title, struct aw_buf *out)
{
    aw_buf_printf(out, ",\n \"%s\": [", title);
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct row *row = &table->rows.at[i];
        char *plain = aw_demangle_text(row->first->name);
        aw_buf_printf(out, "%s\n  {\"name\": ", i ? "," : "");
        aw_json_cstr(out, plain ? plain : row->first->name);
        free(plain);
        aw_buf_printf(out, ", \"count\": %" PRIu64 ", \"total_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64,
                      row->count, row->total, row->min, row->max);
        if (row->first->kind == AW_PROFILE_COPY || row->first->kind == AW_PROFILE_FILL)
            aw_buf_printf(out, ", \"bytes\": %" PRIu64, row->bytes);
        if (row->first->kind == AW_PROFILE_CALL)
            aw_buf_printf(out, ", \"failed\": %" PRIu64, row->failed);
        aw_buf_printf(out, "}");
    }
    aw_buf_printf(out, "]");
}

/* Where kernels were, each time that was looked at. */
static void lines_text(const struct table *table, unsigned top, FILE *out)
{
    if (!table->rows.n)
        return;
    fprintf(out, "\nLines of kernels, where %" PRIu64 " looks at the host device's workers found them\n"
                                                      " share    looks  line, kernel\n",
            table->total);
    for (size_t i = 0; i < table->rows.n && (!top || i < top); i++)
        fprintf(out, "%5.1f%% %8" PRIu64 "  %s\n", share(table->rows.at[i].total, table->total), table->rows.at[i].total,
                table->rows.at[i].first->name);
    if (top && table->rows.n > top)
        fprintf(out, "       and %zu more (--top 0 shows all)\n", table->rows.n - top);
}

static void lines_json(const struct table *table, struct aw_buf *out)
{
    aw_buf_printf(out, ",\n \"lines\": [");
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct aw_profile_record *r = table->rows.at[i].first;
        size_t kernel = strlen(r->kernel), place = strlen(r->name) - (kernel ? kernel + 2 : 0);
        aw_buf_printf(out, "%s\n  {\"line\": ", i ? "," : "");
        aw_json_str(out, (struct aw_str){ r->name, place });
        aw_buf_printf(out, ", \"kernel\": ");
        aw_json_cstr(out, r->kernel);
        aw_buf_printf(out, ", \"looks\": %" PRIu64 "}", table->rows.at[i].total);
    }
    aw_buf_printf(out, "]");
}

static int by_begin(const void *a, const void *b)
{
    const struct aw_profile_record *x = *(const struct aw_profile_record *const *)a,
                                   *y = *(const struct aw_profile_record *const *)b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Time in which at least one device worked. */
static bool busy_time(const struct aw_profile *profile, uint64_t *ret)
{
    AW_VEC(const struct aw_profile_record *) work = { 0 };
    uint64_t end = 0;
    *ret = 0;
    for (size_t i = 0; i < profile->records.n; i++)
        if (profile->records.at[i].kind <= AW_PROFILE_FILL && !aw_vec_push(&work, &profile->records.at[i]))
            return false;
    if (work.n)
        qsort(work.at, work.n, sizeof *work.at, by_begin);
    for (size_t i = 0; i < work.n; i++) {
        uint64_t begin = work.at[i]->begin > end ? work.at[i]->begin : end;
        if (work.at[i]->end > begin) {
            *ret += work.at[i]->end - begin;
            end = work.at[i]->end;
        }
    }
    aw_vec_fini(&work);
    return true;
}

enum { TABLES = 4 };
static const struct {
    const char *title, *name; /* for people, and in JSON */
    enum aw_profile_kind from, to;
    bool of_run; /* shares are of the run's time, not of the table's */
} tables[TABLES] = {
    { "Kernels", "kernels", AW_PROFILE_KERNEL, AW_PROFILE_KERNEL, false },
    { "Copies and fills", "copies", AW_PROFILE_COPY, AW_PROFILE_FILL, false },
    { "Calls", "calls", AW_PROFILE_CALL, AW_PROFILE_CALL, true },
    { "Code made ready (compiled, or read from the cache)", "compiled", AW_PROFILE_COMPILE, AW_PROFILE_COMPILE, true },
};

bool aw_profile_report(const struct aw_profile *profile, unsigned top, bool json, FILE *out)
{
    struct table made[TABLES] = { 0 }, lines;
    struct aw_buf text = { 0 };
    uint64_t busy, whole = profile->end - profile->begin;
    char run[16], work[16];
    bool fine = busy_time(profile, &busy);
    for (int i = 0; i < TABLES; i++)
        fine = table_make(profile, tables[i].from, tables[i].to, &made[i]) && fine;
    fine = table_make(profile, AW_PROFILE_SAMPLE, AW_PROFILE_SAMPLE, &lines) && fine;
    if (json) {
        aw_buf_printf(&text, "{\"run_ns\": %" PRIu64 ", \"busy_ns\": %" PRIu64, whole, busy);
        for (int i = 0; i < TABLES; i++)
            table_json(&made[i], tables[i].name, &text);
        lines_json(&lines, &text);
        fine = aw_profile_counters_json(profile, &text) && fine;
        aw_buf_printf(&text, "}\n");
        fine = fine && !text.failed && fwrite(text.ptr, 1, text.len, out) == text.len;
    } else {
        fprintf(out, "\nThe run took %s; devices worked in %s of it (%.1f%%).\n", time_text(whole, run), time_text(busy, work),
                share(busy, whole));
        for (int i = 0; i < TABLES; i++)
            table_text(&made[i], tables[i].title, tables[i].of_run ? "of run" : "share", tables[i].of_run ? whole : made[i].total,
                       top, out);
        lines_text(&lines, top, out);
        fine = aw_profile_counters(profile, top, out) && fine;
    }
    aw_vec_fini(&lines.rows);
    for (int i = 0; i < TABLES; i++)
        aw_vec_fini(&made[i].rows);
    aw_buf_fini(&text);
    return fine;
}
