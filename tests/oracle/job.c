/* One job: checks that the parser sees what was meant, fills the buffers, launches, and asks the references about every lane. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "module/module.h"

struct run {
    const struct oracle_options *options;
    struct oracle_job job;
    struct ptx_module *module;
    struct ptx_diags diags;
    const struct ptx_instr **instrs;
    uint64_t *in, *out, *before; /* columns; `before`: out as it was */
    uint8_t *mem, *mem_before, *cells; /* cells: of .const */
    size_t out_words, mem_bytes;
    uint8_t param[ORACLE_PARAM_BYTES];
    char why[2048];
};

/* ---- Places in a launch */
static unsigned lanes_of_warp(unsigned warp)
{
    unsigned left = ORACLE_BLOCK - warp % ORACLE_WARPS * 32;
    return left < 32 ? left : 32;
}

static unsigned thread_of(unsigned warp, unsigned lane)
{
    return warp / ORACLE_WARPS * ORACLE_BLOCK + warp % ORACLE_WARPS * 32 + lane;
}

/* An element of `bytes` in a column, little-endian. */
static uint8_t *element(const struct run *r, uint64_t *columns, unsigned column, unsigned thread, unsigned bytes)
{
    return (uint8_t *)&columns[(size_t)column * r->job.threads] + (size_t)thread * bytes;
}

static uint64_t get(const struct run *r, uint64_t *columns, unsigned column, unsigned thread, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, element(r, columns, column, thread, bytes), bytes);
    return v;
}

static void set(const struct run *r, uint64_t *columns, unsigned column, unsigned thread, unsigned bytes, uint64_t v)
{
    memcpy(element(r, columns, column, thread, bytes), &v, bytes);
}

static uint64_t low(uint64_t v, unsigned bits)
{
    return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static void put(union oracle_value *v, unsigned at, unsigned width, uint64_t bits)
{
    for (unsigned i = 0; i < width; i += 8) { /* elements are of whole bytes, predicates alone */
        unsigned n = width - i < 8 ? width - i : 8;
        v->u8[(at + i) / 8] = (uint8_t)low(bits >> i, n);
    }
}

/* ---- What the parser makes of the text */
static void find_instrs(struct run *r)
{
    const struct ptx_func *kernel = ptx_find_kernel(r->module, AW_STR("oracle"));

    for (const struct ptx_stmt *s = kernel ? kernel->body : NULL; s; s = s->next)
        for (unsigned i = 0; s->kind == PTX_STMT_INSTR && i < r->job.n; i++)
            if (r->job.instances[i].line == s->instr->loc.line)
                r->instrs[i] = s->instr;
}

/* The instruction as the reference is to see it; a planted one is another in the text. */
static bool parse(struct run *r)
{
    struct aw_text text = { .ptr = r->job.text.ptr, .len = r->job.text.len, .name = "oracle" };
    struct aw_buf plain = { 0 };

    if (r->job.plant) {
        struct oracle_job honest = r->job;
        honest.plant = false;
        honest.text = plain;
        if (!oracle_emit(&honest))
            return false;
        plain = honest.text;
        text.ptr = plain.ptr;
        text.len = plain.len;
    }
    r->instrs = calloc(r->job.n, sizeof *r->instrs);
    bool ok = r->instrs && ptx_open(&text, 1, &r->diags, &r->module) == AW_OK;
    if (ok)
        find_instrs(r);
    else
        printf("oracle: the text of a job is not PTX: %s\n", r->diags.text.ptr ? r->diags.text.ptr : "");
    aw_buf_fini(&plain);
    return ok;
}

/* ---- Values */
static uint32_t random_mask(struct oracle_rng *rng, unsigned kind)
{
    uint32_t m = (uint32_t)oracle_random(rng);
    switch (kind % 8) {
    case 0: return 1u << (m & 31);
    case 1: return ~(1u << (m & 31));
    case 2: return 0x55555555u << (m & 1);
    case 3: return m & 1 ? 0xffffu : 0xffff0000u;
    case 4: return m & 1 ? UINT32_MAX : 0;
    default: return m;
    }
}

/* Column 0 depends on the seed alone, so that a combination meets the same lanes whatever else runs. */
static void fill_active(struct run *r)
{
    struct oracle_rng rng = { r->options->seed };
    for (unsigned w = 0; w < r->options->blocks * ORACLE_WARPS; w++) {
        uint32_t mask = random_mask(&rng, w);
        for (unsigned lane = 0; lane < lanes_of_warp(w); lane++)
            set(r, r->in, 0, thread_of(w, lane), 4, mask >> lane & 1);
    }
}

static uint32_t active_of(struct run *r, const struct oracle_plan *p, unsigned warp)
{
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < lanes_of_warp(warp); lane++)
        mask |= (uint32_t)(!p->instance->part || get(r, r->in, 0, thread_of(warp, lane), 4)) << lane;
    return mask;
}

