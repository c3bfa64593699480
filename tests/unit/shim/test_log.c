// SPDX-License-Identifier: Apache-2.0
//
// INFINIRT_LOG and the form of the lines, read back from a pipe in place of stderr.
#include "shim/util/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(log, .timeout = 10);

static int pipe_ends[2];
static int saved;

static void capture(void)
{
    cr_assert(pipe(pipe_ends) == 0);
    fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
    saved = dup(STDERR_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
}

static const char *captured(void)
{
    static char text[8192];
    ssize_t size = read(pipe_ends[0], text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    dup2(saved, STDERR_FILENO);
    return text;
}

Test(log, levels_per_subsystem)
{
    static const struct {
        const char *value, *subsystem;
        int level;
        bool shown;
    } rows[] = {
        {NULL, "any", IRT_LOG_WARN, true},
        {NULL, "any", IRT_LOG_INFO, false},
        {"error", "any", IRT_LOG_WARN, false},
        {"debug", "any", IRT_LOG_DEBUG, true},
        {"warn,stream:debug", "stream", IRT_LOG_DEBUG, true},
        {"warn,stream:debug", "stream2", IRT_LOG_DEBUG, false},
        {"warn,stream:debug", "event", IRT_LOG_INFO, false},
        {"stream:error,info", "stream", IRT_LOG_WARN, false},
        {"stream:error,info", "event", IRT_LOG_INFO, true},
        {"WARNING", "any", IRT_LOG_WARN, true},
        {"", "any", IRT_LOG_WARN, true},
        {",,debug,", "any", IRT_LOG_DEBUG, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        irt_log_configure(rows[i].value);
        cr_assert(irt_log_enabled(rows[i].subsystem, rows[i].level) == rows[i].shown, "row %zu", i);
    }
}

Test(log, form_of_a_line)
{
    irt_log_configure("warn");
    capture();
    IRT_LOG("test", IRT_LOG_WARN, "value %d\nsecond", 5);
    IRT_LOG("test", IRT_LOG_INFO, "not shown");
    irt_notice("always %s", "shown");
    const char *text = captured();
    cr_assert_str_eq(text, "infinirt: test: value 5 second\ninfinirt: always shown\n");
}

Test(log, long_lines_are_cut_and_stay_lines)
{
    char big[5000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    capture();
    irt_notice("%s", big);
    const char *text = captured();
    size_t length = strlen(text);
    cr_assert(length > 500 && length <= 1100 && strcmp(text + length - 4, "...\n") == 0,
              "%zu bytes", length);
}

Test(log, unknown_words_are_named)
{
    capture();
    irt_log_configure("loud");
    const char *text = captured();
    cr_assert(strstr(text, "\"loud\"") != NULL, "%s", text);
}
