// SPDX-License-Identifier: Apache-2.0
//
// Reaches cudaGetErrorName in the ways that programs do and prints which CUDA major answered: 11,
// 12 or 13 (told apart by the error codes that each knows), "decoy", or "none". Built with -DLINKED
// for a program that is linked against a libcudart.
//   client linked | default | dlsym SONAME | noload SONAME | dlvsym SONAME NODE | plugins [deep]
//   FILE...
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const char *(*ask_function)(int code);

static const char *answer(ask_function ask)
{
    if (!ask) {
        return "none";
    }
    if (!strcmp(ask(0), "decoy")) {
        return "decoy";
    }
    if (strcmp(ask(917), "unrecognized error code") != 0) {
        return "13"; // 917 came with 13.1, 811 with 12.0
    }
    return strcmp(ask(811), "unrecognized error code") != 0 ? "12" : "11";
}

static ask_function look_up(void *handle, const char *name, const char *node)
{
    void *symbol = node ? dlvsym(handle, name, node) : dlsym(handle, name);
    ask_function ask;
    memcpy(&ask, &symbol, sizeof(ask));
    return ask;
}

#ifdef LINKED
const char *cudaGetErrorName(int code);
#endif

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "default")) {
        puts(answer(look_up(RTLD_DEFAULT, "cudaGetErrorName", NULL)));
        return 0;
    }
    if ((!strcmp(mode, "dlsym") || !strcmp(mode, "noload") || !strcmp(mode, "dlvsym")) &&
        argc > 2) {
        void *handle = dlopen(argv[2], RTLD_NOW | (strcmp(mode, "noload") ? 0 : RTLD_NOLOAD));
        if (!handle) {
            puts("none");
            return 0;
        }
        puts(answer(look_up(handle, "cudaGetErrorName", argc > 3 ? argv[3] : NULL)));
        return 0;
    }
    if (!strcmp(mode, "plugins")) {
        int deep = argc > 2 && !strcmp(argv[2], "deep");
        for (int i = 2 + deep; i < argc; i++) {
            void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
            if (!handle) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            printf("%s ", answer(look_up(handle, "plugin_ask", NULL)));
        }
        puts("");
        return 0;
    }
#ifdef LINKED
    if (!strcmp(mode, "linked")) {
        puts(answer(cudaGetErrorName));
        return 0;
    }
#endif
    return 2;
}
