// SPDX-License-Identifier: Apache-2.0
//
// Environment variables: defaults, reading once, numbers and flags.
#include "shim/util/env.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

TestSuite(env, .timeout = 10);

Test(env, numbers)
{
    static const struct {
        const char *text;
        bool good;
        long long value;
    } rows[] = {
        {"0", true, 0},
        {"17", true, 17},
        {"-3", true, -3},
        {"0x10", true, 16},
        {"", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1k", false, 0},
        {"101", false, 0},
        {"-101", false, 0},
        {"abc", false, 0},
        {"1.5", false, 0},
        {"99999999999999999999", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        long long value = 77;
        bool good = irt_parse_number(rows[i].text, -100, 100, &value);
        cr_assert(good == rows[i].good, "\"%s\"", rows[i].text);
        cr_assert(value == (good ? rows[i].value : 77), "\"%s\"", rows[i].text);
    }
}

Test(env, defaults_and_unknown_names)
{
    unsetenv("INFINIRT_LOG");
    unsetenv("INFINIRT_BACKEND");
    cr_assert_str_eq(irt_env("INFINIRT_LOG"), "warn");
    cr_assert(irt_env("INFINIRT_BACKEND") == NULL);
    setenv("INFINIRT_NO_SUCH_VARIABLE", "1", 1);
    cr_assert(irt_env("INFINIRT_NO_SUCH_VARIABLE") == NULL);
}

Test(env, read_once)
{
    setenv("INFINIRT_BACKEND", "first", 1);
    const char *value = irt_env("INFINIRT_BACKEND");
    cr_assert_str_eq(value, "first");
    setenv("INFINIRT_BACKEND", "second", 1);
    cr_assert(irt_env("INFINIRT_BACKEND") == value);
    cr_assert_str_eq(value, "first");
}

Test(env, number_with_bounds)
{
    setenv("INFINIRT_CPU_DEVICES", "3", 1);
    cr_assert(irt_env_number("INFINIRT_CPU_DEVICES", 1, 64, 1) == 3);
    setenv("INFINIRT_CPU_THREADS", "many", 1);
    cr_assert(irt_env_number("INFINIRT_CPU_THREADS", 1, 64, 9) == 9);
}

Test(env, flag)
{
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    cr_assert(irt_env_flag("CUDA_LAUNCH_BLOCKING"));
    setenv("INFINIRT_DUMP", "maybe", 1);
    cr_assert(!irt_env_flag("INFINIRT_DUMP"));
}

Test(env, every_variable_has_a_help)
{
    size_t count;
    const struct irt_env_variable *list = irt_env_list(&count);
    for (size_t i = 0; i < count; i++) {
        cr_assert(list[i].help && list[i].help[0] != '\0', "%s", list[i].name);
        for (size_t j = 0; j < i; j++) {
            cr_assert(strcmp(list[i].name, list[j].name) != 0, "%s twice", list[i].name);
        }
    }
}
