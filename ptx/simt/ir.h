/* The vectoriser's own state and what all of its floors use (ir.c), shared by the files of this room and by nobody else.
 *
 * One `struct simt` lives for one module, one `struct simt_fn` for one function in one version.  A function is read from the
 * `in` module and written to the `out` module, whose pointers are all plain 64-bit ones: an address in the shared window is
 * an i32 there, until a load or store adds the window's base. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_IR_H
#define AW_PTX_SIMT_IR_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "lower/copy.h"
#include "lower/graph.h"
#include "lower/intrinsic.h"
#include "lower/line_table.h"
#include "lower/metadata.h"
#include "lower/simt.h"
#include "simt/private.h"
#include "simt/vectorise.h"
#include <anywarp/hostabi.h>

#define SIMT_LANES 32 /* of a warp, and the most a vector has: struct simt says how many */
#define SIMT_SPACE_GENERIC 0
#define SIMT_SPACE_GLOBAL 1
#define SIMT_SPACE_SHARED 3
#define SIMT_SPACE_CONST 4
/* Begins the names of stack areas whose content no one holds on to: what SROA splits keeps its name, not its metadata. */
#define SIMT_SCRATCH "scratch"

/* What is known of a value over the lanes.  AFFINE: lane i holds base + off[i] modulo the type's width, the base being one
 * scalar.  VARYING: a vector.  TOP: not reached yet by the analysis. */
enum simt_kind { SIMT_TOP, SIMT_AFFINE, SIMT_VARYING };

struct simt_val {
    LLVMValueRef src;
    enum simt_kind kind;
    bool check;          /* AFFINE only when `ok` holds at run time; else base + `simt_delta` */
    uint8_t tz;          /* known trailing zero bits of the base */
    const int64_t *off;  /* interned; NULL = all zero, the value is uniform */
    LLVMValueRef s;      /* base (AFFINE) */
    LLVMValueRef v;      /* vector (VARYING) */
    LLVMValueRef ok;     /* i1, with check; NULL = true */
    LLVMValueRef d;      /* phi with check: vector of the lanes' distances from the base */
    LLVMValueRef memo;   /* distance vector built in the cold block number `epoch` */
    unsigned epoch;
    struct simt_field {
        LLVMValueRef s, v;
    } *fields;           /* of an aggregate */
};

struct simt_block {
    LLVMBasicBlockRef bb;
    int n_succ, succ[2];
    int n_preds, *preds;
    int idom;                      /* the entry's is itself */
    int loop;                      /* innermost, or -1 */
    int next_in_loop;              /* another block with the same innermost loop, or -1 */
    bool divergent;                /* ends in a branch on which the lanes may differ */
    bool updates;                  /* only writes over what the block before it has read (update.c); run for no lane as well where
                                    * masked stores are quick */
    LLVMBasicBlockRef begin, end;  /* what it became */
    LLVMValueRef mask;             /* <32 x i1>; NULL = every lane of the warp */
};

/* A value that leaves a divergent loop: each lane keeps what it had in its last iteration. */
struct simt_liveout {
    LLVMValueRef exit_phi;   /* in the source */
    LLVMValueRef value;      /* source value at the latch */
    LLVMValueRef acc;        /* own vector phi, or NULL when `carried` keeps it */
    LLVMValueRef carried;    /* source header phi that the value feeds */
    LLVMValueRef kept;       /* vector at the latch's end */
};

struct simt_loop {
    int header, parent, depth;
    int first;       /* one of its own blocks; see next_in_loop */
    int latch;       /* -1: none, -2: several */
    int preheader;   /* likewise */
    int exit;        /* block outside that is entered; likewise */
    bool divergent;
    LLVMValueRef live;  /* the header's mask phi */
    LLVMValueRef again; /* of a loop that waits: phi of i1 in its header, not the first iteration */
    AW_VEC(struct simt_liveout) outs;
};

