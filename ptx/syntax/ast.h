/* The syntax tree of a PTX module: what the parser makes, the printer prints, and the checker fills in.
 *
 * Everything lives in the module's arena and is freed with it.  Strings are slices of that arena.  The tree keeps
 * instructions that no table row knows: whether an instruction can be lowered is the checker's question, not the
 * parser's.  Fields marked [checked] are set by ptx/module and are zero after parsing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_AST_H
#define AW_PTX_SYNTAX_AST_H

#include "base/arena.h"
#include "base/status.h"

enum ptx_type {
    PTX_NONE,
#define PTX_TYPE(id, spelling, bits, class) PTX_##id,
#include "tab/type.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT
};

enum ptx_sreg {
    PTX_SREG_NONE,
#define PTX_SREG(id, spelling, type) PTX_SREG_##id,
#include "tab/sreg.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};

enum ptx_space {
    PTX_SPACE_NONE, /* generic when an instruction states none */
    PTX_SPACE_REG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL, PTX_SPACE_LOCAL, PTX_SPACE_PARAM, PTX_SPACE_SHARED, PTX_SPACE_TEX
};

struct ptx_loc {
    uint32_t line, column; /* 1-based */
};

enum ptx_linkage { PTX_LOCAL, PTX_VISIBLE, PTX_EXTERN, PTX_WEAK, PTX_COMMON };

struct ptx_var;
struct ptx_func;
struct ptx_instr;

/* ---- Initialisers (PTX ISA 5.4.4) */
enum ptx_init_kind { PTX_INIT_LIST, PTX_INIT_INT, PTX_INIT_FLOAT, PTX_INIT_ADDR };
struct ptx_init_addr {
    struct aw_str field;    /* opaque types: "addr_mode_0" of addr_mode_0 = clamp_to_edge; else empty */
    struct aw_str symbol;   /* or the word after a field's = */
    int64_t offset;         /* symbol + offset */
    uint64_t mask;          /* 0xff00(symbol) form; 0 = none */
    bool generic;           /* generic(symbol) */
    struct ptx_var *var;    /* [checked] of a variable ... */
    struct ptx_func *func;  /* [checked] ... or of a function */
};
/* Small, for there are modules with megabytes of initialisers. */
struct ptx_init {
    uint8_t kind;           /* enum ptx_init_kind */
    bool is_f32;
    uint32_t n_items;
    struct ptx_loc loc;
    union {
        struct ptx_init *items;     /* LIST: n_items of them */
        uint64_t bits;              /* INT: value; FLOAT: bits of the f64, or of the f32 when is_f32 */
        struct ptx_init_addr *addr; /* ADDR */
    };
};

/* ---- Variables: registers, parameters, and variables in every space */
struct ptx_var {
    struct ptx_var *next;       /* in its scope, in order */
    struct aw_str name;
    struct ptx_loc loc;
    enum ptx_space space;
    enum ptx_type type;
    enum ptx_linkage linkage;
    uint32_t vec;               /* 1, 2, 4 or 8 */
    uint32_t align;             /* as written; 0 = natural [checked: final] */
    uint32_t n_dims;            /* 0 = scalar */
    uint64_t dims[8];           /* 0 = unsized */
    uint32_t range;             /* .reg .b32 %r<range>: declares name0 .. name(range-1); 0 = none */
    bool managed;               /* .attribute(.managed) */
    bool unified;
    bool is_ptr;                /* kernel parameter with .ptr */
    enum ptx_space ptr_space;
    uint32_t ptr_align;
    struct ptx_init *init;      /* NULL = none */
    struct aw_str attrs;        /* other .attribute(...) text, kept for printing */
    uint64_t size;              /* [checked] bytes, without vec padding; 0 = unsized */
    uint64_t offset;            /* [checked] module variable: in the arena; param: in its list; shared: in its function */
    uint32_t index;             /* [checked] register: dense number in its function (range: of element 0) */
    struct ptx_func *func;      /* [checked] function it is local to; NULL = module scope */
    void *user;                 /* the lowering's */
    struct ptx_module *origin;  /* the text it came from: file name for messages, .version, .target */
    uint32_t mark;              /* ptx/module's scratch */
};

