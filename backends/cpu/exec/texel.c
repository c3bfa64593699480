// SPDX-License-Identifier: Apache-2.0
//
// Conversions of texels that are not worth being inline: float to half, sRGB, formatted stores.
#include "texel.h"

#include <math.h>
#include <pthread.h>

uint16_t exec_float_to_half(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return 0x7fff;
    }
    if (bits >= 0x477ff000u) { // rounds to 65536 or more
        return sign | 0x7c00;
    }
    if (bits < 0x38800000u) { // below 2^-14: a subnormal half, rounded by an addition
        float magnitude, magic = 0.5f;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += magic; // one ulp of the sum is 2^-24
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - 0x38000000u) >> 13));
}

static float srgb_table[256];
static pthread_once_t srgb_once = PTHREAD_ONCE_INIT;

static void make_srgb_table(void)
{
    for (unsigned i = 0; i < 256; i++) {
        double s = i / 255.0;
        srgb_table[i] = (float)(s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4));
    }
}

float exec_srgb_to_linear(uint8_t value)
{
    pthread_once(&srgb_once, make_srgb_table);
    return srgb_table[value];
}

static float number_of(uint32_t pattern)
{
    float number;
    memcpy(&number, &pattern, sizeof number);
    return number;
}

// Nearest integer of number · scale, number clamped to low..1; NaN is 0.
static int32_t normalized(uint32_t pattern, float low, float scale)
{
    float number = number_of(pattern);
    number = number > low ? number : isnan(number) ? 0 : low;
    number = number < 1 ? number : 1;
    return (int32_t)lrintf(number * scale);
}

static uint32_t clamp_unsigned(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

static int32_t clamp_signed(uint32_t pattern, int32_t limit)
{
    int32_t value = (int32_t)pattern;
    return value < -limit - 1 ? -limit - 1 : value > limit ? limit : value;
}

static void store8(unsigned char *at, unsigned index, uint32_t value)
{
    at[index] = (unsigned char)value;
}

static void store16(unsigned char *at, unsigned index, uint32_t value)
{
    uint16_t narrow = (uint16_t)value;
    memcpy(at + (size_t)2 * index, &narrow, sizeof narrow);
}

static bool store_channel(enum exec_channel channel, unsigned char *at, unsigned i, uint32_t value)
{
    switch ((unsigned)channel) {
    case EXEC_CHANNEL_U8:
        store8(at, i, clamp_unsigned(value, UINT8_MAX));
        return true;
    case EXEC_CHANNEL_S8:
        store8(at, i, (uint32_t)clamp_signed(value, INT8_MAX));
        return true;
    case EXEC_CHANNEL_U16:
        store16(at, i, clamp_unsigned(value, UINT16_MAX));
        return true;
    case EXEC_CHANNEL_S16:
        store16(at, i, (uint32_t)clamp_signed(value, INT16_MAX));
        return true;
    case EXEC_CHANNEL_F16:
        store16(at, i, exec_float_to_half(number_of(value)));
        return true;
    case EXEC_CHANNEL_U32:
    case EXEC_CHANNEL_S32:
    case EXEC_CHANNEL_F32:
        memcpy(at + (size_t)4 * i, &value, sizeof value);
        return true;
    case EXEC_CHANNEL_UNORM8:
        store8(at, i, (uint32_t)normalized(value, 0, 255));
        return true;
    case EXEC_CHANNEL_SNORM8:
        store8(at, i, (uint32_t)normalized(value, -1, 127));
        return true;
    case EXEC_CHANNEL_UNORM16:
        store16(at, i, (uint32_t)normalized(value, 0, 65535));
        return true;
    case EXEC_CHANNEL_SNORM16:
        store16(at, i, (uint32_t)normalized(value, -1, 32767));
        return true;
    default:
        return false;
    }
}

bool exec_texel_store(enum exec_channel channel, unsigned channels, unsigned char *at,
                      const uint32_t *values)
{
    if (channel == EXEC_CHANNEL_U10_10_10_2 || channel == EXEC_CHANNEL_UNORM10_10_10_2) {
        uint32_t word = 0;
        for (unsigned i = 0; i < 4; i++) {
            uint32_t limit = i == 3 ? 3 : 1023;
            uint32_t value = channel == EXEC_CHANNEL_U10_10_10_2
                                 ? clamp_unsigned(values[i], limit)
                                 : (uint32_t)normalized(values[i], 0, (float)limit);
            word |= value << 10 * i;
        }
        memcpy(at, &word, sizeof word);
        return true;
    }
    for (unsigned i = 0; i < channels; i++) {
        if (!store_channel(channel, at, i, values[i])) {
            return false;
        }
    }
    return true;
}