enum { MAX_SPECS = 64 };
static unsigned specs_of(const struct oracle_plan *p, struct oracle_value_spec *specs)
{
    unsigned n = 0;
    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        enum ptx_type type = o->mem ? p->combo->types[0] : o->type;
        unsigned items = o->mem ? p->combo->vec : o->n_items;
        if (!o->read || o->imm)
            continue;
        /* The parts of a packed move have no type. */
        if (!o->mem && !o->pred && o->item_bits != ptx_type_bits(o->type))
            type = o->item_bits == 16 ? PTX_B16 : o->item_bits == 32 ? PTX_B32 : PTX_B64;
        for (unsigned j = 0; j < items && n < MAX_SPECS; j++)
            specs[n++] = (struct oracle_value_spec){ .type = type ? type : PTX_B32, .small = o->small, .pred = o->pred };
    }
    return n;
}

static uint64_t garbage(struct oracle_rng *rng, uint64_t v, unsigned bits)
{
    return bits < 64 ? low(v, bits) | oracle_random(rng) << bits : v;
}

static void fill_lane(struct run *r, const struct oracle_plan *p, unsigned t, uint64_t values[][2], struct oracle_rng *rng)
{
    unsigned n = 0;
    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        if (o->mem) {
            uint8_t *cell = p->combo->space == PTX_SPACE_CONST ? r->cells + (size_t)t * ORACLE_CELL
                            : r->mem + ((size_t)p->mem_column * r->job.threads + t) * ORACLE_CELL_STRIDE + ORACLE_CELL_AT;
            unsigned bytes = ptx_type_bits(p->combo->types[0]) / 8;
            for (unsigned j = 0; j < p->combo->vec && (j + 1) * bytes <= ORACLE_CELL; j++)
                memcpy(cell + j * bytes, values[n + j], bytes);
            n += p->combo->vec;
        } else if (o->read && !o->imm) {
            for (unsigned j = 0; j < o->n_items; j++, n++) {
                set(r, r->in, o->in_column + j * o->reg_columns, t, oracle_element_bytes(o),
                    garbage(rng, values[n][0], o->pred ? 1 : o->item_bits));
                if (o->reg_columns == 2)
                    set(r, r->in, o->in_column + 2 * j + 1, t, 8, values[n][1]);
            }
        }
    }
}

/* Warp operations see more when lanes agree: some warps have one or two vectors of values. */
static void fill_warp(struct run *r, const struct oracle_plan *p, unsigned warp, struct oracle_rng *rng)
{
    static const uint64_t controls[] = { 0x1f, 0x1f, 0, 0x1c1f, 0x181f, 0x101f, 0x1e1f, 0x1c00, 0x1e00, 1, 2, 4, 8, 16, 31 };
    struct oracle_value_spec specs[MAX_SPECS];
    uint64_t values[MAX_SPECS][2], pool[2][MAX_SPECS][2];
    unsigned n = specs_of(p, specs), kind = p->convergent ? oracle_below(rng, 4) : 0;

    for (unsigned i = 0; i < 2; i++)
        oracle_values(rng, specs, n, UINT32_MAX, pool[i]);
    for (unsigned lane = 0; lane < lanes_of_warp(warp); lane++) {
        unsigned t = thread_of(warp, lane);
        oracle_values(rng, specs, n, t, values);
        if (kind)
            memcpy(values, pool[kind == 1 ? oracle_below(rng, 2) : 0], sizeof values);
        for (unsigned i = 0; p->convergent && i < n; i++)
            if (specs[i].small && oracle_below(rng, 8))
                values[i][0] = oracle_below(rng, 4) ? controls[oracle_below(rng, sizeof controls / sizeof *controls)]
                                                    : low(values[i][0], 5);
        fill_lane(r, p, t, values, rng);
        if (p->carry_in)
            set(r, r->in, p->carry_in_column, t, 4, oracle_below(rng, 2));
    }
}

