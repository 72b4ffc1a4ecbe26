/* A kernel's machine code to a PTX module. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/lift.h"

/* ---- Before the text */

/* Pairs that are read as numbers of 64 bits are loaded and stored as such. */
static void find_pairs(struct sass_lift *l, const struct sass_insn *i)
{
    for (int s = SASS_A; s <= SASS_M; s++) {
        const struct sass_operand *o = &i->opnd[s];
        bool moved = s != SASS_M && i->mod[SASS_F_SIZE]; /* a load or store: what it moves may be anything */
        if ((o->kind == SASS_REG || o->kind == SASS_MEM) && o->regs == 2 && o->reg != SASS_RZ && !moved)
            l->wide[o->reg] = true;
    }
}

static bool has_several_constants(const struct sass_cubin *cubin)
{
    unsigned n = 0;
    for (uint32_t k = 0; k < cubin->n_symbols; k++)
        n += cubin->symbols[k].kind == SASS_SYMBOL_CONSTANT;
    return n > 1;
}

/* Whether the code builds generic addresses of shared or local memory, or of bank 3: all others are then global. */
static void find_windows(struct sass_lift *l, const struct sass_insn *i, bool several_constants)
{
    int64_t constants = l->cubin->arch < 90 ? SASS_BANK0_CONSTANTS : SASS_BANK0_CONSTANTS_90;
    l->shared_window |= i->opnd[SASS_A].kind == SASS_SREG && i->opnd[SASS_A].value == SASS_SR_SWINHI;
    for (int s = SASS_A; s <= SASS_C; s++) {
        const struct sass_operand *o = &i->opnd[s];
        if (o->kind != SASS_CONST || o->bank || o->handle)
            continue;
        int64_t end = o->value + 4 * (o->regs ? o->regs : 1);
        l->shared_window |= o->value < SASS_BANK0_SHARED_WINDOW + 8 && end > SASS_BANK0_SHARED_WINDOW;
        l->local_window |= o->value < SASS_BANK0_LOCAL_WINDOW + 8 && end > SASS_BANK0_LOCAL_WINDOW;
        l->constant_window |= several_constants && o->value < constants + 8 && end > constants;
    }
}

enum { JUMPS = 1, BRANCHES = 2, MARKED = 4 };

/* For `jumps`, `branches` and `marks`. */
static unsigned kinds_of(const struct sass_insn *i)
{
    static const uint8_t kinds[SASS_OPS] = {
        [SASS_BRA] = JUMPS,       [SASS_BRX] = JUMPS,     [SASS_BRXU] = JUMPS,   [SASS_CALL] = JUMPS,    [SASS_RET] = BRANCHES,
        [SASS_EXIT] = BRANCHES,   [SASS_KILL] = BRANCHES, [SASS_JMP] = BRANCHES, [SASS_BSSY] = MARKED,   [SASS_BSYNC] = MARKED,
        [SASS_WARPSYNC] = MARKED, [SASS_BAR] = MARKED,    [SASS_VOTE] = MARKED,  [SASS_VOTEU] = MARKED,  [SASS_SHFL] = MARKED,
        [SASS_MATCH] = MARKED,    [SASS_REDUX] = MARKED,  [SASS_ELECT] = MARKED, [SASS_MEMBAR] = MARKED, [SASS_NOP] = MARKED,
        [SASS_LDS] = MARKED,      [SASS_LDSM] = MARKED,   [SASS_STS] = MARKED,   [SASS_STSM] = MARKED,   [SASS_LDGSTS] = MARKED,
        [SASS_ATOMS] = MARKED,    [SASS_LD] = MARKED,     [SASS_ST] = MARKED,    [SASS_ATOM] = MARKED,   [SASS_RED] = MARKED,
    };
    return i->opnd[SASS_J].kind != SASS_NONE ? JUMPS : kinds[i->op];
}

/* What is asked of the whole code is found while its instructions are at hand: later that would be a walk through all of them. */
static void look_at(struct sass_lift *l, uint32_t k, bool several_constants)
{
    const struct sass_insn *i = &l->insns[k];
    unsigned kinds = kinds_of(i);
    l->occurs[i->op] = true;
    if (kinds & JUMPS)
        l->jumps[l->n_jumps++] = k;
    if (kinds & (JUMPS | BRANCHES))
        sass_set_bit(l->branches, k);
    if (kinds)
        sass_set_bit(l->marks, k);
    if (i->op == SASS_BREAK)
        l->breaks |= (uint16_t)(1u << (i->opnd[SASS_K].reg & 15));
    find_windows(l, i, several_constants);
    find_pairs(l, i);
    sass_note_handles(l, i);
    sass_note_stack(l, i);
    sass_note_places(l, i);
}

