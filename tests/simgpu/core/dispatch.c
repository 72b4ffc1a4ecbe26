/* A kernel's launch: its descriptor, what it takes of the card, and the state each wave of a block begins with (AMDGPU's HSA
 * ABI).  Who runs when is core/schedule.c; what an instruction does is isa/. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lines.h"
#include "run.h"

/* What the registers and LDS of a new wave hold: hardware leaves the last user's values, so nothing a program may use. */
#define POISON 0xdeadbeefu
/* Of every wave's private memory, in flat_scratch and buffer descriptors: 48 bits, and no address of a user process. */
#define SCRATCH_BASE 0x0000800000000000ull
#define MAX_GROUP 1024u

/* Bits of a descriptor's properties: which user SGPRs, in this order. */
enum { PRIVATE_BUFFER = 1, DISPATCH_PTR = 2, QUEUE_PTR = 4, KERNARG_PTR = 8, DISPATCH_ID = 16, FLAT_SCRATCH_INIT = 32,
       PRIVATE_SIZE = 64,
       COUNT_X = 128 /* and Y, Z: the legacy header only */, WAVE32 = 1 << 10 };

/* ---- The descriptor ---- */

static uint32_t word_at(const uint8_t *p, unsigned offset)
{
    uint32_t word;
    memcpy(&word, p + offset, sizeof word);
    return word;
}

/* The header before code object version 3 begins with its version and the machine's kind; the words used here lie at the same
 * places. */
static bool is_legacy(const uint8_t *p, const struct sim_card *card)
{
    return word_at(p, 0) == 1 && word_at(p, 8) == (1u | (uint32_t)card->major << 16);
}

static bool fail(struct sim_report *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct sim_report *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ret->text, sizeof ret->text, fmt, ap);
    va_end(ap);
    return false;
}

static bool kernel_read(const struct sim_dispatch *d, struct sim_kernel *k, struct sim_report *ret)
{
    const struct sim_card *card = d->card;
    struct sim_view view = { .node = d->node };
    const uint8_t *p = sim_at(&view, d->descriptor, 64);
    if (!p)
        return fail(ret, "the kernel descriptor at %#" PRIx64 " is not mapped", d->descriptor);
    uint64_t entry;
    memcpy(&entry, p + 16, sizeof entry);
    bool legacy = is_legacy(p, card);
    *k = (struct sim_kernel){ .entry = d->descriptor + entry, .rsrc1 = word_at(p, 48), .rsrc2 = word_at(p, 52),
                              .rsrc3 = legacy ? 0 : word_at(p, 44), .properties = (uint16_t)word_at(p, 56) };
    k->user_sgprs = k->rsrc2 >> 1 & 31;
    k->lanes = card->wave32 && k->properties & WAVE32 ? 32 : 64;
    if (!legacy && card->major == 9 && card->packed_ids) { /* gfx90a and later of gfx9 */
        unsigned preload = word_at(p, 56) >> 16;
        k->preload = preload & 127;
        k->preload_offset = preload >> 7;
        if (k->preload)
            k->entry += 256; /* past the code that loads them for firmware that does not */
    }
    bool unified = card->agprs && card->packed_ids; /* one file for both kinds of vector registers */
    unsigned granule = k->lanes == 32 || unified ? 8 : 4;
    k->vgprs = ((k->rsrc1 & 63) + 1) * granule;
    if (unified) {
        unsigned all = k->vgprs, offset = ((k->rsrc3 & 63) + 1) * 4;
        k->vgprs = offset < all ? offset : all;
        k->agprs = all - k->vgprs;
    } else if (card->agprs) {
        k->agprs = k->vgprs;
    }
    if (k->vgprs > 256)
        k->vgprs = 256;
    if (k->agprs > 256)
        k->agprs = 256;
    if (!sim_at(&view, k->entry, 4))
        return fail(ret, "the kernel's code at %#" PRIx64 " is not mapped", k->entry);
    return true;
}