/* Every executing lane is in one of up to three groups, each with its own mask. */
static void fill_member_masks(struct run *r, const struct oracle_plan *p, unsigned warp, struct oracle_rng *rng)
{
    uint32_t active = active_of(r, p, warp), groups[3] = { 0 };
    unsigned n = 1 + oracle_below(rng, 6) % 4 % 3, of[32];

    for (unsigned lane = 0; lane < 32; lane++) {
        of[lane] = oracle_below(rng, n);
        groups[of[lane]] |= (active >> lane & 1) << lane;
    }
    for (unsigned lane = 0; lane < lanes_of_warp(warp); lane++) {
        uint64_t mask = active >> lane & 1 ? groups[of[lane]] : oracle_random(rng);
        set(r, r->in, p->ops[p->n_ops - 1].in_column, thread_of(warp, lane), 4, mask);
    }
}

/* An instance's name, as a number: its values come from it, and recorded answers go by it. */
static uint64_t key_of(const struct run *r, const struct oracle_plan *p)
{
    return oracle_hash(r->options->seed + p->instance->variant * 2 + p->instance->part, p->combo->name);
}

static void fill(struct run *r)
{
    struct oracle_rng rng = { r->options->seed ^ 0x5eed };

    for (size_t i = 0; i < r->out_words; i++)
        r->out[i] = oracle_random(&rng);
    for (size_t i = 0; i < r->mem_bytes; i += 8)
        memcpy(r->mem + i, &(uint64_t){ oracle_random(&rng) }, 8);
    for (size_t i = 0; i < sizeof r->param; i++)
        r->param[i] = (uint8_t)oracle_random(&rng);
    fill_active(r);
    for (unsigned i = 0; i < r->job.n; i++) {
        const struct oracle_plan *p = &r->job.plans[i];
        struct oracle_rng own = { key_of(r, p) };
        for (unsigned w = 0; w < r->options->blocks * ORACLE_WARPS; w++) {
            fill_warp(r, p, w, &own);
            if (p->member_mask)
                fill_member_masks(r, p, w, &own);
        }
        for (unsigned k = 0; k < p->n_ops; k++) { /* predicates are 0 or 1 */
            const struct oracle_operand *o = &p->ops[k];
            for (unsigned t = 0; t < r->job.threads; t++) {
                if (o->written && o->pred)
                    set(r, r->out, o->out_column, t, 4, get(r, r->out, o->out_column, t, 4) & 1);
                if (o->pair)
                    set(r, r->out, o->pair_column, t, 4, get(r, r->out, o->pair_column, t, 4) & 1);
            }
        }
    }
    memcpy(r->before, r->out, r->out_words * 8);
    memcpy(r->mem_before, r->mem, r->mem_bytes);
}

/* ---- What a lane's reference sees */
static const uint8_t *cell_before(const struct run *r, const struct oracle_plan *p, unsigned t)
{
    switch (p->combo->space) {
    case PTX_SPACE_CONST: return r->cells + (size_t)t * ORACLE_CELL;
    case PTX_SPACE_PARAM: return r->param + (p->offset & ORACLE_CELL);
    default: return r->mem_before + ((size_t)p->mem_column * r->job.threads + t) * ORACLE_CELL_STRIDE + ORACLE_CELL_AT;
    }
}

static void lane_inputs(struct run *r, const struct oracle_plan *p, unsigned t, struct oracle_lane *lane)
{
    unsigned s = 0, d = 0;

    memset(lane, 0, sizeof *lane);
    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        if (o->mem) {
            memcpy(&lane->src[s++], cell_before(r, p, t), ORACLE_CELL);
            memcpy(&lane->dst[d++], cell_before(r, p, t), ORACLE_CELL);
        } else if (o->imm) {
            put(&lane->src[s++], 0, ptx_type_bits(o->type), o->imm_bits);
        } else if (o->read) {
            for (unsigned j = 0; j < o->n_items; j++) {
                unsigned width = o->pred ? 1 : o->item_bits;
                put(&lane->src[s], j * width, width < 64 ? width : 64,
                    get(r, r->in, o->in_column + j * o->reg_columns, t, oracle_element_bytes(o)) ^ o->negate);
                if (o->reg_columns == 2)
                    put(&lane->src[s], j * width + 64, 64, get(r, r->in, o->in_column + 2 * j + 1, t, 8));
            }
            s++;
        } else if (o->written) {
            d += 1 + o->pair;
        }
    }
    if (p->carry_in)
        lane->carry = get(r, r->in, p->carry_in_column, t, 4) & 1;
}

