// malloc, free, new and delete in kernels: per-thread lists, memory that lives on into the next kernel, arrays of objects.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

struct Node {
    int value;
    Node *next;
    __device__ Node(int v, Node *n) : value(v), next(n) {}
};

__device__ Node *kept[128];

__global__ void build(int *out)
{
    int t = threadIdx.x;
    Node *list = nullptr;
    for (int i = 0; i < t % 9 + 1; i++)
        list = new Node(t * 10 + i, list);
    kept[t] = list;
    int *scratch = (int *)malloc(sizeof(int) * (t + 1));
    if (!scratch) {
        out[t] = -1;
        return;
    }
    for (int i = 0; i <= t; i++)
        scratch[i] = i;
    int sum = 0;
    for (int i = 0; i <= t; i++)
        sum += scratch[i];
    free(scratch);
    free(nullptr);
    out[t] = sum;
}

__global__ void consume(int *out)
{
    int t = threadIdx.x, sum = 0;
    for (Node *n = kept[t]; n;) {
        Node *next = n->next;
        sum += n->value;
        delete n;
        n = next;
    }
    out[t] = sum;
}

__global__ void too_much(int *out)
{
    void *p = malloc((size_t)1 << 40);
    *out = p == nullptr;
    free(p);
}

int main()
{
    const int n = 128;
    int out[n];
    Dev<int> d(n);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    build<<<1, n>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < n; t++)
        EXPECT(out[t] == t * (t + 1) / 2, "scratch %d: %d", t, out[t]);
    consume<<<1, n>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < n; t++) {
        int count = t % 9 + 1, want = count * t * 10 + count * (count - 1) / 2;
        EXPECT(out[t] == want, "list %d: %d, expected %d", t, out[t], want);
    }
    too_much<<<1, 1>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    EXPECT(out[0] == 1, "a terabyte was allocated");
    return check_done();
}
