/* The oracle: every row of the instruction table, in every combination of types and modifiers, against its reference.
 *
 * An ordinary program of the CUDA driver API: it runs wherever libcuda.so.1 is.  tests/oracle/run starts it; docs/oracle.md tells
 * how. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] = "usage: oracle [--seed N] [--blocks N] [--jobs N] [--sample N] [--show N] [--list] [--emit DIR] "
                            "[--table] [--plant] [--lift ARCH PTXAS ISA [--again ANYWARP]]\n"
                            "              [--record FILE | --recorded FILE] [ROW|COMBINATION|MNEMONIC|SECTION]...\n";

enum { MAX_WORKERS = 16, MAX_VARIANTS = 96, PER_JOB = 16 };
/* A kernel that hangs costs each job that it is in: those of fewer instances end sooner. */
enum { JOB_SECONDS = 30, INSTANCE_SECONDS = 15 };

/* What workers share: which jobs there are, who has which, how instances ended. */
struct job_range {
    uint32_t first, n;
};
struct shared {
    atomic_uint next, n_jobs;
    atomic_uint has[MAX_WORKERS]; /* 1 + job */
    uint32_t cap;
};

struct oracle {
    struct oracle_options options;
    struct oracle_combos combos;
    AW_VEC(struct oracle_instance) instances;
    struct shared *shared;
    FILE *lock; /* whoever prints has it */
    struct job_range *ranges;
    uint8_t *states;
    unsigned workers, sample;
    bool list, table, plant;
    const char *recorded; /* file of another device's answers */
};

static void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- Instances and jobs */
static bool make_instances(struct oracle *o)
{
    for (uint32_t c = 0; c < o->combos.list.n; c++)
        for (uint16_t v = 0; v < MAX_VARIANTS; v++)
            for (unsigned part = 0; part < 2; part++) {
                struct oracle_instance instance = { .combo = c, .variant = v, .part = part };
                struct oracle_plan plan;
                if (!oracle_plan(&o->combos.list.at[c], &instance, &plan))
                    continue;
                if (!aw_vec_push(&o->instances, instance))
                    return false;
            }
    return true;
}

/* A job's instances are of one row. */
static bool make_jobs(struct oracle *o)
{
    size_t n = o->instances.n;

    o->lock = tmpfile();
    o->shared = shared_memory(sizeof *o->shared);
    o->ranges = shared_memory((4 * n + 4) * sizeof *o->ranges);
    o->states = shared_memory(n + 1);
    if (!o->shared || !o->ranges || !o->states)
        return false;
    o->shared->cap = (uint32_t)(4 * n + 4);
    for (uint32_t i = 0; i < n;) {
        uint32_t first = i;
        const struct ptx_form *form = o->combos.list.at[o->instances.at[i].combo].form;
        while (i < n && i - first < PER_JOB && o->combos.list.at[o->instances.at[i].combo].form == form)
            i++;
        o->ranges[o->shared->n_jobs++] = (struct job_range){ first, i - first };
    }
    return true;
}

/* ---- Workers */

/* What has been printed goes out in one piece, though several do so: who ends gives the lock back. */
static void print_whole(struct oracle *o)
{
    bool locked = o->lock && lockf(fileno(o->lock), F_LOCK, 0) == 0;
    fflush(stdout);
    if (locked)
        (void)lockf(fileno(o->lock), F_ULOCK, 0);
}

static void work(struct oracle *o, unsigned self)
{
    static char printed[4 << 20]; /* ours: of a buffer of its own, setvbuf does not heed the size */
    char name[256];

    setvbuf(stdout, printed, _IOFBF, sizeof printed);
    if (!o->options.emit && !oracle_device_open(name, sizeof name))
        _exit(2);
    for (;;) {
        unsigned job = atomic_fetch_add(&o->shared->next, 1);
        if (job >= atomic_load(&o->shared->n_jobs))
            break;
        atomic_store(&o->shared->has[self], job + 1);
        struct job_range range = o->ranges[job];
        alarm(JOB_SECONDS + INSTANCE_SECONDS * range.n);
        uint8_t states[PER_JOB];
        bool usable = oracle_job_run(&o->options, o->combos.list.at, o->instances.at + range.first, range.n, states, NULL);
        print_whole(o);
        if (!usable)
            _exit(3);
        memcpy(o->states + range.first, states, range.n);
        atomic_store(&o->shared->has[self], 0);
    }
    _exit(0);
}