/* ---- Operands */
enum ptx_operand_kind {
    PTX_OP_NONE,
    PTX_OP_NAME,     /* an identifier not yet resolved; none is left after checking, but in unknown instructions */
    PTX_OP_REG,      /* [checked] var + index */
    PTX_OP_SREG,     /* special register */
    PTX_OP_SYMBOL,   /* [checked] variable address, with offset: mov.u64 %rd, sym+4 */
    PTX_OP_FUNC,     /* [checked] function address or call target */
    PTX_OP_LABEL,    /* [checked] branch target */
    PTX_OP_INT,      /* value in bits, two's complement */
    PTX_OP_FLOAT,    /* bits of f64, or of f32 when is_f32 (0f...) */
    PTX_OP_SINK,     /* _ */
    PTX_OP_VECTOR,   /* {a, b, ...} in items */
    PTX_OP_ADDR,     /* [base + offset]: base in items[0] (REG, SYMBOL, INT); tex forms [t, {x,y}] have more items */
    PTX_OP_PAIR,     /* a|b in items[0..1] */
    PTX_OP_LIST      /* (a, b) of a call, in items */
};
enum ptx_negation { PTX_PLAIN, PTX_NOT, PTX_MINUS };
struct ptx_operand {
    enum ptx_operand_kind kind : 8; /* modules hold millions of operands: this is kept small */
    uint8_t negate;          /* enum ptx_negation: !p, or -x for a register in forms that allow it */
    bool is_f32 : 1;
    bool indexed : 1;        /* written a[2]: offset counts elements until [checked] makes it bytes */
    bool by_register : 1;    /* written a[r] or a[r+2]: ADDR, its items are a and r, its offset counts elements */
    enum ptx_sreg sreg;
    struct ptx_loc loc;
    struct aw_str name;      /* NAME, and what was written for REG, SYMBOL, FUNC, LABEL */
    struct aw_str suffix;    /* vector component of a register or sreg: "x"; .unified of an address; empty otherwise */
    uint64_t bits;
    int64_t offset;          /* SYMBOL, ADDR; REG: added to what is read */
    union {                  /* which one: kind says */
        struct ptx_operand *items; /* VECTOR, ADDR, PAIR, LIST: n_items of them */
        struct ptx_var *var;       /* REG, SYMBOL */
        struct ptx_func *func;     /* FUNC */
        struct ptx_stmt *label;    /* LABEL: the label statement, or a .branchtargets/.calltargets/.callprototype statement */
    };
    uint32_t n_items;
    uint32_t reg;            /* REG: dense register number in the function */
};

/* ---- Statements of a body, in order */
enum ptx_stmt_kind {
    PTX_STMT_LABEL, PTX_STMT_INSTR, PTX_STMT_DECL, PTX_STMT_OPEN, PTX_STMT_CLOSE, /* { and } */
    PTX_STMT_LOC, PTX_STMT_PRAGMA, PTX_STMT_BRANCHTARGETS, PTX_STMT_CALLTARGETS, PTX_STMT_CALLPROTOTYPE
};
struct ptx_stmt {
    struct ptx_stmt *next;
    enum ptx_stmt_kind kind;
    struct ptx_loc loc;
    uint32_t n_targets;
    struct aw_str label;          /* LABEL's name; also of the three target tables; empty in other kinds */
    union {                       /* which one: kind says */
        struct ptx_instr *instr;
        struct ptx_var *decl;         /* DECL: list through next, declared by one statement */
        struct ptx_operand *targets;  /* BRANCHTARGETS, CALLTARGETS */
        struct ptx_func *proto;       /* CALLPROTOTYPE */
    };
    uint32_t file, line, column;  /* LOC */
    struct aw_str text;           /* PRAGMA, and LOC's function_name part verbatim */
    void *user;                   /* the lowering's: LABEL -> basic block */
};

/* ---- Instructions */
#define PTX_MAX_TYPES 5
struct ptx_form; /* a row of instr.def, see tab/form.h */

struct ptx_instr {
    struct ptx_loc loc;
    struct aw_str mnemonic;       /* "add": up to the first '.' */
    struct aw_str *mods;          /* ".rn" ".f32" ... in order, with the dot; "::" parts stay in one: ".shared::cta";
                                     shared by all instructions of this spelling, not to be changed */
    uint32_t n_mods;
    struct ptx_operand *ops;
    uint32_t n_ops;
    struct ptx_operand *guard;    /* @p or @!p; NULL = always */
    const struct ptx_form *form;  /* [checked] NULL = not in the table: cannot be lowered */
    const enum ptx_type *types;   /* [checked] PTX_MAX_TYPES: the type modifiers in order; shared, never NULL */
    uint32_t n_types;
    enum ptx_space space;         /* [checked] state-space modifier */
    uint32_t vec;                 /* [checked] 1, 2, 4, 8 */
    const uint64_t *flags;        /* [checked] 4: set of enum ptx_mod, see tab/form.h; shared, never NULL */
    struct aw_str why;            /* [checked] when form is NULL: what is wrong, for the message */
    bool foreign;                 /* [checked] likewise: valid PTX that anywarp cannot do */
    enum ptx_space space2;        /* [checked] the second state space of cp.async.ca.shared.global */
    struct ptx_opcode *opcode;    /* the interned spelling; syntax and module only */
};

