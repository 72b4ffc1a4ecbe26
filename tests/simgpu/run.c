/* simgpu-run: one kernel of one code object on a simulated card, without any runtime.  What --help says is what scripts rely
 * on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <hsa/hsa.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "object.h"
#include "sim.h"

/* Where things lie for the card, the same on every run. */
#define CODE_BASE 0x700000000000ull
#define KERNARG_BASE 0x710000000000ull
#define PACKET_BASE 0x720000000000ull
#define BUFFER_BASE 0x730000000000ull
#define BUFFER_ALIGN (2ull << 20)   /* and at least that much between two */
#define NODE 1u

enum { MAX_ARGS = 512, MAX_KERNARG = 1 << 16 };

struct buffer {
    uint8_t *host;      /* owned */
    size_t size;        /* bytes, as asked for */
    uint64_t gpu;
    const char *dump;   /* file, or NULL */
};

struct job {
    const char *card_name, *file, *kernel, *kernarg_file;
    bool stats, json, time, plain_hidden;
    uint32_t grid[3], block[3];
    uint32_t lds;       /* bytes of dynamic LDS */
    unsigned repeat;
    struct buffer buffers[MAX_ARGS];
    unsigned n_buffers;
    struct { unsigned index; const char *file; } dumps[MAX_ARGS];
    unsigned n_dumps;
    uint8_t kernarg[MAX_KERNARG];
    size_t kernarg_used;
    struct object object;
};

static const char help[] =
    "usage: simgpu-run [OPTION...] OBJECT KERNEL ARG...\n"
    "Runs one kernel of an AMD code object on a simulated card, without any runtime.\n"
    "\n"
    "  --card NAME        the card; without it the first of ANYWARP_SIM, or gfx1030\n"
    "  --grid X[,Y[,Z]]   blocks (default 1)\n"
    "  --block X[,Y[,Z]]  work-items of a block (default 1)\n"
    "  --lds N            bytes of LDS beyond what the kernel declares\n"
    "  --repeat N         runs it N times on the same memory; the statistics are sums\n"
    "  --kernarg FILE     the argument block itself, instead of ARGs\n"
    "  --no-hidden        leaves the hidden arguments zero\n"
    "  --dump N=FILE      writes the N-th buffer (from 0, in order of the ARGs) to FILE afterwards\n"
    "  --stats            prints statistics to standard error\n"
    "  --json             prints statistics and the kernel's shape to standard output, as one JSON object on one line\n"
    "  --time             prints instructions and processor time as --json does, without counting lines and bank conflicts (0 "
    "then)\n"
    "  --check race       looks for races and prints them to standard error\n"
    "  --help             this\n"
    "\n"
    "ARGs fill the argument block in order, each at its natural alignment:\n"
    "  i32:N u32:N i64:N u64:N i16:N i8:N f32:X f64:X   one number\n"
    "  bytes:HEX          a structure, aligned to 8\n"
    "  pad:N              goes on at offset N\n"
    "  buf:BYTES[=INIT]   memory of the card; its address is the argument.  INIT: zero (the default), iota32 (0, 1, 2, ...),\n"
    "                     byte:HEX (every byte), rand:SEED (32-bit words), frand:SEED (f32 from 0 up to 1), or else a file's "
    "name\n"
    "  hidden:HEX         bytes as they are, without alignment\n"
    "Hidden arguments that the code object's metadata names (block counts and sizes, remainders, dimensions, apertures) are "
    "filled in.\n"
    "\n"
    "Numbers: 10, 0x10, 4K, 16M, 1G.  Exit status: 0 the kernel ended, 1 bad usage or file, 2 it was stopped, one line\n"
    "says why, 3 races were found.\n"
    "\n"
    "JSON keys: kernel, card, end (done, fault, illegal, trap, stuck, bad-packet, stopped); sums over all launches: launches, "
    "waves,\n"
    "instructions, executed {class: count}, vector_lanes, vector_slots, loaded, stored, lines, scalar_loaded, lds_accesses,\n"
    "lds_conflicts, taken, nanoseconds, cpu_nanoseconds (processor time of all threads); of one: wave, vgprs, agprs, sgprs, "
    "sgpr_spills, vgpr_spills, lds_bytes, private_bytes,\n"
    "waves_per_block, blocks, resident, occupancy, occupancy_of.\n";

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("simgpu-run: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* ---- Numbers ---- */

static uint64_t number(const char *text, const char *what)
{
    char *end;
    errno = 0;
    uint64_t value = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    if (end == text || errno)
        die("%s: '%s' is no number", what, text);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        value <<= 10 * (unit - units + 1);
        end++;
    }
    if (*end)
        die("%s: '%s' is no number", what, text);
    return value;
}