/* A worker ended in the middle of a job: its halves are tried apart, and an instance that ends one alone has failed. */
static void lost(struct oracle *o, unsigned worker, int status)
{
    unsigned has = atomic_exchange(&o->shared->has[worker], 0);
    if (!has)
        return;
    struct job_range range = o->ranges[has - 1];
    if (range.n == 1) {
        const struct oracle_instance *i = &o->instances.at[range.first];
        o->states[range.first] = ORACLE_CRASHED;
        printf("FAIL %s, variant %u%s: %s\n", o->combos.list.at[i->combo].name, i->variant, i->part ? ", some lanes" : "",
               WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(status))
                                   : "the device failed");
        return;
    }
    unsigned n = atomic_load(&o->shared->n_jobs), half = range.n / 2;
    if (n + 2 > o->shared->cap)
        return;
    o->ranges[n] = (struct job_range){ range.first, half };
    o->ranges[n + 1] = (struct job_range){ range.first + half, range.n - half };
    atomic_store(&o->shared->n_jobs, n + 2);
}

static bool start_worker(struct oracle *o, unsigned i, pid_t *pids)
{
    print_whole(o);
    pids[i] = fork();
    if (pids[i] == 0)
        work(o, i);
    return pids[i] > 0;
}

static bool run_all(struct oracle *o)
{
    pid_t pids[MAX_WORKERS] = { 0 };
    unsigned alive = 0, i;
    int status;

    for (i = 0; i < o->workers; i++)
        alive += start_worker(o, i, pids);
    while (alive) {
        pid_t ended = wait(&status);
        for (i = 0; i < o->workers && pids[i] != ended; i++)
            ;
        if (ended < 0 || i == o->workers)
            return false;
        pids[i] = 0;
        alive--;
        lost(o, i, status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
            return false;
        /* A job that came too late for those who have ended. */
        if (atomic_load(&o->shared->next) > atomic_load(&o->shared->n_jobs))
            atomic_store(&o->shared->next, atomic_load(&o->shared->n_jobs));
        if (status != 0)
            alive += start_worker(o, i, pids);
    }
    return true;
}

/* ---- Reports */
struct counts {
    unsigned combos, passed, failed, refused, missing, elsewhere;
};

/* How a combination ended: the worst of its instances; ORACLE_SHADOWED when it is another row's. */
static enum oracle_state state_of(const struct oracle *o, uint32_t first, uint32_t end)
{
    unsigned n[ORACLE_SHADOWED + 1] = { 0 };
    for (uint32_t i = first; i < end; i++)
        n[o->states[i]]++;
    if (n[ORACLE_FAILED] || n[ORACLE_CRASHED] || n[ORACLE_WAITING])
        return ORACLE_FAILED;
    if (n[ORACLE_NO_REFERENCE])
        return ORACLE_NO_REFERENCE;
    if (n[ORACLE_PASSED]) /* NVIDIA's assembler takes some variants of operands less: wider registers, results left out */
        return n[ORACLE_REFUSED] && !o->options.lift ? ORACLE_REFUSED : ORACLE_PASSED;
    return n[ORACLE_REFUSED] ? ORACLE_REFUSED : ORACLE_SHADOWED;
}

static void report_row(const struct ptx_form *form, const struct counts *c)
{
    const char *special = oracle_special_of(form->id);

    if (!c->combos && !c->elsewhere) /* all of it belongs to another row of the mnemonic, or nothing was asked of it */
        return;
    printf("%-20s %5u passed", form->id, c->passed);
    if (c->failed)
        printf(" %5u failed", c->failed);
    if (c->refused)
        printf(" %5u refused", c->refused);
    if (c->missing && special)
        printf("        by the test '%s'", special);
    else if (c->missing)
        printf(form->reference[0] ? "        no reference '%s' that takes its operands" : "        neither reference nor test",
               form->reference);
    printf("\n");
}

static struct counts report(const struct oracle *o)
{
    struct counts all = { 0 }, row = { 0 };
    const struct oracle_combo *list = o->combos.list.at;
    uint32_t i = 0;

    for (uint32_t c = 0; c < o->combos.list.n; c++) {
        uint32_t first = i;
        while (i < o->instances.n && o->instances.at[i].combo == c)
            i++;
        /* Without instance: its operands are not of kinds that lanes have alone. */
        enum oracle_state state = i > first ? state_of(o, first, i) : ORACLE_SHADOWED;
        row.elsewhere += i == first;
        row.combos += state != ORACLE_SHADOWED;
        row.passed += state == ORACLE_PASSED;
        row.failed += state == ORACLE_FAILED;
        row.refused += state == ORACLE_REFUSED;
        row.missing += state == ORACLE_NO_REFERENCE;
        if (state == ORACLE_REFUSED)
            printf("refused: %s\n", list[c].name);
        if (c + 1 < o->combos.list.n && list[c + 1].form == list[c].form)
            continue;
        if (row.elsewhere && !row.passed && !row.failed && !row.refused)
            row.missing += row.elsewhere;
        if (row.missing && !oracle_special_of(list[c].form->id))
            row.failed += row.missing;
        report_row(list[c].form, &row);
        all.passed += row.passed;
        all.failed += row.failed;
        all.refused += row.refused;
        row = (struct counts){ 0 };
    }
    return all;
}

/* ---- The table's test: each row has a reference that is there, or a test of its own */
static int check_table(void)
{
    size_t n, bad = 0;
    const struct ptx_form *forms = ptx_forms(&n);
    oracle_lane_reference *lane;
    oracle_warp_reference *warp;

    for (size_t i = 0; i < n; i++) {
        bool found = oracle_reference(forms[i].reference, &lane, &warp);
        const char *special = oracle_special_of(forms[i].id);
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", ORACLE_SOURCE_ROOT, special ? special : "");
        bool file = special && strchr(special, '/');
        if (special ? !file || access(path, R_OK) == 0 : found)
            continue;
        if (special)
            printf("row %s: there is no file %s\n", forms[i].id, special);
        else if (forms[i].reference[0])
            printf("row %s: its reference oracle_ref_%s is nowhere\n", forms[i].id, forms[i].reference);
        else
            printf("row %s: neither a reference nor a test in tests/oracle/special.c\n", forms[i].id);
        bad++;
    }
    printf("%zu passed, %zu failed\n", n - bad, bad);
    return bad != 0;
}

static unsigned number(int argc, char **argv, int *i)
{
    return ++*i < argc ? (unsigned)strtoul(argv[*i], NULL, 0) : 0;
}

static bool argument(struct oracle *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];

    if (!strcmp(arg, "--seed"))
        o->options.seed = ++*i < argc ? strtoull(argv[*i], NULL, 0) : 0;
    else if (!strcmp(arg, "--blocks"))
        o->options.blocks = number(argc, argv, i);
    else if (!strcmp(arg, "--jobs"))
        o->workers = number(argc, argv, i);
    else if (!strcmp(arg, "--sample"))
        o->sample = number(argc, argv, i);
    else if (!strcmp(arg, "--show"))
        o->options.show = number(argc, argv, i);
    else if (!strcmp(arg, "--lift") && *i + 3 < argc) {
        o->options.lift = number(argc, argv, i);
        const char *ptxas = argv[++*i];
        oracle_device_lift(o->options.lift, ptxas, number(argc, argv, i));
    } else if (!strcmp(arg, "--again") && *i + 1 < argc) {
        o->options.again = true;
        oracle_device_lift_again(argv[++*i]);
    } else if (!strcmp(arg, "--emit") && *i + 1 < argc)
        o->options.emit = argv[++*i];
    else if (!strcmp(arg, "--record") && *i + 1 < argc)
        o->options.record = argv[++*i];
    else if (!strcmp(arg, "--recorded") && *i + 1 < argc)
        o->recorded = argv[++*i];
    else if (!strcmp(arg, "--list"))
        o->list = true;
    else if (!strcmp(arg, "--table"))
        o->table = true;
    else if (!strcmp(arg, "--plant"))
        o->plant = true;
    else
        return arg[0] != '-';
    return true;
}

