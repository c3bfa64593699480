// SPDX-License-Identifier: Apache-2.0
//
// The one way into irtb_backend.launch: every check of a launch configuration with CUDA's error
// code. Used by the launch functions in launch.c; occupancy.c shares the checks of a cluster shape.
#pragma once

#include <stdbool.h>

#include <vector_types.h>

#include "shim/core/module.h"

enum { IRT_LAUNCH_EVENTS = 2 };

// A launch as the application asks for it.
struct irt_launch_request {
    dim3 grid, block;
    dim3 cluster;  // 1,1,1 without one
    size_t shared; // bytes of dynamic shared memory
    void **arguments;
    cudaStream_t stream; // never 0
    bool cooperative;
    int cluster_portability; // as cudaLaunchAttributePortableClusterMode: 0: the function's
                             // attribute
    cudaEvent_t events[IRT_LAUNCH_EVENTS]; // recorded behind the kernel
    int event_count;
};

// Reads the attributes of a configuration into a request whose other members are set. Hints are
// accepted without effect. Errors: 1 for values that CUDA refuses, 801 (named on stderr) for what
// is not supported.
cudaError_t irt_launch_attributes(const cudaLaunchConfig_t *config,
                                  struct irt_launch_request *request);

// The most blocks that a cluster of the kernel may have on a device: 8, or 16 when the kernel
// allows sizes that not every device has; 1 where there are no clusters (CUDA C++ Programming
// Guide, "Thread Block Clusters").
unsigned irt_launch_cluster_max(const struct irt_loaded *loaded, const struct cudaDeviceProp *prop);

// The cluster that every launch of the kernel has, by its code or its attributes; zeros: none.
dim3 irt_launch_required_cluster(const struct irt_loaded *loaded);

// One launch of cudaLaunchCooperativeKernelMultiDevice, which CUDA 13 dropped: cudaLaunchParams.
struct irt_launch_params {
    void *func;
    dim3 grid, block;
    void **arguments;
    size_t shared;
    cudaStream_t stream;
};

// That function: launches cooperatively on several devices, waiting for one another's streams
// before and after unless `flags` says not to (1: no wait before, 2: no wait after). Errors: as
// irt_launch; 1 for an empty list, flags, a default stream, two launches on one device or launches
// that differ.
cudaError_t irt_launch_multi_device(const struct irt_launch_params *list, unsigned count,
                                    unsigned flags);

// The checks of a launch on a device, whatever the stream, and the compilation of the kernel. The
// cluster is the one that the launch gets, which the code may ask for. Errors: as irt_launch,
// without those of streams and events. Hold no lock.
cudaError_t irt_launch_check(struct irt_kernel *kernel, struct irt_device *device,
                             const struct irt_launch_request *request,
                             struct irt_loaded **ret_loaded, dim3 *ret_cluster);

// Checks and enqueues. Errors: 98, 209, 218, 222 (the kernel), 9 (dimensions), 1 (shared memory,
// arguments, launch bounds), 400 (stream of another device), 720 (cooperative grid too large), 912
// (cluster does not divide the grid), 801 (clusters, cooperative launch where there is none).
cudaError_t irt_launch(struct irt_kernel *kernel, const struct irt_launch_request *request);
