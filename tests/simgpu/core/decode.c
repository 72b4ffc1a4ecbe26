/* Code -> struct sim_inst, decoded once by LLVM's disassembler and kept per address; the hash of all rows by name.
 *
 * A decoder serves one kind of card and one wave size.  It keeps decoded instructions in chunks of an address page, found without
 * a lock; an instruction keeps its place for good, so what points to it (the one before, branches) stays right.  Code memory is
 * reused for other code: in each epoch (a launch begins one) an instruction's bytes are compared with memory when it is first
 * executed, and other bytes are decoded into the same place.  What a text means is core/parse.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "decode.h"

enum { CHUNK_BYTES = 4096, BUCKETS = 4096, ROW_SLOTS = 1 << 14, SPLAT_SLOTS = 1024 };

/* ---- Rows by name ---- */

static const struct sim_table *const tables[] = { &sim_salu, &sim_control, &sim_valu_int, &sim_valu_float, &sim_valu_half,
                                                  &sim_valu_cmp,
                                                  &sim_valu_lane, &sim_valu_matrix, &sim_smem, &sim_vmem, &sim_buffer, &sim_lds,
                                                  &sim_image,
                                                  &sim_salu_float, &sim_valu_wmma };
static const struct sim_op *row_slots[ROW_SLOTS];
static char row_problem[200];
static pthread_once_t row_once = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *name, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t k = 0; k < length; k++)
        h = (h ^ (uint8_t)name[k]) * 16777619u;
    return h;
}

static bool same_card(unsigned a, unsigned b)
{
    return !a || !b || (a & b);
}

/* "b=bb?", "m=*": known letters, at most one '=', '?' or '*' at the end. */
static bool signature_ok(const char *sig)
{
    size_t n = strspn(sig, "bfhwkqdpPFmsSo");
    if (sig[n] == '=')
        n += 1 + strspn(sig + n + 1, "bfhwkqdpPFmsSo");
    return !sig[n] || ((sig[n] == '?' || sig[n] == '*') && !sig[n + 1]);
}

static void add_row(const struct sim_op *op)
{
    size_t at = hash(op->name, strlen(op->name)) % ROW_SLOTS;
    for (; row_slots[at]; at = (at + 1) % ROW_SLOTS)
        if (strcmp(row_slots[at]->name, op->name) == 0 && same_card(row_slots[at]->cards, op->cards) && !row_problem[0])
            snprintf(row_problem, sizeof row_problem, "two rows for %s", op->name);
    row_slots[at] = op;
    if (!signature_ok(op->sig) && !row_problem[0])
        snprintf(row_problem, sizeof row_problem, "%s has the signature '%s'", op->name, op->sig);
}

static void add_rows(void)
{
    size_t count = 0;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        count += tables[t]->count;
    if (count > ROW_SLOTS / 2) {
        snprintf(row_problem, sizeof row_problem, "%zu rows are too many for ROW_SLOTS", count);
        return;
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t k = 0; k < tables[t]->count; k++)
            add_row(&tables[t]->ops[k]);
}

static unsigned generation_of(const struct sim_card *card)
{
    return card->major == 9 ? SIM_GFX9 : card->major == 10 ? SIM_GFX10 : card->major == 11 ? SIM_GFX11 : SIM_GFX12;
}

const struct sim_op *sim_op_find(const char *name, size_t length, const struct sim_card *card)
{
    pthread_once(&row_once, add_rows);
    for (size_t at = hash(name, length) % ROW_SLOTS; row_slots[at]; at = (at + 1) % ROW_SLOTS)
        if (strncmp(row_slots[at]->name, name, length) == 0 && !row_slots[at]->name[length] &&
            same_card(row_slots[at]->cards, generation_of(card)))
            return row_slots[at];
    return NULL;
}

const struct sim_op *sim_op_at(size_t n)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; n -= tables[t++]->count)
        if (n < tables[t]->count)
            return &tables[t]->ops[n];
    return NULL;
}

const char *sim_op_problem(void)
{
    pthread_once(&row_once, add_rows);
    return row_problem[0] ? row_problem : NULL;
}

/* ---- Constants' lanes ---- */

