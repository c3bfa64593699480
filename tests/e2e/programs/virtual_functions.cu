// SPDX-License-Identifier: Apache-2.0
//
// Classes with virtual functions, built and destroyed on the device, called divergently.
#include "e2e.h"

struct Shape {
    __device__ virtual ~Shape()
    {
    }
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const
    {
        return 0;
    }
};

struct Circle : Shape {
    float r;
    __device__ explicit Circle(float radius) : r(radius)
    {
    }
    __device__ float area() const override
    {
        return 3.0f * r * r;
    }
};

struct Rectangle : Shape {
    float w, h;
    __device__ Rectangle(float width, float height) : w(width), h(height)
    {
    }
    __device__ float area() const override
    {
        return w * h;
    }
    __device__ int sides() const override
    {
        return 4;
    }
};

struct Square : Rectangle {
    __device__ explicit Square(float a) : Rectangle(a, a)
    {
    }
    __device__ int sides() const override
    {
        return 40;
    }
};

__global__ void create(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        switch (i % 3) {
        case 0:
            shapes[i] = new Circle((float)i);
            break;
        case 1:
            shapes[i] = new Rectangle((float)i, 2.0f);
            break;
        default:
            shapes[i] = new Square((float)i);
        }
    }
}

__global__ void measure(Shape **shapes, float *areas, int *sides, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        areas[i] = shapes[i]->area();
        sides[i] = shapes[i]->sides();
        delete shapes[i];
    }
}

int main()
{
    const int n = 100;
    Device<Shape *> shapes(n);
    Device<float> areas(n);
    Device<int> sides(n);
    create<<<2, 64>>>(shapes, n);
    measure<<<2, 64>>>(shapes, areas, sides, n);
    CHECK_LAUNCH();
    std::vector<float> a = areas.get();
    std::vector<int> s = sides.get();
    for (int i = 0; i < n; i++) {
        float want = i % 3 == 0 ? 3.0f * i * i : i % 3 == 1 ? i * 2.0f : (float)i * i;
        int want_sides = i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : 40;
        EXPECT(a[i] == want && s[i] == want_sides);
    }
    return pass();
}
