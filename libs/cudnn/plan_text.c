/* Operation graphs as text and back, for plans that programs keep (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION; XLA tells its
 * graphs this way from compiling to running).  The text is JSON of anywarp's own: descriptors, parts before wholes, each a type
 * and its attributes with their bytes; handles and addresses are left out.
 *
 *     {"anywarp_graph":1,"descriptors":[[TYPE,[[NAME,TYPE,"BYTES"],[NAME,15,[PART,...]],...]],...]}
 *
 * Reading makes the descriptors by the public functions, so that a text can do no more than a program. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cudnn_proto.h"

/* ---- Telling */

struct telling {
    char *text;
    size_t n, room;
    const struct aw_dnn_descriptor **told; /* in their order */
    int n_told;
    bool failed; /* memory is out */
};

__attribute__((format(printf, 2, 3))) static void say(struct telling *t, const char *format, ...)
{
    va_list args;
    for (int round = 0; round < 2 && !t->failed; round++) {
        size_t left = t->room - t->n;
        va_start(args, format);
        int n = vsnprintf(t->text ? t->text + t->n : NULL, left, format, args);
        va_end(args);
        if ((size_t)n < left) {
            t->n += (size_t)n;
            return;
        }
        size_t room = 2 * t->room + (size_t)n + 256;
        char *text = realloc(t->text, room);
        t->failed = !text;
        t->text = text ? text : t->text;
        t->room = text ? room : t->room;
    }
}

static int number_of(const struct telling *t, const struct aw_dnn_descriptor *d)
{
    for (int i = 0; i < t->n_told; i++)
        if (t->told[i] == d)
            return i;
    return -1;
}

static void tell_attribute(struct telling *t, const struct aw_dnn_attribute *a)
{
    size_t bytes = (size_t)a->n * aw_dnn_backend_type_size(a->type);
    say(t, "[%d,%d,", a->name, a->type);
    if (a->type == AW_DNN_BACKEND_DESCRIPTOR) {
        for (int64_t i = 0; i < a->n; i++)
            say(t, "%s%d", i ? "," : "[", number_of(t, ((struct aw_dnn_descriptor *const *)a->data)[i]));
        say(t, a->n ? "]]" : "[]]");
        return;
    }
    say(t, "\"");
    for (size_t i = 0; i < bytes; i++)
        say(t, "%02x", a->data[i]);
    say(t, "\"]");
}

/* The parts first, then the descriptor, unless it was told. */
static void tell(struct telling *t, const struct aw_dnn_descriptor *d)
{
    if (number_of(t, d) >= 0)
        return;
    for (const struct aw_dnn_attribute *a = d->attributes; a; a = a->next)
        for (int64_t i = 0; a->type == AW_DNN_BACKEND_DESCRIPTOR && i < a->n; i++)
            tell(t, ((struct aw_dnn_descriptor *const *)a->data)[i]);
    const struct aw_dnn_descriptor **told = realloc(t->told, (size_t)(t->n_told + 1) * sizeof *told);
    t->failed = t->failed || !told;
    if (t->failed)
        return;
    t->told = told;
    say(t, "%s[%d,[", t->n_told ? "," : "", d->type);
    bool first = true;
    for (const struct aw_dnn_attribute *a = d->attributes; a; a = a->next)
        if (a->type != AW_DNN_HANDLE && a->type != AW_DNN_VOID_PTR) {
            say(t, first ? "" : ",");
            tell_attribute(t, a);
            first = false;
        }
    say(t, "]]");
    t->told[t->n_told++] = d;
}

char *aw_dnn_graph_tell(const struct aw_dnn_descriptor *graph, size_t *ret_n)
{
    struct telling t = { 0 };
    say(&t, "{\"anywarp_graph\":1,\"descriptors\":[");
    tell(&t, graph);
    say(&t, "]}");
    free(t.told);
    if (t.failed) {
        free(t.text);
        return NULL;
    }
    *ret_n = t.n;
    return t.text;
}

/* ---- Reading */

struct reading {
    const char *at, *end;
    cudnnBackendDescriptor_t *made;
    int n_made;
    cudnnStatus_t status; /* of what was made of the text; a text that is none is BAD_PARAM */
};

static bool next_is(struct reading *r, const char *literal)
{
    size_t n = strlen(literal);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, literal, n))
        return false;
    r->at += n;
    return true;
}