struct splat {
    struct splat *next;
    uint64_t bits;
    uint32_t lanes[128];
};
static struct splat *splats[SPLAT_SLOTS];
static pthread_mutex_t splat_lock = PTHREAD_MUTEX_INITIALIZER;

const uint32_t *sim_splat(uint64_t bits)
{
    struct splat **bucket = &splats[(bits * 0x9e3779b97f4a7c15u) >> 54], *s;
    _Static_assert(SPLAT_SLOTS == 1 << (64 - 54), "the hash has as many values as there are slots");
    pthread_mutex_lock(&splat_lock);
    for (s = *bucket; s && s->bits != bits; s = s->next)
        ;
    if (!s && (s = malloc(sizeof *s))) {
        s->bits = bits;
        for (int l = 0; l < 64; l++) {
            s->lanes[l] = (uint32_t)bits;
            s->lanes[64 + l] = (uint32_t)(bits >> 32);
        }
        s->next = *bucket;
        *bucket = s;
    }
    pthread_mutex_unlock(&splat_lock);
    return s ? s->lanes : NULL;
}

/* ---- Decoders ---- */

struct chunk {
    struct chunk *next;
    uint64_t base;
    struct sim_inst *_Atomic slot[CHUNK_BYTES / 4];
};

struct sim_decoder {
    struct sim_decoder *next;
    const struct sim_card *card;
    unsigned lanes;
    pthread_mutex_t lock;           /* of the disassembler and of all changes */
    LLVMDisasmContextRef llvm;
    struct chunk *_Atomic bucket[BUCKETS]; /* chains only grow */
};

static struct sim_decoder *decoders;
static pthread_mutex_t decoders_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t epoch = 1;

void sim_decode_epoch(void)
{
    atomic_fetch_add(&epoch, 1);
}

uint32_t sim_decode_now(void)
{
    return atomic_load_explicit(&epoch, memory_order_acquire);
}

static struct sim_decoder *make_decoder(const struct sim_card *card, unsigned lanes)
{
    struct sim_decoder *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const char *features = !card->wave32 ? ""
                           : lanes == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                         : "+wavefrontsize64,-wavefrontsize32";
    d->llvm = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", card->name, features, NULL, 0, NULL, NULL);
    if (!d->llvm) {
        free(d);
        return NULL;
    }
    d->card = card;
    d->lanes = lanes;
    pthread_mutex_init(&d->lock, NULL);
    d->next = decoders;
    decoders = d;
    return d;
}

static struct sim_decoder *find_decoder(const struct sim_card *card, unsigned lanes)
{
    pthread_mutex_lock(&decoders_lock);
    struct sim_decoder *d = decoders;
    while (d && (d->card != card || d->lanes != lanes))
        d = d->next;
    if (!d)
        d = make_decoder(card, lanes);
    pthread_mutex_unlock(&decoders_lock);
    return d;
}

static void run_illegal(struct sim_wave *w, const struct sim_inst *i)
{
    sim_illegal(w, i, i->why ? i->why : "no memory to say why");
}

static const struct sim_op illegal_row = { "illegal", "*", run_illegal, SIM_OTHER, 0 };

/* Bytes of code that can be read at `pc`, at most `most`. */
static size_t readable(struct sim_wave *w, uint64_t pc, size_t most, const uint8_t **ret)
{
    for (; most; most -= 4)
        if ((*ret = sim_at(&w->code, pc, most)))
            return most;
    return 0;
}

/* What the loop over instructions wants to know of the row. */
static void set_row(struct sim_inst *i, const struct sim_op *op)
{
    const uint32_t scalar = 1u << SIM_SALU | 1u << SIM_SMEM | 1u << SIM_BRANCH | 1u << SIM_BARRIER | 1u << SIM_WAIT |
                            1u << SIM_OTHER;
    i->op = op;
    i->run = op->run;
    i->cls = op->cls;
    i->slots = scalar >> op->cls & 1 ? 0 : i->wave;
}

static void make_illegal(struct sim_inst *i, const char *why)
{
    set_row(i, &illegal_row);
    i->n = i->n_results = 0;
    i->vgprs = i->agprs = 0;
    i->why = strdup(why);
    i->self = i;
}