/* ---- What it takes ---- */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned round_up(unsigned x, unsigned to)
{
    return (x + to - 1) / to * to;
}

static void occupancy(const struct sim_card *card, const struct sim_kernel *k, struct sim_shape *shape)
{
    bool unified = card->agprs && card->packed_ids;
    unsigned regs = unified ? k->vgprs + k->agprs : k->vgprs;
    unsigned room = card->vgprs_per_simd_lane;
    unsigned granule = unified ? 8 : 4;
    if (card->wave32) { /* a register of a wave64 is two of a lane's */
        granule = card->minor >= 3 || card->major > 10 ? 16 : 8;
        if (k->lanes == 64)
            room /= 2, granule /= 2;
    }
    unsigned by_regs = room / round_up(regs, granule);
    unsigned waves = least(card->waves_per_simd, by_regs ? by_regs : 1);
    unsigned slots = waves * card->simds_per_cu; /* of a CU */
    unsigned blocks = slots / shape->waves_per_block;
    if (shape->lds_bytes)
        blocks = least(blocks, card->lds_bytes / round_up(shape->lds_bytes, 512));
    if (!blocks)
        blocks = 1; /* one block always runs, over two CUs' SIMDs when it must */
    unsigned per_simd = (blocks * shape->waves_per_block + card->simds_per_cu - 1) / card->simds_per_cu;
    shape->occupancy = least(per_simd ? per_simd : 1, waves);
    shape->occupancy_of = card->waves_per_simd;
    shape->resident = (uint64_t)blocks * card->cus;
}

static bool shape_of(const struct sim_dispatch *d, struct sim_kernel *k, struct sim_shape *shape, uint32_t count[3],
                     struct sim_report *ret)
{
    memset(ret, 0, sizeof *ret);
    if (!kernel_read(d, k, ret))
        return false;
    uint64_t items = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (!d->grid[i] || !d->group[i])
            return fail(ret, "the grid or the block has a size of 0 in dimension %d", i);
        items *= d->group[i];
        count[i] = (uint32_t)(((uint64_t)d->grid[i] + d->group[i] - 1) / d->group[i]);
        if (__builtin_mul_overflow(blocks, (uint64_t)count[i], &blocks))
            return fail(ret, "the grid has more than 2^64 blocks");
    }
    if (items > MAX_GROUP)
        return fail(ret, "a block of %" PRIu64 " work-items is larger than 1024", items);
    if (d->group_bytes > d->card->lds_bytes)
        return fail(ret, "a block needs %u bytes of LDS, more than the card has", d->group_bytes);
    *shape = (struct sim_shape){ .lanes = k->lanes, .vgprs = k->vgprs, .agprs = k->agprs, .lds_bytes = d->group_bytes,
                                 .private_bytes = d->private_bytes, .blocks = blocks,
                                 .waves_per_block = (unsigned)((items + k->lanes - 1) / k->lanes) };
    occupancy(d->card, k, shape);
    return true;
}

bool sim_dispatch_shape(const struct sim_dispatch *dispatch, struct sim_shape *ret_shape, struct sim_report *ret_report)
{
    struct sim_kernel kernel;
    uint32_t count[3];
    return shape_of(dispatch, &kernel, ret_shape, count, ret_report);
}

/* ---- Blocks ---- */

static bool grow(void *memory, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return true;
    void **p = memory, *fresh = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!fresh)
        return false;
    free(*p);
    *p = fresh;
    *room = bytes;
    return true;
}

static size_t scratch_per_lane(const struct sim_run *run)
{
    return ((size_t)run->shape.private_bytes + 15) & ~(size_t)15;
}

