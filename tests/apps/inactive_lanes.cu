// Shuffles that read lanes which are not there give 0: lanes that took another way, that have ended, or that the block does not
// have.  Every form by constants and by run-time operands, of values and of a constant, with masks of active lanes known only at
// run time and known when compiling; the same for votes, matches and reductions whose member mask names such lanes.
// variants: shared
// needs: -gencode arch=compute_80,code=compute_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { IDX, UP, DOWN, XOR };
enum { BRANCH, ENDED, FIRST_EIGHT, ALL, WAYS };
#define EVERY 0xffffffffu

/* kind, operand, width; a constant in one kernel and a parameter in the other */
#define FORMS(X)                                                                                                              \
    X(IDX, 0, 32) X(IDX, 5, 32) X(IDX, 31, 32) X(IDX, 3, 4) X(IDX, 2, 8) X(IDX, 9, 16) X(IDX, 17, 32)                         \
    X(UP, 1, 32) X(UP, 2, 32) X(UP, 8, 32) X(UP, 16, 32) X(UP, 19, 32) X(UP, 3, 16) X(UP, 1, 4) X(UP, 5, 8)                   \
    X(DOWN, 1, 32) X(DOWN, 4, 32) X(DOWN, 8, 32) X(DOWN, 16, 32) X(DOWN, 21, 32) X(DOWN, 8, 16) X(DOWN, 2, 4) X(DOWN, 3, 8)   \
    X(XOR, 1, 32) X(XOR, 2, 32) X(XOR, 4, 32) X(XOR, 7, 32) X(XOR, 8, 32) X(XOR, 15, 32) X(XOR, 16, 32) X(XOR, 31, 32)        \
    X(XOR, 13, 32) X(XOR, 3, 4)

struct form {
    int kind, by, width;
};
#define X(k, b, w) { k, b, w },
static const form forms[] = { FORMS(X) };
#undef X
enum { FORMS_N = sizeof forms / sizeof *forms, THREADS = 96, MORE = 6, CONSTANT = 68 };

__device__ __forceinline__ int shuffle(int kind, int v, int by, int width)
{
    switch (kind) {
    case IDX: return __shfl_sync(EVERY, v, by, width);
    case UP: return __shfl_up_sync(EVERY, v, by, width);
    case DOWN: return __shfl_down_sync(EVERY, v, by, width);
    default: return __shfl_xor_sync(EVERY, v, by, width);
    }
}

template <int WAY> __device__ __forceinline__ bool here(unsigned active)
{
    return WAY == ALL || (WAY == FIRST_EIGHT ? threadIdx.x % 32 < 8 : active >> threadIdx.x % 32 & 1);
}

template <int WAY, bool SAME> __global__ void constants(const int *in, unsigned active, int *out)
{
    int t = threadIdx.x, v = SAME ? CONSTANT : in[t], row = 0;
    if (WAY == ENDED && !here<WAY>(active))
        return;
    if (here<WAY>(active)) {
#define X(k, b, w) out[row++ * THREADS + t] = shuffle(k, v, b, w);
        FORMS(X)
#undef X
    }
}

template <int WAY, bool SAME> __global__ void variables(const int *in, unsigned active, const form *f, int n, int *out)
{
    int t = threadIdx.x, v = 0;
    if (WAY == ENDED && !here<WAY>(active))
        return;
    if (here<WAY>(active))
        for (int i = 0; i < n; i++) {
            int by = f[i].by, width = f[i].width, kind = f[i].kind;
            if (kind == IDX)
                v = __shfl_sync(EVERY, SAME ? CONSTANT : in[t], by, width);
            else if (kind == UP)
                v = __shfl_up_sync(EVERY, SAME ? CONSTANT : in[t], by, width);
            else if (kind == DOWN)
                v = __shfl_down_sync(EVERY, SAME ? CONSTANT : in[t], by, width);
            else
                v = __shfl_xor_sync(EVERY, SAME ? CONSTANT : in[t], by, width);
            out[i * THREADS + t] = v;
        }
}