static void three(const char *text, uint32_t to[3], const char *what)
{
    char copy[100];
    snprintf(copy, sizeof copy, "%s", text);
    char *save, *word = strtok_r(copy, ",", &save);
    to[0] = to[1] = to[2] = 1;
    for (int i = 0; word; i++, word = strtok_r(NULL, ",", &save)) {
        uint64_t value = number(word, what);
        if (i == 3 || !value || value > UINT32_MAX)
            die("%s: '%s' is no size of up to three dimensions", what, text);
        to[i] = (uint32_t)value;
    }
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- Arguments ---- */

static uint8_t *argument(struct job *j, size_t size, size_t align)
{
    size_t at = (j->kernarg_used + align - 1) / align * align;
    if (at + size > MAX_KERNARG)
        die("the arguments take more than %d bytes", MAX_KERNARG);
    j->kernarg_used = at + size;
    return j->kernarg + at;
}

static void argument_hex(struct job *j, const char *hex, size_t align)
{
    size_t n = strlen(hex);
    uint8_t *to = argument(j, n / 2, align);
    for (size_t i = 0; i + 1 < n && digit(hex[i]) >= 0 && digit(hex[i + 1]) >= 0; i += 2)
        *to++ = (uint8_t)(digit(hex[i]) << 4 | digit(hex[i + 1]));
    if (n % 2 || strspn(hex, "0123456789abcdefABCDEF") != n)
        die("'%s' is not an even number of hexadecimal digits", hex);
}

/* SplitMix64: the same sequence everywhere. */
static uint64_t random64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static void fill_from_file(struct buffer *b, const char *name)
{
    FILE *f = fopen(name, "rb");
    if (!f)
        die("%s cannot be opened", name);
    if (fread(b->host, 1, b->size, f) == 0 && ferror(f))
        die("%s cannot be read", name);
    fclose(f);
}

static void fill(struct buffer *b, const char *how)
{
    uint32_t *words = (uint32_t *)(void *)b->host;
    bool iota = !strcmp(how, "iota32"), any = !strncmp(how, "rand:", 5), fraction = !strncmp(how, "frand:", 6);
    if (!strcmp(how, "zero"))
        return;
    if (!strncmp(how, "byte:", 5)) {
        memset(b->host, (int)strtoul(how + 5, NULL, 16), b->size);
        return;
    }
    if (!iota && !any && !fraction) {
        fill_from_file(b, how);
        return;
    }
    uint64_t state = iota ? 0 : number(strchr(how, ':') + 1, how);
    for (size_t i = 0; i < b->size / 4; i++) {
        if (fraction) {
            float x = (float)(random64(&state) >> 40) * 0x1p-24f;
            memcpy(&words[i], &x, 4);
        } else {
            words[i] = iota ? (uint32_t)i : (uint32_t)(random64(&state) >> 32);
        }
    }
}

static void argument_buffer(struct job *j, const char *text)
{
    static uint64_t cursor = BUFFER_BASE;
    char size[32];
    const char *how = strchr(text, '=');
    snprintf(size, sizeof size, "%.*s", (int)(how ? how - text : (long)strlen(text)), text);
    if (j->n_buffers == MAX_ARGS)
        die("more than %d buffers", MAX_ARGS);
    struct buffer *b = &j->buffers[j->n_buffers++];
    b->size = number(size, "buf");
    size_t room = (b->size + 3) & ~(size_t)3;
    b->host = b->size ? calloc(1, room) : NULL;
    b->gpu = cursor;
    cursor += (room + 2 * BUFFER_ALIGN - 1) & ~(BUFFER_ALIGN - 1);
    if (!b->host || !sim_map_add(b->gpu, b->host, room, 1u << NODE))
        die("there is no memory for a buffer of %zu bytes", b->size);
    fill(b, how ? how + 1 : "zero");
    memcpy(argument(j, 8, 8), &b->gpu, 8);
}

static void argument_float(struct job *j, const char *text, size_t size)
{
    char *end;
    double wide = strtod(text, &end);
    float narrow = strtof(text, NULL);
    if (end == text || *end)
        die("'%s' is no number", text);
    memcpy(argument(j, size, size), size == 4 ? (void *)&narrow : (void *)&wide, size);
}

static void add_argument(struct job *j, const char *text)
{
    static const struct { const char *prefix; size_t size; } numbers[] = {
        { "i32:", 4 }, { "u32:", 4 }, { "i64:", 8 }, { "u64:", 8 }, { "i16:", 2 }, { "u16:", 2 }, { "i8:", 1 }, { "u8:", 1 },
    };
    const char *rest = strchr(text, ':');
    if (!rest++)
        die("'%s' is no argument: see --help", text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!strncmp(text, numbers[i].prefix, strlen(numbers[i].prefix))) {
            uint64_t value = number(rest, text);
            memcpy(argument(j, numbers[i].size, numbers[i].size), &value, numbers[i].size);
            return;
        }
    }
    if (!strncmp(text, "f32:", 4) || !strncmp(text, "f64:", 4))
        argument_float(j, rest, text[1] == '3' ? 4 : 8);
    else if (!strncmp(text, "buf:", 4))
        argument_buffer(j, rest);
    else if (!strncmp(text, "bytes:", 6))
        argument_hex(j, rest, 8);
    else if (!strncmp(text, "hidden:", 7))
        argument_hex(j, rest, 1);
    else if (!strncmp(text, "pad:", 4) && number(rest, text) >= j->kernarg_used && number(rest, text) <= MAX_KERNARG)
        j->kernarg_used = number(rest, text);
    else
        die("'%s' is no argument: see --help", text);
}

