/* The oracle's own parts: what its files share.  References see oracle.h only.
 *
 * A *combination* is one spelling that a row's syntax admits: add.rn.ftz.f32.  It is tested by several *instances*: variants of
 * operands (registers, immediates, pairs, wider registers, ...), each once executed by all lanes and once by some.  A *job* is a
 * module with one kernel of several instances.  Every thread of a launch has one vector of values for each instance.
 *
 * Values travel in columns, of 8 bytes for each thread; an element of fewer bytes has the column's front, thread after thread
 * (which loads and stores well), and nothing the rest.  `in`, `out` and `mem` are the kernel's buffers; an operand's element has
 * a column of `in` or `out`, an [address] operand a column of 64-byte cells in `mem`, the middle 32 bytes of which are its own.
 * What should not be written holds a pattern and is compared too.  Nothing here is thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ORACLE_HARNESS_H
#define AW_ORACLE_HARNESS_H

#include "base/str.h"
#include "base/vec.h"
#include "oracle/oracle.h"

enum { ORACLE_MAX_GROUPS = 32, ORACLE_MAX_ITEMS = 8, ORACLE_CELL = 32, ORACLE_CELL_STRIDE = 64, ORACLE_CELL_AT = 16 };
/* Not a multiple of 32: the last warp of a block has 16 lanes. */
enum { ORACLE_BLOCK = 112, ORACLE_WARPS = (ORACLE_BLOCK + 31) / 32 };
/* Kernel parameters read by ld.param; variables read by ld.const. */
enum { ORACLE_PARAM_BYTES = 64 };

/* ---- Random numbers: the same everywhere for the same seed */
struct oracle_rng {
    uint64_t state;
};
uint64_t oracle_random(struct oracle_rng *rng);
static inline unsigned oracle_below(struct oracle_rng *rng, unsigned n)
{
    return (unsigned)(oracle_random(rng) >> 33) % n;
}
uint64_t oracle_hash(uint64_t seed, const char *text);

/* ---- Values (values.c): elements of types, and groups of operands that belong together */
struct oracle_value_spec {
    enum ptx_type type;
    bool small; /* a shift amount, a position, a length: often near the limits of such */
    bool pred;
};
/* Fills one vector of values: bits[i] of specs[i].  `index` of `total`: a single operand meets all its edges in the first
 * ones. */
void oracle_values(struct oracle_rng *rng, const struct oracle_value_spec *specs, unsigned n, unsigned index, uint64_t bits[][2]);
/* Elements of packed types: f16x2 has two of f16. */
unsigned oracle_elements(enum ptx_type type, enum ptx_type *ret_element);
bool oracle_is_nan(enum ptx_type element, uint64_t bits);
/* Value of a float element; false when the type is no float that double holds exactly. */
bool oracle_to_double(enum ptx_type element, uint64_t bits, double *ret);

/* ---- Combinations (combine.c) */
struct oracle_combo {
    const struct ptx_form *form;
    char *name;                              /* "add.rn.ftz.f32"; owned */
    uint16_t choice[ORACLE_MAX_GROUPS];      /* 1 + index of the alternative, 0: the optional group is absent */
    enum ptx_type types[PTX_MAX_TYPES];
    unsigned n_types, vec;
    enum ptx_space space;
    bool cache_hint;                         /* wants its operand */
};
struct oracle_combos {
    AW_VEC(struct oracle_combo) list;
    size_t n_cut;      /* left out: rows with too many have every pair of type and modifier, and random ones */
    size_t n_shadowed; /* belong to another row of the mnemonic */
};
bool oracle_combo_has(const struct oracle_combo *combo, const char *modifier);
/* Appends what `wanted` (row id, combination, mnemonic, section or NULL = all) selects.  Returns the number of rows matched. */
size_t oracle_combine(struct oracle_combos *combos, const char *wanted, uint64_t seed);
void oracle_combos_fini(struct oracle_combos *combos);

/* ---- Plans (plan.c): an instance's operands */
struct oracle_operand {
    const struct ptx_shape *shape;
    enum ptx_type type;
    bool read, written, mem, pred, imm, sink, pair, negate, mask, small;
    unsigned n_items;      /* elements: each has a register and a column; 1 but for vectors */
    unsigned item_bits;    /* of the type */
    unsigned reg_bits;     /* of the register: at least item_bits */
    unsigned reg_columns;  /* 2 for b128 */
    uint64_t imm_bits;
    char suffix[8];        /* selector of parts, with the dot */
    bool minus;            /* the register is written with a minus; the reference sees its value, and the minus in `in` */
    unsigned in_column, out_column, pair_column;
};
struct oracle_instance {
    uint32_t combo;
    uint16_t variant;
    bool part;      /* executed by some lanes only */
    uint32_t line;  /* of the instruction in the job's text; set when the text is made */
};
struct oracle_plan {
    const struct oracle_combo *combo;
    const struct oracle_instance *instance;
    struct oracle_operand ops[12];
    unsigned n_ops;
    bool convergent, member_mask, carry_in, carry_out, branch /* around it, and not a guard */;
    int mem;               /* index of the [address] operand, or -1 */
    unsigned offset;       /* constant in the address */
    unsigned carry_in_column, carry_out_column, mem_column, guard_column;
};
/* Bytes of an element in its column: of the register; predicates have 4, 128 bits two columns of 8. */
static inline unsigned oracle_element_bytes(const struct oracle_operand *o)
{
    return o->pred ? 4 : o->reg_bits > 64 ? 8 : o->reg_bits / 8;
}
/* False when there is no such variant. */
bool oracle_plan(const struct oracle_combo *combo, const struct oracle_instance *instance, struct oracle_plan *ret_plan);