/* ---- Comparing */
static bool unchanged(const struct run *r, unsigned column, unsigned t, unsigned bytes)
{
    return get(r, r->out, column, t, bytes) == get(r, r->before, column, t, bytes);
}

/* What a register of more bits than the type has above them. */
static bool extended(const struct run *r, const struct oracle_operand *o, unsigned column, unsigned t)
{
    uint64_t got = get(r, r->out, column, t, oracle_element_bytes(o));
    unsigned bits = o->pred ? 32 : o->reg_bits, item = o->pred ? 1 : o->item_bits;

    if (item >= bits || item >= 64)
        return true;
    uint64_t value = low(got, item);
    if (ptx_type_class(o->type) == 'S' && value >> (item - 1))
        value |= ~0ull << item;
    return low(value, bits) == low(got, bits);
}

static bool check_operand(struct run *r, const struct oracle_plan *p, const struct oracle_operand *o, unsigned t, bool active,
                          const struct oracle_lane *lane, unsigned d, union oracle_value *ret_got)
{
    bool ok = true;

    memset(ret_got, 0, sizeof *ret_got);
    if (o->mem) {
        memcpy(ret_got, p->combo->space == PTX_SPACE_CONST || p->combo->space == PTX_SPACE_PARAM ? cell_before(r, p, t)
               : r->mem + ((size_t)p->mem_column * r->job.threads + t) * ORACLE_CELL_STRIDE + ORACLE_CELL_AT, ORACLE_CELL);
        if (!active)
            return !memcmp(ret_got, cell_before(r, p, t), ORACLE_CELL);
        if (lane->undefined)
            return true;
        unsigned vec = p->combo->vec, bytes = vec * ptx_type_bits(p->combo->types[0]) / 8; /* beyond the value: to the bit */
        return oracle_same(p->combo->types[0], vec, lane, oracle_bound_from(p->combo->form->ulp), &lane->dst[d], ret_got) &&
               (bytes >= ORACLE_CELL || !memcmp(ret_got->u8 + bytes, lane->dst[d].u8 + bytes, ORACLE_CELL - bytes));
    }
    for (unsigned j = 0; j < o->n_items && !o->sink; j++) {
        unsigned column = o->out_column + j * o->reg_columns, width = o->pred ? 1 : o->item_bits, bytes = oracle_element_bytes(o);
        put(ret_got, j * width, width < 64 ? width : 64, get(r, r->out, column, t, bytes));
        if (o->reg_columns == 2)
            put(ret_got, j * width + 64, 64, get(r, r->out, column + 1, t, 8));
        if (!active)
            ok = ok && unchanged(r, column, t, bytes) && (o->reg_columns == 1 || unchanged(r, column + 1, t, 8));
        else if (!lane->undefined)
            ok = ok && extended(r, o, column, t);
    }
    if (!active || lane->undefined || o->sink)
        return ok;
    if (o->pred)
        return ok && (ret_got->u8[0] & 1) == (lane->dst[d].u8[0] & 1);
    unsigned items = o->item_bits == ptx_type_bits(o->type) ? o->n_items : 1; /* a packed move's value is one */
    return ok && oracle_same(o->type, items, lane, oracle_bound_from(p->combo->form->ulp), &lane->dst[d], ret_got);
}

static void show_value(const char *what, const union oracle_value *v, unsigned bits)
{
    printf("%s0x", what);
    for (unsigned i = (bits + 7) / 8; i-- > 0;)
        printf("%02x", v->u8[i]);
}

static unsigned bits_of(const struct oracle_plan *p, const struct oracle_operand *o)
{
    return o->pred ? 1 : o->mem ? p->combo->vec * ptx_type_bits(p->combo->types[0]) : o->n_items * o->item_bits;
}

static void show_line(const struct run *r, const char *what, uint32_t line)
{
    const char *text = r->job.text.ptr;
    for (uint32_t i = 1; i < line && text; i++)
        text = strchr(text, '\n') + 1;
    printf("%s %.*s\n", what, (int)strcspn(text, "\n"), text);
}

