/* FFTW: see fftw.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cufft"
#include "fftw.h"

#include <pthread.h>
#include <stddef.h>

#include "base/dl.h"
#include "base/log.h"

/* FFTW's numbers. */
enum { ESTIMATE = 1 << 6, UNALIGNED = 1 << 1, FORWARD = -1, BACKWARD = 1 };
enum { ALIGNMENT = 64 }; /* as much as any of its codelets ask for */

struct dim {
    ptrdiff_t n, is, os;
};

struct table {
    void *(*dft)(int rank, const struct dim *dims, int n_many, const struct dim *many, void *in, void *out, int sign,
                 unsigned flags);
    void *(*r2c)(int rank, const struct dim *dims, int n_many, const struct dim *many, void *in, void *out, unsigned flags);
    void *(*c2r)(int rank, const struct dim *dims, int n_many, const struct dim *many, void *in, void *out, unsigned flags);
    void (*execute[3])(void *plan, void *in, void *out);
    void (*destroy)(void *plan);
};

static struct {
    pthread_once_t once;
    pthread_mutex_t planner; /* FFTW's planner is one for all threads */
    bool good;
    struct table precision[2];
} fftw = { .once = PTHREAD_ONCE_INIT, .planner = PTHREAD_MUTEX_INITIALIZER };

#define SYMBOLS(prefix)                                                                            \
    {                                                                                              \
        { prefix "_plan_guru64_dft", offsetof(struct table, dft), true },                          \
            { prefix "_plan_guru64_dft_r2c", offsetof(struct table, r2c), true },                  \
            { prefix "_plan_guru64_dft_c2r", offsetof(struct table, c2r), true },                  \
            { prefix "_execute_dft", offsetof(struct table, execute[AW_FFT_C2C]), true },          \
            { prefix "_execute_dft_r2c", offsetof(struct table, execute[AW_FFT_R2C]), true },      \
            { prefix "_execute_dft_c2r", offsetof(struct table, execute[AW_FFT_C2R]), true },      \
            { prefix "_destroy_plan", offsetof(struct table, destroy), true }, { NULL, 0, false }, \
    }

/* The program may plan with the same FFTW: its functions are made to take turns, where the part that can do so is there. */
static void guard(const char *const names[], const struct aw_dl_symbol symbols[])
{
    void (*make_thread_safe)(void);
    char why[256];
    if (aw_dl_open(names, symbols, &make_thread_safe, why, sizeof why))
        make_thread_safe();
}

static void open_library(void)
{
    static const char *const names[2][3] = { { "libfftw3f.so.3", "libfftw3f.so", NULL },
                                             { "libfftw3.so.3", "libfftw3.so", NULL } };
    static const char *const guards[2][2] = { { "libfftw3f_threads.so.3", NULL }, { "libfftw3_threads.so.3", NULL } };
    static const struct aw_dl_symbol symbols[2][8] = { SYMBOLS("fftwf"), SYMBOLS("fftw") };
    static const struct aw_dl_symbol safe[2][2] = { { { "fftwf_make_planner_thread_safe", 0, true }, { NULL, 0, false } },
                                                    { { "fftw_make_planner_thread_safe", 0, true }, { NULL, 0, false } } };
    char why[256];
    fftw.good = true;
    for (int i = 0; i < 2; i++) {
        guard(guards[i], safe[i]);
        if (fftw.good && !aw_dl_open(names[i], symbols[i], &fftw.precision[i], why, sizeof why))
            fftw.good = false;
    }
    if (!fftw.good)
        aw_say(NO_FFTW, why);
}

bool aw_fftw_open(void)
{
    pthread_once(&fftw.once, open_library);
    return fftw.good;
}

static void *plan_make(const struct aw_fft_shape *shape, const struct aw_fft_layout *in, const struct aw_fft_layout *out,
                       int direction, void *from, void *to, unsigned flags)
{
    const struct table *t = &fftw.precision[shape->precise];
    struct dim dims[AW_FFT_RANKS], many = { shape->batch, in->dist, out->dist };
    for (int i = 0; i < shape->rank; i++)
        dims[i] = (struct dim){ shape->n[i], in->step[i], out->step[i] };
    switch (shape->kind) {
    case AW_FFT_C2C: return t->dft(shape->rank, dims, 1, &many, from, to, direction == CUFFT_INVERSE ? BACKWARD : FORWARD, flags);
    case AW_FFT_R2C: return t->r2c(shape->rank, dims, 1, &many, from, to, flags);
    default: return t->c2r(shape->rank, dims, 1, &many, from, to, flags);
    }
}

/* FFTW 3.3.10's AVX code for float (STN4 in simd-avx.h) takes outputs an odd number of complex ones apart for aligned, where
 * the input's neighbours are the outputs' rows, and faults; it is not taken where nothing is said to be aligned. */
static bool rows_odd(const struct aw_fft_shape *shape, const struct aw_fft_layout *in, const struct aw_fft_layout *out)
{
    bool odd = shape->batch > 1 && in->dist == 1 && out->dist > 1 && out->dist % 2;
    for (int i = 0; i < shape->rank; i++)
        odd |= in->step[i] == 1 && out->step[i] % 2 && out->step[i] > 1;
    return !shape->precise && odd;
}

bool aw_fftw_run(struct aw_fft_shape *shape, enum aw_fftw_form form, const struct aw_fft_layout *in,
                 const struct aw_fft_layout *out, int direction, void *from, void *to)
{
    bool unaligned = ((uintptr_t)from | (uintptr_t)to) % ALIGNMENT || rows_odd(shape, in, out);
    void **cell = &shape->fftw[direction == CUFFT_INVERSE][form][unaligned], *plan = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
    if (!aw_fftw_open())
        return false;
    if (!plan) {
        pthread_mutex_lock(&fftw.planner);
        plan = *cell;
        if (!plan && (plan = plan_make(shape, in, out, direction, from, to, ESTIMATE | (unaligned ? UNALIGNED : 0))))
            __atomic_store_n(cell, plan, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&fftw.planner);
    }
    if (plan)
        fftw.precision[shape->precise].execute[shape->kind](plan, from, to);
    return plan;
}

void aw_fftw_drop(struct aw_fft_shape *shape)
{
    void **cells = &shape->fftw[0][0][0];
    pthread_mutex_lock(&fftw.planner);
    for (size_t i = 0; i < sizeof shape->fftw / sizeof *cells; i++)
        if (cells[i])
            fftw.precision[shape->precise].destroy(cells[i]);
    pthread_mutex_unlock(&fftw.planner);
}
