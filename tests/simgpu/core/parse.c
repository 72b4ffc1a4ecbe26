/* LLVM's text of one instruction -> struct sim_inst: row, operands, modifiers.  Every word of the text must be known, else it is
 * an error: an unknown modifier would silently make another instruction.  It does not know what rows do, and reads no memory but
 * the instruction. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "decode.h"

/* The instruction being read. */
struct parse {
    struct sim_inst *i;
    const char *sig;      /* what is left of the row's signature */
    bool results;         /* before '=' */
    bool open;            /* after '*' */
    bool optional;        /* a '?' came */
    bool packed;
    unsigned n_list;      /* entries of op_sel */
    char *why;
    size_t why_size;
};

/* A piece of the text. */
struct word {
    const char *p, *end;
};

static bool fail(struct parse *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct parse *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->why, c->why_size, fmt, ap);
    va_end(ap);
    return false;
}

static bool unknown(struct parse *c, struct word w)
{
    return fail(c, "'%.*s' is not understood", (int)(w.end - w.p), w.p);
}

static bool is(struct word w, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(w.end - w.p) == n && memcmp(w.p, text, n) == 0;
}

/* Takes `text` off the front. */
static bool skip(struct word *w, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(w->end - w->p) < n || memcmp(w->p, text, n) != 0)
        return false;
    w->p += n;
    return true;
}

/* Takes `text` off the end. */
static bool chop(struct word *w, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(w->end - w->p) < n || memcmp(w->end - n, text, n) != 0)
        return false;
    w->end -= n;
    return true;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct word trim(struct word w)
{
    while (w.p < w.end && *w.p == ' ')
        w.p++;
    while (w.p < w.end && w.end[-1] == ' ')
        w.end--;
    return w;
}

/* Cuts the piece before the next `stop` that is in no brackets or quotes off `from`; false when `from` is empty. */
static bool cut(struct word *from, char stop, struct word *ret)
{
    int depth = 0;
    bool quoted = false;
    const char *p = from->p;
    if (p >= from->end)
        return false;
    for (; p < from->end && (depth || quoted || *p != stop); p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (*p == '(' || *p == '[')
            depth++;
        else if (*p == ')' || *p == ']')
            depth--;
    }
    *ret = (struct word){ from->p, p };
    from->p = p < from->end ? p + 1 : p;
    return true;
}

/* A whole number, decimal or 0x, with or without sign. */
static bool number(struct word w, int64_t *ret, bool *ret_hex)
{
    char text[40], *end;
    size_t n = (size_t)(w.end - w.p);
    if (!n || n >= sizeof text)
        return false;
    memcpy(text, w.p, n);
    text[n] = 0;
    const char *p = text + (*text == '-');
    *ret_hex = p[0] == '0' && p[1] == 'x';
    if (!digit(*p))
        return false;
    uint64_t value = strtoull(p, &end, *ret_hex ? 16 : 10);
    *ret = *text == '-' ? (int64_t)-value : (int64_t)value;
    return !*end;
}

/* ---- Constants ---- */

static uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The hardware's double for 1/(2*pi), cut off and not rounded: 0x3fc45f306dc9c882. */
#define INV_2PI 0x1.45f306dc9c882p-3

/* An inline floating constant's bits in the type `letter`.  Those are 0.5, 1, 2, 4, their negatives and 1/(2*pi). */
static bool float_bits(struct word w, char letter, uint64_t *ret)
{
    static const struct {
        const char *text;
        double value;
        uint16_t half;
    } inline_floats[] = { { "0.5", 0.5, 0x3800 }, { "1.0", 1, 0x3c00 }, { "2.0", 2, 0x4000 }, { "4.0", 4, 0x4400 },
                          { "0.15915494", INV_2PI, 0x3118 }, { "0.15915494309189532", INV_2PI, 0x3118 } };
    bool minus = skip(&w, "-");
    size_t k = 0;
    while (k < sizeof inline_floats / sizeof *inline_floats && !is(w, inline_floats[k].text))
        k++;
    if (k == sizeof inline_floats / sizeof *inline_floats)
        return false;
    double value = minus ? -inline_floats[k].value : inline_floats[k].value;
    switch (letter) {
    case 'h': case 'P':
        *ret = inline_floats[k].half | (minus ? 0x8000u : 0);
        break;
    case 'k':
        *ret = f32_bits((float)value) >> 16;
        break;
    case 'd': case 'q': case 'S':
        /* 64-bit operands of any type take them as doubles. */
        memcpy(ret, &value, sizeof value);
        break;
    default:
        /* Integer instructions of 16 bits and packed ones get the f32 pattern. */
        *ret = f32_bits((float)value);
    }
    return true;
}