/* ---- Functions */
struct ptx_func {
    struct ptx_func *next;
    struct aw_str name;
    struct ptx_loc loc;
    bool is_entry, noreturn, is_prototype /* no body */;
    enum ptx_linkage linkage;
    struct ptx_var *rets, *params;        /* lists */
    uint32_t max_ntid[3], req_ntid[3], req_cluster[3], max_cluster_rank;
    uint32_t min_ctas, max_ctas, max_regs;
    bool explicit_cluster, blocks_are_clusters;
    struct aw_str *pragmas;
    uint32_t n_pragmas;
    struct aw_str attrs;                  /* .attribute, .abi_preserve and kin, verbatim */
    struct ptx_stmt *body;
    uint32_t n_regs;                      /* [checked] */
    struct ptx_var **reg_vars;            /* [checked] n_regs: the declaration of each dense register */
    struct ptx_func *definition;          /* [checked] prototype -> the definition, or itself, or NULL when extern */
    uint32_t address_id;                  /* [checked] nonzero when its address is taken: see docs, "Function addresses" */
    uint64_t local_bytes;                 /* [checked] of .local variables in the body */
    uint32_t n_errors;                    /* [checked] diagnostics inside the body: its kernels cannot be compiled */
    uint32_t n_unsupported;               /* [checked] of these, those of valid PTX that anywarp cannot do */
    struct aw_str errors;                 /* [checked] those messages, one a line */
    uint64_t closure[2];                  /* [checked] entry: hash of what it depends on */
    void *user;                           /* the lowering's */
    struct ptx_module *origin;            /* the text it came from: file name for messages, .version, .target */
    struct ptx_uses *uses;                /* [checked] what its body refers to, see module/module.h */
    struct ptx_loc end;                   /* of the closing brace */
    uint32_t mark;                        /* ptx/module's scratch */
};

struct ptx_alias {
    struct ptx_alias *next;
    struct aw_str name, target;
    struct ptx_loc loc;
};

struct ptx_file {
    struct ptx_file *next;
    uint32_t index;
    struct aw_str name, rest; /* rest: time stamp and size, verbatim */
};

/* A .global or .const variable declared inside a function: named there alone, and placed with the module's. */
struct ptx_nested {
    struct ptx_nested *next;
    struct ptx_var *var;            /* in the list of its statement */
    struct ptx_func *func;
    uint32_t block;                 /* how many blocks are open around it */
    uint32_t number, end;           /* its own, counted from 1, and that of the last one inside its block */
};

/* A .section block, kept verbatim for printing. */
struct ptx_section {
    struct ptx_section *next;
    struct aw_str name, text;
};

/* ---- One module */
struct ptx_module {
    struct aw_arena arena;
    struct aw_str name;             /* file name for messages */
    uint32_t major, minor;          /* .version */
    uint32_t sm;                    /* 80 of sm_80 */
    char sm_suffix;                 /* 'a', 'f', 0 */
    struct aw_str targets;          /* the .target line's text */
    bool debug;                     /* .target ..., debug */
    bool texmode_unified;
    uint32_t address_size;          /* 32 or 64 */
    struct ptx_var *vars;
    struct ptx_func *funcs;
    struct ptx_alias *aliases;
    struct ptx_file *files;
    struct ptx_section *sections;
    struct ptx_nested *nested;      /* in reverse order; of this text alone, also after linking */
    /* Order of module-level items for printing: each points into one of the lists above. */
    struct ptx_item {
        enum { PTX_ITEM_VAR, PTX_ITEM_FUNC, PTX_ITEM_ALIAS, PTX_ITEM_FILE, PTX_ITEM_SECTION, PTX_ITEM_PRAGMA } kind;
        void *node;                 /* PRAGMA: struct aw_str * */
    } *items;
    uint32_t n_items;
    struct ptx_module *absorbed;    /* modules linked into this one: their arenas hold nodes of ours; freed with us */
    struct ptx_state *state;        /* [checked] ptx/module's tables */
};

#endif