/* Makes room for a block of `run`; false when memory is short. */
bool sim_block_reserve(struct sim_block *b, const struct sim_run *run)
{
    size_t waves = run->shape.waves_per_block, lanes = run->shape.lanes;
    size_t registers = waves * lanes * (run->shape.vgprs + run->shape.agprs) * sizeof(uint32_t);
    if (!grow(&b->waves, &b->wave_room, waves * sizeof *b->waves) || !grow(&b->registers, &b->register_room, registers) ||
        !grow(&b->lds, &b->lds_room, run->shape.lds_bytes + 64) ||
        !grow(&b->scratch, &b->scratch_room, waves * lanes * scratch_per_lane(run) + 64))
        return false;
    memset(b->waves, 0, waves * sizeof *b->waves);
    return true;
}

static uint32_t *put64(uint32_t *s, uint64_t value)
{
    *s++ = (uint32_t)value;
    *s++ = (uint32_t)(value >> 32);
    return s;
}

/* GFX10's and gfx9's description of private memory: swizzled by lane, no end. */
static uint32_t *put_private_buffer(uint32_t *s, const struct sim_card *card)
{
    s = put64(s, SCRATCH_BASE | 1ull << 63);
    *s++ = 0xffffffff;
    *s++ = card->major >= 10 ? 0x31014fac : 0x00ea7fac;
    return s;
}

/* Private memory is described by the hardware itself, with no SGPRs for it. */
static bool architected_scratch(const struct sim_card *card)
{
    return card->major >= 11 || (card->major == 9 && card->minor == 4);
}

static void put_user_sgprs(struct sim_wave *w, const struct sim_run *run)
{
    const struct sim_kernel *k = &run->kernel;
    const struct sim_dispatch *d = run->dispatch;
    uint32_t *s = w->s;
    if (k->properties & PRIVATE_BUFFER)
        s = put_private_buffer(s, d->card);
    if (k->properties & DISPATCH_PTR)
        s = put64(s, d->packet);
    if (k->properties & QUEUE_PTR)
        s = put64(s, d->queue);
    if (k->properties & KERNARG_PTR)
        s = put64(s, d->kernarg);
    if (k->properties & DISPATCH_ID)
        s = put64(s, d->id);
    if (k->properties & FLAT_SCRATCH_INIT)
        s = put64(s, SCRATCH_BASE);
    if (k->properties & PRIVATE_SIZE)
        *s++ = d->private_bytes;
    for (unsigned i = 0; i < 3; i++)
        if (k->properties & COUNT_X << i)
            *s++ = run->count[i];
    const uint32_t *from = k->preload ? sim_at(&w->data[2], d->kernarg + k->preload_offset * 4ull, k->preload * 4ull) : NULL;
    for (unsigned i = 0; from && i < k->preload && s < w->s + SIM_FLAT_SCRATCH; i++)
        *s++ = from[i];
}

static void put_system_sgprs(struct sim_wave *w, const struct sim_run *run)
{
    const struct sim_card *card = run->dispatch->card;
    const uint32_t *id = w->group->id;
    uint32_t rsrc2 = run->kernel.rsrc2, *s = w->s + run->kernel.user_sgprs;
    if (card->major >= 12) { /* in ttmp9 and ttmp7 */
        w->s[SIM_TTMP + 9] = id[0];
        w->s[SIM_TTMP + 7] = (id[1] & 0xffff) | id[2] << 16;
        w->s[SIM_TTMP + 8] = w->index << 25; /* bits 29:25: the wave's number in the block */
    } else {
        for (unsigned i = 0; i < 3; i++)
            if (rsrc2 >> (7 + i) & 1)
                *s++ = id[i];
    }
    if (rsrc2 >> 10 & 1)
        *s++ = (uint32_t)(w->index == 0) << 31 | w->group->n_waves;
    if (rsrc2 & 1 && !architected_scratch(card))
        *s++ = 0; /* the wave's offset: SCRATCH_BASE is the wave's own already */
}