enum simt_form {
    SIMT_FORM_ROWS,   /* kernel; block.x is a multiple of 32: every warp is full and lies in one row */
    SIMT_FORM_ANY,    /* kernel; any shape, last warp may be partial */
    SIMT_FORM_FIXED,  /* kernel; shape from the options */
    SIMT_FORM_DEVICE, /* device function */
    SIMT_FORM_SINGLE, /* part of a kernel for one lane at a time: everything in it is a scalar; see serialise.c */
};

/* Line tables; see line_table.c. */
struct simt_line_tables {
    bool on;
    struct ptx_unit unit;         /* of the out module */
    LLVMMetadataRef file;         /* of what has no place */
    LLVMMetadataRef from, own, nowhere; /* of the function being emitted: scope in the source (or NULL), here, its line 0 */
    struct aw_ptrmap scopes;      /* inlined functions: scope in the source -> here */
    struct aw_ptrmap places;      /* of the function being emitted: place in the source -> here */
};

/* The order of warps that do not wait for each other; schedule.c chooses. */
enum simt_schedule {
    SIMT_IN_TURN,     /* a block's warps one after the other, then the next block */
    SIMT_BLOCK_ROWS,  /* neighbouring blocks take turns warp by warp; see entries.c */
    SIMT_INTERLEAVED, /* several warps of a block at once; see warp_uniform.c */
    SIMT_ABREAST,     /* a block's warps side by side through a loop; see grid_stride.c */
    SIMT_MARCH,       /* the body is called for each iteration of a loop, of one warp after the other; see march.c */
    SIMT_MARCH_ROWS,  /* and neighbouring blocks, whose rows are warps, take turns as well */
};

/* What is counted, of code that counts; see count.c. */
struct simt_count {
    uint32_t counter;
    enum aw_host_counted what;
    uint32_t amount, line;        /* of the line, 0: no one's */
    LLVMMetadataRef file;
};
struct simt_counts {
    uint32_t n, first;            /* counters, and the first of the block of code at hand */
    AW_VEC(struct simt_count) rows;
    struct aw_ptrmap texts;       /* file -> its name in the out module */
};

enum { SIMT_RARE = 4 };
enum { SIMT_SINGLE_INS = 24, SIMT_SINGLE_OUTS = 12 }; /* values that a function for one lane takes and makes, at most */
struct simt {
    const struct simt_options *options;
    struct aw_buf *diags;
    struct aw_arena arena;
    LLVMContextRef ctx;
    LLVMModuleRef in, out;
    LLVMTargetDataRef in_layout;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i32, i64, ptr, v_void, i1v, i32v, i64v, warp_state;
    int lanes;                          /* of a vector: 32, or a part of the warp where no lane asks for another; see
                                         * vector_width.c */
    LLVMValueRef all_lanes, no_lanes;   /* constant masks */
    LLVMValueRef scopes[2], both_scopes; /* alias scopes of global and of shared memory */
    LLVMValueRef kernel;
    size_t size;                        /* its instructions, before any of it was copied */
    struct aw_map offsets;              /* interned lane offsets, by bytes */
    const int64_t *lane_offsets;        /* 0, 1, .. 31 */
    struct aw_ptrmap globals;           /* source global -> out global */
    struct aw_ptrmap functions;         /* source device function -> out function */
    struct aw_ptrmap singles;           /* likewise of functions for one lane */
    struct aw_ptrmap called;            /* source function -> 1 + enum ptx_simt */
    struct simt_stats stats;
    struct simt_line_tables lines;
    struct simt_counts counts;
    bool meets;                         /* barriers are calls whose meaning simt_fission settles */
    bool polls;                         /* a loop waits for what other warps, of its block perhaps, tell it */
    enum simt_schedule schedule;
    uint32_t frame_bytes, turn_bytes;   /* what it keeps between two calls, and about what a call reads and writes */
    bool plain_updates; /* atomics on a block's own memory are loads and stores somewhere: no other warp may come in between */
    bool jammed;                        /* several warps share instructions somewhere */
    int n_rare;                         /* blocks of the kernel before which something is asked that all but never holds; see
                                         * reroll.c */
    LLVMBasicBlockRef rare[SIMT_RARE];
    int status;
};

