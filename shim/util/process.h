// SPDX-License-Identifier: Apache-2.0
//
// What happened to the process: whether exit has begun and whether this is a fork child of a
// process that had already chosen its backend. Set by handlers that are registered with the first
// API call, never by a constructor. Read by irt_api_enter and by whoever must not touch locks or
// threads that no longer exist.
#pragma once

enum irt_process_state {
    IRT_PROCESS_RUNNING,
    IRT_PROCESS_FORKED,  // child: the backend's threads do not exist here
    IRT_PROCESS_EXITING, // exit() has reached us; the backend is being or has been stopped
};

// Relaxed load; cheap.
enum irt_process_state irt_process_state(void);

// Registers the fork and exit handlers, once; `at_exit` (may be NULL) is called when exit begins,
// after the state became EXITING; not in fork children.
void irt_process_watch(void (*at_exit)(void));
