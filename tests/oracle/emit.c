/* The PTX of a job: loads each operand from its column, executes the instruction once, stores what it wrote.  Runs nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct emit {
    struct oracle_job *job;
    struct aw_buf *out;
    uint32_t line;
    size_t counted;
};

static void columns(struct oracle_job *job)
{
    job->n_in = 1; /* column 0: which threads execute the instances of `part` */
    job->n_out = 1;
    job->n_mem = 0;
    for (unsigned i = 0; i < job->n; i++) {
        struct oracle_plan *p = &job->plans[i];
        for (unsigned k = 0; k < p->n_ops; k++) {
            struct oracle_operand *o = &p->ops[k];
            unsigned n = o->n_items * o->reg_columns;
            o->in_column = job->n_in;
            job->n_in += o->read && !o->imm && !o->mem ? n : 0;
            o->out_column = job->n_out;
            job->n_out += o->written && !o->mem ? n : 0;
            o->pair_column = job->n_out;
            job->n_out += o->pair;
        }
        p->carry_in_column = job->n_in;
        job->n_in += p->carry_in;
        p->carry_out_column = job->n_out;
        job->n_out += p->carry_in;
        p->mem_column = job->n_mem;
        job->n_mem += p->mem >= 0;
        p->guard_column = job->n_out++; /* nobody's */
    }
    if (!job->n_mem)
        job->n_mem = 1;
}

#define OUT(...) aw_buf_printf(e->out, __VA_ARGS__)

static uint64_t at_column(const struct emit *e, unsigned column)
{
    return (uint64_t)column * e->job->threads * 8;
}

/* ---- Registers */
static void declare(struct emit *e, const struct oracle_plan *p)
{
    OUT("{\n.reg .b64 %%a, %%l, %%h;\n.reg .b32 %%c;\n");
    for (unsigned i = 0; i < p->n_ops; i++) {
        const struct oracle_operand *o = &p->ops[i];
        if ((!o->read && !o->written) || o->mem || o->imm)
            continue;
        for (unsigned j = 0; j < o->n_items; j++) {
            if (o->pred)
                OUT(".reg .pred %%v%u_%u;\n", i, j);
            else
                OUT(".reg .b%u %%v%u_%u;\n", o->reg_bits, i, j);
        }
        if (o->pair)
            OUT(".reg .pred %%q%u;\n", i);
    }
}

static void load_pred(struct emit *e, const char *name, const char *base, uint64_t at)
{
    OUT("ld.global.b32 %%c, [%%%s4+%" PRIu64 "];\nand.b32 %%c, %%c, 1;\nsetp.ne.u32 %s, %%c, 0;\n", base, at, name);
}

/* Loads an operand's registers from columns of `in`, or (what was there before) of `out`. */
static void load(struct emit *e, unsigned i, const struct oracle_operand *o, bool from_out)
{
    const char *base = from_out ? "out" : "in";
    char name[24];

    for (unsigned j = 0; j < o->n_items; j++) {
        uint64_t at = at_column(e, (from_out ? o->out_column : o->in_column) + j * o->reg_columns);
        snprintf(name, sizeof name, "%%v%u_%u", i, j);
        if (o->pred)
            load_pred(e, name, base, at);
        else if (o->reg_bits > 64)
            OUT("ld.global.b64 %%l, [%%%s8+%" PRIu64 "];\nld.global.b64 %%h, [%%%s8+%" PRIu64 "];\nmov.b128 %s, {%%l, %%h};\n",
                base, at, base, at + at_column(e, 1), name);
        else
            OUT("ld.global.b%u %s, [%%%s%u+%" PRIu64 "];\n", o->reg_bits, name, base, o->reg_bits / 8, at);
    }
    if (from_out && o->pair) {
        snprintf(name, sizeof name, "%%q%u", i);
        load_pred(e, name, "out", at_column(e, o->pair_column));
    }
}

static void store(struct emit *e, unsigned i, const struct oracle_operand *o)
{
    for (unsigned j = 0; j < o->n_items && !o->sink; j++) {
        uint64_t at = at_column(e, o->out_column + j * o->reg_columns);
        if (o->pred)
            OUT("selp.b32 %%c, 1, 0, %%v%u_%u;\nst.global.b32 [%%out4+%" PRIu64 "], %%c;\n", i, j, at);
        else if (o->reg_bits > 64)
            OUT("mov.b128 {%%l, %%h}, %%v%u_%u;\nst.global.b64 [%%out8+%" PRIu64 "], %%l;\nst.global.b64 [%%out8+%" PRIu64
                "], %%h;\n",
                i, j, at, at + at_column(e, 1));
        else
            OUT("st.global.b%u [%%out%u+%" PRIu64 "], %%v%u_%u;\n", o->reg_bits, o->reg_bits / 8, at, i, j);
    }
    if (o->pair)
        OUT("selp.b32 %%c, 1, 0, %%q%u;\nst.global.b32 [%%out4+%" PRIu64 "], %%c;\n", i, at_column(e, o->pair_column));
}