/* Widens an integer constant to the type: inline ones (decimal) are sign-extended, literals (hex) follow the operand's type. */
static uint64_t integer_bits(const struct sim_inst *i, int64_t value, bool literal, char letter)
{
    size_t n = strlen(i->op->name);
    bool is_signed = n > 4 && strcmp(i->op->name + n - 4, "_i64") == 0;
    switch (letter) {
    case 'd':
        return literal && (uint64_t)value <= UINT32_MAX ? (uint64_t)value << 32 : (uint64_t)value;
    case 'q': case 'S': case 'm':
        if (literal && (uint64_t)value <= UINT32_MAX)
            return is_signed ? (uint64_t)(int32_t)value : (uint64_t)value;
        return (uint64_t)value;
    case 'o':
        return (uint64_t)value;
    default:
        return (uint32_t)value;
    }
}

static bool constant(struct parse *c, struct word w, struct sim_operand *o)
{
    int64_t value;
    bool hex;
    bool wrapped = (skip(&w, "lit(") || skip(&w, "lit64(")) && chop(&w, ")");
    if (number(w, &value, &hex))
        o->imm = integer_bits(c->i, value, hex || wrapped, (char)o->type);
    else if (!float_bits(w, (char)o->type, &o->imm))
        return false;
    o->kind = SIM_IMM;
    o->dwords = strchr("qdSF", o->type) || (o->type == 'm' && c->i->wave == 64) ? 2 : 1;
    o->splat = sim_splat(o->imm);
    return o->splat || fail(c, "out of memory");
}

/* ---- Operands ---- */

static const struct {
    const char *name;
    uint8_t kind, dwords;
    uint16_t reg;
} named[] = {
    { "vcc", SIM_SGPR, 2, SIM_VCC }, { "vcc_lo", SIM_SGPR, 1, SIM_VCC }, { "vcc_hi", SIM_SGPR, 1, SIM_VCC + 1 },
    { "exec", SIM_SGPR, 2, SIM_EXEC }, { "exec_lo", SIM_SGPR, 1, SIM_EXEC }, { "exec_hi", SIM_SGPR, 1, SIM_EXEC + 1 },
    { "m0", SIM_SGPR, 1, SIM_M0 }, { "null", SIM_NULL, 0, 0 }, { "off", SIM_OFF, 0, 0 },
    { "flat_scratch", SIM_SGPR, 2, SIM_FLAT_SCRATCH }, { "flat_scratch_lo", SIM_SGPR, 1, SIM_FLAT_SCRATCH },
    { "flat_scratch_hi", SIM_SGPR, 1, SIM_FLAT_SCRATCH + 1 }, { "xnack_mask", SIM_SGPR, 2, SIM_XNACK_MASK },
    { "xnack_mask_lo", SIM_SGPR, 1, SIM_XNACK_MASK }, { "xnack_mask_hi", SIM_SGPR, 1, SIM_XNACK_MASK + 1 },
    { "scc", SIM_SPECIAL, 1, SIM_SCC }, { "src_scc", SIM_SPECIAL, 1, SIM_SCC }, { "src_vccz", SIM_SPECIAL, 1, SIM_VCCZ },
    { "src_execz", SIM_SPECIAL, 1, SIM_EXECZ }, { "src_shared_base", SIM_SPECIAL, 2, SIM_SHARED_BASE },
    { "src_shared_limit", SIM_SPECIAL, 2, SIM_SHARED_LIMIT }, { "src_private_base", SIM_SPECIAL, 2, SIM_PRIVATE_BASE },
    { "src_private_limit", SIM_SPECIAL, 2, SIM_PRIVATE_LIMIT }, { "src_pops_exiting_wave_id", SIM_SPECIAL, 1, SIM_POPS_ID },
    { "src_lds_direct", SIM_SPECIAL, 1, SIM_LDS_DIRECT },
};

