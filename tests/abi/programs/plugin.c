// SPDX-License-Identifier: Apache-2.0
//
// A plug-in that was linked against one CUDA major; hands out the function it was bound to.
const char *cudaGetErrorName(int code);
const char *plugin_ask(int code);

const char *plugin_ask(int code)
{
    return cudaGetErrorName(code);
}