static bool decode(struct sass_lift *l)
{
    if (!sass_find_parts(l))
        return false;
    l->insns = AW_NEW_ARRAY(&l->arena, struct sass_insn, l->n + 1);
    l->leader = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->first_entry = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    l->last_entry = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    l->entered_from = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    l->mask_of = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    l->is_mask = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->asks = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->served = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->serves = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->members = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->passed = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->apart = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->quotient_of = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->no_return = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->noted = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->here = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->in_step = AW_NEW_ARRAY(&l->arena, uint8_t, l->n + 1);
    l->n_words = l->code->param_size / 4 + 2;
    l->jumps = AW_NEW_ARRAY(&l->arena, uint32_t, l->n + 1);
    l->branches = AW_NEW_ARRAY(&l->arena, uint64_t, l->n / 64 + 1);
    l->marks = AW_NEW_ARRAY(&l->arena, uint64_t, l->n / 64 + 1);
    l->words = AW_NEW_ARRAY(&l->arena, uint8_t, l->n_words);
    l->pairs = AW_NEW_ARRAY(&l->arena, uint8_t, l->n_words);
    l->symbols = AW_NEW_ARRAY(&l->arena, uint8_t, l->cubin->n_symbols + 1);
    if (l->arena.failed) {
        l->status = AW_ERR_OUT_OF_MEMORY;
        return false;
    }
    if (!l->n) {
        sass_fail(l, "no code");
        return false;
    }
    bool several_constants = has_several_constants(l->cubin);
    for (uint32_t k = 0; k < l->n; k++) {
        const struct sass_code_part *part = sass_part_of(l, k);
        const uint8_t *bytes = part->code->text.ptr + (k - part->first) * SASS_INSN_SIZE;
        enum sass_decoded d = sass_decode(bytes, k * SASS_INSN_SIZE, l->cubin->arch, &l->insns[k]);
        if (d != SASS_DECODED) /* an error if it is ever reached: lanes that are never apart have no use for some code */
            l->insns[k] = (struct sass_insn){ .offset = k * SASS_INSN_SIZE, .guard = SASS_PT, .undecoded = (uint8_t)d };
        look_at(l, k, several_constants);
    }
    return true;
}

/* ---- The module around the body */

/* Where the k-th parameter lies behind the one before, with an alignment. */
static uint32_t param_behind(const struct sass_code *code, uint32_t k, uint32_t align)
{
    uint32_t end = k ? code->params[k - 1].offset + code->params[k - 1].size : 0;
    return (end + align - 1) / align * align;
}

/* How the k-th parameter must be aligned to lie where the machine code has it, behind the one before; 0: no alignment of 16 at
 * most does it, as that of its type is larger, and counts from the beginning of bank 0. */
static uint32_t param_align(const struct sass_code *code, uint32_t k)
{
    uint32_t align = 16;
    while (align && param_behind(code, k, align) != code->params[k].offset)
        align /= 2;
    return align;
}

static void declare_params(const struct sass_lift *l, struct aw_buf *out)
{
    const struct sass_code *code = l->code;
    for (uint32_t k = 0; k < code->n_params; k++) {
        const struct sass_param *p = &code->params[k];
        uint32_t align = param_align(code, k);
        bool word = p->size == 1 || p->size == 2 || p->size == 4 || p->size == 8;
        aw_buf_printf(out, "%s\n\t", k ? "," : "");
        if (word && param_behind(code, k, p->size) == p->offset)
            aw_buf_printf(out, ".param .b%" PRIu32 " p%" PRIu32, 8 * p->size, k);
        else
            aw_buf_printf(out, ".param .align %" PRIu32 " .b8 p%" PRIu32 "[%" PRIu32 "]", align ? align : 1, k, p->size);
    }
}

/* Where parameters lie, where their declarations cannot say it (ptx/module/layout.c). */
static void place_params(const struct sass_code *code, struct aw_buf *out)
{
    bool fit = true;
    for (uint32_t k = 0; k < code->n_params; k++)
        fit &= param_align(code, k) != 0;
    if (fit)
        return;
    aw_buf_printf(out, "\n.pragma \"anywarp parameters at");
    for (uint32_t k = 0; k < code->n_params; k++)
        aw_buf_printf(out, " %" PRIu32, code->params[k].offset);
    aw_buf_printf(out, "\";");
}