/* ---- Memory: an address of the space whose next 32 bytes are the lane's own */
static void cell_address(struct emit *e, const struct oracle_plan *p)
{
    uint64_t cell = (uint64_t)p->mem_column * e->job->threads * ORACLE_CELL_STRIDE + ORACLE_CELL_AT;
    enum ptx_space space = p->combo->space;
    const char *name = space == PTX_SPACE_SHARED ? "shared" : "local";

    switch (space) {
    case PTX_SPACE_CONST: OUT("add.u64 %%a, %%const, %d;\n", -(int)p->offset); return;
    case PTX_SPACE_PARAM: return;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_LOCAL:
        for (unsigned i = 0; i < ORACLE_CELL; i += 8)
            OUT("ld.global.b64 %%l, [%%mem+%" PRIu64 "];\nst.%s.b64 [%%%s+%u], %%l;\n", cell + i, name, name, i);
        OUT("add.u64 %%a, %%%s, %d;\n", name, -(int)p->offset);
        return;
    default: OUT("add.u64 %%a, %%mem, %" PRId64 ";\n", (int64_t)cell - (int64_t)p->offset);
    }
}

static void cell_back(struct emit *e, const struct oracle_plan *p)
{
    uint64_t cell = (uint64_t)p->mem_column * e->job->threads * ORACLE_CELL_STRIDE + ORACLE_CELL_AT;
    const char *name = p->combo->space == PTX_SPACE_SHARED ? "shared" : "local";

    if (p->combo->space == PTX_SPACE_SHARED || p->combo->space == PTX_SPACE_LOCAL)
        for (unsigned i = 0; i < ORACLE_CELL; i += 8)
            OUT("ld.%s.b64 %%l, [%%%s+%u];\nst.global.b64 [%%mem+%" PRIu64 "], %%l;\n", name, name, i, cell + i);
}

static void address(struct emit *e, const struct oracle_plan *p)
{
    if (p->combo->space == PTX_SPACE_PARAM)
        OUT("[pdata+%u]", p->offset & ORACLE_CELL);
    else if (p->offset)
        OUT("[%%a+%u]", p->offset);
    else
        OUT("[%%a]");
}

/* ---- The instruction */
static void immediate(struct emit *e, const struct oracle_operand *o)
{
    unsigned bits = ptx_type_bits(o->type);
    uint64_t v = o->imm_bits;

    if (o->type == PTX_F32)
        OUT("0f%08" PRIX32, (uint32_t)v);
    else if (o->type == PTX_F64)
        OUT("0d%016" PRIX64, v);
    else if (ptx_type_class(o->type) == 'S' && bits <= 32)
        OUT("%" PRId64, (int64_t)(v << (64 - bits)) >> (64 - bits));
    else
        OUT("%#" PRIx64, v);
}

static void registers(struct emit *e, unsigned i, const struct oracle_operand *o)
{
    if (o->sink) {
        OUT("_");
    } else if (o->n_items == 1) {
        OUT("%s%%v%u_0%s", o->negate ? "!" : o->minus ? "-" : "", i, o->suffix);
    } else {
        for (unsigned j = 0; j < o->n_items; j++)
            OUT("%s%%v%u_%u%s", j ? ", " : "{", i, j, j + 1 == o->n_items ? "}" : "");
    }
    if (o->pair)
        OUT("|%%q%u", i);
}

static void instruction(struct emit *e, const struct oracle_plan *p)
{
    const char *name = e->job->plant ? e->job->planted : p->combo->name;

    if (p->instance->part && !p->branch)
        OUT("@%%run ");
    OUT("%s", name);
    for (unsigned i = 0; i < p->n_ops; i++) {
        const struct oracle_operand *o = &p->ops[i];
        OUT(i ? ", " : " ");
        if (o->mem)
            address(e, p);
        else if (o->imm)
            immediate(e, o);
        else if (!o->read && !o->written)
            OUT("%%policy");
        else
            registers(e, i, o);
    }
    OUT(";\n");
}

/* The condition code before and after, whatever is between. */
static void carry(struct emit *e, const struct oracle_plan *p, bool before)
{
    if (!p->carry_in)
        return;
    if (before) {
        OUT("ld.global.b32 %%c, [%%in4+%" PRIu64 "];\n", at_column(e, p->carry_in_column));
        OUT("add.cc.u32 %%c, %%c, 0xffffffff;\n");
    } else {
        OUT("addc.u32 %%c, 0, 0;\n");
        OUT("st.global.b32 [%%out4+%" PRIu64 "], %%c;\n", at_column(e, p->carry_out_column));
    }
}

static void instance(struct emit *e, unsigned index, struct oracle_plan *p, struct oracle_instance *instance_)
{
    declare(e, p);
    for (unsigned i = 0; i < p->n_ops; i++) {
        const struct oracle_operand *o = &p->ops[i];
        if (o->read && !o->imm && !o->mem)
            load(e, i, o, false);
        if (o->written && !o->mem && instance_->part)
            load(e, i, o, true);
    }
    if (p->mem >= 0)
        cell_address(e, p);
    carry(e, p, true);
    if (p->branch)
        OUT("@!%%run bra L%u;\n", index);
    for (; e->counted < e->out->len; e->counted++)
        e->line += e->out->ptr[e->counted] == '\n';
    instance_->line = e->line;
    instruction(e, p);
    if (p->branch)
        OUT("L%u:\n", index);
    carry(e, p, false);
    for (unsigned i = 0; i < p->n_ops; i++)
        if (p->ops[i].written && !p->ops[i].mem)
            store(e, i, &p->ops[i]);
    if (p->mem >= 0)
        cell_back(e, p);
    OUT("}\n");
}