static void read_kernarg(struct job *j)
{
    FILE *f = fopen(j->kernarg_file, "rb");
    if (!f)
        die("%s cannot be opened", j->kernarg_file);
    j->kernarg_used = fread(j->kernarg, 1, MAX_KERNARG, f);
    fclose(f);
}

static void fill_hidden(struct job *j)
{
    struct object_launch l = { .lds = j->lds };
    memcpy(l.grid, j->grid, sizeof l.grid);
    memcpy(l.block, j->block, sizeof l.block);
    object_fill_hidden(&j->object, &l, j->kernarg, MAX_KERNARG);
}

/* ---- Output ---- */

static const char *const end_names[] = { "done", "fault", "illegal", "trap", "stuck", "bad-packet", "stopped" };

static void print_json(const struct job *j, const struct sim_card *card, const struct sim_shape *shape, const struct sim_stats *s,
                       enum sim_end end, uint64_t cpu)
{
    static const char *const classes[] = {
#define X(name, text) #name,
        SIM_CLASSES(X)
#undef X
    };
    uint64_t all = 0;
    for (int i = 0; i < SIM_CLASS_COUNT; i++)
        all += s->executed[i];
    printf("{\"kernel\":\"%s\",\"card\":\"%s\",\"end\":\"%s\"", j->kernel, card->name, end_names[end]);
    printf(",\"launches\":%" PRIu64 ",\"waves\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"executed\":{", s->launches, s->waves,
           all);
    for (int i = 0; i < SIM_CLASS_COUNT; i++)
        printf("%s\"%s\":%" PRIu64, i ? "," : "", classes[i], s->executed[i]);
    printf("},\"vector_lanes\":%" PRIu64 ",\"vector_slots\":%" PRIu64 ",\"loaded\":%" PRIu64 ",\"stored\":%" PRIu64
           ",\"lines\":%" PRIu64,
           s->vector_lanes, s->vector_slots, s->loaded, s->stored, s->lines);
    printf(",\"scalar_loaded\":%" PRIu64 ",\"lds_accesses\":%" PRIu64 ",\"lds_conflicts\":%" PRIu64 ",\"taken\":%" PRIu64
           ",\"nanoseconds\":%" PRIu64 ",\"cpu_nanoseconds\":%" PRIu64,
           s->scalar_loaded, s->lds_accesses, s->lds_conflicts, s->taken, s->nanoseconds, cpu);
    printf(",\"wave\":%u,\"vgprs\":%u,\"agprs\":%u,\"sgprs\":%u,\"sgpr_spills\":%u,\"vgpr_spills\":%u", shape->lanes,
           shape->vgprs, shape->agprs, j->object.sgprs, j->object.sgpr_spills, j->object.vgpr_spills);
    printf(",\"lds_bytes\":%u,\"private_bytes\":%u,\"waves_per_block\":%u,\"blocks\":%" PRIu64 ",\"resident\":%" PRIu64
           ",\"occupancy\":%u,\"occupancy_of\":%u}\n",
           shape->lds_bytes, shape->private_bytes, shape->waves_per_block, shape->blocks, shape->resident, shape->occupancy,
           shape->occupancy_of);
}

