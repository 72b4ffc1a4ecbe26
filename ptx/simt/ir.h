/* The vectoriser's own state, shared by the files of this room and by nobody else.
 *
 * One `struct simt` lives for one module, one `struct simt_fn` for one function in one version.  A function is read from the
 * `in` module and written to the `out` module, whose pointers are all plain 64-bit ones: an address in the shared window is
 * an i32 there, until a load or store adds the window's base. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_WORK_H
#define AW_PTX_SIMT_WORK_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "lower/line_table.h"
#include "lower/simt.h"
#include "simt/vectorise.h"

#define SIMT_LANES 32 /* of a warp, and the most a vector has: struct simt says how many */
#define SIMT_SPACE_GLOBAL 1
#define SIMT_SPACE_SHARED 3
#define SIMT_SPACE_CONST 4
#define SIMT_ALWAYS "aw.host.always" /* i1(), true: the exit of an endless loop hangs on it */
#define SIMT_ALL "aw.host.all"       /* i1(i1), the same for the warp: true only if it is for all active lanes; may say false nevertheless */
#define SIMT_SINGLE "aw.host.single." /* and a number: a function for one lane; see serialise.c */
#define SIMT_FIRST "aw.host.first"   /* iN(iN), N appended, the same for the warp: lane 0's value, if that runs, else anything */
#define SIMT_TOGETHER "aw.host.together" /* i1(i1), the same for the warp; where the block's warps can wait for each other, true only if it is for all */
/* On addresses, with the address space appended; see region_copy.c. */
#define SIMT_NOWRAP "aw.host.nowrap" /* i1(ptr), the same for the warp: the lanes are where their distances from the base say */
#define SIMT_EXACT "aw.host.exact"   /* ptr(ptr): the same address, where that is known */
#define SIMT_APART "aw.host.apart"   /* ptr(ptr): the same address, where it does not hold */
#define SIMT_SCRATCH "scratch" /* begins the names of stack areas whose content no one holds on to */

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
    int idom, dom_in, dom_out;
    int loop;                      /* innermost, or -1 */
    int next_in_loop;              /* another block with the same innermost loop, or -1 */
    bool divergent;                /* ends in a branch on which the lanes may differ */
    bool updates;                  /* only writes over what the block before it has read (update.c); run for no lane as well where masked stores are quick */
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
    LLVMValueRef live; /* the header's mask phi */
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
struct simt_lines {
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

enum { SIMT_RARE = 4 };
struct simt {
    const struct simt_options *options;
    struct aw_buf *diags;
    struct aw_arena arena;
    LLVMContextRef ctx;
    LLVMModuleRef in, out;
    LLVMTargetDataRef in_layout;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i32, i64, ptr, v_void, i1v, i32v, i64v, warp_state;
    int lanes;                          /* of a vector: 32, or a part of the warp where no lane asks for another; see vector_width.c */
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
    struct simt_lines lines;
    bool meets;                         /* barriers are calls whose meaning simt_regions settles */
    enum simt_schedule schedule;
    uint32_t frame_bytes, turn_bytes;   /* what it keeps between two calls, and about what a call reads and writes */
    bool plain_updates; /* atomics on a block's own memory are loads and stores somewhere: no other warp may come in between */
    bool jammed;                        /* several warps share instructions somewhere */
    int n_rare;                         /* blocks of the kernel before which something is asked that all but never holds; see reroll.c */
    LLVMBasicBlockRef rare[SIMT_RARE];
    int status;
};

/* The elements of small structures that neighbouring instructions read or write; see interleaved_access.c. */
enum { SIMT_PARTS = 4 };
struct simt_parts {
    int n;                            /* 0: none */
    int64_t by;                       /* elements from one lane to the next */
    unsigned size, align;             /* bytes, of one element */
    LLVMTypeRef elem;                 /* in the out module */
    LLVMValueRef inst[SIMT_PARTS];    /* loads or stores, by place */
    LLVMValueRef base;                /* source address of one part */
    int64_t base_at;                  /* and its distance from the first, in bytes */
    LLVMValueRef last;                /* the last in the block */
};

/* Neighbouring accesses from one address, whose lanes lie anywhere but at distances that are known; see permuted_access.c. */
enum { SIMT_PATTERN = 8 };
struct simt_pattern {
    int n;                            /* accesses; 0: none */
    unsigned size, align;             /* bytes, of one element */
    LLVMTypeRef elem;                 /* in the out module */
    LLVMValueRef inst[SIMT_PATTERN];  /* in the order of the block */
    int64_t at[SIMT_PATTERN];         /* distance of each from the first one, in bytes */
    const int64_t *off;               /* of the lanes */
};

/* A load from memory that is the same for all lanes plus a few bytes of each lane's own; see lookup_table.c. */
enum { SIMT_TABLE_TERMS = 4 };
struct simt_table {
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
    int n_blocks;
    struct simt_block *blocks;          /* reverse postorder; 0 is the entry */
    struct aw_ptrmap block_index;       /* basic block -> 1 + index */
    int n_loops;
    struct simt_loop *loops;            /* a loop's parent has a greater index */
    struct aw_ptrmap vals;
    LLVMValueRef mask;                  /* its mask */
    bool updates;                       /* and what the block says of itself */
    unsigned epoch;
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
    struct simt_parts storing;          /* stores that wait for the last one */
    LLVMValueRef waiting, awaited;      /* the first store of a pair, and the one it waits for; see pair_access.c */
    struct simt_pattern spreading;      /* likewise */
    LLVMBasicBlockRef entry;
    struct {
        bool barriers, *late;           /* are there any, and which blocks are behind them; NULL: not looked at yet */
        int n;                          /* loads that asked */
        LLVMValueRef root[16];          /* each one's address ... */
        int64_t at[16];                 /* ... and how far from it */
        LLVMBasicBlockRef turn;         /* the block last looked at: */
        bool many;                      /* does it march in many places at once? */
    } ahead;                            /* see prefetch.c */
    LLVMValueRef scratch[6];            /* stack areas of 32 x 16 bytes */
};

/* ---- vectorise.c */
bool simt_step(const struct simt *u, enum ptx_pass pass);   /* is this INNER pass to be done? */
bool simt_forced(const struct simt *u, enum ptx_pass pass); /* wherever it can be? */
/* ---- schedule.c */
void simt_schedule_choose(struct simt *u, enum simt_form form); /* what the kernel as it is allows */
void simt_schedule_march(struct simt *u, enum simt_form form);  /* once versions have been made: where nothing else was chosen */
bool simt_schedule_failed(const struct simt *u, bool cut);      /* chosen for nothing: to be made anew, plain; `cut`: regions were made */
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

/* ---- cfg.c */
bool simt_cfg_order(struct simt_fn *f); /* blocks and edges alone; the graph may be irreducible */
bool simt_cfg_build(struct simt_fn *f);
void simt_cfg_fini(struct simt_fn *f);
int simt_block_of(const struct simt_fn *f, LLVMBasicBlockRef bb); /* -1: unreachable */
bool simt_dominates(const struct simt_fn *f, int a, int b);
bool simt_loop_has(const struct simt_fn *f, int loop, int block);
int simt_loop_headed(const struct simt_fn *f, int b); /* the loop that begins with block `b`, or -1 */
bool simt_there_before(const struct simt_fn *f, int b, LLVMValueRef x); /* is the value known in blocks that block `b` dominates? */
/* Is it, or can it be computed where block `b` ends, from what is, in `left` operations?  Those are counted down. */
bool simt_known_before(const struct simt_fn *f, int b, LLVMValueRef x, int *left);

/* ---- shape.c */
bool simt_shape_analyse(struct simt_fn *f);
bool simt_shape_estimate(struct simt_fn *f); /* where control flow is not nested: nearly right */
struct simt_val *simt_get(struct simt_fn *f, LLVMValueRef v); /* instructions and parameters; NULL for constants */
bool simt_uniform(struct simt_fn *f, LLVMValueRef v);
bool simt_varying(struct simt_fn *f, LLVMValueRef v);
const int64_t *simt_offsets(struct simt_fn *f, LLVMValueRef v); /* of an affine value; NULL = zero */
bool simt_ext_exact(const struct simt_val *operand);            /* sext and zext keep the shape without a check */
bool simt_phi_joins_lanes(struct simt_fn *f, int block);        /* predecessors differ by lane */
int simt_loop_left(struct simt_fn *f, int block);               /* outermost divergent loop left on entry, or -1 */
bool simt_defined_in(struct simt_fn *f, int loop, LLVMValueRef v);
bool simt_undef(LLVMValueRef v);
enum ptx_simt simt_call_id(struct simt *u, LLVMValueRef call);
/* Do a block's warps wait for each other there? */
bool simt_is_barrier(struct simt *u, LLVMValueRef inst);
/* Does each lane compute its result of its own arguments alone? */
bool simt_is_lanewise(enum ptx_simt id);
bool simt_int_const(LLVMValueRef v, int64_t *ret);
LLVMValueRef simt_opposite(LLVMValueRef cond); /* of what it is the opposite; NULL: of nothing else */
bool simt_arithmetic(LLVMValueRef x); /* what any lane may do at any time, and as often as one likes; no division */
bool simt_known_const(struct simt_fn *f, LLVMValueRef v, int64_t *ret); /* addresses in the shared window, too: variables' places are known */
unsigned simt_space(LLVMTypeRef type);                          /* address space of a pointer type, else 0 */
bool simt_is_shared_ptr(LLVMTypeRef type);
unsigned simt_width(LLVMTypeRef type);                          /* bits, where offsets are taken modulo 2^bits */

/* ---- value.c: scalars, vectors and masks */
LLVMTypeRef simt_type(struct simt *u, LLVMTypeRef type);        /* its form in the out module */
LLVMTypeRef simt_vec_type(struct simt *u, LLVMTypeRef out_type); /* as many elements as a vector has lanes */
LLVMValueRef simt_scalar(struct simt_fn *f, LLVMValueRef v);
LLVMValueRef simt_vector(struct simt_fn *f, LLVMValueRef v);
LLVMValueRef simt_delta(struct simt_fn *f, LLVMValueRef v);     /* lanes' distances from the base; NULL = zero */
LLVMValueRef simt_ok(struct simt_fn *f, LLVMValueRef v);        /* NULL = true */
LLVMValueRef simt_and(struct simt *u, LLVMValueRef a, LLVMValueRef b); /* NULL = true */
LLVMValueRef simt_splat(struct simt *u, LLVMValueRef s);
LLVMValueRef simt_offset_vec(struct simt *u, const int64_t *off, LLVMTypeRef int_type);
LLVMValueRef simt_const_i32v(struct simt *u, const int *at, int n);
LLVMValueRef simt_c32(struct simt *u, int64_t x);
LLVMValueRef simt_c64(struct simt *u, int64_t x);
LLVMValueRef simt_advance(struct simt *u, LLVMValueRef ptr, int64_t bytes);
LLVMValueRef simt_bits(struct simt *u, LLVMValueRef mask);      /* i32; 0 above the vector's lanes */
LLVMValueRef simt_all_on(struct simt *u, LLVMValueRef mask);    /* i1: every lane */
LLVMValueRef simt_full(struct simt *u, LLVMValueRef mask);      /* never NULL */
LLVMValueRef simt_mask_and(struct simt *u, LLVMValueRef mask, LLVMValueRef cond); /* inactive lanes' poison stops here */
LLVMValueRef simt_any(struct simt *u, LLVMValueRef mask);
LLVMValueRef simt_intrinsic(struct simt *u, const char *name, LLVMTypeRef *types, unsigned n_types, LLVMValueRef *args,
                            unsigned n);
LLVMBasicBlockRef simt_new_block(struct simt_fn *f, const char *name);
void simt_mark_likely(struct simt *u, LLVMValueRef branch);
LLVMValueRef simt_phi2(struct simt *u, LLVMValueRef x[2], LLVMBasicBlockRef from[2]);
LLVMValueRef simt_variable(struct simt_fn *f, LLVMTypeRef type); /* in the entry block, so that it is a fixed part of the frame */
LLVMValueRef simt_scratch(struct simt_fn *f, int slot);         /* ptr to 512 bytes that no one holds on to */
LLVMValueRef simt_field(struct simt *u, LLVMValueRef base, size_t offset, LLVMTypeRef type, bool constant);
LLVMValueRef simt_first_lane(struct simt *u, LLVMValueRef mask, bool last); /* i64 */

/* A loop over the active lanes, in order: begin, body at the builder, end. */
struct simt_lanes {
    LLVMBasicBlockRef from, head;
    LLVMValueRef bits, left, lane; /* lane: i64 */
};
void simt_lanes_begin(struct simt_fn *f, LLVMValueRef mask, struct simt_lanes *it);
void simt_lanes_end(struct simt_fn *f, struct simt_lanes *it);
/* Vectors in scratch memory, read or written one lane at a time. */
void simt_spill(struct simt_fn *f, int slot, LLVMValueRef vec);
LLVMValueRef simt_lane_get(struct simt_fn *f, int slot, LLVMTypeRef elem, LLVMValueRef lane);
LLVMTypeRef simt_held_type(struct simt *u, LLVMTypeRef elem);   /* in memory */
void simt_lane_put(struct simt_fn *f, int slot, LLVMValueRef value, LLVMValueRef lane);
LLVMValueRef simt_reload(struct simt_fn *f, int slot, LLVMTypeRef vec_type);

/* ---- op.c: arithmetic, of scalars and of vectors alike */
void simt_op_emit(struct simt_fn *f, LLVMValueRef inst);
/* Builds the operation of `inst` (an instruction or constant expression) on bases or on vectors. */
LLVMValueRef simt_op_build(struct simt_fn *f, LLVMValueRef inst, bool vec);

/* ---- memory.c */
void simt_load_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_store_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_rmw_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_cmpxchg_emit(struct simt_fn *f, LLVMValueRef inst);
LLVMValueRef simt_address(struct simt_fn *f, LLVMValueRef ptr);  /* of a uniform pointer */
/* What an atomic operation makes of `old`, which may be a vector; NULL: it has no plain form. */
LLVMValueRef simt_rmw_value(struct simt *u, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef x);
/* What the lanes read as `type` at a load's address and `by` bytes; and writes x to a store's. */
LLVMValueRef simt_gather(struct simt_fn *f, LLVMValueRef inst, LLVMTypeRef type, int64_t by);
void simt_scatter(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x);
LLVMValueRef simt_rmw_lane(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef p, LLVMValueRef x); /* one update, as `inst` is */

/* ---- atomic.c */
bool simt_rmw_at_once(struct simt_fn *f, LLVMValueRef inst);     /* false: not emitted, as the lanes' addresses may differ */
bool simt_block_scope(struct simt *u, LLVMValueRef inst);        /* of an atomic operation or a fence */
bool simt_block_owned(struct simt *u, LLVMValueRef inst, LLVMValueRef ptr); /* no other block's business: may be plain operations */

/* Tells LLVM in which state space a load or store is, whose source address is `ptr`. */
void simt_mark_space(struct simt *u, LLVMValueRef access, LLVMValueRef ptr);
void simt_access_align(struct simt *u, LLVMValueRef call, unsigned arg, unsigned align); /* of a masked load, store, gather or scatter */
void simt_mark_own(struct simt *u, LLVMValueRef access); /* in neither: in what the runtime says of the block */

LLVMValueRef simt_slice(struct simt *u, LLVMValueRef vec, int first, int n);
void simt_phi_add(LLVMValueRef phi, LLVMValueRef x, LLVMBasicBlockRef from); /* one more way in */
LLVMValueRef simt_phi_value(LLVMValueRef phi, LLVMBasicBlockRef from);       /* what comes from there; NULL: that is no way in */
/* What came to a block's phis from one block comes from another.  LLVM-C cannot rename an edge: they are built anew; moves the builder. */
void simt_rename_edges(struct simt *u, LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef to);
LLVMValueRef simt_join(struct simt *u, LLVMValueRef *part, int n, int width); /* `n` vectors of `width`, overwritten */

/* ---- pair_access.c.  False: not one of two words that are accessed as one. */
bool simt_pair_load(struct simt_fn *f, LLVMValueRef inst);
bool simt_pair_store(struct simt_fn *f, LLVMValueRef inst);

/* ---- alloca.c */
void simt_alloca_emit(struct simt_fn *f, LLVMValueRef inst);
bool simt_is_local(struct simt *u, LLVMValueRef variable);
void simt_mark_local(struct simt *u, LLVMValueRef variable);

/* ---- update.c */
/* Does block `then`, behind a branch of block `b`, only write over what that has read? */
bool simt_only_updates(struct simt_fn *f, int b, int then);

/* ---- blend.c */
/* Makes plain stores of updates in place of the kernel, as `form` would be analysed, where masked ones are slow.  False: u->status says why. */
bool simt_blend(struct simt *u, enum simt_form form);

/* ---- interleaved_access.c.  False: not a part of a structure, or of one that is not accessed whole. */
bool simt_struct_load(struct simt_fn *f, LLVMValueRef inst);
bool simt_struct_store(struct simt_fn *f, LLVMValueRef inst);
LLVMValueRef simt_access_address(LLVMValueRef inst); /* of a load or store */
LLVMTypeRef simt_access_type(LLVMValueRef inst);
LLVMValueRef simt_access_root(struct simt_fn *f, LLVMValueRef p, int64_t *ret_at); /* an address as another one, or a number, plus a constant */
bool simt_access_plain(LLVMValueRef x, bool store);
int simt_access_parts(struct simt_fn *f, LLVMValueRef x); /* how many accesses like this one make a structure, or 0 */
bool simt_touches_memory(LLVMValueRef x);

/* ---- permuted_access.c.  False: the lanes are not where that is known, or there are cheaper ways. */
bool simt_pattern_load(struct simt_fn *f, LLVMValueRef inst);
bool simt_pattern_store(struct simt_fn *f, LLVMValueRef inst);

/* ---- prefetch.c */
/* Asks for what a load or store uses in a loop's next round, or a load in the next block, where that pays. */
void simt_ahead_emit(struct simt_fn *f, LLVMValueRef access);
/* Asks for what a store to the lanes' addresses `ptrs` writes, where that is a column. */
void simt_ahead_column(struct simt_fn *f, LLVMValueRef store, LLVMValueRef ptrs);

/* ---- lookup_table.c */
bool simt_table_find(struct simt_fn *f, LLVMValueRef load, struct simt_table *ret); /* false: it reads no small table */
LLVMValueRef simt_table_read(struct simt_fn *f, LLVMValueRef load, const struct simt_table *t); /* all lanes' elements */
/* Of an atomic operation: do lanes only count in a small table of the block?  Then simt_table_count emits it. */
bool simt_table_counts(struct simt_fn *f, LLVMValueRef inst, struct simt_table *ret);
void simt_table_count(struct simt_fn *f, LLVMValueRef inst, const struct simt_table *t);
/* Takes addresses in tables that advance in a loop of a source function apart, as `form` would be analysed.  False: u->status says why. */
bool simt_table_split(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- warp_op.c */
bool simt_warpop_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id); /* false: not a warp operation */

/* ---- call.c */
void simt_call_emit(struct simt_fn *f, LLVMValueRef inst);
void simt_set_scalar(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef s);
void simt_set_vector(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef v);
void simt_set_field(struct simt_fn *f, LLVMValueRef inst, unsigned at, LLVMValueRef s, LLVMValueRef v);

void simt_yield_emit(struct simt_fn *f);

/* ---- spin.c */
/* Does the loop only wait for memory that someone else writes? */
bool simt_loop_spins(struct simt_fn *f, int loop);

/* ---- grid_stride.c */
/* What is added to a phi of the loop's header in each round, if it is the same for all lanes; else NULL. */
LLVMValueRef simt_loop_step(struct simt_fn *f, int loop, LLVMValueRef phi);
bool simt_goes_by_blocks(struct simt_fn *f, int loop); /* with steps of the grid, as a rule, up to a bound */
bool simt_streams(struct simt_fn *f, int loop);        /* and reads memory in rows, with few things carried round */
bool simt_counts(struct simt_fn *f, int loop);         /* likewise, and updates memory by what it reads: a histogram */
/* Has a kernel without barriers such a loop, for which a block's warps had better go side by side? */
bool simt_abreast(struct simt *u, enum simt_form form);

/* ---- versions.c */
/* Adds copies of divergent regions for the case that all lanes take them, to a source function, as `form` would be analysed. */
bool simt_version(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- region_copy.c */
LLVMValueRef simt_all_build(struct simt *u, LLVMValueRef cond); /* a call of SIMT_ALL, at the builder */

/* ---- merge_guards.c */
/* Adds copies of guards that follow each other, for warps all of whose lanes pass all of them; what is left for others is noted in `cold`. */
bool simt_runs(struct simt *u, LLVMValueRef fn, enum simt_form form, struct aw_ptrmap *cold);

/* ---- reroll.c */
/* Joins loops of a source function that were unrolled with the loop for their remainder, where lanes run differently often. */
bool simt_reroll(struct simt *u, LLVMValueRef fn, enum simt_form form);

/* ---- serialise.c */
bool simt_is_single(LLVMValueRef fn);
LLVMTypeRef simt_single_type(struct simt *u, LLVMValueRef src);
void simt_single_emit(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef out); /* a call of what became `out` */

/* ---- trip_count.c */
/* How often a divergent loop runs is often the same for all lanes, though not known to be: the value that says so, if the loop does
 * no more than count it, and an instruction; else NULL. */
LLVMValueRef simt_even_count(struct simt_fn *f, int loop);
LLVMValueRef simt_first_build(struct simt *u, LLVMValueRef x); /* a call of SIMT_FIRST, at the builder */
void simt_first_emit(struct simt_fn *f, LLVMValueRef inst);

/* ---- warp_uniform.c */
enum { SIMT_ALIKE = 8 }; /* loads for all, those in loops counted more, from which on it is worth while that a block's warps go together */
/* May the warps of a block go through the kernel in any order and by turns: it is small, of a known shape, and no warp or lane waits for another? */
bool simt_warps_free(struct simt *u, enum simt_form form);
/* Do the warps of a block read so much the same that a kernel without barriers had better run several at once? */
bool simt_warps_alike(struct simt *u, enum simt_form form);
uint32_t simt_row_vectors(const struct simt *u); /* that a row of the block consists of, if there are several rows; else 1 */
bool simt_index_alike(const struct simt *u, unsigned d, uint32_t m); /* of vectors `m` apart: is the first thread's along axis `d` one? */
/* Adds to the set the values that differ among warps whose place in their rows is the same; false: u->status is set. */
bool simt_find_own(struct simt_fn *f, struct aw_ptrmap *own);
bool simt_own(const struct aw_ptrmap *own, LLVMValueRef v);
size_t simt_loads_alike(struct simt_fn *f, const struct aw_ptrmap *own, int b); /* vectors that such warps read alike in a block */

/* ---- all_lanes.c */
void simt_all_emit(struct simt_fn *f, LLVMValueRef inst); /* a call of SIMT_ALL */
/* Do a few scalar operations tell whether a condition, or its opposite, holds for all lanes? */
bool simt_all_scalar(struct simt_fn *f, LLVMValueRef cond, bool negated);
/* From the first lane to the highest of an integer none of whose lanes is below the first one's, at distances known without a check; -1: it is none. */
int64_t simt_span(struct simt_fn *f, LLVMValueRef x);
/* A condition that holds for `lanes`, as bits, where the affine `x` of the first lane is `base`, and else for none. */
struct simt_same {
    LLVMValueRef x;
    uint64_t base;
    uint32_t lanes;
};
bool simt_same_lanes(struct simt_fn *f, LLVMValueRef cond, bool negated, struct simt_same *ret);
bool simt_pointer_emit(struct simt_fn *f, LLVMValueRef inst, const char *name);

/* ---- function.c */
bool simt_function_emit(struct simt *u, LLVMValueRef src, LLVMValueRef out, enum simt_form form);

/* ---- line_table.c: nothing happens where the source has no line table */
bool simt_lines_begin(struct simt *u);
void simt_lines_end(struct simt *u);
void simt_lines_function(struct simt *u, LLVMValueRef src, LLVMValueRef out); /* src NULL: none; before `out` has code */
void simt_lines_at(struct simt *u, LLVMValueRef inst); /* what is built now stands for this instruction */

/* ---- march.c */
/* Is there a loop through which warps had better go together?  Decided before emission; the body is split after it, and its turns are
 * made once it is. */
bool simt_marches(struct simt *u, enum simt_form form);
bool simt_march_split(struct simt_fn *f);
bool simt_loop_marches(struct simt_fn *f, int loop); /* is it one that warps may take turns in? */
/* Calls the body for a warp that begins, as number `i`, with `n` arguments and room for two more: the number for the next one, which is
 * the same when this one has ended. */
LLVMValueRef simt_march_begin(struct simt *u, LLVMValueRef body, LLVMValueRef *args, unsigned n, LLVMValueRef frames, LLVMValueRef i);
LLVMValueRef simt_march_turns(struct simt *u, LLVMValueRef body);
unsigned simt_march_most(const struct simt *u);     /* warps at once */
uint32_t simt_march_stride(const struct simt *u);   /* bytes from frame to frame, a multiple of 64 */

/* ---- vector_width.c */
/* Sets how many lanes a vector of the kernel has, as it will be emitted in `form`.  False: u->status says why. */
bool simt_lanes_choose(struct simt *u, enum simt_form form);

/* ---- fission.c */
/* May a barrier of these operands become an end of a loop over the block's warps? */
bool simt_meet_fits(struct simt_fn *f, LLVMValueRef id, LLVMValueRef threads);
/* Puts an instruction that was in the middle of a block first in one; the graph must be found anew. */
void simt_split_before(struct simt *u, LLVMValueRef x);
/* Stands for a barrier (2 arguments: id, threads) or one that reduces (5: op, active, predicate besides), until all bodies are there. */
LLVMValueRef simt_meet_emit(struct simt *u, LLVMValueRef *args, unsigned n);
/* Stands for `cond`, or for whether it is true for all warps of the block. */
LLVMValueRef simt_together_emit(struct simt *u, LLVMValueRef cond);
void simt_together_dissolve(struct simt *u); /* it is `cond` */
/* Settles them.  True: each body now runs all warps of a block.  False: a body runs a warp, and calls the runtime where it has to wait. */
bool simt_regions(struct simt *u, LLVMValueRef *bodies, int n);

/* ---- entries.c */
LLVMTypeRef simt_body_type(struct simt *u);                               /* of a kernel's vector body */
LLVMTypeRef simt_device_type(struct simt *u, LLVMValueRef src);           /* of a device function's */
bool simt_rows_are_warps(const struct simt *u); /* has a block several rows, each of which is a warp? */
bool simt_groups(struct simt *u); /* do warps of neighbouring blocks run in turn? */
LLVMValueRef simt_warp_of_part(struct simt *u, LLVMValueRef part);        /* the warp that a vector is of */
/* `whole`: a body runs all warps of a block. */
bool simt_entries_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed, bool whole);

#endif