/* "v7", "s[4:7]", "ttmp[0:1]", "a[0:15]" or a named one. */
static bool register_name(struct word w, struct sim_operand *o)
{
    static const struct {
        const char *prefix;
        uint8_t kind;
        uint16_t first, count;
    } files[] = {
        { "v", SIM_VGPR, 0, 256 }, { "s", SIM_SGPR, 0, SIM_VCC }, { "a", SIM_AGPR, 0, 256 }, { "ttmp", SIM_SGPR, SIM_TTMP, 16 }
    };
    for (size_t k = 0; k < sizeof named / sizeof *named; k++)
        if (is(w, named[k].name)) {
            o->kind = named[k].kind;
            o->dwords = named[k].dwords;
            o->reg = named[k].reg;
            return true;
        }
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct word n = w, low;
        int64_t first, last;
        bool hex;
        if (!skip(&n, files[k].prefix))
            continue;
        if (skip(&n, "[") && chop(&n, "]")) {
            if (!cut(&n, ':', &low) || !number(low, &first, &hex) ||
                (n.p < n.end ? !number(n, &last, &hex) : (last = first, false)))
                continue;
        } else if (number(n, &first, &hex)) {
            last = first;
        } else {
            continue;
        }
        if (first < 0 || last < first || last >= files[k].count)
            return true; /* of no kind */
        o->kind = files[k].kind;
        o->reg = (uint16_t)(files[k].first + first);
        o->dwords = (uint8_t)(last - first + 1);
        return true;
    }
    return false;
}

/* Does what the text names have the size that the row wants? */
static bool fits(const struct parse *c, const struct sim_operand *o)
{
    unsigned want = strchr("qdSF", o->type) ? 2 : o->type == 'm' ? c->i->wave / 32u : 1;
    switch (o->kind) {
    case SIM_SGPR: case SIM_VGPR: case SIM_AGPR:
        return o->type == 'o' || o->dwords == want;
    case SIM_IMM:
        return !c->results;
    default:
        return true;
    }
}

/* The letter of the next operand; false when the row has no more. */
static bool next_type(struct parse *c, char *ret)
{
    if (*c->sig == '=') {
        c->sig++;
        c->results = false;
    }
    if (*c->sig == '*') {
        c->open = true;
        c->results = false;
    }
    if (!c->open && (!*c->sig || *c->sig == '?'))
        return false;
    *ret = c->open ? 'o' : *c->sig++;
    return true;
}

/* "v1.h" of gfx11 is the high half of a register, as op_sel says it elsewhere; "v1.l" the low one.  `i->n` is the operand's
 * number. */
static void half_register(struct parse *c, struct word *w)
{
    struct sim_inst *i = c->i;
    if (w->end - w->p < 4 || *w->p != 'v' || !digit(w->p[1]) || chop(w, ".l") || !chop(w, ".h"))
        return;
    unsigned k = c->results ? 3 : i->n - i->n_results;
    if (k < sizeof i->op_sel)
        i->op_sel[k] = 1;
}