/* The elements of small structures that neighbouring instructions read or write; see interleaved_access.c. */
enum { SIMT_INTERLEAVED_PARTS = 4 };
struct simt_interleaved {
    int n;                            /* 0: none */
    int64_t by;                       /* elements from one lane to the next */
    unsigned size, align;             /* bytes, of one element */
    LLVMTypeRef elem;                 /* in the out module */
    LLVMValueRef inst[SIMT_INTERLEAVED_PARTS];    /* loads or stores, by place */
    LLVMValueRef base;                /* source address of one part */
    int64_t base_at;                  /* and its distance from the first, in bytes */
    LLVMValueRef last;                /* the last in the block */
};

/* Neighbouring accesses from one address, whose lanes lie anywhere but at distances that are known; see permuted_access.c. */
enum { SIMT_PERMUTED = 8 };
struct simt_permuted {
    int n;                            /* accesses; 0: none */
    unsigned size, align;             /* bytes, of one element */
    LLVMTypeRef elem;                 /* in the out module */
    LLVMValueRef inst[SIMT_PERMUTED];  /* in the order of the block */
    int64_t at[SIMT_PERMUTED];         /* distance of each from the first one, in bytes */
    const int64_t *off;               /* of the lanes */
    bool check;                       /* only where an index has not wrapped */
};

/* A load from memory that is the same for all lanes plus a few bytes of each lane's own; see lookup_table.c. */
enum { SIMT_TABLE_TERMS = 4 };
struct simt_lookup_table {
    LLVMValueRef terms[SIMT_TABLE_TERMS]; /* source values, the same for all lanes, that add up to the table's address */
    int n;
    LLVMValueRef own;   /* what a lane adds to it, in bytes: a source integer */
    uint64_t most;      /* its largest value */
    LLVMValueRef base;  /* the table's address: a scalar of the out module */
    LLVMValueRef ok;    /* i1: it may be read whole; NULL = true */
};

struct simt_fn {
    bool dispatched;             /* see SIMT_DISPATCHED */
    struct simt *u;
    enum simt_form form;
    LLVMValueRef src, out;
    int gathers, scatters, rmws;        /* emitted lane by lane in straight-line code so far */
    int likely;                         /* rows that were asked for so far */
    int n_blocks;
    struct simt_block *blocks;          /* reverse postorder; 0 is the entry */
    struct aw_ptrmap block_index;       /* basic block -> 1 + index */
    struct ptx_dominators dominators;
    int n_loops;
    struct simt_loop *loops;            /* a loop's parent has a greater index */
    struct aw_ptrmap vals;
    LLVMValueRef mask;                  /* its mask */
    bool updates;                       /* and what the block says of itself */
    unsigned epoch;
    uint32_t counter;                   /* of the block, where blocks are counted */
    /* Parameters of the vector function. */
    LLVMValueRef block, state, part, warp, ctaid[3], kernarg, lanes;
    LLVMValueRef tid_base[3];           /* scalars of the warp's first lane; kernels only */
    LLVMValueRef tid_vec[3];            /* vectors; NULL until needed */
    struct simt_tid {
        bool affine;
        uint8_t tz;
        const int64_t *off;
    } tid[3];
    LLVMValueRef launch, shared;        /* loaded in the entry block */
    struct simt_interleaved storing;          /* stores that wait for the last one */
    LLVMValueRef waiting, awaited;      /* the first store of a pair, and the one it waits for; see pair_access.c */
    struct simt_permuted spreading;      /* likewise */
    LLVMBasicBlockRef entry;
    struct {
        bool barriers, *late;           /* are there any, and which blocks are behind them; NULL: not looked at yet */
        int n;                          /* loads that asked */
        LLVMValueRef root[16];          /* each one's address ... */
        int64_t at[16];                 /* ... and how far from it */
        LLVMBasicBlockRef counted;      /* the block last looked at: */
        int64_t streams;                /* in how many places it goes through memory in rows */
        int loop, rounds;               /* the loop last looked at, and rounds that it asks ahead; 0: none yet */
    } ahead;                            /* see prefetch.c */
    LLVMValueRef scratch[6];            /* stack areas of 32 x 16 bytes */
};