static void write_dumps(const struct job *j)
{
    for (unsigned i = 0; i < j->n_dumps; i++) {
        if (j->dumps[i].index >= j->n_buffers)
            die("--dump: there is no buffer %u", j->dumps[i].index);
        const struct buffer *b = &j->buffers[j->dumps[i].index];
        FILE *f = fopen(j->dumps[i].file, "wb");
        if (!f || fwrite(b->host, 1, b->size, f) != b->size || fclose(f))
            die("%s cannot be written", j->dumps[i].file);
    }
}

/* ---- The run ---- */

static hsa_kernel_dispatch_packet_t packet;

static struct sim_dispatch dispatch_of(struct job *j, const struct sim_card *card)
{
    struct sim_dispatch d = { .card = card, .node = NODE, .descriptor = j->object.descriptor,
                              .private_bytes = j->object.private_bytes,
                              .group_bytes = j->object.lds_bytes + j->lds, .kernarg = KERNARG_BASE, .packet = PACKET_BASE,
                              .name = j->kernel, .object = j->object.file, .object_size = j->object.file_size,
                              .object_base = j->object.base, .counts = j->stats || j->json };
    for (int i = 0; i < 3; i++) {
        uint64_t items = (uint64_t)j->grid[i] * j->block[i];
        if (items > UINT32_MAX || j->block[i] > UINT16_MAX)
            die("the grid has more than 2^32 work-items in one dimension");
        d.grid[i] = (uint32_t)items;
        d.group[i] = (uint16_t)j->block[i];
    }
    packet = (hsa_kernel_dispatch_packet_t){
        .header = HSA_PACKET_TYPE_KERNEL_DISPATCH, .setup = 3, .workgroup_size_x = d.group[0], .workgroup_size_y = d.group[1],
        .workgroup_size_z = d.group[2], .grid_size_x = d.grid[0], .grid_size_y = d.grid[1], .grid_size_z = d.grid[2],
        .private_segment_size = d.private_bytes, .group_segment_size = d.group_bytes, .kernel_object = d.descriptor,
        .kernarg_address = (void *)KERNARG_BASE,
    };
    return d;
}

/* What the process took of its processors so far. */
static uint64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int run(struct job *j, const struct sim_card *card)
{
    struct sim_dispatch d = dispatch_of(j, card);
    struct sim_report report;
    struct sim_shape shape;
    struct sim_stats total = { 0 }, one = { 0 };
    enum sim_end end = SIM_END_DONE;
    if (!sim_map_add(CODE_BASE, j->object.image, j->object.size, 1u << NODE) ||
        !sim_map_add(KERNARG_BASE, j->kernarg, MAX_KERNARG, 1u << NODE) ||
        !sim_map_add(PACKET_BASE, &packet, sizeof packet, 1u << NODE))
        die("the card's memory cannot be set up");
    if (!sim_dispatch_shape(&d, &shape, &report))
        die("%s", report.text);
    uint64_t begin = cpu_time();
    for (unsigned i = 0; i < j->repeat && end == SIM_END_DONE; i++) {
        end = sim_dispatch_count(&d, NULL, &report, &one);
        sim_stats_add(&total, &one);
    }
    uint64_t cpu = cpu_time() - begin;
    if (end != SIM_END_DONE)
        fprintf(stderr, "simgpu-run: %s\n", report.text);
    write_dumps(j);
    if (j->stats)
        sim_stats_print(2, false);
    if (j->json || j->time)
        print_json(j, card, &shape, &total, end, cpu);
    sim_race_summary();
    return end != SIM_END_DONE ? 2 : sim_race_count() ? 3 : 0;
}