/* What is the same for all lanes, a lane's own choice of lane, a sum, a 64-bit value, and a loop that lanes leave one by one. */
template <int WAY> __global__ void others(const int *in, int one, unsigned active, int *out)
{
    int t = threadIdx.x, lane = t % 32, sum = in[t], left = 0;
    if (WAY == ENDED && !here<WAY>(active))
        return;
    if (here<WAY>(active)) {
        out[t] = __shfl_down_sync(EVERY, one, 3);
        out[THREADS + t] = __shfl_sync(EVERY, one, 11);
        out[2 * THREADS + t] = __shfl_sync(EVERY, in[t], 5 * lane + 1);
        for (int o = 16; o; o /= 2)
            sum += __shfl_down_sync(EVERY, sum, o);
        out[3 * THREADS + t] = sum;
        long long wide = __shfl_xor_sync(EVERY, (long long)in[t] << 32 | in[t], 9);
        out[4 * THREADS + t] = (int)(wide >> 32) + (int)wide;
#pragma unroll 1
        for (int i = 0; i < lane; i++)
            left = 3 * left + __shfl_up_sync(EVERY, in[t] + i, 2);
        out[5 * THREADS + t] = left;
    }
}

template <int WAY> __global__ void votes(const int *in, unsigned active, unsigned *out)
{
    int t = threadIdx.x, v = in[t], p;
    if (WAY == ENDED && !here<WAY>(active))
        return;
    if (here<WAY>(active)) {
        out[t] = __ballot_sync(EVERY, v & 1);
        out[THREADS + t] = __any_sync(EVERY, v % 16 == 3) | __all_sync(EVERY, v >= 1000 + t / 32 * 100) << 1;
        out[2 * THREADS + t] = __match_any_sync(EVERY, v % 3);
        out[3 * THREADS + t] = __match_all_sync(EVERY, v / 5000, &p) + (unsigned)p;
        out[4 * THREADS + t] = __reduce_add_sync(EVERY, v) + __reduce_min_sync(EVERY, v) + __reduce_max_sync(EVERY, v);
        out[5 * THREADS + t] = __reduce_xor_sync(EVERY, v) + __activemask();
    }
}

/* ---- The same of one warp, written once more.  `v` holds the lanes that are there. */
struct warp {
    unsigned active;
    int v[32];
};

static int read(const warp &w, int lane)
{
    return w.active >> lane & 1 ? w.v[lane] : 0;
}

static int shuffled(const warp &w, int lane, form f)
{
    int first = lane & -f.width, last = first + f.width - 1, by = f.by & 31;
    int from = f.kind == IDX ? first + by % f.width : f.kind == UP ? lane - by : f.kind == DOWN ? lane + by : lane ^ by;
    return read(w, from < first || from > last ? lane : from);
}

static int expected_other(warp w, int lane, int one, int which)
{
    warp same = w;
    int left = 0;
    for (int &v : same.v)
        v = one;
    switch (which) {
    case 0: return shuffled(same, lane, { DOWN, 3, 32 });
    case 1: return shuffled(same, lane, { IDX, 11, 32 });
    case 2: return shuffled(w, lane, { IDX, 5 * lane + 1, 32 });
    case 3:
        for (int o = 16; o; o /= 2) {
            warp old = w;
            for (int i = 0; i < 32; i++)
                w.v[i] += shuffled(old, i, { DOWN, o, 32 });
        }
        return w.v[lane];
    case 4: return 2 * shuffled(w, lane, { XOR, 9, 32 });
    default:
        for (int i = 0; i < lane; i++) {
            warp turn = { w.active & (i < 31 ? EVERY << (i + 1) : 0), {} };
            for (int k = 0; k < 32; k++)
                turn.v[k] = w.v[k] + i;
            left = 3 * left + shuffled(turn, lane, { UP, 2, 32 });
        }
        return left;
    }
}