static bool operand(struct parse *c, struct word w)
{
    struct sim_inst *i = c->i;
    char type;
    if (i->n == sizeof i->o / sizeof *i->o || !next_type(c, &type))
        return fail(c, "'%.*s' is one operand too many", (int)(w.end - w.p), w.p);
    struct sim_operand *o = &i->o[i->n];
    struct word body = w;
    o->type = (uint8_t)type;
    if (body.end - body.p > 1 && *body.p == '-' && !digit(body.p[1])) {
        body.p++;
        o->neg = true;
    }
    if (skip(&body, "neg(") && chop(&body, ")"))
        o->neg = true;
    if (skip(&body, "sext(") && chop(&body, ")"))
        o->sext = true;
    if ((skip(&body, "|") && chop(&body, "|")) || (skip(&body, "abs(") && chop(&body, ")")))
        o->abs = true;
    half_register(c, &body);
    if (!register_name(body, o) && !constant(c, body, o))
        return *c->why ? false : unknown(c, w);
    if (o->kind == SIM_NONE)
        return fail(c, "'%.*s' is outside of the registers", (int)(w.end - w.p), w.p);
    if (!fits(c, o))
        return fail(c, "'%.*s' is not what operand %u of the row (%s) may be", (int)(w.end - w.p), w.p, i->n, i->op->sig);
    if (o->kind == SIM_VGPR && o->reg + o->dwords > i->vgprs)
        i->vgprs = (uint16_t)(o->reg + o->dwords);
    if (o->kind == SIM_AGPR && o->reg + o->dwords > i->agprs)
        i->agprs = (uint16_t)(o->reg + o->dwords);
    i->n += 1;
    i->n_results += c->results;
    return true;
}

/* An operand, or the addresses of an image in any registers, each of which becomes one: "[v0, v9, v4]". */
static bool operands(struct parse *c, struct word w)
{
    struct word one;
    if (!(skip(&w, "[") && chop(&w, "]")))
        return operand(c, w);
    while (cut(&w, ',', &one))
        if (!operand(c, trim(one)))
            return false;
    return true;
}

/* ---- Modifiers ---- */

enum how { FLAG, U8, U16, I64, LIST, DPP, DPP_N, DPP_LIST, SEL, SEL_SRC, UNUSED, DIM, TEMPORAL, SCOPE, CODED };

#define AT(field) offsetof(struct sim_inst, field)
static const struct modifier {
    const char *name;     /* with ':' when something follows */
    uint8_t how;
    uint16_t at;          /* where in struct sim_inst */
    uint8_t value;        /* FLAG: what is stored; DPP*: enum sim_dpp; SEL_SRC: which source */
} modifiers[] = {
    { "offset:", I64, AT(offset), 0 }, { "offset0:", U16, AT(offset0), 0 }, { "offset1:", U16, AT(offset1), 0 },
    { "glc", FLAG, AT(glc), 1 }, { "slc", FLAG, AT(slc), 1 }, { "dlc", FLAG, AT(dlc), 1 },
    { "sc0", FLAG, AT(glc), 1 }, { "sc1", FLAG, AT(dlc), 1 }, { "nt", FLAG, AT(slc), 1 }, { "scc", FLAG, AT(dlc), 1 },
    { "clamp", FLAG, AT(clamp), 1 }, { "offen", FLAG, AT(offen), 1 }, { "idxen", FLAG, AT(idxen), 1 },
    { "lds", FLAG, AT(lds), 1 },
    { "gds", FLAG, AT(gds), 1 }, { "tfe", FLAG, AT(tfe), 1 }, { "unorm", FLAG, AT(unorm), 1 }, { "a16", FLAG, AT(a16), 1 },
    { "d16", FLAG, AT(d16), 1 }, { "da", FLAG, AT(da), 1 }, { "lwe", FLAG, AT(lwe), 1 }, { "r128", FLAG, AT(r128), 1 },
    { "mul:2", FLAG, AT(omod), 1 }, { "mul:4", FLAG, AT(omod), 2 }, { "div:2", FLAG, AT(omod), 3 },
    { "row_mask:", U8, AT(row_mask), 0 }, { "bank_mask:", U8, AT(bank_mask), 0 }, { "bound_ctrl:", U8, AT(bound_ctrl), 0 },
    { "fi:", U8, AT(fi), 0 }, { "dmask:", U8, AT(dmask), 0 }, { "cbsz:", U8, AT(cbsz), 0 }, { "abid:", U8, AT(abid), 0 },
    { "blgp:", U8, AT(blgp), 0 }, { "dim:", DIM, AT(dim), 0 },
    { "op_sel:", LIST, AT(op_sel), 0 }, { "op_sel_hi:", LIST, AT(op_sel_hi), 0 }, { "neg_lo:", LIST, AT(neg_lo), 0 },
    { "neg_hi:", LIST, AT(neg_hi), 0 },
    { "quad_perm:", DPP_LIST, 0, SIM_DPP_QUAD_PERM }, { "dpp8:", DPP_LIST, 0, SIM_DPP_8 },
    { "row_shl:", DPP_N, 0, SIM_DPP_ROW_SHL },
    { "row_shr:", DPP_N, 0, SIM_DPP_ROW_SHR },
    { "row_ror:", DPP_N, 0, SIM_DPP_ROW_ROR },
    { "wave_shl:", DPP_N, 0, SIM_DPP_WAVE_SHL }, { "wave_rol:", DPP_N, 0, SIM_DPP_WAVE_ROL },
    { "wave_shr:", DPP_N, 0, SIM_DPP_WAVE_SHR }, { "wave_ror:", DPP_N, 0, SIM_DPP_WAVE_ROR },
    { "row_mirror", DPP, 0, SIM_DPP_ROW_MIRROR }, { "row_half_mirror", DPP, 0, SIM_DPP_ROW_HALF_MIRROR },
    { "row_bcast:15", DPP, 0, SIM_DPP_BCAST15 }, { "row_bcast:31", DPP, 0, SIM_DPP_BCAST31 },
    { "row_share:", DPP_N, 0, SIM_DPP_ROW_SHARE }, { "row_xmask:", DPP_N, 0, SIM_DPP_ROW_XMASK },
    { "row_newbcast:", DPP_N, 0, SIM_DPP_ROW_NEWBCAST },
    { "dst_sel:", SEL, AT(dst_sel), 0 }, { "src0_sel:", SEL_SRC, 0, 0 }, { "src1_sel:", SEL_SRC, 0, 1 },
    { "dst_unused:", UNUSED, AT(dst_unused), 0 },
    { "th:", TEMPORAL, AT(glc), 0 }, { "scope:", SCOPE, AT(scope), 0 },
    { "format:", CODED, 0, 0 }, /* of tbuffer instructions: rows read it from the encoding */
};

