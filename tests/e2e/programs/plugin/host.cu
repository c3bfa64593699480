// SPDX-License-Identifier: Apache-2.0
//
// Loads a plug-in with kernels, uses it, unloads it, several times; its variables start anew each
// time, and the host's own kernel keeps working.
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "../e2e.h"

typedef int (*Run)(int *, int);

__global__ void add(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] += 1;
    }
}

int main(int, char **argv)
{
    // The plug-in lies beside this program, with "_so" after its name.
    std::string path = argv[0];
    path += "_so";
    const int n = 100;
    std::vector<int> want(n);
    for (int i = 0; i < n; i++) {
        want[i] = i;
    }
    Device<int> d(want);
    for (int round = 0; round < 4; round++) {
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            FAIL("%s", dlerror());
        }
        Run run = (Run)dlsym(library, "plugin_run");
        EXPECT(run != nullptr);
        EXPECT(run(d, n) == 8);
        add<<<2, 64>>>(d, n);
        EXPECT(run(d, n) == 9);
        CHECK_LAUNCH();
        for (auto &x : want) {
            x = (x * 3 + 1) * 3;
        }
        EXPECT(dlclose(library) == 0);
    }
    add<<<2, 64>>>(d, n);
    CHECK_LAUNCH();
    for (auto &x : want) {
        x++;
    }
    expect_equal(d.get(), want);
    return pass();
}