/* What rows cannot check: operands that name what no row here reads. */
static const char *unsupported(const struct sim_inst *i)
{
    for (unsigned k = 0; k < i->n; k++)
        if (i->o[k].kind == SIM_SPECIAL && (i->o[k].reg == SIM_POPS_ID || i->o[k].reg == SIM_LDS_DIRECT))
            return "this source is not simulated";
    return NULL;
}

static uint32_t word_of(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Is the result a scalar register, and its number the one that means a literal?  Of comparisons, v_readlane and
 * v_readfirstlane. */
static bool literal_result(const struct sim_card *card, uint32_t first)
{
    uint32_t vop3 = card->major == 9 ? 0x34 : 0x35, readlane = card->major == 9 ? 0x289 : 0x360, op = first >> 16 & 0x3ff;
    if (first >> 26 == vop3)
        return (first & 0xff) == 0xff && (op < 0x100 || op == readlane);
    return first >> 25 == 0x3f && (first >> 9 & 0xff) == 2 && (first >> 17 & 0xff) == 0xff;
}

/* What LLVM (22 at least) takes to be impossible, and crashes on: an SDWA selection that does not exist; a literal where the
 * encoding has none, as a result, a buffer's offset and in VOP3 of gfx9.  `code` has at least 8 bytes. */
static bool breaks_llvm(const struct sim_card *card, const uint8_t *code)
{
    uint32_t first = word_of(code), second = word_of(code + 4);
    if (literal_result(card, first))
        return true;
    if (first >> 26 == 0x38 || first >> 26 == 0x3a)
        return second >> 24 == 0xff;
    if (first >> 26 == 0x34 && card->major == 9)
        return (second & 0x1ff) == 0xff || (second >> 9 & 0x1ff) == 0xff || (second >> 18 & 0x1ff) == 0xff;
    if (first >> 31 || (first & 0x1ff) != 0xf9)
        return false;
    bool compare = first >> 25 == 0x3e; /* has a scalar register in place of the result's selection */
    return (!compare && ((second >> 8 & 7) == 7 || (second >> 11 & 3) == 3)) || (second >> 16 & 7) == 7 ||
           (second >> 24 & 7) == 7;
}

/* With the decoder's lock held: makes `i` what the bytes at `pc` are. */
static void decode_into(struct sim_decoder *d, struct sim_inst *i, uint64_t pc, const uint8_t *code, size_t bytes)
{
    char text[512], why[256];
    uint8_t copy[sizeof i->bytes] = { 0 }; /* whole: a literal that is not there is one more thing that LLVM crashes on */
    memcpy(copy, code, bytes);
    size_t size = breaks_llvm(d->card, copy) ? 0 : LLVMDisasmInstruction(d->llvm, copy, sizeof copy, pc, text, sizeof text);
    if (!size && d->card->major >= 10 && copy[3] >> 2 == 0x35 && !copy[0]) {
        /* VOP3's v_cmpx names EXEC as its result; LLVM before 16 left 0 there, which hardware does not look at and LLVM now
         * refuses. */
        copy[0] = SIM_EXEC;
        size = LLVMDisasmInstruction(d->llvm, copy, sizeof copy, pc, text, sizeof text);
        copy[0] = 0;
    }
    if (size > bytes)
        size = 0;
    free((char *)i->why);
    sim_parse_free(i);
    memset(i, 0, sizeof *i);
    i->pc = pc;
    i->wave = (uint8_t)d->lanes;
    i->size = (uint8_t)(size ? size : 4);
    memcpy(i->bytes, copy, i->size);
    if (!size) {
        snprintf(i->text, sizeof i->text, ".long 0x%08x", word_of(copy));
        make_illegal(i, "these bytes are no instruction");
        return;
    }
    char *from = text + strspn(text, "\t ");
    for (char *p = from; *p; p++)
        if (*p == '\t')
            *p = ' ';
    snprintf(i->text, sizeof i->text, "%s", from);
    if (strstr(from, "/*") || strchr(from, ';')) { /* LLVM's words on what is wrong with it */
        make_illegal(i, "the encoding is malformed");
        return;
    }
    bool ok = sim_parse(i, from, d->card, why, sizeof why);
    const char *not_ours = ok ? unsupported(i) : why;
    if (not_ours)
        make_illegal(i, not_ours);
    else
        set_row(i, i->op);
}

static struct chunk *find_chunk(struct sim_decoder *d, uint64_t base)
{
    struct chunk *c = atomic_load_explicit(&d->bucket[base / CHUNK_BYTES % BUCKETS], memory_order_acquire);
    while (c && c->base != base)
        c = c->next;
    return c;
}

/* With the decoder's lock held. */
static struct chunk *make_chunk(struct sim_decoder *d, uint64_t base)
{
    struct chunk *c = find_chunk(d, base);
    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    c->base = base;
    c->next = atomic_load(&d->bucket[base / CHUNK_BYTES % BUCKETS]);
    atomic_store_explicit(&d->bucket[base / CHUNK_BYTES % BUCKETS], c, memory_order_release);
    return c;
}

/* With the decoder's lock held: the instruction's place, new if need be; NULL when memory is short. */
static struct sim_inst *place(struct sim_decoder *d, uint64_t pc)
{
    struct chunk *c = make_chunk(d, pc & ~(uint64_t)(CHUNK_BYTES - 1));
    if (!c)
        return NULL;
    struct sim_inst *i = atomic_load(&c->slot[pc % CHUNK_BYTES / 4]);
    if (i || !(i = aligned_alloc(64, (sizeof *i + 63) & ~(size_t)63)))
        return i;
    memset(i, 0, sizeof *i);
    return i;
}

static void publish(struct sim_decoder *d, struct sim_inst *i)
{
    struct chunk *c = find_chunk(d, i->pc & ~(uint64_t)(CHUNK_BYTES - 1));
    __atomic_store_n(&i->epoch, sim_decode_now(), __ATOMIC_RELEASE);
    atomic_store_explicit(&c->slot[i->pc % CHUNK_BYTES / 4], i, memory_order_release);
}

static void stop_here(struct sim_wave *w, uint64_t pc, const char *why)
{
    struct sim_inst here = { .op = &illegal_row, .pc = pc, .size = 4, .text = "?" };
    sim_illegal(w, &here, why);
}

/* Compares with memory, decodes what is new. */
static const struct sim_inst *slow(struct sim_wave *w, uint64_t pc)
{
    struct sim_decoder *d = w->decoder;
    const uint8_t *code;
    if (pc & 3) {
        stop_here(w, pc, "the program counter is no multiple of 4");
        return NULL;
    }
    size_t bytes = readable(w, pc, sizeof ((struct sim_inst *)0)->bytes, &code);
    if (!bytes) {
        struct sim_inst here = { .op = &illegal_row, .pc = pc, .size = 4, .text = "fetch" };
        sim_fault(w, &here, SIM_FETCH, pc, 4, -1);
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    struct sim_inst *i = place(d, pc);
    if (i) {
        if (!i->size || i->size > bytes || memcmp(i->bytes, code, i->size) != 0)
            decode_into(d, i, pc, code, bytes);
        publish(d, i);
    }
    pthread_mutex_unlock(&d->lock);
    if (!i)
        stop_here(w, pc, "no memory to decode it");
    return i;
}

const struct sim_inst *sim_decode(struct sim_wave *w, uint64_t pc)
{
    if (!w->decoder && !(w->decoder = find_decoder(w->card, w->lanes))) {
        stop_here(w, pc, "LLVM has no disassembler for this card, or memory is short");
        return NULL;
    }
    struct chunk *c = find_chunk(w->decoder, pc & ~(uint64_t)(CHUNK_BYTES - 1));
    const struct sim_inst *i = c && !(pc & 3) ? atomic_load_explicit(&c->slot[pc % CHUNK_BYTES / 4], memory_order_acquire) : NULL;
    if (i && (int32_t)(__atomic_load_n(&i->epoch, __ATOMIC_ACQUIRE) - sim_decode_now()) >= 0)
        return i;
    return slow(w, pc);
}