/* ---- Text (emit.c) */
struct oracle_job {
    struct oracle_instance *instances; /* borrowed */
    struct oracle_plan *plans;
    unsigned n, n_in, n_out, n_mem;    /* columns */
    unsigned threads;
    bool plant;                        /* instances' text is that of `planted` */
    const char *planted;
    struct aw_buf text;
};
/* Gives the plans columns and writes the module's text into job->text; false when memory is out. */
bool oracle_emit(struct oracle_job *job);
void oracle_job_fini(struct oracle_job *job);

/* ---- Judging (judge.c) */
bool oracle_reference(const char *name, oracle_lane_reference **ret_lane, oracle_warp_reference **ret_warp);
struct oracle_bound {
    double relative, ulps;
};
struct oracle_bound oracle_bound_from(const char *ulp);
bool oracle_same(enum ptx_type type, unsigned n_items, const struct oracle_lane *lane, struct oracle_bound bound,
                 const union oracle_value *want, const union oracle_value *got);

/* ---- The device (device.c): CUDA's driver API, of whatever libcuda.so.1 there is */
bool oracle_device_open(char *name, size_t size);
bool oracle_device_alloc(uint64_t *ret, size_t size);
void oracle_device_free(uint64_t address);
bool oracle_device_write(uint64_t to, const void *from, size_t size);
bool oracle_device_read(void *to, uint64_t from, size_t size);
/* Loads the text; NULL with a message in `why` when it or its kernel of that name cannot be compiled. */
/* From now on kernels are assembled for sm_`arch` by the program `ptxas` (borrowed; NVIDIA's: under `anywarp run` another one is
 * on PATH) and loaded as machine code.  `isa`: the PTX that it knows, 84 is 8.4; 0: all.  `why` is ORACLE_NOT_ASSEMBLED where a
 * text is refused, and oracle_device_refuses tells whether it named that line of it. */
void oracle_device_lift(unsigned arch, const char *ptxas, unsigned isa);
bool oracle_device_refuses(uint32_t line);
/* And what is lifted by the program `anywarp` (borrowed) is assembled, and lifted again when it is loaded. */
void oracle_device_lift_again(const char *anywarp);
#define ORACLE_NOT_ASSEMBLED "ptxas does not assemble it"
void *oracle_device_load(const char *text, const char *name, void **ret_kernel, char *why, size_t size);
bool oracle_device_symbol(void *module, const char *name, uint64_t *ret_address);
void oracle_device_unload(void *module);
/* Launches and waits; 0, or CUDA's number of the error. */
int oracle_device_launch(void *kernel, unsigned blocks, unsigned threads, void **params);
const char *oracle_device_error(int error);

/* ---- Running (job.c) */
enum oracle_state { ORACLE_WAITING, ORACLE_PASSED, ORACLE_FAILED, ORACLE_REFUSED, ORACLE_CRASHED, ORACLE_NO_REFERENCE,
                    ORACLE_SHADOWED };
struct oracle_options {
    uint64_t seed;
    unsigned blocks;   /* of a launch */
    unsigned show;     /* failing lanes that are printed of each instance */
    unsigned lift;     /* run machine code that the assembler makes for this architecture; 0: the text */
    bool again;        /* of what is lifted from it: variables that the kernel does not name are gone */
    const char *emit;  /* folder: write the jobs' texts and run nothing */
    const char *record; /* file: append what the lanes that ran were left with */
    bool recorded;     /* compare with what oracle_answers_open has read */
    bool quiet;
};
/* Runs a job's instances and leaves their states in `states`.  False when the device is no longer usable. */
bool oracle_job_run(const struct oracle_options *options, const struct oracle_combo *combos, struct oracle_instance *instances,
                    unsigned n, uint8_t *states, const char *planted);

/* ---- Recorded answers (answers.c): results of lanes that ran, of another device.  Not thread-safe; workers are processes. */
/* Reads a file of records; false when there is none in it. */
bool oracle_answers_open(const char *path);
/* An instance's record, NULL when it has none. */
const uint8_t *oracle_answers_of(uint64_t key, size_t *ret_bytes);
/* Appends a record, in one piece; false, and says so, when the file cannot be written. */
bool oracle_answers_write(const char *path, uint64_t key, const void *bytes, size_t n);

/* ---- Planted errors (plant.c): 0 when each was found */
int oracle_plants(const struct oracle_options *options);

/* ---- Rows that have a test of their own (special.c) */
/* What tests the row: a name, or the file of another test; NULL when nothing does. */
const char *oracle_special_of(const char *row);
/* Runs the tests of those combinations that have one, in processes of their own. */
bool oracle_special_run(const struct oracle_combo *combos, size_t n_combos, unsigned *ret_passed, unsigned *ret_failed);

#endif
