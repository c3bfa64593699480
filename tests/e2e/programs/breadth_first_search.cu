// SPDX-License-Identifier: Apache-2.0
//
// Level-synchronous breadth-first search: frontier queues, atomicCAS on distances, data-dependent
// launches until the frontier is empty.
#include "e2e.h"

__global__ void expand(const int *rows, const int *cols, const int *frontier, int size, int *next,
                       int *next_size, int *distance, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        int v = frontier[i];
        for (int e = rows[v]; e < rows[v + 1]; e++) {
            if (atomicCAS(&distance[cols[e]], -1, level) == -1) {
                next[atomicAdd(next_size, 1)] = cols[e];
            }
        }
    }
}

int main()
{
    const int n = 1000;
    Random random(29);
    std::vector<int> rows{0}, cols, want(n, -1);
    for (int v = 0; v < n; v++) {
        for (int e = 1 + random.below(4); e > 0; e--) {
            cols.push_back(random.below(n));
        }
        rows.push_back((int)cols.size());
    }
    std::vector<int> queue{0};
    want[0] = 0;
    for (size_t head = 0; head < queue.size(); head++) {
        int v = queue[head];
        for (int e = rows[v]; e < rows[v + 1]; e++) {
            if (want[cols[e]] < 0) {
                want[cols[e]] = want[v] + 1;
                queue.push_back(cols[e]);
            }
        }
    }
    std::vector<int> start(n, -1);
    start[0] = 0;
    Device<int> dr(rows), dc(cols), a(n), b(n), size(1), distance(start);
    a.fill(0);
    int *from = a, *to = b, count = 1, level = 0;
    while (count > 0) {
        size.fill(0);
        expand<<<(count + 63) / 64, 64>>>(dr, dc, from, count, to, size, distance, ++level);
        CHECK(cudaGetLastError());
        count = size.get()[0];
        std::swap(from, to);
    }
    EXPECT(level > 3 && queue.size() > 100);
    expect_equal(distance.get(), want);
    return pass();
}
