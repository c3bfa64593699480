// SPDX-License-Identifier: Apache-2.0
//
// Types that functions of runtime.tsv name and that the headers we compile with may lack: those of
// releases after CUDA 13.0, those that later releases dropped, and those of OpenGL, EGL and VDPAU.
// Included by the generated irt_core.h and irt_compatNN.h. Layouts are compared with NVIDIA's
// headers by the layout tests (shim/api/layouts.tsv).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

// ---- CUDA 13.1: errors ----
enum { IRT_ERROR_STREAM_DETACHED = 917 }; // cudaErrorStreamDetached

// ---- CUDA 13.1: execution contexts and device resources ----
#if CUDART_VERSION < 13010
typedef struct CUdevResourceDesc_st *cudaDevResourceDesc_t;
typedef struct cudaExecutionContext_st *cudaExecutionContext_t;

enum cudaDevSmResourceGroup_flags {
    cudaDevSmResourceGroupDefault = 0,
    cudaDevSmResourceGroupBackfill = 1,
};

enum cudaDevSmResourceSplitByCount_flags {
    cudaDevSmResourceSplitIgnoreSmCoscheduling = 1,
    cudaDevSmResourceSplitMaxPotentialClusterSize = 2,
};

enum cudaDevResourceType {
    cudaDevResourceTypeInvalid = 0,
    cudaDevResourceTypeSm = 1,
    cudaDevResourceTypeWorkqueueConfig = 1000,
    cudaDevResourceTypeWorkqueue = 10000,
};

struct cudaDevSmResource {
    unsigned int smCount;
    unsigned int minSmPartitionSize;
    unsigned int smCoscheduledAlignment;
    unsigned int flags;
    unsigned int localityDomainId;
};

enum cudaDevWorkqueueConfigScope {
    cudaDevWorkqueueConfigScopeDeviceCtx = 0,
    cudaDevWorkqueueConfigScopeGreenCtxBalanced = 1,
};

struct cudaDevWorkqueueConfigResource {
    int device;
    unsigned int wqConcurrencyLimit;
    enum cudaDevWorkqueueConfigScope sharingScope;
};

struct cudaDevWorkqueueResource {
    unsigned char reserved[40];
};

typedef struct cudaDevSmResourceGroupParams_st {
    unsigned int smCount;
    unsigned int coscheduledSmCount;
    unsigned int preferredCoscheduledSmCount;
    unsigned int flags;
    unsigned int localityDomainId;
    unsigned int reserved[11];
} cudaDevSmResourceGroupParams;

typedef struct cudaDevResource_st {
    enum cudaDevResourceType type;
    unsigned char _internal_padding[92];
    union {
        struct cudaDevSmResource sm;
        struct cudaDevWorkqueueConfigResource wqConfig;
        struct cudaDevWorkqueueResource wq;
        unsigned char _oversize[40];
    };
    struct cudaDevResource_st *nextResource;
} cudaDevResource;
#endif

// ---- CUDA 13.3: recapture ----
#if CUDART_VERSION < 13030
enum cudaGraphRecaptureStatus {
    cudaGraphRecaptureEligibleForUpdate = 0,
    cudaGraphRecaptureIneligibleForUpdate = 1,
    cudaGraphRecaptureError = 2,
};

typedef cudaError_t (*cudaGraphRecaptureCallback_t)(
    void *data, cudaGraphNode_t node, const struct cudaGraphNodeParams *originalParams,
    const struct cudaGraphNodeParams *recaptureParams, enum cudaGraphRecaptureStatus status);

struct cudaGraphRecaptureCallbackData {
    cudaGraphRecaptureCallback_t callbackFunc;
    void *userData;
};
#endif
_Static_assert(sizeof(cudaDevResource) == 144 && offsetof(cudaDevResource, sm) == 96 &&
                   sizeof(cudaDevSmResourceGroupParams) == 64,
               "as in CUDA 13.5");

// ---- until CUDA 11 ----
typedef enum cudaOutputMode {
    cudaKeyValuePair = 0,
    cudaCSV = 1,
} cudaOutputMode_t;

// ---- OpenGL, EGL, VDPAU: handles are never looked into, for there is no display ----
typedef unsigned int GLuint;
typedef unsigned int GLenum;
typedef int EGLint;
typedef void *EGLStreamKHR;
typedef void *EGLImageKHR;
typedef void *EGLSyncKHR;
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef int VdpGetProcAddress(VdpDevice device, uint32_t function, void **ret_pointer);
typedef enum cudaGLDeviceList cudaGLDeviceList;
typedef struct CUeglStreamConnection_st *cudaEglStreamConnection;

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1,
    cudaGLDeviceListCurrentFrame = 2,
    cudaGLDeviceListNextFrame = 3,
};

typedef struct {
    unsigned int width, height, depth, pitch, numChannels;
    struct cudaChannelFormatDesc channelDesc;
    unsigned int reserved[4];
} cudaEglPlaneDesc;

typedef struct {
    union {
        cudaArray_t pArray[3];
        struct cudaPitchedPtr pPitch[3];
    } frame;
    cudaEglPlaneDesc planeDesc[3];
    unsigned int planeCount;
    int frameType;
    int eglColorFormat;
} cudaEglFrame;
// NOLINTEND(readability-identifier-naming)