static void show_lane(struct run *r, const struct oracle_plan *p, unsigned t, bool active, const struct oracle_lane *lane)
{
    unsigned s = 0, d = 0;
    struct oracle_lane inputs;
    union oracle_value got;

    lane_inputs(r, p, t, &inputs);
    printf("    thread %u, lane %u%s:", t, t % ORACLE_BLOCK % 32, active ? "" : ", which is switched off");
    for (unsigned k = 0; k < p->n_ops; k++)
        if (p->ops[k].mem || p->ops[k].imm || p->ops[k].read)
            show_value(" ", &inputs.src[s++], bits_of(p, &p->ops[k]));
    if (p->carry_in)
        printf(" carry %d", inputs.carry);
    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        if (!o->written)
            continue;
        check_operand(r, p, o, t, active, lane, d, &got);
        if (!o->sink) {
            show_value(" -> ", &got, bits_of(p, o));
            show_value(active ? ", expected " : ", reference ", &lane->dst[d], bits_of(p, o));
        }
        d++;
        if (o->pair)
            printf(" | %" PRIu64 ", expected %d", get(r, r->out, o->pair_column, t, 4), lane->dst[d++].u8[0]);
    }
    if (p->carry_in)
        printf(" carry %" PRIu64 ", expected %d", get(r, r->out, p->carry_out_column, t, 4),
               p->carry_out ? lane->carry : inputs.carry);
    printf("\n");
}

static bool check_lane(struct run *r, const struct oracle_plan *p, unsigned t, bool active, const struct oracle_lane *lane)
{
    unsigned d = 0;
    union oracle_value got;
    bool ok = true;

    for (unsigned k = 0; k < p->n_ops && ok; k++) {
        const struct oracle_operand *o = &p->ops[k];
        if (!o->written)
            continue;
        ok = check_operand(r, p, o, t, active, lane, d++, &got);
        if (o->pair) {
            uint64_t q = get(r, r->out, o->pair_column, t, 4);
            ok = ok &&
                 (!active || lane->undefined ? active || unchanged(r, o->pair_column, t, 4) : q == (lane->dst[d].u8[0] & 1));
            d++;
        }
    }
    if (p->carry_in && !(active && lane->undefined)) {
        bool before = get(r, r->in, p->carry_in_column, t, 4) & 1;
        ok = ok && get(r, r->out, p->carry_out_column, t, 4) == (active && p->carry_out ? lane->carry : before);
    }
    return ok;
}

/* ---- Answers of another device */
/* A lane's results, in whole bytes; the number of them. */
static unsigned gather(struct run *r, const struct oracle_plan *p, unsigned t, const struct oracle_lane *lane, uint8_t *to)
{
    union oracle_value got;
    unsigned n = 0;

    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        unsigned bytes = o->mem ? ORACLE_CELL : (bits_of(p, o) + 7) / 8;
        if (!o->written || o->sink)
            continue;
        check_operand(r, p, o, t, true, lane, 0, &got);
        memcpy(to + n, &got, bytes);
        n += bytes;
        if (o->pair)
            to[n++] = (uint8_t)get(r, r->out, o->pair_column, t, 4);
    }
    if (p->carry_in)
        to[n++] = (uint8_t)get(r, r->out, p->carry_out_column, t, 4);
    return n;
}

static const char *freedom_of(const struct oracle_plan *p, const struct oracle_lane *lane)
{
    return lane->undefined ? "open" : lane->any_nan ? "any NaN" : lane->may_vanish ? "may vanish"
           : lane->abs_error > 0 || strcmp(p->combo->form->ulp, "0") != 0 ? "approximate" : "EXACT";
}

static void show_recorded(struct run *r, const struct oracle_plan *p, unsigned t, const struct oracle_lane *lane,
                          const uint8_t *recorded, unsigned n)
{
    printf("    %s, recorded (bytes):", freedom_of(p, lane));
    for (unsigned i = 0; i < n; i++)
        printf(" %02x", recorded[i]);
    printf("\n");
    show_lane(r, p, t, true, lane);
}

/* What the other device has of an instance, and how many lanes differ from it. */
struct answers {
    const uint8_t *recorded;
    size_t size, at;
    unsigned differ;
    struct aw_buf own;
};