/* Work-item ids and the lanes that have one; `size` is the block's, smaller at the grid's end. */
static void put_lanes(struct sim_wave *w, const struct sim_run *run, const uint32_t size[3])
{
    uint32_t items = size[0] * size[1] * size[2], first = w->index * w->lanes;
    uint32_t here = items - first < w->lanes ? items - first : w->lanes;
    sim_set_exec(w, here == 64 ? ~0ull : (1ull << here) - 1);
    unsigned ids = run->kernel.rsrc2 >> 11 & 3;
    uint32_t x = first % size[0], y = first / size[0] % size[1], z = first / size[0] / size[1];
    if (size[1] == 1 && size[2] == 1 && (ids == 0 || run->dispatch->card->packed_ids)) { /* the most common kind, quickly */
        for (unsigned l = 0; l < here; l++)
            w->v[l] = first + l;
        return;
    }
    for (unsigned l = 0; l < here; l++) {
        if (run->dispatch->card->packed_ids) {
            w->v[l] = x | y << 10 | z << 20;
        } else {
            w->v[l] = x;
            if (ids >= 1 && run->kernel.vgprs > 1)
                w->v[w->lanes + l] = y;
            if (ids >= 2 && run->kernel.vgprs > 2)
                w->v[2 * w->lanes + l] = z;
        }
        if (++x == size[0]) {
            x = 0;
            if (++y == size[1])
                y = 0, z++;
        }
    }
}

static void poison(uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = POISON;
}

/* Where the wave would run: blocks go round the CUs, a block's waves round their SIMDs. */
static uint32_t hardware_id(const struct sim_card *card, uint64_t block, unsigned wave)
{
    uint32_t cu = (uint32_t)(block % card->cus), simd = wave % card->simds_per_cu,
             slot = wave / card->simds_per_cu % card->waves_per_simd;
    if (card->major == 9)
        return slot | simd << 4 | (cu & 15) << 8 | (cu >> 4 & 7) << 13;
    /* Two CUs are a workgroup processor. */
    return slot | ((cu & 1) * card->simds_per_cu + simd) << 8 | (cu >> 1 & 15) << 10 | (cu >> 5 & 3) << 18;
}