/* The place of `w` in the list of names, -1 when it is in none. */
static int which(struct word w, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (is(w, names[k]))
            return k;
    return -1;
}

/* "[a,b,c]" of numbers 0 to 255. */
static bool list(struct word w, uint8_t *ret, unsigned room, unsigned *ret_count)
{
    struct word one;
    int64_t value;
    bool hex;
    *ret_count = 0;
    if (!skip(&w, "[") || !chop(&w, "]"))
        return false;
    while (cut(&w, ',', &one)) {
        if (*ret_count == room || !number(trim(one), &value, &hex) || value < 0 || value > 255)
            return false;
        ret[(*ret_count)++] = (uint8_t)value;
    }
    return true;
}

/* op_sel and its like: one entry per source; one more is the result's. */
static bool store_list(struct parse *c, struct word w, uint8_t *field)
{
    uint8_t values[4];
    unsigned count, sources = c->i->n - c->i->n_results;
    if (!list(w, values, 4, &count))
        return false;
    for (unsigned k = 0; k < count; k++)
        field[k == sources ? 3 : k] = values[k];
    return true;
}

static bool store_dpp(struct parse *c, const struct modifier *m, struct word w)
{
    struct sim_inst *i = c->i;
    int64_t value;
    unsigned count;
    bool hex;
    if (i->dpp)
        return false;
    i->dpp = m->value;
    if (m->how == DPP)
        return w.p == w.end;
    if (m->how == DPP_LIST)
        return list(w, i->dpp_arg, 8, &count) && count == (m->value == SIM_DPP_8 ? 8 : 4);
    if (!number(w, &value, &hex) || value < 0 || value > 63)
        return false;
    i->dpp_arg[0] = (uint8_t)value;
    return true;
}

