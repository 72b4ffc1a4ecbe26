/* The callback API: a subscriber hears of calls of the driver and the runtime API. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cbid.h"
#include "common/driver.h"
#include "cupti_proto.h"
#include "state.h"

#define AW_ROOM "cupti"

enum { CBIDS = 1024 };
struct aw_cupti_subscriber {
    CUpti_CallbackFunc fn;
    void *user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_cupti_subscriber the_one, *subscriber; /* atomic */
static bool enabled[DOMAINS][CBIDS]; /* read without the lock: each is a byte */

/* What the program is handed, as CUPTI has it. */
struct callback_data {
    int site; /* 0: enter, 1: exit */
    const char *function_name;
    const void *params;
    void *result;
    const char *symbol;
    CUcontext context;
    uint32_t context_id;
    uint64_t *correlation_data; /* a word of the program's, from enter to exit */
    uint32_t correlation_id;
};

/* ---- Launches: NVIDIA's runtime and libraries launch by the driver, and who subscribes to the driver's functions hears of
 * it. */

struct dim3 {
    unsigned x, y, z;
};
/* The arguments of both, as CUPTI has them. */
struct runtime_launch {
    const void *symbol;
    struct dim3 grid, block;
    void **args;
    size_t shared;
    CUstream stream;
};
struct driver_launch {
    CUfunction function;
    struct dim3 grid, block;
    unsigned shared;
    CUstream stream;
    void **args, **extra;
};
struct runtime_config {
    struct dim3 grid, block;
    size_t shared;
    CUstream stream;
    void *attrs;
    unsigned n_attrs;
};
struct runtime_launch_ex {
    const struct runtime_config *config;
    const void *symbol;
    void **args;
};
struct driver_config {
    struct dim3 grid, block;
    unsigned shared;
    CUstream stream;
    void *attrs;
    unsigned n_attrs;
};
struct driver_launch_ex {
    const struct driver_config *config;
    CUfunction function;
    void **args, **extra;
};
struct launch_args {
    struct driver_launch plain;
    struct driver_launch_ex ex;
    struct driver_config config;
};

static const void *launch_plain(const void *given, struct launch_args *to)
{
    const struct runtime_launch *r = given;
    to->plain = (struct driver_launch){ aw_abi_activity_function(r->symbol), r->grid, r->block, (unsigned)r->shared, r->stream,
                                        r->args, NULL };
    return &to->plain;
}

static const void *launch_ex(const void *given, struct launch_args *to)
{
    const struct runtime_launch_ex *r = given;
    const struct runtime_config *c = r->config;
    if (!c)
        return NULL;
    to->config = (struct driver_config){ c->grid, c->block, (unsigned)c->shared, c->stream, c->attrs, c->n_attrs };
    to->ex = (struct driver_launch_ex){ &to->config, aw_abi_activity_function(r->symbol), r->args, NULL };
    return &to->ex;
}

static const void *launch_graph(const void *given, struct launch_args *to)
{
    (void)to;
    return given; /* the same */
}

/* What a library gives to a stream is a function of the host, which has a kernel's record: one block of one thread, and no
 * function. */
static const void *launch_job(const void *given, struct launch_args *to)
{
    if (!aw_abi_activity_gives_job())
        return NULL;
    to->plain = (struct driver_launch){ .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    memcpy(&to->plain.stream, given, sizeof to->plain.stream);
    return &to->plain;
}

struct aw_cupti_launch {
    const char *by, *driver;
    /* The driver's arguments of these, in `to` or elsewhere; NULL: the driver launches nothing. */
    const void *(*convert)(const void *given, struct launch_args *to);
};
static const struct aw_cupti_launch launches[] = {
    { "cudaLaunchKernel", "cuLaunchKernel", launch_plain },
    { "cudaLaunchKernel_ptsz", "cuLaunchKernel_ptsz", launch_plain },
    { "__cudaLaunchKernel", "cuLaunchKernel", launch_plain },
    { "__cudaLaunchKernel_ptsz", "cuLaunchKernel_ptsz", launch_plain },
    { "cudaLaunchCooperativeKernel", "cuLaunchCooperativeKernel", launch_plain },
    { "cudaLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel_ptsz", launch_plain },
    { "cudaLaunchKernelExC", "cuLaunchKernelEx", launch_ex },
    { "cudaLaunchKernelExC_ptsz", "cuLaunchKernelEx_ptsz", launch_ex },
    { "cudaGraphLaunch", "cuGraphLaunch", launch_graph },
    { "cudaGraphLaunch_ptsz", "cuGraphLaunch_ptsz", launch_graph },
    { "cuLaunchHostFunc", "cuLaunchKernel", launch_job },
};

static const struct aw_cupti_launch *launch_of(const char *name)
{
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++)
        if (!strcmp(name, launches[i].by))
            return &launches[i];
    return NULL;
}