/* The parameter that has all of `size` bytes from `at` on; UINT32_MAX: none has. */
static uint32_t param_of(const struct sass_code *code, uint32_t at, uint32_t size)
{
    for (uint32_t k = 0; k < code->n_params; k++)
        if (code->params[k].offset <= at && at + size <= code->params[k].offset + code->params[k].size)
            return k;
    return UINT32_MAX;
}

/* A word that several small parameters share. */
static void load_parts(const struct sass_lift *l, struct aw_buf *out, uint32_t at)
{
    aw_buf_printf(out, "\tmov.b32 %%c%" PRIu32 ", 0;\n", at);
    for (uint32_t byte = 0; byte < 4; byte++) {
        uint32_t k = param_of(l->code, at + byte, 1);
        if (k == UINT32_MAX)
            continue;
        aw_buf_printf(out, "\tld.param.u8 %%part, [p%" PRIu32 "+%" PRIu32 "];\n", k, at + byte - l->code->params[k].offset);
        aw_buf_printf(out, "\tshl.b32 %%part, %%part, %" PRIu32 ";\n\tor.b32 %%c%" PRIu32 ", %%c%" PRIu32 ", %%part;\n", 8 * byte,
                      at, at);
    }
}

static void load_params(const struct sass_lift *l, struct aw_buf *out)
{
    const struct sass_code *code = l->code;
    bool parts = false;
    for (uint32_t w = 0; w < l->n_words; w++) {
        uint32_t at = 4 * w, k = param_of(code, at, 4);
        if (l->pairs[w]) {
            uint32_t pair = param_of(code, at, 8);
            aw_buf_printf(out, "\t.reg .b64 %%cd%" PRIu32 ";\n\tld.param.b64 %%cd%" PRIu32 ", [p%" PRIu32 "+%" PRIu32 "];\n", at,
                          at, pair, at - code->params[pair].offset);
        }
        if (!l->words[w])
            continue;
        aw_buf_printf(out, "\t.reg .b32 %%c%" PRIu32 ";\n", at);
        if (k != UINT32_MAX) {
            aw_buf_printf(out, "\tld.param.b32 %%c%" PRIu32 ", [p%" PRIu32 "+%" PRIu32 "];\n", at, k,
                          at - code->params[k].offset);
            continue;
        }
        if (!parts)
            aw_buf_printf(out, "\t.reg .b32 %%part;\n");
        parts = true;
        load_parts(l, out, at);
    }
}

static void declare_registers(const struct sass_lift *l, struct aw_buf *out)
{
    static const char *const bits[SASS_TEMPS] = { "b32", "b64", "b16", "pred", "b128" };
    for (unsigned k = 0; k < 256; k++) {
        if (l->regs[k])
            aw_buf_printf(out, "\t.reg .b32 %%r%u;\n", k);
        if (l->uregs[k])
            aw_buf_printf(out, "\t.reg .b32 %%u%u;\n", k);
    }
    for (unsigned k = 0; k < SASS_TEMPS; k++)
        if (l->temps[k].n)
            aw_buf_printf(out, "\t.reg .%s %%%c<%" PRIu32 ">;\n", bits[k], sass_temp_kinds[k], l->temps[k].n);
    if (l->keeps)
        aw_buf_printf(out, "\t.reg .b32 %%kept<2>;\n");
    /* Code may read predicates on ways where nothing has written them, and not care. */
    for (unsigned k = 0; k < 7; k++) {
        if (l->preds[k])
            aw_buf_printf(out, "\t.reg .pred %%p%u;\n\tsetp.ne.u32 %%p%u, 0, 0;\n", k, k);
        if (l->upreds[k])
            aw_buf_printf(out, "\t.reg .pred %%up%u;\n\tsetp.ne.u32 %%up%u, 0, 0;\n", k, k);
    }
    for (unsigned k = 0; k < 512 && l->handles; k++)
        if (l->has_handle[k / 256][k % 256])
            aw_buf_printf(out, "\t.reg .b64 %%x%c%u;\n\tmov.b64 %%x%c%u, 0;\n", "ru"[k / 256], k % 256, "ru"[k / 256], k % 256);
    if (l->true_pred)
        aw_buf_printf(out, "\t.reg .pred %%always, %%never;\n\tsetp.eq.u32 %%always, 0, 0;\n\tsetp.ne.u32 %%never, 0, 0;\n");
    for (uint32_t k = 0; k < l->n; k++)
        if (l->is_mask[k])
            aw_buf_printf(out, "\t.reg .b32 %%mask%" PRIu32 ";\n\tmov.b32 %%mask%" PRIu32 ", -1;\n", k, k);
    if (l->flat || l->n_returns)
        aw_buf_printf(out, "\t.reg .b32 %%return;\n");
    if (l->copied_guard)
        aw_buf_printf(out, "\t.reg .pred %%guard;\n");
    if (l->calls)
        aw_buf_printf(out, "\t.reg .b32 %%barrier_count;\n\t.reg .pred %%barrier_pred;\n");
}