static bool store(struct parse *c, const struct modifier *m, struct word w)
{
    static const char *const sels[] = { "DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1" };
    static const char *const unused[] = { "UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE" };
    static const char *const dims[] = { "SQ_RSRC_IMG_1D", "SQ_RSRC_IMG_2D", "SQ_RSRC_IMG_3D", "SQ_RSRC_IMG_CUBE",
                                        "SQ_RSRC_IMG_1D_ARRAY",
                                        "SQ_RSRC_IMG_2D_ARRAY", "SQ_RSRC_IMG_2D_MSAA", "SQ_RSRC_IMG_2D_MSAA_ARRAY" };
    static const char *const scopes[] = { "SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS" };
    uint8_t *at = (uint8_t *)c->i + m->at;
    int64_t value;
    int place;
    bool hex;
    switch (m->how) {
    case FLAG:
        *at = m->value;
        return w.p == w.end;
    case U8:
        return number(w, &value, &hex) && value >= 0 && value <= 255 && (*at = (uint8_t)value, true);
    case U16:
        return number(w, &value, &hex) && value >= 0 && value <= 65535 && (memcpy(at, &(uint16_t){ (uint16_t)value }, 2), true);
    case I64:
        if (skip(&w, "swizzle(")) /* ds_swizzle's pattern in words; the bits are the encoding's low half */
            value = c->i->bytes[0] | c->i->bytes[1] << 8;
        else if (!number(w, &value, &hex))
            return false;
        memcpy(at, &value, sizeof value);
        return true;
    case LIST:
        return store_list(c, w, at);
    case DPP: case DPP_N: case DPP_LIST:
        return store_dpp(c, m, w);
    case SEL:
        return (place = which(w, sels, 7)) >= 0 && (*at = (uint8_t)place, true);
    case SEL_SRC:
        if (c->i->n_results + m->value >= c->i->n || (place = which(w, sels, 7)) < 0)
            return false;
        c->i->o[c->i->n_results + m->value].sel = (uint8_t)place;
        return true;
    case UNUSED:
        return (place = which(w, unused, 3)) >= 0 && (*at = (uint8_t)place, true);
    case DIM:
        return (place = which(w, dims, 8)) >= 0 && (*at = (uint8_t)place, true);
    case TEMPORAL: /* how long to keep it in caches: of no effect; of atomics, whether they return */
        if (skip(&w, "TH_ATOMIC_"))
            *at = chop(&w, "RETURN");
        else if (!skip(&w, "TH_LOAD_") && !skip(&w, "TH_STORE_"))
            return false;
        return true;
    case SCOPE:
        return (place = which(w, scopes, 4)) >= 0 && (*at = (uint8_t)place, true);
    default:
        return true;
    }
}

static const struct modifier *find_modifier(struct word *w)
{
    for (size_t k = 0; k < sizeof modifiers / sizeof *modifiers; k++) {
        size_t n = strlen(modifiers[k].name);
        if (modifiers[k].name[n - 1] == ':' ? skip(w, modifiers[k].name) : is(*w, modifiers[k].name)) {
            if (modifiers[k].name[n - 1] != ':')
                w->p = w->end;
            return &modifiers[k];
        }
    }
    return NULL;
}

static bool modifier(struct parse *c, struct word w)
{
    struct word value = w;
    const struct modifier *m = find_modifier(&value);
    return (m && store(c, m, value)) || unknown(c, w);
}

/* ---- Instructions ---- */

/* The families of the scalar encodings whose text holds words for an immediate; the same on gfx9 to gfx12. */
enum family { SOPP, SOPK, SOPC, OTHER };

static enum family family_of(uint32_t word)
{
    if (word >> 23 == 0x17f)
        return SOPP;
    if (word >> 23 == 0x17e)
        return SOPC;
    if (word >> 28 == 0xb && word >> 23 != 0x17d)
        return SOPK;
    return OTHER;
}

/* Texts of immediates (hwreg(...), numbers) are not read: the bits are in the encoding.  True when `w` is one. */
static bool coded(const struct sim_inst *i, enum family family, struct word w)
{
    if (strncmp(i->op->name, "s_sendmsg_rtn", 13) == 0)
        return skip(&w, "sendmsg(");
    if (family == SOPK)
        return (digit(*w.p) || *w.p == '-') ? i->size == 4 : skip(&w, "hwreg(") || skip(&w, "UC_VERSION_");
    return family == SOPC && (skip(&w, "gpr_idx(") || (i->n == 1 && strcmp(i->op->name, "s_set_gpr_idx_on") == 0));
}