/* ---- ir.c */
bool simt_step(const struct simt *u, enum ptx_pass pass);   /* is this INNER pass to be done? */
bool simt_forced(const struct simt *u, enum ptx_pass pass); /* wherever it can be? */
size_t simt_threshold(const struct simt *u, enum ptx_threshold id);
bool simt_is_marching(const struct simt *u);
bool simt_takes_block_rows(const struct simt *u);
bool simt_jams_always(const struct simt *u); /* unroll_jam.c */
void simt_stepped(const struct simt *u, enum ptx_pass pass, LLVMModuleRef changed); /* it was */
bool simt_begin(struct simt *u); /* with `in`, `options` and `diags` set; false when memory is out */
void simt_end(struct simt *u);   /* in any case */
bool simt_lanes_set(struct simt *u, int lanes); /* 8, 16 or 32, before anything is emitted */
size_t simt_block_size(LLVMBasicBlockRef bb);  /* instructions */
size_t simt_instructions(LLVMValueRef fn);     /* how many in all its blocks */
/* Notes an error once; later calls are ignored.  Returns NULL. */
void *simt_fail(struct simt *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *simt_memory(struct simt *u);  /* as simt_fail, for memory */
bool simt_undef(LLVMValueRef v);
enum ptx_simt simt_call_id(struct simt *u, LLVMValueRef call);
/* Do a block's warps wait for each other there? */
bool simt_is_barrier(struct simt *u, LLVMValueRef inst);
/* Does each lane compute its result of its own arguments alone? */
bool simt_is_lanewise(enum ptx_simt id);
bool simt_int_const(LLVMValueRef v, int64_t *ret);
LLVMValueRef simt_opposite(LLVMValueRef cond); /* of what it is the opposite; NULL: of nothing else */
/* Where a variable lies in the shared window; false: it is none of it. */
bool simt_shared_place(const struct simt *u, LLVMValueRef variable, int64_t *ret);
/* addresses in the shared window, too: variables' places are known */
bool simt_known_const(struct simt_fn *f, LLVMValueRef v, int64_t *ret);
unsigned simt_space(LLVMTypeRef type);                          /* address space of a pointer type, else 0 */
bool simt_is_shared_ptr(LLVMTypeRef type);
bool simt_maybe_shared(LLVMValueRef pointer); /* a shared address, or a generic one */
unsigned simt_width(LLVMTypeRef type);                          /* bits, where offsets are taken modulo 2^bits */
LLVMTypeRef simt_type(struct simt *u, LLVMTypeRef type);        /* its form in the out module */
LLVMTypeRef simt_vec_type(struct simt *u, LLVMTypeRef out_type); /* as many elements as a vector has lanes */
LLVMValueRef simt_and(struct simt *u, LLVMValueRef a, LLVMValueRef b); /* NULL = true */
LLVMValueRef simt_c32(struct simt *u, int64_t x);
LLVMValueRef simt_c64(struct simt *u, int64_t x);
LLVMValueRef simt_advance(struct simt *u, LLVMValueRef ptr, int64_t bytes);
LLVMValueRef simt_intrinsic(struct simt *u, const char *name, LLVMTypeRef *types, unsigned n_types, LLVMValueRef *args,
                            unsigned n);
LLVMValueRef simt_access_address(LLVMValueRef inst); /* of a load or store */
LLVMTypeRef simt_access_type(LLVMValueRef inst);
/* an address as another one, or a number, plus a constant */
LLVMValueRef simt_access_root(struct simt_fn *f, LLVMValueRef p, int64_t *ret_at);
bool simt_access_plain(LLVMValueRef x, bool store);
bool simt_touches_memory(LLVMValueRef x);
bool simt_is_serialised(LLVMValueRef fn);
/* Puts an instruction that was in the middle of a block first in one; the graph must be found anew. */
void simt_split_before(struct simt *u, LLVMValueRef x);

#endif