static unsigned expected_vote(const warp &w, int lane, int t, int which)
{
    unsigned odd = 0, any = 0, all = 1, alike = 0, same = 1, sum = 0, exor = 0;
    int least = INT32_MAX, most = INT32_MIN;
    for (int i = 0; i < 32; i++) {
        if (!(w.active >> i & 1))
            continue;
        int v = w.v[i];
        odd |= (unsigned)(v & 1) << i;
        any |= v % 16 == 3;
        all &= v >= 1000 + t / 32 * 100;
        alike |= (unsigned)(v % 3 == w.v[lane] % 3) << i;
        same &= v / 5000 == w.v[lane] / 5000;
        sum += (unsigned)v;
        exor ^= (unsigned)v;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    unsigned results[] = {
        odd, any | all << 1, alike, same ? w.active + 1 : 0, sum + (unsigned)least + (unsigned)most, exor + w.active
    };
    return results[which];
}

template <int WAY> static void check(int threads, unsigned active, const int *in)
{
    static int fixed[2][FORMS_N * THREADS], varied[2][FORMS_N * THREADS], more[MORE * THREADS];
    static unsigned voted[MORE * THREADS];
    Dev<int> di(in, THREADS), df(FORMS_N * THREADS), dv(FORMS_N * THREADS), dm(MORE * THREADS);
    Dev<int> dsf(FORMS_N * THREADS), dsv(FORMS_N * THREADS); /* of a constant */
    Dev<unsigned> dw(MORE * THREADS);
    Dev<form> shapes(forms, FORMS_N);
    df.fill(0), dv.fill(0), dsf.fill(0), dsv.fill(0), dm.fill(0), dw.fill(0);
    constants<WAY, false><<<1, threads>>>(di, active, df);
    variables<WAY, false><<<1, threads>>>(di, active, shapes, FORMS_N, dv);
    constants<WAY, true><<<1, threads>>>(di, active, dsf);
    variables<WAY, true><<<1, threads>>>(di, active, shapes, FORMS_N, dsv);
    others<WAY><<<1, threads>>>(di, 77, active, dm);
    votes<WAY><<<1, threads>>>(di, active, dw);
    CHECK_LAUNCH();
    df.get(fixed[0]), dv.get(varied[0]), dsf.get(fixed[1]), dsv.get(varied[1]), dm.get(more), dw.get(voted);
    for (int t = 0; t < threads; t++) {
        int lane = t % 32, left = threads - t / 32 * 32;
        warp w = { left < 32 ? (1u << left) - 1 : EVERY, {} };
        w.active &= WAY == ALL ? EVERY : WAY == FIRST_EIGHT ? 0xff : active;
        for (int i = 0; i < 32 && i < left; i++)
            w.v[i] = in[t / 32 * 32 + i];
        if (!(w.active >> lane & 1))
            continue;
        warp same = w;
        for (int &v : same.v)
            v = CONSTANT;
        for (int i = 0; i < 2 * FORMS_N; i++) {
            int of = i / FORMS_N, f = i % FORMS_N, want = shuffled(of ? same : w, lane, forms[f]), at = f * THREADS + t;
            EXPECT(fixed[of][at] == want && varied[of][at] == want,
                   "way %d, %d threads, active %x: form %d.%d.%d of thread %d%s: %d %d, expected %d", WAY, threads, active,
                   forms[f].kind, forms[f].by, forms[f].width, t, of ? ", of a constant" : "", fixed[of][at], varied[of][at],
                   want);
        }
        for (int i = 0; i < MORE; i++) {
            int want = expected_other(w, lane, 77, i), at = i * THREADS + t;
            unsigned vote = expected_vote(w, lane, t, i);
            EXPECT(more[at] == want, "way %d, %d threads, active %x: other %d of thread %d: %d, expected %d", WAY, threads,
                   active, i, t, more[at], want);
            EXPECT(voted[at] == vote, "way %d, %d threads, active %x: vote %d of thread %d: %x, expected %x", WAY, threads,
                   active, i, t, voted[at], vote);
        }
    }
}

int main()
{
    int in[THREADS];
    for (int t = 0; t < THREADS; t++)
        in[t] = 1000 + 37 * t % 101 + t / 32 * 100;
    check<BRANCH>(96, 0x96e35a71, in);
    check<BRANCH>(96, EVERY, in);
    check<BRANCH>(40, 0x2b7c18d6, in);
    check<ENDED>(40, 0x2b7c18d6, in);
    check<FIRST_EIGHT>(96, 0, in);
    check<ALL>(96, 0, in);
    check<ALL>(33, 0, in);
    return check_done();
}