static void read_immediate(struct sim_inst *i, enum family family, uint32_t word)
{
    uint16_t bits = (uint16_t)word;
    if (family == SOPC)
        i->simm = bits >> 8;
    if (family == SOPP || family == SOPK) {
        i->simm = (int16_t)bits;
        i->hwreg = bits & 63;
        i->hwreg_offset = bits >> 6 & 31;
        i->hwreg_size = (bits >> 11 & 31) + 1u;
    }
}

/* The last operand and, after blanks, the modifiers; both may be missing. */
static bool last_piece(struct parse *c, enum family family, struct word w)
{
    struct word one;
    bool first = true;
    while (cut(&w, ' ', &one)) {
        if (one.p == one.end)
            continue;
        struct word rest = one;
        /* a register, but of images' addresses a modifier */
        bool accumulator = is(one, "a16") && strncmp(c->i->op->name, "image_", 6) != 0;
        bool ok = first && (accumulator || !find_modifier(&rest)) ? coded(c->i, family, one) || operands(c, one)
                                                                  : modifier(c, one);
        if (!ok)
            return false;
        first = false;
    }
    return true;
}

/* The mnemonic without what says which encoding it has. */
static size_t base_length(const char *name, size_t n)
{
    static const char *const suffixes[] = { "_dpp", "_dpp8", "_sdwa", "_e32", "_e64" };
    for (size_t pass = 0; pass < 2; pass++) /* "_e64_dpp" */
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            size_t m = strlen(suffixes[k]);
            if (n > m && memcmp(name + n - m, suffixes[k], m) == 0)
                n -= m;
        }
    return n;
}

/* Is every source there? */
static bool complete(struct parse *c)
{
    char type;
    const char *p = c->sig;
    if (c->open || !next_type(c, &type) || c->open || *c->sig == '?')
        return true;
    return fail(c, "operands are missing: the row (%s) has more than %s", c->i->op->sig, p == c->i->op->sig ? "none" : "these");
}

static void finish(struct sim_inst *i)
{
    for (unsigned k = 0; k < i->n; k++) {
        struct sim_operand *o = &i->o[k];
        bool moved = i->dpp && k == i->n_results;
        bool known = o->kind == SIM_VGPR || o->kind == SIM_SGPR || o->kind == SIM_IMM;
        o->plain = known && !o->neg && !o->abs && !o->sext && !o->sel && !moved;
    }
    i->quick = i->n_results && i->o[0].kind == SIM_VGPR && !(i->dpp | i->dst_sel | i->omod | i->clamp);
    for (unsigned k = 0; k < sizeof i->op_sel; k++)
        i->quick = i->quick && !i->op_sel[k];
    for (unsigned k = i->n_results; k < i->n; k++) {
        const struct sim_operand *o = &i->o[k];
        i->quick = i->quick && (o->kind == SIM_VGPR || o->kind == SIM_SGPR || o->kind == SIM_IMM) && !o->sext && !o->sel;
    }
    i->self = i;
}

/* Packed instructions take the high halves by default. */
static bool is_packed(const char *name)
{
    return strncmp(name, "v_pk_", 5) == 0 || strncmp(name, "v_dot", 5) == 0;
}

/* The row for the mnemonic, by whatever name. */
static const struct sim_op *row_of(struct word name, const struct sim_card *card)
{
    char other[64];
    size_t n = base_length(name.p, (size_t)(name.end - name.p));
    const struct sim_op *op = sim_op_find(name.p, n, card);
    if (!op && card->major >= 11 && sim_rename(name.p, n, other, sizeof other))
        op = sim_op_find(other, strlen(other), card);
    return op;
}

const struct sim_op *sim_row(const char *name, const struct sim_card *card)
{
    return row_of((struct word){ name, name + strlen(name) }, card);
}

/* ---- Two instructions in one: "v_dual_X ... :: v_dual_Y ..." (VOPD) */

