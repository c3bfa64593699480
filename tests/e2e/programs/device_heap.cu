// SPDX-License-Identifier: Apache-2.0
//
// malloc, free, new and delete in kernels: blocks that outlive a kernel, exhaustion gives NULL.
#include "e2e.h"

struct Node {
    int value;
    Node *next;
};

__global__ void build(Node **heads, int lists, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < lists) {
        Node *head = nullptr;
        for (int j = 0; j < length; j++) {
            Node *n = (Node *)malloc(sizeof(Node));
            if (n == nullptr) {
                break;
            }
            n->value = i * 100 + j;
            n->next = head;
            head = n;
        }
        heads[i] = head;
    }
}

__global__ void consume(Node **heads, int *sums, int lists)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < lists) {
        int sum = 0;
        for (Node *n = heads[i]; n != nullptr;) {
            Node *next = n->next;
            sum += n->value;
            free(n);
            n = next;
        }
        sums[i] = sum;
    }
}

__global__ void exhaust(int *got_null, int *aligned)
{
    char *first = new char[100];
    *aligned = ((size_t)first % 16) == 0;
    delete[] first;
    *got_null = malloc((size_t)1 << 40) == nullptr;
    free(nullptr);
}

int main()
{
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    const int lists = 200, length = 9;
    Device<Node *> heads(lists);
    Device<int> sums(lists), null(1), aligned(1);
    for (int round = 0; round < 3; round++) {
        build<<<4, 64>>>(heads, lists, length);
        consume<<<4, 64>>>(heads, sums, lists);
        CHECK_LAUNCH();
        std::vector<int> got = sums.get();
        for (int i = 0; i < lists; i++) {
            EXPECT(got[i] == i * 100 * length + length * (length - 1) / 2);
        }
    }
    exhaust<<<1, 1>>>(null, aligned);
    CHECK_LAUNCH();
    EXPECT(null.get()[0] == 1 && aligned.get()[0] == 1);
    return pass();
}
