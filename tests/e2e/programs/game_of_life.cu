// SPDX-License-Identifier: Apache-2.0
//
// Game of life on bits: 32 cells per word, many generations, one launch each.
#include "e2e.h"

__global__ void generation(const unsigned *in, unsigned *out, int words, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= words || y >= h) {
        return;
    }
    unsigned result = 0;
    unsigned rows[3][3];
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            rows[dy + 1][dx + 1] = in[(y + dy + h) % h * words + (x + dx + words) % words];
        }
    }
    for (int b = 0; b < 32; b++) {
        int count = 0;
        for (int r = 0; r < 3; r++) {
            count += b > 0 ? rows[r][1] >> (b - 1) & 1 : rows[r][0] >> 31;
            count += b < 31 ? rows[r][1] >> (b + 1) & 1 : rows[r][2] & 1;
            count += r != 1 ? rows[r][1] >> b & 1 : 0;
        }
        bool alive = rows[1][1] >> b & 1;
        result |= (count == 3 || (alive && count == 2)) ? 1u << b : 0;
    }
    out[y * words + x] = result;
}

int main()
{
    const int words = 3, w = words * 32, h = 40;
    Random random(28);
    std::vector<unsigned> packed(words * h);
    std::vector<char> cells(w * h), next(w * h);
    for (int i = 0; i < words * h; i++) {
        packed[i] = (unsigned)(random.next() & random.next());
        for (int b = 0; b < 32; b++) {
            cells[i * 32 + b] = packed[i] >> b & 1;
        }
    }
    Device<unsigned> a(packed), b(words * h);
    unsigned *from = a, *to = b;
    for (int g = 0; g < 20; g++) {
        generation<<<dim3(1, (h + 7) / 8), dim3(4, 8)>>>(from, to, words, h);
        std::swap(from, to);
        for (int y = 0; y < h; y++) {
            for (int x = 0; x < w; x++) {
                int count = 0;
                for (int dy = -1; dy <= 1; dy++) {
                    for (int dx = -1; dx <= 1; dx++) {
                        count +=
                            dx != 0 || dy != 0 ? cells[(y + dy + h) % h * w + (x + dx + w) % w] : 0;
                    }
                }
                next[y * w + x] = count == 3 || (cells[y * w + x] && count == 2);
            }
        }
        cells.swap(next);
    }
    CHECK_LAUNCH();
    packed = a.get();
    for (int i = 0; i < w * h; i++) {
        EXPECT((packed[i / 32] >> (i % 32) & 1) == (unsigned)cells[i]);
    }
    return pass();
}