static void answer(struct run *r, const struct oracle_plan *p, unsigned t, const struct oracle_lane *lane, struct answers *a)
{
    uint8_t bytes[ORACLE_OPERANDS * sizeof(union oracle_value)];
    unsigned n = gather(r, p, t, lane, bytes);

    if (r->options->record)
        aw_buf_add(&a->own, bytes, n);
    if (!a->recorded || a->at + n > a->size)
        return;
    if (memcmp(a->recorded + a->at, bytes, n) != 0) {
        if (a->differ == 0)
            show_line(r, "DIFF", p->instance->line);
        if (a->differ++ < r->options->show)
            show_recorded(r, p, t, lane, a->recorded + a->at, n);
    }
    a->at += n;
}

static void answers_end(struct run *r, const struct oracle_plan *p, struct answers *a)
{
    if (a->differ)
        printf("    %u of %u lanes differ from what was recorded\n", a->differ, r->job.threads);
    if (r->options->record)
        oracle_answers_write(r->options->record, key_of(r, p), a->own.ptr ? a->own.ptr : "", a->own.len);
    aw_buf_fini(&a->own);
}

/* A column behind the elements in it, for as long as it is. */
static bool rest_unchanged(const struct run *r, unsigned column, unsigned bytes)
{
    size_t at = (size_t)r->job.threads * bytes, size = (size_t)r->job.threads * 8;
    return !memcmp(element(r, r->out, column, 0, 8) + at, element(r, r->before, column, 0, 8) + at, size - at);
}

/* What is between the lanes' cells, behind the elements in columns, and the column behind the instance's. */
static bool check_guards(struct run *r, const struct oracle_plan *p)
{
    bool ok = rest_unchanged(r, 0, 0) && rest_unchanged(r, p->guard_column, 0);

    for (unsigned k = 0; k < p->n_ops; k++) {
        const struct oracle_operand *o = &p->ops[k];
        for (unsigned j = 0; o->written && !o->mem && j < o->n_items * o->reg_columns; j++)
            ok = ok && rest_unchanged(r, o->out_column + j, o->sink ? 0 : oracle_element_bytes(o));
        if (o->pair)
            ok = ok && rest_unchanged(r, o->pair_column, 4);
    }
    for (unsigned t = 0; t < r->job.threads && p->mem >= 0; t++) {
        size_t cell = ((size_t)p->mem_column * r->job.threads + t) * ORACLE_CELL_STRIDE, end = ORACLE_CELL_AT + ORACLE_CELL;
        ok = ok && !memcmp(r->mem + cell, r->mem_before + cell, ORACLE_CELL_AT) &&
             !memcmp(r->mem + cell + end, r->mem_before + cell + end, ORACLE_CELL_STRIDE - end);
    }
    return ok;
}

static bool check_instance(struct run *r, unsigned index)
{
    const struct oracle_plan *p = &r->job.plans[index];
    struct oracle_lane lanes[ORACLE_LANES];
    oracle_lane_reference *one = NULL;
    oracle_warp_reference *warp = NULL;
    unsigned wrong = 0;
    bool guards = check_guards(r, p);
    struct answers answers = { 0 };

    if (r->options->recorded)
        answers.recorded = oracle_answers_of(key_of(r, p), &answers.size);
    oracle_reference(p->combo->form->reference, &one, &warp);
    if (!guards && !r->options->quiet) {
        show_line(r, "FAIL", p->instance->line);
        printf("    memory was written that belongs to no operand\n");
    }
    for (unsigned w = 0; w < r->options->blocks * ORACLE_WARPS; w++) {
        uint32_t active = active_of(r, p, w);
        for (unsigned lane = 0; lane < ORACLE_LANES; lane++) {
            if (lane < lanes_of_warp(w))
                lane_inputs(r, p, thread_of(w, lane), &lanes[lane]);
            else
                memset(&lanes[lane], 0, sizeof lanes[lane]);
            if (one && (active >> lane & 1))
                one(r->instrs[index], &lanes[lane]);
        }
        if (warp && active)
            warp(r->instrs[index], active, lanes);
        for (unsigned lane = 0; lane < lanes_of_warp(w); lane++) {
            if (active >> lane & 1)
                answer(r, p, thread_of(w, lane), &lanes[lane], &answers);
            if (check_lane(r, p, thread_of(w, lane), active >> lane & 1, &lanes[lane]))
                continue;
            if (!r->options->quiet && wrong == 0)
                show_line(r, "FAIL", p->instance->line);
            if (!r->options->quiet && wrong < r->options->show)
                show_lane(r, p, thread_of(w, lane), active >> lane & 1, &lanes[lane]);
            wrong++;
        }
    }
    answers_end(r, p, &answers);
    if (wrong && !r->options->quiet)
        printf("    %u of %u lanes differ; seed %" PRIu64 "\n", wrong, r->job.threads, r->options->seed);
    return guards && !wrong;
}