/* ---- Functions by the text that the core gives, which is one for each. */

static int cbid_compare(const void *key, const void *row)
{
    return strcmp(key, ((const struct aw_cupti_cbid *)row)->name);
}

static struct aw_cupti_function function_find(const char *text)
{
    char name[128];
    size_t len = strcspn(text + 1, "|");
    struct aw_cupti_function f = { DOMAIN_DRIVER, 0, NULL, NULL };
    if (len >= sizeof name)
        return f;
    memcpy(name, text + 1, len);
    name[len] = 0;
    bool runtime = !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
    const struct aw_cupti_cbid *row = runtime ? bsearch(name, aw_cupti_runtime, aw_cupti_n_runtime, sizeof *row, cbid_compare) :
                                                bsearch(name, aw_cupti_driver, aw_cupti_n_driver, sizeof *row, cbid_compare);
    f.domain = runtime ? DOMAIN_RUNTIME : DOMAIN_DRIVER;
    if (row && row->number < CBIDS) {
        f.cbid = row->number;
        f.name = row->name;
        f.launch = launch_of(name);
    }
    return f;
}

/* A small table beside the search: a program calls few functions, often. */
static struct aw_cupti_function function_of(const char *text)
{
    enum { SLOTS = 256 };
    static __thread struct {
        const char *text;
        struct aw_cupti_function function;
    } seen[SLOTS];
    size_t slot = ((uintptr_t)text >> 4) % SLOTS;
    if (seen[slot].text != text) {
        seen[slot].function = function_find(text);
        seen[slot].text = text;
    }
    return seen[slot].function;
}

/* ---- The hook. */

static void tell(struct aw_cupti_subscriber *to, const struct aw_cupti_function *f, const void *args, const void *result,
                 uint64_t call, uint64_t *word)
{
    CUcontext ctx = NULL;
    cuCtxGetCurrent(&ctx);
    struct callback_data data = { .site = result != NULL, .function_name = f->name, .params = args,
                                  .result = (void *)(uintptr_t)result,
                                  .context = ctx, .context_id = aw_abi_activity_context(ctx), .correlation_data = word,
                                  .correlation_id = (uint32_t)call };
    to->fn(to->user, f->domain, f->cbid, &data);
}

/* Tells of the driver's launch in a call. */
static void tell_launch(struct aw_cupti_subscriber *to, const struct aw_cupti_launch *launch, const void *args,
                        const void *result, uint64_t call, uint64_t *word)
{
    struct launch_args given;
    const struct aw_cupti_cbid *row = bsearch(launch->driver, aw_cupti_driver, aw_cupti_n_driver, sizeof *row, cbid_compare);
    if (!row || row->number >= CBIDS || !__atomic_load_n(&enabled[DOMAIN_DRIVER][row->number], __ATOMIC_RELAXED))
        return;
    const void *converted = launch->convert(args, &given);
    struct aw_cupti_function f = { DOMAIN_DRIVER, row->number, row->name, NULL };
    if (converted)
        tell(to, &f, converted, result, call, word);
}

static void hook_call(const char *text, const void *args, const void *result, uint64_t call)
{
    static __thread struct {
        uint64_t begin, word, launch_word;
    } now; /* calls in calls are not told */
    struct aw_cupti_function f = function_of(text);
    if (!f.cbid)
        return;
    struct aw_cupti_subscriber *to = __atomic_load_n(&subscriber, __ATOMIC_ACQUIRE);
    bool wanted = to && __atomic_load_n(&enabled[f.domain][f.cbid], __ATOMIC_RELAXED);
    if (!result) {
        now.word = now.launch_word = 0;
        if (wanted)
            tell(to, &f, args, result, call, &now.word);
        if (to && f.launch)
            tell_launch(to, f.launch, args, result, call, &now.launch_word);
        now.begin = aw_cupti_now();
        return;
    }
    struct aw_cupti_call done = { .function = f, .number = call, .begin = now.begin, .end = aw_cupti_now() };
    memcpy(&done.result, result, sizeof done.result);
    aw_cupti_call_record(&done);
    if (to && f.launch)
        tell_launch(to, f.launch, args, result, call, &now.launch_word);
    if (wanted)
        tell(to, &f, args, result, call, &now.word);
}

