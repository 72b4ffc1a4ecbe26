/* Stands in for hipFFT: records what it is given, with AMD's prototypes.  Plans of batch 77 it has not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../record.h"

typedef long long ll;

EXPORT int hipfftCreate(void **plan);
EXPORT int hipfftDestroy(void *plan);
EXPORT int hipfftSetStream(void *plan, void *stream);
EXPORT int hipfftXtExec(void *plan, void *in, void *out, int direction);
EXPORT int hipfftXtMakePlanMany(void *plan, int rank, ll *n, ll *inembed, ll istride, ll idist, int in, ll *onembed, ll ostride,
                                ll odist, int out, ll batch, size_t *size, int exec);

static int plans;

int hipfftCreate(void **plan)
{
    *plan = (char *)0 + 0x1000 + ++plans;
    return 0;
}

int hipfftDestroy(void *plan)
{
    record("destroy\n");
    return 0;
}

int hipfftXtMakePlanMany(void *plan, int rank, ll *n, ll *inembed, ll istride, ll idist, int in, ll *onembed, ll ostride,
                         ll odist, int out, ll batch, size_t *size, int exec)
{
    record("make rank %d n %lld..%lld types %d %d %d batch %lld", rank, n[0], n[rank - 1], in, out, exec, batch);
    if (inembed)
        record(" in %lld %lld %lld", inembed[rank - 1], istride, idist);
    if (onembed)
        record(" out %lld %lld %lld", onembed[rank - 1], ostride, odist);
    record("\n");
    *size = 4096;
    return batch == 77 ? 14 : 0;
}

int hipfftSetStream(void *plan, void *stream)
{
    record("stream %s\n", stream ? "set" : "NULL");
    return 0;
}

int hipfftXtExec(void *plan, void *in, void *out, int direction)
{
    record("exec %s %d\n", in == out ? "in place" : "apart", direction);
    return 0;
}
