// SPDX-License-Identifier: Apache-2.0
//
// What a platform (a backend over a vendor's library, real or fake) lacks is data: a test or a
// suite names what it needs in its declaration,
//
//     Test(ipc, memory_errors, .data = NEEDS("ipc")) { … }
//
// and is skipped, with the reason, where capabilities.tsv says that the platform lacks it. A
// platform is named by CONFORMANCE_PLATFORM (platforms.tsv); without it nothing is lacking.
#pragma once

// Capabilities of capabilities.tsv, separated by spaces. A suite's are needed by all of its tests.
#define NEEDS(capabilities) ((void *)(uintptr_t)(capabilities))
