// SPDX-License-Identifier: Apache-2.0
//
// Blocks of BC6H and BC7 (16 bytes), one texel at a time; index = 4 · y + x. Reserved modes read as
// 0 (alpha of BC6H: 1). Any thread. Source: Khronos Data Format Specification 1.3, "BPTC".
#pragma once

#include "texel.h"

texel_float exec_bc7_decode(const unsigned char *block, unsigned index);
texel_float exec_bc6h_decode(const unsigned char *block, unsigned index, bool is_signed);
