/* Elementwise operations: see map.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <string.h>

#include "common/convert.h"

enum {
    TILE_BYTES = 256,    /* of a row of a tile, where tensors have different orders */
    LONG_RUN = 1 << 14,  /* elements that are moved at once, where tensors have one order */
    SHORT = 8,           /* fewer elements are no good inner loop */
    PART = 1 << 15,      /* elements worth a part for a thread */
    PARTS_OF_THREAD = 4,
};

void aw_map_init(struct aw_map *m, char calc, const struct aw_operand *d, void *at)
{
    *m = (struct aw_map){ .calc = aw_calc_find(calc), .op_ab = CUTENSOR_OP_ADD, .op_abc = CUTENSOR_OP_ADD, .n = d->t.n };
    m->x[AW_MAP_D] = (struct aw_map_tensor){ true, d->t.type, aw_type_size(d->t.type), CUTENSOR_OP_IDENTITY, at, 1 };
    for (uint32_t i = 0; i < d->t.n; i++)
        m->loop[i] = (struct aw_map_loop){ d->t.extent[i], { d->t.stride[i] }, d->mode[i] };
}

void aw_map_input(struct aw_map *m, int which, const struct aw_operand *x, const void *at, double _Complex scale)
{
    m->x[which] = (struct aw_map_tensor){ true, x->t.type, aw_type_size(x->t.type), x->op, (char *)(uintptr_t)at, scale };
    for (uint32_t i = 0; i < m->n; i++)
        m->loop[i].stride[which] = aw_tensor_stride(x, m->loop[i].mode);
}

void aw_map_value(struct aw_map *m, const void *value)
{
    const struct aw_map_tensor *d = &m->x[AW_MAP_D];
    m->x[AW_MAP_A] = (struct aw_map_tensor){ true, d->type, d->size, CUTENSOR_OP_IDENTITY, (char *)(uintptr_t)value, 1 };
}

/* ---- Order of the loops */

static void swap_loops(struct aw_map *m, uint32_t i, uint32_t k)
{
    struct aw_map_loop l = m->loop[i];
    m->loop[i] = m->loop[k];
    m->loop[k] = l;
}

static void sort_by_output(struct aw_map *m)
{
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t k = i; k > 0 && m->loop[k].stride[AW_MAP_D] < m->loop[k - 1].stride[AW_MAP_D]; k--)
            swap_loops(m, k, k - 1);
}

static bool follows(const struct aw_map_loop *outer, const struct aw_map_loop *inner)
{
    for (int x = 0; x < AW_MAP_TENSORS; x++)
        if (outer->stride[x] != inner->stride[x] * inner->extent)
            return false;
    return true;
}

/* Sorted loops: those of one element go, those that continue another become part of it. */
static void merge(struct aw_map *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->loop[i].extent == 1)
            continue;
        if (n > 0 && follows(&m->loop[i], &m->loop[n - 1]))
            m->loop[n - 1].extent *= m->loop[i].extent;
        else
            m->loop[n++] = m->loop[i];
    }
    m->n = n;
}

/* The first loop of some length is the inner one, or the longest. */
static void choose_inner(struct aw_map *m)
{
    uint32_t inner = 0;
    while (inner < m->n && m->loop[inner].extent < SHORT)
        inner++;
    if (inner == m->n) {
        inner = 0;
        for (uint32_t i = 1; i < m->n; i++)
            if (m->loop[i].extent > m->loop[inner].extent)
                inner = i;
    }
    for (; inner > 0; inner--)
        swap_loops(m, inner, inner - 1);
}

/* Puts behind the inner loop the one along which an input lies closer than along that.  Is there one? */
static bool choose_second(struct aw_map *m)
{
    uint32_t best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t i = 1; i < m->n; i++)
        for (int x = AW_MAP_A; x < AW_MAP_TENSORS; x++) {
            int64_t here = m->loop[i].stride[x];
            if (!m->x[x].there || here == 0 || here >= m->loop[0].stride[x] || here >= least || m->loop[i].extent < 4)
                continue;
            best = i;
            least = here;
        }
    for (uint32_t i = best; i > 1; i--)
        swap_loops(m, i, i - 1);
    return best > 0;
}

/* ---- Tiles: `n` elements along the inner loop for each of `rows` along the second. */