/* Can lanes alone tell what it does?  Not of what the checker refuses, nor of operands of other kinds. */
static bool has_instance(const struct oracle_combo *c)
{
    struct oracle_plan plan;
    for (uint16_t v = 0; v < MAX_VARIANTS; v++)
        for (unsigned part = 0; part < 2; part++)
            if (oracle_plan(c, &(struct oracle_instance){ .variant = v, .part = part }, &plan))
                return true;
    return false;
}

/* Of the row that begins at `first`, which ends at *ret_end: every n-th combination that has an instance, another one for another
 * seed, and at least one; the first, where none has. */
static size_t sample_row(struct oracle *o, size_t first, size_t *ret_end, struct oracle_rng *rng, size_t keep)
{
    struct oracle_combo *list = o->combos.list.at;
    size_t end = first, n = 0, at = 0;
    while (end < o->combos.list.n && list[end].form == list[first].form)
        n += has_instance(&list[end++]);
    size_t offset = oracle_below(rng, (unsigned)(n == 0 ? 1 : n < o->sample ? n : o->sample));
    for (size_t c = first; c < end; c++) {
        bool counts = n == 0 || has_instance(&list[c]), take = n == 0 ? c == first : counts && at % o->sample == offset;
        at += counts;
        if (take)
            list[keep++] = list[c];
        else
            free(list[c].name);
    }
    *ret_end = end;
    return keep;
}