/* ---- Running */
static bool allocate(struct run *r)
{
    size_t in_words = (size_t)r->job.n_in * r->job.threads;

    r->out_words = (size_t)r->job.n_out * r->job.threads;
    r->mem_bytes = (size_t)r->job.n_mem * r->job.threads * ORACLE_CELL_STRIDE;
    r->in = calloc(in_words, 8);
    r->out = malloc(r->out_words * 8);
    r->before = malloc(r->out_words * 8);
    r->mem = malloc(r->mem_bytes);
    r->mem_before = malloc(r->mem_bytes);
    r->cells = calloc(r->job.threads, ORACLE_CELL);
    return r->in && r->out && r->before && r->mem && r->mem_before && r->cells;
}

/* Device memory is kept from job to job and only ever grows. */
static bool device_buffers(struct run *r, uint64_t address[3])
{
    static uint64_t buffers[3];
    static size_t sizes[3];
    size_t want[3] = { (size_t)r->job.n_in * r->job.threads * 8, r->out_words * 8, r->mem_bytes };

    for (unsigned i = 0; i < 3; i++) {
        if (want[i] > sizes[i]) {
            sizes[i] = want[i] * 2;
            if (!oracle_device_alloc(&buffers[i], sizes[i]))
                return false;
        }
        address[i] = buffers[i];
    }
    return oracle_device_write(address[0], r->in, want[0]) && oracle_device_write(address[1], r->out, want[1]) &&
           oracle_device_write(address[2], r->mem, want[2]);
}

enum outcome { DONE, REFUSED, BROKEN };
static enum outcome execute(struct run *r)
{
    uint64_t address[3], cells;
    void *kernel, *module = oracle_device_load(r->job.text.ptr, "oracle", &kernel, r->why, sizeof r->why);
    enum outcome outcome = DONE;

    if (!module)
        return REFUSED;
    bool cell = oracle_device_symbol(module, "cdata", &cells);
    if (!device_buffers(r, address) || (!cell && !r->options->again) ||
        (cell && !oracle_device_write(cells, r->cells, (size_t)r->job.threads * ORACLE_CELL)))
        return BROKEN;
    void *params[] = { &address[0], &address[1], &address[2], r->param };
    int error = oracle_device_launch(kernel, r->options->blocks, ORACLE_BLOCK, params);
    if (error) {
        snprintf(r->why, sizeof r->why, "%s", oracle_device_error(error));
        /* Faults stay with the context, a kernel that cannot be compiled does not. */
        outcome = oracle_device_read(r->out, address[1], 8) ? REFUSED : BROKEN;
    } else if (!oracle_device_read(r->out, address[1], r->out_words * 8) ||
               !oracle_device_read(r->mem, address[2], r->mem_bytes)) {
        outcome = BROKEN;
    }
    if (outcome != BROKEN)
        oracle_device_unload(module);
    return outcome;
}

static void run_fini(struct run *r)
{
    ptx_module_destroy(r->module);
    ptx_diags_fini(&r->diags);
    free(r->instrs);
    free(r->in);
    free(r->out);
    free(r->before);
    free(r->mem);
    free(r->mem_before);
    free(r->cells);
    oracle_job_fini(&r->job);
}

/* Which of the instances can run at all: known to the checker as this row's, with a reference. */
static unsigned sift(struct run *r, uint8_t *states)
{
    unsigned good = 0;
    for (unsigned i = 0; i < r->job.n; i++) {
        const struct oracle_plan *p = &r->job.plans[i];
        oracle_lane_reference *lane;
        oracle_warp_reference *warp;
        if (!r->instrs[i] || !r->instrs[i]->form)
            states[i] = ORACLE_REFUSED;
        else if (r->instrs[i]->form != p->combo->form)
            states[i] = ORACLE_SHADOWED;
        else if (!oracle_reference(p->combo->form->reference, &lane, &warp))
            states[i] = ORACLE_NO_REFERENCE;
        else
            states[i] = ORACLE_WAITING, good++;
    }
    return good;
}

