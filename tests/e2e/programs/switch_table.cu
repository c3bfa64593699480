// SPDX-License-Identifier: Apache-2.0
//
// Dense switches (jump tables), switches in loops that act as a small interpreter, fall-through.
#include "e2e.h"

__host__ __device__ unsigned run(const unsigned char *code, int length, unsigned a)
{
    unsigned stack[8];
    int top = 0, pc = 0, fuel = 200;
    stack[0] = a;
    while (pc < length && fuel-- > 0) {
        switch (code[pc++] % 11) {
        case 0:
            stack[top] += 3;
            break;
        case 1:
            stack[top] *= 5;
            break;
        case 2:
            stack[top] ^= 0x55;
            // fall through
        case 3:
            stack[top] -= 7;
            break;
        case 4:
            if (top < 7) {
                stack[top + 1] = stack[top];
                top++;
            }
            break;
        case 5:
            if (top > 0) {
                top--;
                stack[top] += stack[top + 1];
            }
            break;
        case 6:
            pc += (int)(stack[top] & 1);
            break;
        case 7:
            if (stack[top] & 2) {
                return stack[top] + 100000;
            }
            break;
        case 8:
            stack[top] >>= 1;
            break;
        case 9:
            stack[top] = 0u - stack[top];
            break;
        default:
            stack[top] &= 0xffff;
        }
    }
    return stack[top];
}

__global__ void interpret(const unsigned char *code, int length, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = run(code + i * length, length, i);
    }
}

int main()
{
    const int n = 300, length = 40;
    Random random(27);
    std::vector<unsigned char> code(n * length);
    for (auto &c : code) {
        c = (unsigned char)random.next();
    }
    Device<unsigned char> dcode(code);
    Device<unsigned> out(n);
    interpret<<<(n + 63) / 64, 64>>>(dcode, length, out, n);
    CHECK_LAUNCH();
    std::vector<unsigned> got = out.get();
    for (int i = 0; i < n; i++) {
        EXPECT(got[i] == run(&code[i * length], length, i));
    }
    return pass();
}
