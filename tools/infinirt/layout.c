// SPDX-License-Identifier: Apache-2.0
//
// See layout.h.
#include "layout.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verb.h"

const int layout_majors[] = {13, 12, 11, 0};
static const char *const sonames[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

const char *layout_soname(int major)
{
    for (size_t i = 0; layout_majors[i] != 0; i++) {
        if (layout_majors[i] == major) {
            return sonames[i];
        }
    }
    return NULL;
}

int layout_major(const char *soname)
{
    for (size_t i = 0; layout_majors[i] != 0; i++) {
        if (strcmp(soname, sonames[i]) == 0) {
            return layout_majors[i];
        }
    }
    return 0;
}

bool layout_library_folder(char *ret_path, size_t size)
{
    char self[PATH_MAX];
    char folder[PATH_MAX];
    char real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        if (slash) {
            *slash = '\0';
        }
        if ((size_t)snprintf(folder, sizeof folder, "%s/" INFINIRT_LIBRARIES, self) <
                sizeof folder &&
            realpath(folder, real) && (size_t)snprintf(ret_path, size, "%s", real) < size) {
            return true;
        }
    }
    complain("the libraries are not at %s beside this command", INFINIRT_LIBRARIES);
    return false;
}