static bool write_text(struct run *r, const struct oracle_options *options)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%08" PRIx64 ".ptx", options->emit, r->job.plans[0].combo->form->id,
             oracle_hash(r->job.n, r->job.text.ptr) & 0xffffffff);
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(r->job.text.ptr, 1, r->job.text.len, f) == r->job.text.len;
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok)
        printf("oracle: %s cannot be written\n", path);
    return ok;
}

/* Runs those instances again that wait: all, or every other one. */
static bool run_some(const struct oracle_options *options, const struct oracle_combo *combos, struct oracle_instance *instances,
                     unsigned n, uint8_t *states, const char *planted, unsigned first, unsigned step)
{
    struct oracle_instance *some = malloc((n + 1) * sizeof *some);
    uint8_t *own = malloc(n + 1);
    unsigned k = 0;
    bool usable = some && own;

    for (unsigned i = first; i < n && usable; i += step)
        if (states[i] == ORACLE_WAITING)
            some[k++] = instances[i];
    usable = usable && (!k || oracle_job_run(options, combos, some, k, own, planted));
    for (unsigned i = first, j = 0; i < n && usable; i += step)
        if (states[i] == ORACLE_WAITING)
            states[i] = own[j++];
    free(some);
    free(own);
    return usable;
}

/* Of a job that is refused: what the assembler has named, or else halves. */
static bool run_refused(struct run *r, const struct oracle_combo *combos, uint8_t *states, const char *planted)
{
    struct oracle_instance *instances = r->job.instances;
    bool assembled = strcmp(r->why, ORACLE_NOT_ASSEMBLED) != 0;
    unsigned n = r->job.n, named = 0;
    if (n == 1) {
        bool failed = r->options->lift && assembled;
        states[0] = failed ? ORACLE_FAILED : ORACLE_REFUSED;
        if (failed)
            printf("FAIL %s: %s\n", r->job.plans[0].combo->name, r->why);
        return true;
    }
    for (unsigned i = 0; i < n && !assembled; i++)
        if (oracle_device_refuses(instances[i].line)) {
            states[i] = ORACLE_REFUSED;
            named++;
        }
    if (named)
        return run_some(r->options, combos, instances, n, states, planted, 0, 1);
    return run_some(r->options, combos, instances, n, states, planted, 0, 2) &&
           run_some(r->options, combos, instances, n, states, planted, 1, 2);
}

bool oracle_job_run(const struct oracle_options *options, const struct oracle_combo *combos, struct oracle_instance *instances,
                    unsigned n, uint8_t *states, const char *planted)
{
    struct run r = { .options = options, .job = { .instances = instances, .n = n, .threads = options->blocks * ORACLE_BLOCK,
                                                  .plant = planted != NULL, .planted = planted } };
    bool usable = true;

    memset(states, ORACLE_WAITING, n);
    r.job.plans = calloc(n, sizeof *r.job.plans);
    for (unsigned i = 0; i < n && r.job.plans; i++)
        oracle_plan(&combos[instances[i].combo], &instances[i], &r.job.plans[i]);
    if (!r.job.plans || !oracle_emit(&r.job) || !parse(&r)) {
        memset(states, ORACLE_CRASHED, n);
        run_fini(&r);
        return true;
    }
    unsigned good = sift(&r, states);
    if (good < n) {
        usable = !good || run_some(options, combos, instances, n, states, planted, 0, 1);
    } else if (options->emit) {
        memset(states, write_text(&r, options) ? ORACLE_PASSED : ORACLE_CRASHED, n);
    } else if (!allocate(&r)) {
        memset(states, ORACLE_CRASHED, n);
    } else {
        fill(&r);
        switch (execute(&r)) {
        case DONE:
            for (unsigned i = 0; i < n; i++)
                states[i] = check_instance(&r, i) ? ORACLE_PASSED : ORACLE_FAILED;
            break;
        case REFUSED: usable = run_refused(&r, combos, states, planted); break;
        case BROKEN:
            printf("oracle: %s: %s\n", r.job.plans[0].combo->name, r.why);
            usable = false;
        }
    }
    run_fini(&r);
    return usable;
}