static void declare_functions(struct sass_lift *l, struct aw_buf *out)
{
    for (uint32_t k = 0; k < l->cubin->n_symbols; k++) {
        const struct sass_symbol *s = &l->cubin->symbols[k];
        bool variable = s->kind == SASS_SYMBOL_GLOBAL || s->kind == SASS_SYMBOL_CONSTANT || s->kind == SASS_SYMBOL_TEXTURE ||
                        s->kind == SASS_SYMBOL_SURFACE;
        if (l->symbols[k] && !variable && !sass_declare_function(s->name, out))
            sass_fail(l, "%.*s, which is no function that is known", AW_STR_ARG(s->name));
    }
}

static void limits(const struct sass_lift *l, struct aw_buf *out)
{
    const uint32_t *cluster = l->code->req_cluster;
    const uint32_t *max = l->code->max_ntid, *req = l->code->req_ntid;
    if (req[0])
        aw_buf_printf(out, "\n.reqntid %" PRIu32 ", %" PRIu32 ", %" PRIu32, req[0], req[1] ? req[1] : 1, req[2] ? req[2] : 1);
    else if (max[0])
        aw_buf_printf(out, "\n.maxntid %" PRIu32 ", %" PRIu32 ", %" PRIu32, max[0], max[1] ? max[1] : 1, max[2] ? max[2] : 1);
    if (cluster[0])
        aw_buf_printf(out, "\n.reqnctapercluster %" PRIu32 ", %" PRIu32 ", %" PRIu32, cluster[0], cluster[1] ? cluster[1] : 1,
                      cluster[2] ? cluster[2] : 1);
    place_params(l->code, out);
}

/* From sm_90 on the system has the first bytes of a block's shared memory. */
static uint32_t system_shared(const struct sass_lift *l)
{
    return l->cubin->arch >= 90 && l->code->shared_size >= 1024 ? 1024 : 0;
}

/* Shared addresses of machine code are offsets: the kernel's own memory begins at 0, and what a launch adds is behind it.  Which
 * of both an address is for nothing says, so all are reckoned from one variable. */
static void declare_shared(const struct sass_lift *l, struct aw_buf *out)
{
    uint32_t system = system_shared(l), size = (l->code->shared_size - system + 15) / 16 * 16;
    if (size)
        aw_buf_printf(out, "\t.shared .align 16 .b8 shared[%" PRIu32 "];\n", size);
    if (!size && !l->shared)
        return;
    aw_buf_printf(out, "\t.reg .b32 %%shared;\n\tmov.u32 %%shared, %s;\n", size ? "shared" : "dynamic");
    if (system)
        aw_buf_printf(out, "\tsub.s32 %%shared, %%shared, %" PRIu32 ";\n", system);
    if (size && l->shared)
        aw_buf_printf(out, "\t.reg .b32 %%dynamic;\n\tmov.u32 %%dynamic, dynamic;\n");
}

/* A kernel's head, to where its own variables and code begin. */
static void entry(const struct sass_lift *l, struct aw_buf *out)
{
    aw_buf_printf(out, "\n.visible .entry %.*s(", AW_STR_ARG(l->code->name));
    declare_params(l, out);
    aw_buf_printf(out, "\n)");
    limits(l, out);
    aw_buf_printf(out, "\n{\n");
    declare_shared(l, out);
}