static void take_sample(struct oracle *o)
{
    struct oracle_rng rng = { o->options.seed };
    size_t keep = 0;
    for (size_t c = 0; c < o->combos.list.n;)
        keep = sample_row(o, c, &c, &rng, keep);
    o->combos.list.n = keep;
}

static int run(struct oracle *o)
{
    if (o->sample > 1)
        take_sample(o);
    if (o->list) {
        for (size_t c = 0; c < o->combos.list.n; c++)
            printf("%-20s %s\n", o->combos.list.at[c].form->id, o->combos.list.at[c].name);
        return 0;
    }
    if (!make_instances(o) || !make_jobs(o)) {
        printf("oracle: out of memory\n");
        return 2;
    }
    printf("%zu combinations (%zu more in rows that are sampled), %zu instances of %u lanes, seed %" PRIu64 "\n",
           o->combos.list.n, o->combos.n_cut, o->instances.n, o->options.blocks * ORACLE_BLOCK, o->options.seed);
    if (!run_all(o))
        return 2;
    struct counts all = report(o);
    unsigned passed = 0, failed = 0;
    if (!o->options.emit && !oracle_special_run(o->combos.list.at, o->combos.list.n, &passed, &failed))
        return 2;
    if (passed + failed)
        printf("%-20s %5u passed %5u failed\n", "tests of their own", passed, failed);
    all.passed += passed;
    all.failed += failed;
    if (all.refused)
        printf("%u refused\n", all.refused);
    printf("seed %" PRIu64 "\n%u passed, %u failed\n", o->options.seed, all.passed, all.failed);
    return all.failed || !all.passed;
}

int main(int argc, char **argv)
{
    struct oracle o = { .options = { .seed = 1, .blocks = 8, .show = 3 }, .workers = 1 };
    bool any = false;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (!argument(&o, argc, argv, &i)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (!o.options.blocks || !o.workers || o.workers > MAX_WORKERS || o.options.blocks > 64) {
        fputs("oracle: 1 to 64 blocks, 1 to 16 jobs\n", stderr);
        return 2;
    }
    if (o.recorded && !(o.options.recorded = oracle_answers_open(o.recorded))) {
        printf("oracle: %s holds no recorded answers\n", o.recorded);
        return 2;
    }
    if (o.table)
        return check_table();
    if (o.plant)
        return oracle_plants(&o.options);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') { /* options were read above: skip their values */
            struct oracle ignored = o;
            argument(&ignored, argc, argv, &i);
            continue;
        }
        any = true;
        if (!oracle_combine(&o.combos, argv[i], o.options.seed)) {
            printf("oracle: no row, combination, mnemonic or section '%s'\n", argv[i]);
            return 2;
        }
    }
    if (!any && !oracle_combine(&o.combos, NULL, o.options.seed))
        return 2;
    int status = run(&o);
    oracle_combos_fini(&o.combos);
    aw_vec_fini(&o.instances);
    return status;
}