bool aw_cupti_callbacks_wanted(void)
{
    if (!__atomic_load_n(&subscriber, __ATOMIC_ACQUIRE))
        return false;
    for (int d = DOMAIN_DRIVER; d <= DOMAIN_RUNTIME; d++)
        if (memchr(enabled[d], 1, CBIDS))
            return true;
    return false;
}

void aw_cupti_hook_update(void)
{
    static const struct aw_call_hook hook = { hook_call };
    aw_abi_activity_watch(aw_cupti_work_wanted());
    aw_abi_hook_set(aw_cupti_callbacks_wanted() || aw_cupti_activities_wanted() ? &hook : NULL);
}

/* ---- Subscribing. */

CUptiResult awcupti_cuptiSubscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc fn, void *user)
{
    if (!ret)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    bool taken = subscriber != NULL;
    if (!taken) {
        the_one = (struct aw_cupti_subscriber){ fn, user };
        memset(enabled, 0, sizeof enabled);
        __atomic_store_n(&subscriber, &the_one, __ATOMIC_RELEASE);
        *ret = &the_one;
    }
    pthread_mutex_unlock(&lock);
    return taken ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

/* Of the parameters only where the name of another subscriber goes is not known here, and there is none to name. */
CUptiResult awcupti_cuptiSubscribe_v2(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc fn, void *user, void *params)
{
    (void)params;
    return awcupti_cuptiSubscribe(ret, fn, user);
}

CUptiResult awcupti_cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    pthread_mutex_lock(&lock);
    bool mine = handle && handle == subscriber;
    if (mine)
        __atomic_store_n(&subscriber, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    if (!mine)
        return CUPTI_ERROR_INVALID_PARAMETER;
    aw_cupti_hook_update();
    return CUPTI_SUCCESS;
}

static CUptiResult enable(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, CUpti_CallbackId first,
                          size_t n)
{
    if (!handle || handle != subscriber || domain < 1 || domain >= DOMAINS || first >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (on && domain != DOMAIN_DRIVER && domain != DOMAIN_RUNTIME)
        aw_say(CUPTI_DOMAIN);
    memset(&enabled[domain][first], on != 0, n);
    aw_cupti_hook_update();
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                        CUpti_CallbackId cbid)
{
    return enable(on, handle, domain, cbid, 1);
}

CUptiResult awcupti_cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    return enable(on, handle, domain, 0, CBIDS);
}

CUptiResult awcupti_cuptiEnableAllDomains(uint32_t on, CUpti_SubscriberHandle handle)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (int d = 1; d < DOMAINS && result == CUPTI_SUCCESS; d++)
        result = enable(on, handle, d, 0, CBIDS);
    return result;
}

CUptiResult awcupti_cuptiGetCallbackState(uint32_t *on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                          CUpti_CallbackId cbid)
{
    if (!on || !handle || handle != subscriber || domain < 1 || domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *on = enabled[domain][cbid];
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (!name)
        return CUPTI_ERROR_INVALID_PARAMETER;
    const char *found = NULL;
    if (domain == DOMAIN_DRIVER && cbid < aw_cupti_driver_size)
        found = aw_cupti_driver_names[cbid];
    else if (domain == DOMAIN_RUNTIME && cbid < aw_cupti_runtime_size)
        found = aw_cupti_runtime_names[cbid];
    if (!found)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiSupportedDomains(size_t *n, CUpti_DomainTable *table)
{
    static CUpti_CallbackDomain domains[] = { DOMAIN_DRIVER, DOMAIN_RUNTIME };
    if (!n || !table)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *n = sizeof domains / sizeof domains[0];
    *table = domains;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiFinalize(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&subscriber, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    aw_cupti_activities_end();
    aw_cupti_hook_update();
    return CUPTI_SUCCESS;
}