struct tile {
    char *at[AW_MAP_TENSORS];
    int64_t n, rows;
};

static bool only_moves(const struct aw_map *m)
{
    const struct aw_map_tensor *a = &m->x[AW_MAP_A];
    return !m->x[AW_MAP_B].there && !m->x[AW_MAP_C].there && a->type == m->x[AW_MAP_D].type && a->scale == 1 &&
           (a->op == CUTENSOR_OP_IDENTITY || (a->op == CUTENSOR_OP_CONJ && !aw_type_complex(a->type)));
}

typedef struct {
    uint64_t half[2];
} two_words;

/* Four by four words, turned: row r of `to` has element r of each of four columns, `an` apart. */
typedef uint32_t four __attribute__((vector_size(16)));

static four four_load(const uint32_t *at)
{
    four v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void turn_words(uint32_t *to, int64_t ld, const uint32_t *at, int64_t an)
{
    four a = four_load(at), b = four_load(at + an), c = four_load(at + 2 * an), d = four_load(at + 3 * an);
    four ab = __builtin_shuffle(a, b, (four){ 0, 4, 1, 5 }), cd = __builtin_shuffle(c, d, (four){ 0, 4, 1, 5 });
    four ab2 = __builtin_shuffle(a, b, (four){ 2, 6, 3, 7 }), cd2 = __builtin_shuffle(c, d, (four){ 2, 6, 3, 7 });
    const four row[] = { __builtin_shuffle(ab, cd, (four){ 0, 1, 4, 5 }), __builtin_shuffle(ab, cd, (four){ 2, 3, 6, 7 }),
                         __builtin_shuffle(ab2, cd2, (four){ 0, 1, 4, 5 }), __builtin_shuffle(ab2, cd2, (four){ 2, 3, 6, 7 }) };
    for (int r = 0; r < 4; r++)
        memcpy(to + r * ld, &row[r], sizeof *row);
}

/* Where rows lie along D and columns along A, a square of few bytes to a side goes through a buffer: each piece of memory is read
 * or written whole, so that distances at which caches hold but a few pieces do no harm. */
#define MOVE(name, T)                                                                                                 \
    static void name##_square(T *d, const T *a, int64_t n, int64_t rows, int64_t dr, int64_t an)                      \
    {                                                                                                                 \
        enum { SIDE = TILE_BYTES / sizeof(T), WORDS = sizeof(T) == sizeof(uint32_t) };                                \
        T square[SIDE][SIDE];                                                                                         \
        int64_t even_n = WORDS ? n & ~(int64_t)3 : 0, even_rows = WORDS ? rows & ~(int64_t)3 : 0;                     \
        for (int64_t i = 0; i < even_n; i += 4)                                                                       \
            for (int64_t r = 0; r < even_rows; r += 4)                                                                \
                turn_words((uint32_t *)&square[r][i], SIDE, (const uint32_t *)&a[i * an + r], an);                    \
        for (int64_t i = 0; i < n; i++)                                                                               \
            for (int64_t r = i < even_n ? even_rows : 0; r < rows; r++)                                               \
                square[r][i] = a[i * an + r];                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                            \
            memcpy(d + r * dr, square[r], (size_t)n * sizeof(T));                                                     \
    }                                                                                                                 \
    static void name(T *restrict d, const T *restrict a, int64_t n, int64_t rows, int64_t dn, int64_t an, int64_t dr, \
                     int64_t ar)                                                                                      \
    {                                                                                                                 \
        enum { SIDE = TILE_BYTES / sizeof(T) };                                                                       \
        if (dn == 1 && ar == 1 && n <= SIDE && rows <= SIDE) {                                                        \
            name##_square(d, a, n, rows, dr, an);                                                                     \
            return;                                                                                                   \
        }                                                                                                             \
        for (int64_t r = 0; r < rows; r++, d += dr, a += ar)                                                          \
            if (dn == 1 && an == 1)                                                                                   \
                memcpy(d, a, (size_t)n * sizeof *d);                                                                  \
            else                                                                                                      \
                for (int64_t i = 0; i < n; i++)                                                                       \
                    d[i * dn] = a[i * an];                                                                            \
    }
MOVE(move_2, uint16_t)
MOVE(move_4, uint32_t)
MOVE(move_8, uint64_t)
MOVE(move_16, two_words)

static void tile_move(const struct aw_map *m, const struct tile *t)
{
    const struct aw_map_loop *l = m->loop;
    void *d = t->at[AW_MAP_D], *a = t->at[AW_MAP_A];
    int64_t dn = l[0].stride[AW_MAP_D], an = l[0].stride[AW_MAP_A], dr = l[1].stride[AW_MAP_D], ar = l[1].stride[AW_MAP_A];
    switch (m->x[AW_MAP_D].size) {
    case 2: move_2(d, a, t->n, t->rows, dn, an, dr, ar); break;
    case 4: move_4(d, a, t->n, t->rows, dn, an, dr, ar); break;
    case 8: move_8(d, a, t->n, t->rows, dn, an, dr, ar); break;
    default: move_16(d, a, t->n, t->rows, dn, an, dr, ar); break;
    }
}

/* Elements of one input, from `at` on along a loop. */
static void read_run(const struct aw_map *m, int which, const char *at, int64_t stride, int64_t n, void *to)
{
    const struct aw_map_tensor *x = &m->x[which];
    if (x->scale == 0) {
        m->calc->fill(0, n, to);
        return;
    }
    m->calc->load(x->type, at, stride, n, to);
    if (x->op != CUTENSOR_OP_IDENTITY)
        m->calc->unary(x->op, n, to);
    if (x->scale != 1)
        m->calc->scale(x->scale, n, to);
}

/* One number to each row of a tile. */
static void spread_column(size_t size, int64_t rows, const void *column, void *to)
{
    switch (size) {
    case 4:
        for (int64_t r = 0; r < rows; r++)
            ((uint32_t *)to)[r * (TILE_BYTES / 4)] = ((const uint32_t *)column)[r];
        break;
    case 8:
        for (int64_t r = 0; r < rows; r++)
            ((uint64_t *)to)[r * (TILE_BYTES / 8)] = ((const uint64_t *)column)[r];
        break;
    default:
        for (int64_t r = 0; r < rows; r++)
            ((two_words *)to)[r * (TILE_BYTES / 16)] = ((const two_words *)column)[r];
        break;
    }
}

/* An input's part of a tile, read along the second loop where it lies closer along that: rows one behind the other. */
static void read_tile(const struct aw_map *m, int which, const struct tile *t, char *to)
{
    _Alignas(64) char column[TILE_BYTES];
    const int64_t *stride[] = { m->loop[0].stride, m->loop[1].stride };
    for (int64_t i = 0; i < t->n; i++) {
        read_run(m, which, t->at[which] + i * stride[0][which] * (int64_t)m->x[which].size, stride[1][which], t->rows, column);
        spread_column(m->calc->size, t->rows, column, to + (size_t)i * m->calc->size);
    }
}

static bool lies_across(const struct aw_map *m, int which)
{
    return m->loop[1].stride[which] && m->loop[1].stride[which] < m->loop[0].stride[which];
}

static void tile_rows(const struct aw_map *m, const struct tile *t, char *const across[])
{
    _Alignas(64) char value[AW_CALC_RUN * 16], other[AW_CALC_RUN * 16];
    for (int64_t r = 0; r < t->rows; r++) {
        bool begun = false;
        for (int x = AW_MAP_A; x < AW_MAP_TENSORS; x++) {
            const char *at = t->at[x] + r * m->loop[1].stride[x] * (int64_t)m->x[x].size;
            if (!m->x[x].there)
                continue;
            char *to = begun ? other : value;
            if (across[x])
                memcpy(to, across[x] + r * TILE_BYTES, (size_t)t->n * m->calc->size);
            else
                read_run(m, x, at, m->loop[0].stride[x], t->n, to);
            if (begun)
                m->calc->combine(x == AW_MAP_C ? m->op_abc : m->op_ab, t->n, value, other);
            begun = true;
        }
        m->calc->store(m->x[AW_MAP_D].type, t->at[AW_MAP_D] + r * m->loop[1].stride[AW_MAP_D] * (int64_t)m->x[AW_MAP_D].size,
                       m->loop[0].stride[AW_MAP_D], t->n, value);
    }
}

static void tile_compute(const struct aw_map *m, const struct tile *t)
{
    tile_rows(m, t, (char *[AW_MAP_TENSORS]){ NULL });
}

static void tile_compute_crossed(const struct aw_map *m, const struct tile *t)
{
    _Alignas(64) char tile[AW_MAP_TENSORS][TILE_BYTES * TILE_BYTES / 4]; /* the most, of floats */
    char *across[AW_MAP_TENSORS] = { NULL };
    for (int x = AW_MAP_A; x < AW_MAP_TENSORS; x++)
        if (m->x[x].there && m->x[x].scale != 0 && lies_across(m, x)) {
            across[x] = tile[x];
            read_tile(m, x, t, tile[x]);
        }
    tile_rows(m, t, across);
}

/* ---- All of it, once the loops have their order; there are at least two. */

static void advance(const struct aw_map *m, char *at[], uint32_t loop, int64_t by)
{
    for (int x = 0; x < AW_MAP_TENSORS; x++)
        at[x] += by * m->loop[loop].stride[x] * (int64_t)m->x[x].size;
}

static void plane(const struct aw_map *m, char *const at[], bool crossed, bool moves)
{
    void (*const run)(const struct aw_map *, const struct tile *) = moves     ? tile_move
                                                                    : crossed ? tile_compute_crossed
                                                                              : tile_compute;
    int64_t side = TILE_BYTES / (int64_t)(moves ? m->x[AW_MAP_D].size : m->calc->size);
    int64_t width = crossed ? side : moves ? LONG_RUN : AW_CALC_RUN, height = crossed ? side : m->loop[1].extent;
    for (int64_t r = 0; r < m->loop[1].extent; r += height)
        for (int64_t i = 0; i < m->loop[0].extent; i += width) {
            struct tile t;
            memcpy(t.at, at, sizeof t.at);
            advance(m, t.at, 0, i);
            advance(m, t.at, 1, r);
            t.n = m->loop[0].extent - i < width ? m->loop[0].extent - i : width;
            t.rows = m->loop[1].extent - r < height ? m->loop[1].extent - r : height;
            run(m, &t);
        }
}

struct work {
    struct aw_map map;
    bool crossed, moves;
    uint32_t cut, parts; /* the loop that is cut, and into how many parts */
};

static void run_part(void *user, uint32_t part)
{
    const struct work *w = user;
    struct aw_map m = w->map;
    int64_t index[AW_TENSOR_MODES] = { 0 }, extent = m.loop[w->cut].extent;
    int64_t begin = extent * part / w->parts, end = extent * (part + 1) / w->parts;
    char *at[AW_MAP_TENSORS];
    for (int x = 0; x < AW_MAP_TENSORS; x++)
        at[x] = m.x[x].at;
    advance(&m, at, w->cut, begin);
    m.loop[w->cut].extent = end - begin;
    for (;;) {
        uint32_t l = 2;
        plane(&m, at, w->crossed, w->moves);
        for (; l < m.n && ++index[l] == m.loop[l].extent; l++) {
            advance(&m, at, l, 1 - m.loop[l].extent);
            index[l] = 0;
        }
        if (l >= m.n)
            return;
        advance(&m, at, l, 1);
    }
}

void aw_map_run(struct aw_map *map)
{
    struct work w = { .map = *map, .parts = 1 };
    struct aw_map *m = &w.map;
    int64_t count = 1;
    sort_by_output(m);
    merge(m);
    choose_inner(m);
    w.crossed = choose_second(m);
    w.moves = only_moves(m);
    while (m->n < 2)
        m->loop[m->n++] = (struct aw_map_loop){ .extent = 1 };
    for (uint32_t i = 0; i < m->n; i++) {
        count *= m->loop[i].extent;
        w.cut = m->loop[i].extent >= m->loop[w.cut].extent ? i : w.cut;
    }
    int64_t parts = (int64_t)aw_abi_spread_threads() * PARTS_OF_THREAD;
    parts = parts < count / PART ? parts : count / PART;
    parts = parts < m->loop[w.cut].extent ? parts : m->loop[w.cut].extent;
    w.parts = parts > 1 ? (uint32_t)parts : 1;
    if (w.parts == 1)
        run_part(&w, 0);
    else
        aw_abi_spread(w.parts, run_part, &w);
}