static void finish(struct sass_lift *l, struct aw_buf *out)
{
    sass_head(l->cubin, out);
    sass_line_files(l, out);
    if (l->whole)
        sass_define_variables(l, out);
    else
        sass_declare_variables(l, out);
    declare_functions(l, out);
    if (l->shared)
        aw_buf_printf(out, ".extern .shared .align 16 .b8 dynamic[];\n");
    entry(l, out);
    if (l->local)
        aw_buf_printf(out, "\t.local .align 16 .b8 frame[%" PRIu32 "];\n", l->frame ? l->frame : 16);
    aw_buf_printf(out, "\t.pragma \"anywarp lifted\";\n");
    declare_registers(l, out);
    load_params(l, out);
    aw_buf_add(out, l->body.ptr, l->body.len);
    aw_buf_printf(out, "}\n");
}

static enum aw_status lift(const struct sass_cubin *cubin, uint32_t index, bool places, bool whole, struct aw_buf *ret_ptx,
                           struct aw_buf *ret_error)
{
    const struct sass_code *code = &cubin->kernels[index];
    struct sass_lift l = { .cubin = cubin, .code = code, .whole = whole };
    uint32_t frame = code->frame_size > code->min_stack_size ? code->frame_size : code->min_stack_size;
    size_t before = ret_ptx->len;
    l.frame = (frame + 15) / 16 * 16;
    sass_temps_begin(&l);
    if (decode(&l)) {
        sass_find_handles(&l);
        sass_find_lines(&l, places);
        bool done = sass_flow(&l);
        if (!done && l.again)
            done = sass_flow_again(&l);
        if (done)
            finish(&l, ret_ptx);
    }
    if (l.status == AW_OK && (l.body.failed || ret_ptx->failed || l.arena.failed))
        l.status = AW_ERR_OUT_OF_MEMORY;
    if (l.status != AW_OK) {
        if (ret_ptx->len > before) {
            ret_ptx->len = before;
            ret_ptx->ptr[before] = 0;
        }
        if (l.error.ptr)
            aw_buf_add(ret_error, l.error.ptr, l.error.len);
    }
    enum aw_status status = l.status;
    aw_buf_fini(&l.body);
    aw_buf_fini(&l.error);
    aw_ptrmap_fini(&l.block_of);
    aw_arena_fini(&l.arena);
    return status;
}

enum aw_status sass_lift(const struct sass_cubin *cubin, uint32_t index, bool places, struct aw_buf *ret_ptx,
                         struct aw_buf *ret_error)
{
    return lift(cubin, index, places, false, ret_ptx, ret_error);
}

enum aw_status sass_lift_whole(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *ret_ptx, struct aw_buf *ret_error)
{
    return lift(cubin, index, false, true, ret_ptx, ret_error);
}

enum aw_status sass_lift_entries(const struct sass_cubin *cubin, struct aw_buf *ret_ptx)
{
    sass_head(cubin, ret_ptx);
    bool starts = sass_starts(cubin);
    if (starts)
        sass_starts_declare(ret_ptx);
    for (uint32_t k = 0; k < cubin->n_kernels; k++) {
        struct sass_lift l = { .cubin = cubin, .code = &cubin->kernels[k] };
        entry(&l, ret_ptx);
        if (l.code->frame_size)
            aw_buf_printf(ret_ptx, "\t.local .align 16 .b8 frame[%" PRIu32 "];\n", l.code->frame_size);
        if (starts)
            sass_starts_mark(cubin, k, ret_ptx);
        aw_buf_printf(ret_ptx, "\tret;\n}\n");
    }
    if (starts)
        sass_starts_addresses(cubin, ret_ptx);
    return ret_ptx->failed ? AW_ERR_OUT_OF_MEMORY : AW_OK;
}

enum aw_status sass_lift_refused(const struct sass_cubin *cubin, uint32_t index, struct aw_str why, struct aw_buf *ret_ptx)
{
    struct sass_lift l = { .cubin = cubin, .code = &cubin->kernels[index] };
    sass_head(cubin, ret_ptx);
    entry(&l, ret_ptx);
    aw_buf_printf(ret_ptx, "\t.pragma \"anywarp cannot be lifted: ");
    for (size_t k = 0; k < why.len; k++)
        aw_buf_printf(ret_ptx, "%c", why.ptr[k] == '"' || why.ptr[k] == '\\' || why.ptr[k] < ' ' ? '?' : why.ptr[k]);
    aw_buf_printf(ret_ptx, "\";\n\tret;\n}\n");
    return ret_ptx->failed ? AW_ERR_OUT_OF_MEMORY : AW_OK;
}