static void add_dump(struct job *j, const char *text)
{
    const char *file = strchr(text, '=');
    char index[16];
    if (!file || j->n_dumps == MAX_ARGS)
        die("--dump: '%s' is not N=FILE", text);
    snprintf(index, sizeof index, "%.*s", (int)(file - text), text);
    j->dumps[j->n_dumps].index = (unsigned)number(index, "--dump");
    j->dumps[j->n_dumps++].file = file + 1;
}

static void options(struct job *j, int argc, char **argv)
{
    enum { CARD = 256, GRID, BLOCK, LDS, REPEAT, KERNARG, NO_HIDDEN, DUMP, STATS, JSON, TIME, CHECK, HELP };
    static const struct option known[] = {
        { "card", 1, NULL, CARD }, { "grid", 1, NULL, GRID }, { "block", 1, NULL, BLOCK }, { "lds", 1, NULL, LDS },
        { "repeat", 1, NULL, REPEAT },       { "kernarg", 1, NULL, KERNARG },
        { "no-hidden", 0, NULL, NO_HIDDEN }, { "dump", 1, NULL, DUMP },
        { "stats", 0, NULL, STATS }, { "json", 0, NULL, JSON }, { "time", 0, NULL, TIME },
        { "check", 1, NULL, CHECK }, { "help", 0, NULL, HELP }, { 0 },
    };
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case CARD: j->card_name = optarg; break;
        case GRID: three(optarg, j->grid, "--grid"); break;
        case BLOCK: three(optarg, j->block, "--block"); break;
        case LDS: j->lds = (uint32_t)number(optarg, "--lds"); break;
        case REPEAT: j->repeat = (unsigned)number(optarg, "--repeat"); break;
        case KERNARG: j->kernarg_file = optarg; break;
        case NO_HIDDEN: j->plain_hidden = true; break;
        case DUMP: add_dump(j, optarg); break;
        case STATS: j->stats = true; break;
        case JSON: j->json = true; break;
        case TIME: j->time = true; break;
        case CHECK: setenv("ANYWARP_SIM_CHECK", optarg, 1); break;
        case HELP: fputs(help, stdout); exit(0);
        default: fputs("simgpu-run: see --help\n", stderr); exit(1);
        }
    }
    if (argc - optind < 2)
        die("an object and a kernel must be named: see --help");
    j->file = argv[optind++];
    j->kernel = argv[optind++];
}

int main(int argc, char **argv)
{
    static struct job job = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .repeat = 1 };
    char problem[200];
    options(&job, argc, argv);
    if (job.stats)
        setenv("ANYWARP_SIM_STATS", "1", 1); /* so that launches are recorded by name */
    if (sim_settings()->problem[0])
        die("%s", sim_settings()->problem);
    const struct sim_card *card = job.card_name ? sim_card_find(job.card_name) : sim_settings()->cards[0];
    if (!card)
        die("no card %s is simulated", job.card_name);
    for (int i = optind; i < argc; i++)
        add_argument(&job, argv[i]);
    if (job.kernarg_file)
        read_kernarg(&job);
    if (!object_load(&job.object, job.file, job.kernel, CODE_BASE, problem, sizeof problem))
        die("%s: %s", job.file, problem);
    if (!job.plain_hidden && !job.kernarg_file)
        fill_hidden(&job);
    int status = run(&job, card);
    object_fini(&job.object);
    for (unsigned i = 0; i < job.n_buffers; i++)
        free(job.buffers[i].host);
    return status;
}
