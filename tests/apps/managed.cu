// Managed memory: __managed__ variables of several kinds read and written from both sides, and cudaMallocManaged.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__managed__ int scalar = 5;
__managed__ float array[100];
__managed__ double *pointer;
struct Node {
    int value;
    Node *next;
};
__managed__ Node head = {1, nullptr};

__global__ void work(int n)
{
    int t = threadIdx.x;
    array[t] = array[t] * 2 + scalar;
    if (t < n)
        pointer[t] += t;
    __syncthreads();
    if (t == 0)
        scalar = 1234;
}

__global__ void walk(Node *first, int *ret_sum)
{
    int sum = 0;
    for (Node *n = first; n; n = n->next)
        sum = sum * 10 + n->value;
    *ret_sum = sum;
}

int main()
{
    const int n = 64;
    for (int i = 0; i < 100; i++)
        array[i] = (float)i;
    CHECK(cudaMallocManaged(&pointer, n * sizeof(double)));
    for (int i = 0; i < n; i++)
        pointer[i] = 0.5;
    EXPECT(scalar == 5, "scalar starts at %d", scalar);
    work<<<1, 100>>>(n);
    CHECK_LAUNCH();
    EXPECT(scalar == 1234, "scalar %d", scalar);
    for (int i = 0; i < 100; i++)
        EXPECT(array[i] == i * 2 + 5, "array[%d] %g", i, array[i]);
    for (int i = 0; i < n; i++)
        EXPECT(pointer[i] == i + 0.5, "pointer[%d] %g", i, pointer[i]);

    Node *nodes;
    int *sum;
    CHECK(cudaMallocManaged(&nodes, 3 * sizeof(Node)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    for (int i = 0; i < 3; i++)
        nodes[i] = {i + 2, i < 2 ? &nodes[i + 1] : nullptr};
    head.next = nodes;
    walk<<<1, 1>>>(&head, sum);
    CHECK_LAUNCH();
    EXPECT(*sum == 1234, "list gave %d", *sum);

    int copied = 0;
    CHECK(cudaMemcpy(&copied, &scalar, sizeof copied, cudaMemcpyDefault));
    EXPECT(copied == 1234, "copy from a managed variable %d", copied);
    copied = 77;
    CHECK(cudaMemcpy(&scalar, &copied, sizeof copied, cudaMemcpyDefault));
    EXPECT(scalar == 77, "after a copy to it %d", scalar);
    CHECK(cudaFree(pointer));
    CHECK(cudaFree(nodes));
    CHECK(cudaFree(sum));
    return check_done();
}
