// SPDX-License-Identifier: Apache-2.0
//
// Stands for NVIDIA's library in the loader experiments: the same SONAME and version node, and one
// function that tells who was called. Programs are linked against it, as they would be against the
// real one; the experiments then see whether ours answers in its place.
const char *cudaGetErrorName(int code);

const char *cudaGetErrorName(int code)
{
    return code == 0 ? "decoy" : "unrecognized error code";
}