static bool number(struct reading *r, int *ret)
{
    int64_t value = 0;
    const char *from = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && value <= INT_MAX; r->at++)
        value = 10 * value + (*r->at - '0');
    *ret = (int)value;
    return r->at > from && value <= INT_MAX;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes behind the opening quote: whole elements of the type.  NULL: they are not, or memory is out. */
static unsigned char *bytes(struct reading *r, size_t size, int64_t *ret_n)
{
    const char *close = memchr(r->at, '"', (size_t)(r->end - r->at));
    size_t n = close ? (size_t)(close - r->at) / 2 : 0;
    unsigned char *data = close && (close - r->at) % 2 == 0 && n % size == 0 ? malloc(n + 1) : NULL;
    for (size_t i = 0; data && i < n; i++, r->at += 2) {
        int high = digit(r->at[0]), low = digit(r->at[1]);
        if (high < 0 || low < 0) {
            free(data);
            return NULL;
        }
        data[i] = (unsigned char)(16 * high + low);
    }
    *ret_n = (int64_t)(n / size);
    return data && next_is(r, "\"") ? data : NULL;
}

/* Descriptors that were made before, by number. */
static unsigned char *parts(struct reading *r, int64_t *ret_n)
{
    const char *close = memchr(r->at, ']', (size_t)(r->end - r->at));
    size_t most = close ? (size_t)(close - r->at) / 2 + 1 : 0; /* a digit and a comma for each */
    cudnnBackendDescriptor_t *list = most ? malloc(most * sizeof *list) : NULL;
    int n = 0, which;
    bool good = list;
    while (good && !next_is(r, "]")) {
        good = (n == 0 || next_is(r, ",")) && number(r, &which) && which < r->n_made;
        if (good)
            list[n++] = r->made[which];
    }
    *ret_n = n;
    if (good)
        return (unsigned char *)list;
    free(list);
    return NULL;
}

static bool attribute(struct reading *r, cudnnBackendDescriptor_t d)
{
    int name, type;
    int64_t n;
    if (!next_is(r, "[") || !number(r, &name) || !next_is(r, ",") || !number(r, &type) || !next_is(r, ","))
        return false;
    bool descriptors = type == AW_DNN_BACKEND_DESCRIPTOR;
    if (type == AW_DNN_HANDLE || type == AW_DNN_VOID_PTR || !next_is(r, descriptors ? "[" : "\""))
        return false;
    unsigned char *data = descriptors ? parts(r, &n) : bytes(r, aw_dnn_backend_type_size(type), &n);
    if (data)
        r->status = awcudnn_cudnnBackendSetAttribute(d, (cudnnBackendAttributeName_t)name, (cudnnBackendAttributeType_t)type, n,
                                                     data);
    free(data);
    return data && r->status == CUDNN_STATUS_SUCCESS && next_is(r, "]");
}

static bool descriptor(struct reading *r)
{
    int type;
    cudnnBackendDescriptor_t d = NULL, *made = realloc(r->made, ((size_t)r->n_made + 1) * sizeof *made);
    r->made = made ? made : r->made;
    if (!made || !next_is(r, "[") || !number(r, &type) || !next_is(r, ",["))
        return false;
    r->status = awcudnn_cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)type, &d);
    if (r->status != CUDNN_STATUS_SUCCESS)
        return false;
    r->made[r->n_made++] = d;
    for (bool first = true; !next_is(r, "]"); first = false)
        if ((!first && !next_is(r, ",")) || !attribute(r, d))
            return false;
    r->status = awcudnn_cudnnBackendFinalize(d);
    return r->status == CUDNN_STATUS_SUCCESS && next_is(r, "]");
}

cudnnStatus_t aw_dnn_graph_read(const char *text, size_t n, cudnnBackendDescriptor_t *ret_graph)
{
    struct reading r = { .at = text, .end = text + n };
    bool good = next_is(&r, "{\"anywarp_graph\":1,\"descriptors\":["), first = true;
    for (; good && !next_is(&r, "]}"); first = false)
        good = (first || next_is(&r, ",")) && descriptor(&r);
    const struct aw_dnn_descriptor *last = r.n_made ? r.made[r.n_made - 1] : NULL;
    good = good && last && last->type == AW_DNN_DESCRIPTOR_OPERATIONGRAPH;
    if (good)
        *ret_graph = r.made[--r.n_made];
    for (int i = 0; i < r.n_made; i++)
        (void)awcudnn_cudnnBackendDestroyDescriptor(r.made[i]);
    free(r.made);
    if (!good && r.status == CUDNN_STATUS_SUCCESS)
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "this is no plan that anywarp told");
    return r.status;
}