/* shfl and vote without .sync ended with sm_70. */
static void target(const struct oracle_job *job, unsigned *ret_isa, unsigned *ret_sm)
{
    *ret_isa = 90;
    *ret_sm = 90;
    for (unsigned i = 0; i < job->n; i++) {
        const struct oracle_plan *p = &job->plans[i];
        if (p->combo->form->sm > *ret_sm)
            *ret_sm = p->combo->form->sm;
        if (p->convergent && !p->member_mask &&
            (!strcmp(p->combo->form->mnemonic, "shfl") || !strcmp(p->combo->form->mnemonic, "vote"))) {
            *ret_isa = 63;
            *ret_sm = 60;
        }
    }
}

static void prologue(struct emit *e)
{
    unsigned isa, sm;
    bool policy = false;

    target(e->job, &isa, &sm);
    OUT(".version %u.%u\n.target sm_%u\n.address_size 64\n", isa / 10, isa % 10, sm);
    OUT(".const .align 16 .b8 cdata[%u];\n", e->job->threads * ORACLE_CELL);
    OUT(".visible .entry oracle(.param .u64 pin, .param .u64 pout, .param .u64 pmem, .param .align 16 .b8 pdata[%u])\n{\n",
        ORACLE_PARAM_BYTES);
    OUT(".reg .b64 %%in, %%out, %%mem, %%const, %%shared, %%local, %%policy, %%d, %%in1, %%in2, %%in4, %%in8, %%out1, %%out2, "
        "%%out4, %%out8;\n.reg .b32 %%t, %%x;\n.reg .pred %%run;\n");
    OUT(".local .align 16 .b8 ldata[%u];\n.shared .align 16 .b8 sdata[%u];\n", ORACLE_CELL, ORACLE_CELL * ORACLE_BLOCK);
    OUT("ld.param.u64 %%in, [pin];\nld.param.u64 %%out, [pout];\nld.param.u64 %%mem, [pmem];\n");
    OUT("cvta.to.global.u64 %%in, %%in;\ncvta.to.global.u64 %%out, %%out;\ncvta.to.global.u64 %%mem, %%mem;\n");
    OUT("mov.u32 %%x, %%tid.x;\nmul.wide.u32 %%d, %%x, %d;\nmov.u64 %%shared, sdata;\nadd.u64 %%shared, %%shared, %%d;\n",
        ORACLE_CELL);
    /* The block's part apart from the thread's: so the address is plainly one per block and a step per lane. */
    OUT("mov.u32 %%t, %%ctaid.x;\nmov.u64 %%local, ldata;\nmov.u64 %%const, cdata;\n");
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        OUT("mul.wide.u32 %%d, %%t, %u;\nadd.u64 %%in%u, %%in, %%d;\nadd.u64 %%out%u, %%out, %%d;\n", bytes * ORACLE_BLOCK, bytes,
            bytes);
        OUT("mul.wide.u32 %%d, %%x, %u;\nadd.u64 %%in%u, %%in%u, %%d;\nadd.u64 %%out%u, %%out%u, %%d;\n", bytes, bytes, bytes,
            bytes, bytes);
    }
    OUT("mul.wide.u32 %%d, %%t, %d;\nadd.u64 %%const, %%const, %%d;\n", ORACLE_CELL * ORACLE_BLOCK);
    OUT("mul.wide.u32 %%d, %%x, %d;\nadd.u64 %%const, %%const, %%d;\n", ORACLE_CELL);
    OUT("mul.wide.u32 %%d, %%t, %d;\nadd.u64 %%mem, %%mem, %%d;\n", ORACLE_CELL_STRIDE * ORACLE_BLOCK);
    OUT("mul.wide.u32 %%d, %%x, %d;\nadd.u64 %%mem, %%mem, %%d;\n", ORACLE_CELL_STRIDE);
    OUT("ld.global.b32 %%x, [%%in4];\nsetp.ne.u32 %%run, %%x, 0;\n");
    for (unsigned i = 0; i < e->job->n; i++)
        policy |= e->job->plans[i].combo->cache_hint;
    if (policy)
        OUT("createpolicy.fractional.L2::evict_first.b64 %%policy;\n");
}

bool oracle_emit(struct oracle_job *job)
{
    struct emit e_ = { .job = job, .out = &job->text, .line = 1 }, *e = &e_;

    columns(job);
    prologue(e);
    for (unsigned i = 0; i < job->n; i++)
        instance(e, i, &job->plans[i], &job->instances[i]);
    OUT("ret;\n}\n");
    return !job->text.failed;
}

void oracle_job_fini(struct oracle_job *job)
{
    free(job->plans);
    aw_buf_fini(&job->text);
}
