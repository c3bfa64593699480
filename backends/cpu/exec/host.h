// SPDX-License-Identifier: Apache-2.0
//
// Threads that run host functions (cudaLaunchHostFunc, host nodes of graphs) and other work that
// may block.
#pragma once

// Runs function(argument) on a thread of its own kind, which may block for long without holding
// workers up; calls that are made while others run or wait run beside them, up to 64. Never waits.
// 0 or an errno. Any thread, no lock needed; locks of streams may be held.
int exec_host_call(void (*function)(void *), void *argument);
