// SPDX-License-Identifier: Apache-2.0
//
// __managed__ variables and cudaMallocManaged: one pointer for host and kernels.
#include "e2e.h"

__managed__ int counter = 5;
__managed__ float table[64];
__managed__ int *linked;

struct Node {
    int value;
    Node *next;
};

__global__ void work(Node *head, int *sum)
{
    if (threadIdx.x == 0) {
        int total = 0;
        for (Node *n = head; n != nullptr; n = n->next) {
            total += n->value;
            n->value = -n->value;
        }
        *sum = total;
        *linked = 99;
    }
    atomicAdd(&counter, 1);
    table[threadIdx.x] *= 2.0f;
}

int main()
{
    EXPECT(counter == 5); // first access by the host
    for (int i = 0; i < 64; i++) {
        table[i] = (float)i;
    }
    CHECK(cudaMallocManaged((void **)&linked, sizeof(int)));
    Node *head = nullptr;
    for (int i = 1; i <= 10; i++) {
        Node *n;
        CHECK(cudaMallocManaged((void **)&n, sizeof(Node)));
        *n = Node{i, head};
        head = n;
    }
    int *sum;
    CHECK(cudaMallocManaged((void **)&sum, sizeof(int)));
    work<<<1, 64>>>(head, sum);
    CHECK_LAUNCH();
    EXPECT(*sum == 55 && *linked == 99 && counter == 69);
    for (int i = 0; i < 64; i++) {
        EXPECT(table[i] == 2.0f * i);
    }
    int value = 0;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    EXPECT(value == 69);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, sum));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    for (Node *n = head; n != nullptr;) {
        Node *next = n->next;
        EXPECT(n->value < 0);
        CHECK(cudaFree(n));
        n = next;
    }
    CHECK(cudaFree(sum));
    CHECK(cudaFree(linked));
    return pass();
}