/* Both read before either writes.  Their results are different registers. */
static void run_dual(struct sim_wave *w, const struct sim_inst *i)
{
    const struct sim_inst *x = i->dual[0], *y = i->dual[1];
    uint32_t before[64], after[64], *result = w->v + (size_t)x->o[0].reg * w->lanes;
    memcpy(before, result, w->lanes * sizeof *before);
    x->run(w, x);
    memcpy(after, result, w->lanes * sizeof *after);
    memcpy(result, before, w->lanes * sizeof *before);
    y->run(w, y);
    memcpy(result, after, w->lanes * sizeof *after);
}

static const struct sim_op dual_row = { "v_dual", "*", run_dual, SIM_VALU, SIM_GFX11 | SIM_GFX12 };

void sim_parse_free(struct sim_inst *i)
{
    free(i->dual[0]);
    free(i->dual[1]);
    i->dual[0] = i->dual[1] = NULL;
}

static bool parse_half(struct sim_inst *i, unsigned k, struct word w, const struct sim_card *card, char *ret_why, size_t size)
{
    static const char prefix[] = "v_dual_";
    char text[sizeof i->text];
    struct sim_inst *half = i->dual[k] = calloc(1, sizeof *half);
    w = trim(w);
    if (!half || !skip(&w, prefix)) {
        snprintf(ret_why, size, "a half of it is not understood");
        return false;
    }
    bool chooses = (size_t)(w.end - w.p) > 8 && memcmp(w.p, "cndmask_", 8) == 0; /* by vcc, unsaid */
    snprintf(text, sizeof text, "v_%.*s%s", (int)(w.end - w.p), w.p, chooses ? ", vcc_lo" : "");
    half->pc = i->pc;
    half->wave = i->wave;
    half->size = i->size;
    if (!sim_parse(half, text, card, ret_why, size))
        return false;
    if (half->n_results != 1 || half->o[0].kind != SIM_VGPR || half->o[0].dwords != 1) {
        snprintf(ret_why, size, "a half of it is no such instruction");
        return false;
    }
    half->run = half->op->run;
    half->cls = half->op->cls;
    half->slots = half->wave;
    i->vgprs = half->vgprs > i->vgprs ? half->vgprs : i->vgprs;
    return true;
}

static bool parse_dual(struct sim_inst *i, const char *text, const char *between, const struct sim_card *card, char *ret_why,
                       size_t size)
{
    struct word first = { text, between }, second = { between + 2, text + strlen(text) };
    i->op = &dual_row;
    i->self = i;
    i->row_mask = i->bank_mask = 15;
    return parse_half(i, 0, first, card, ret_why, size) && parse_half(i, 1, second, card, ret_why, size);
}

bool sim_parse(struct sim_inst *i, const char *text, const struct sim_card *card, char *ret_why, size_t size)
{
    const char *between = strstr(text, "::");
    struct parse c = { .i = i, .why = ret_why, .why_size = size };
    struct word rest = { text, text + strlen(text) }, name, piece;
    uint32_t word;
    memcpy(&word, i->bytes, sizeof word);
    enum family family = family_of(word);
    *ret_why = 0;
    if (between && strncmp(text, "v_dual_", 7) == 0)
        return parse_dual(i, text, between, card, ret_why, size);
    if (!cut(&rest, ' ', &name))
        return fail(&c, "no instruction");
    i->op = row_of(name, card);
    if (!i->op)
        return fail(&c, "the instruction is not simulated");
    c.sig = i->op->sig;
    c.results = strchr(c.sig, '=') != NULL;
    i->row_mask = i->bank_mask = 15;
    memset(i->op_sel_hi, is_packed(i->op->name), sizeof i->op_sel_hi);
    read_immediate(i, family, word);
    if (family == SOPP) /* all words of it are its immediate */
        rest.p = rest.end;
    for (rest = trim(rest); cut(&rest, ',', &piece);) {
        piece = trim(piece);
        bool last = rest.p == rest.end;
        if (last ? !last_piece(&c, family, piece) : !(coded(i, family, piece) || operands(&c, piece)))
            return false;
    }
    if (!complete(&c))
        return false;
    finish(i);
    return true;
}