static void wave_start(struct sim_wave *w, struct sim_block *b, struct sim_run *run, uint64_t block, unsigned index,
                       const uint32_t size[3])
{
    const struct sim_kernel *k = &run->kernel;
    size_t lanes = k->lanes, registers = lanes * (k->vgprs + k->agprs);
    w->next = NULL;
    w->pc = k->entry;
    w->lanes = k->lanes;
    w->n_vgprs = k->vgprs;
    w->v = b->registers + index * registers;
    w->a = k->agprs ? w->v + lanes * k->vgprs : NULL;
    w->card = run->dispatch->card;
    w->group = &b->group;
    w->index = index;
    w->scratch_bytes = (uint32_t)scratch_per_lane(run);
    w->scratch = b->scratch + index * lanes * w->scratch_bytes;
    w->scratch_base = w->flat_scratch = SCRATCH_BASE;
    w->hw_id = hardware_id(w->card, block, index);
    w->code.node = w->data[0].node = w->data[1].node = w->data[2].node = run->node;
    w->state = SIM_RUNNING;
    w->watch = NULL;
    w->counts = run->dispatch->counts || sim_settings()->stats;
    w->scc = 0;
    w->clock = 0;
    w->mode = k->rsrc1 >> 12 & 0xff;
    if (w->card->major >= 12) /* as if dx10_clamp were set and ieee not; the bits mean something else */
        w->mode |= 1u << 8;
    else
        w->mode |= (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9;
    w->signal = SIM_NOT_SIGNALLED;
    poison(w->s, SIM_SGPRS);
    poison(w->v, registers);
    put64(&w->s[SIM_FLAT_SCRATCH], SCRATCH_BASE);
    put_user_sgprs(w, run);
    put_system_sgprs(w, run);
    put_lanes(w, run, size);
    w->stats.waves++;
}

/* Puts the index-th block of the grid, x fastest, into `b`, which has the room. */
void sim_block_start(struct sim_block *b, struct sim_run *run, uint64_t index)
{
    const struct sim_dispatch *d = run->dispatch;
    uint32_t size[3], items = 1;
    b->group.id[0] = (uint32_t)(index % run->count[0]);
    b->group.id[1] = (uint32_t)(index / run->count[0] % run->count[1]);
    b->group.id[2] = (uint32_t)(index / run->count[0] / run->count[1]);
    for (int i = 0; i < 3; i++) {
        uint32_t begin = b->group.id[i] * (uint32_t)d->group[i];
        size[i] = d->grid[i] - begin < d->group[i] ? d->grid[i] - begin : d->group[i];
        items *= size[i];
    }
    b->group.run = run;
    b->group.lds = b->lds;
    b->group.lds_size = run->shape.lds_bytes;
    b->group.waves = b->waves;
    b->group.n_waves = (items + run->shape.lanes - 1) / run->shape.lanes;
    poison((uint32_t *)(void *)b->lds, (run->shape.lds_bytes + 3) / 4);
    for (unsigned i = 0; i < b->group.n_waves; i++)
        wave_start(&b->waves[i], b, run, index, i, size);
    sim_race_block(&b->group, index);
}

/* Adds what the first `n_waves` waves of `b` executed since it was reserved. */
void sim_block_collect(struct sim_block *b, unsigned n_waves, struct sim_stats *to)
{
    for (unsigned i = 0; i < n_waves; i++)
        sim_stats_add(to, &b->waves[i].stats);
}

/* ---- A launch ---- */

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *kernel_name(const struct sim_dispatch *d, char *buffer, size_t size)
{
    if (d->name)
        return d->name;
    sim_kernel_name(d->node, d->descriptor, buffer, size);
    return buffer;
}

/* Adds to the report's line which kernel it was, and which line of it. */
static void name_report(const struct sim_dispatch *d, struct sim_report *report)
{
    char name[256], place[540];
    size_t used = strlen(report->text);
    if (report->pc && sim_lines_find(d, report->pc, place, sizeof place))
        used += (size_t)snprintf(report->text + used, sizeof report->text - used, ", %s", place);
    if (used >= sizeof report->text)
        return;
    snprintf(report->text + used, sizeof report->text - used, " (kernel %s on %s)", kernel_name(d, name, sizeof name),
             d->card->name);
}

enum sim_end sim_dispatch_count(const struct sim_dispatch *dispatch, const _Atomic bool *stop, struct sim_report *ret_report,
                                struct sim_stats *ret_stats)
{
    struct sim_run run = { .dispatch = dispatch, .node = dispatch->node, .stop = stop };
    struct sim_report report;
    if (!shape_of(dispatch, &run.kernel, &run.shape, run.count, &report)) {
        name_report(dispatch, &report);
        *ret_report = report;
        return SIM_END_BAD_PACKET;
    }
    uint64_t begin = now();
    sim_decode_epoch();
    if (!sim_race_begin(&run))
        sim_say("no memory to look for races in this launch");
    sim_run_all(&run);
    sim_race_end(&run);
    run.stats.launches = 1;
    run.stats.occupancy = run.shape.occupancy;
    run.stats.occupancy_of = run.shape.occupancy_of;
    run.stats.nanoseconds = now() - begin;
    if (sim_settings()->stats) {
        char name[256];
        sim_stats_record(kernel_name(dispatch, name, sizeof name), &run.stats);
    }
    if (ret_stats)
        *ret_stats = run.stats;
    if (run.end != SIM_END_DONE) {
        name_report(dispatch, &run.report);
        *ret_report = run.report;
    }
    return run.end;
}

enum sim_end sim_dispatch_run(const struct sim_dispatch *dispatch, const _Atomic bool *stop, struct sim_report *ret_report)
{
    return sim_dispatch_count(dispatch, stop, ret_report, NULL);
}
