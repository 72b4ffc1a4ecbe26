// Virtual functions: objects made on the device in one kernel and used in another, lanes with different dynamic types, pure
// virtual bases, multiple inheritance with this-adjustment, and destruction.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <new>

struct Shape {
    int id;
    __device__ explicit Shape(int i) : id(i) {}
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
};

struct Square : Shape {
    float edge;
    __device__ Square(int i, float e) : Shape(i), edge(e) {}
    __device__ float area() const override { return edge * edge; }
    __device__ int sides() const override { return 4; }
};

struct Disc : Shape {
    float radius;
    __device__ Disc(int i, float r) : Shape(i), radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};

struct Named {
    int name;
    __device__ explicit Named(int n) : name(n) {}
    __device__ virtual int label() const { return -name; }
};

__device__ int destroyed;

struct Both : Square, Named {
    int extra;
    __device__ Both(int i, float e) : Square(i, e), Named(i * 10), extra(i + 5) {}
    __device__ ~Both() override { atomicAdd(&destroyed, extra); }
    __device__ int sides() const override { return 4 + extra; }
    __device__ int label() const override { return name + extra + id; }
};

union Slot {
    double align;
    char bytes[64];
};
static_assert(sizeof(Both) <= sizeof(Slot), "fits");

__global__ void make(Slot *slots, Shape **shapes, Named **names, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    names[i] = nullptr;
    switch (i % 3) {
    case 0: shapes[i] = new (&slots[i]) Square(i, i * 0.5f); break;
    case 1: shapes[i] = new (&slots[i]) Disc(i, i * 0.25f); break;
    default: {
        Both *b = new (&slots[i]) Both(i, i * 2.0f);
        shapes[i] = b;
        names[i] = b;
    }
    }
}

__global__ void use(Shape **shapes, Named **names, float *areas, int *sides, int *labels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    areas[i] = shapes[i]->area();
    sides[i] = shapes[i]->sides();
    labels[i] = names[i] ? names[i]->label() : 0;
}

__global__ void destroy(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        shapes[i]->~Shape();
}

int main()
{
    const int n = 100;
    Dev<Slot> slots(n);
    Dev<Shape *> shapes(n);
    Dev<Named *> names(n);
    Dev<float> areas(n);
    Dev<int> sides(n), labels(n);
    float a[n];
    int s[n], l[n], dead = 0;
    make<<<2, 64>>>(slots, shapes, names, n);
    use<<<4, 32>>>(shapes, names, areas, sides, labels, n);
    destroy<<<1, 128>>>(shapes, n);
    CHECK_LAUNCH();
    areas.get(a);
    sides.get(s);
    labels.get(l);
    int want_dead = 0;
    for (int i = 0; i < n; i++) {
        float area = i % 3 == 0 ? 0.25f * i * i : i % 3 == 1 ? 3.0f * (i * 0.25f) * (i * 0.25f) : 4.0f * i * i;
        int side = i % 3 == 0 ? 4 : i % 3 == 1 ? 0 : 4 + i + 5, label = i % 3 == 2 ? i * 10 + i + 5 + i : 0;
        want_dead += i % 3 == 2 ? i + 5 : 0;
        EXPECT(a[i] == area && s[i] == side && l[i] == label, "i=%d: %g %d %d, expected %g %d %d", i, a[i], s[i], l[i],
               area, side, label);
    }
    CHECK(cudaMemcpyFromSymbol(&dead, destroyed, sizeof dead));
    EXPECT(dead == want_dead, "destroyed %d, expected %d", dead, want_dead);
    return check_done();
}
