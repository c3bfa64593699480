// SPDX-License-Identifier: Apache-2.0
//
// `infinirt info`: what this installation can do here. Asks the core library; knows no backend.
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "settings.h"
#include "verb.h"
#include "shim/dispatch/backend.h"

enum { OPTION_JSON = 1 };

static void help(void)
{
    fputs("usage: infinirt info [OPTION]...\n"
          "Lists backends (and why one cannot be had), devices of the chosen one, settings.\n\n",
          stdout);
    settings_help(stdout);
    fputs("  --json             one JSON object\n"
          "  --help             this text\n\n"
          "Exit code: 0 when there is a device, 1 when there is none, 2: wrong options.\n",
          stdout);
}

// Everything is collected as JSON first; the text form is printed from that.
static struct json_object *collect_backends(void)
{
    struct json_object *list = json_object_new_array();
    struct irt_info_backend info;
    for (size_t i = 0; irt_info_backend(i, &info); i++) {
        struct json_object *one = json_object_new_object();
        json_object_object_add(one, "name", json_object_new_string(info.name));
        json_object_object_add(one, "chosen", json_object_new_boolean(info.chosen));
        json_object_object_add(one, "available", json_object_new_boolean(info.available));
        json_object_object_add(one, "devices", json_object_new_int(info.devices));
        json_object_object_add(one, "module", json_object_new_string(info.path));
        json_object_object_add(one, "reason", json_object_new_string(info.reason));
        json_object_array_add(list, one);
    }
    return list;
}

static struct json_object *collect_devices(void)
{
    struct json_object *list = json_object_new_array();
    struct irtb_device_info info;
    size_t free_bytes;
    size_t total;
    for (int i = 0; irt_info_device(i, &info, &free_bytes, &total) == cudaSuccess; i++) {
        const struct cudaDeviceProp *p = &info.prop;
        char capability[32];
        snprintf(capability, sizeof capability, "%d.%d", p->major, p->minor);
        const struct {
            const char *name;
            int64_t value;
        } numbers[] = {
            {"memory_total", (int64_t)total},
            {"memory_free", (int64_t)free_bytes},
            {"multiprocessors", p->multiProcessorCount},
            {"clock_khz", info.clock_rate_khz},
            {"warp_size", p->warpSize},
            {"threads_per_block", p->maxThreadsPerBlock},
            {"threads_per_multiprocessor", p->maxThreadsPerMultiProcessor},
            {"shared_memory_per_block", (int64_t)p->sharedMemPerBlock},
            {"shared_memory_per_block_optin", (int64_t)p->sharedMemPerBlockOptin},
            {"registers_per_block", p->regsPerBlock},
            {"l2_cache", p->l2CacheSize},
            {"cooperative_launch", p->cooperativeLaunch},
            {"managed_memory", p->managedMemory},
        };
        struct json_object *one = json_object_new_object();
        json_object_object_add(one, "device", json_object_new_int(i));
        json_object_object_add(one, "name", json_object_new_string(p->name));
        json_object_object_add(one, "compute_capability", json_object_new_string(capability));
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            json_object_object_add(one, numbers[n].name, json_object_new_int64(numbers[n].value));
        }
        json_object_array_add(list, one);
    }
    return list;
}

static struct json_object *collect_settings(void)
{
    struct json_object *list = json_object_new_array();
    const char *name;
    const char *value;
    const char *text;
    for (size_t i = 0; irt_info_variable(i, &name, &value, &text); i++) {
        struct json_object *one = json_object_new_object();
        json_object_object_add(one, "name", json_object_new_string(name));
        json_object_object_add(one, "value", value ? json_object_new_string(value) : NULL);
        json_object_object_add(one, "help", json_object_new_string(text));
        json_object_array_add(list, one);
    }
    return list;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = json_object_object_get(object, key);
    return value ? json_object_get_string(value) : NULL;
}

static int64_t number_of(struct json_object *object, const char *key)
{
    return json_object_get_int64(json_object_object_get(object, key));
}

static void print_text(struct json_object *all)
{
    struct json_object *list = json_object_object_get(all, "backends");
    printf("infinirt %s\n\nbackends\n", text_of(all, "version"));
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        bool chosen = json_object_get_boolean(json_object_object_get(one, "chosen"));
        printf("  %c %-8s ", chosen ? '*' : ' ', text_of(one, "name"));
        if (json_object_get_boolean(json_object_object_get(one, "available"))) {
            int64_t devices = number_of(one, "devices");
            printf("%lld device%s\n", (long long)devices, devices == 1 ? "" : "s");
        } else {
            printf("not available: %s\n", text_of(one, "reason"));
        }
    }
    printf("\ncompiler\n    %s\n\ndevices\n", text_of(all, "compiler"));
    list = json_object_object_get(all, "devices");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        printf("  %lld %s\n", (long long)number_of(one, "device"), text_of(one, "name"));
        printf(
            "      compute capability %s, %lld multiprocessors, memory %lld MiB (%lld MiB free)\n"
            "      shared memory per block %lld KiB (%lld KiB on request), up to %lld threads\n",
            text_of(one, "compute_capability"), (long long)number_of(one, "multiprocessors"),
            (long long)(number_of(one, "memory_total") >> 20),
            (long long)(number_of(one, "memory_free") >> 20),
            (long long)(number_of(one, "shared_memory_per_block") >> 10),
            (long long)(number_of(one, "shared_memory_per_block_optin") >> 10),
            (long long)number_of(one, "threads_per_block"));
    }
    if (json_object_array_length(list) == 0) {
        puts("    none");
    }
    puts("\nsettings");
    list = json_object_object_get(all, "settings");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *value = text_of(one, "value");
        printf("    %-22s %-8s %s\n", text_of(one, "name"), value ? value : "-",
               text_of(one, "help"));
    }
}

int verb_info(int argc, char **argv)
{
    struct option options[SETTINGS_MAX + 3];
    int count = settings_options(options);
    options[count++] = (struct option){"json", no_argument, NULL, OPTION_JSON};
    options[count++] = (struct option){"help", no_argument, NULL, 'h'};
    options[count] = (struct option){0};
    bool json = false;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        bool bad;
        if (option == 'h') {
            help();
            return 0;
        }
        if (option == OPTION_JSON) {
            json = true;
        } else if (!settings_apply(option, optarg, &bad)) {
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        complain("info takes no argument: %s", argv[optind]);
        return EXIT_USAGE;
    }
    char why[256];
    const struct engine *engine = engine_open(why, sizeof why);
    struct json_object *all = json_object_new_object();
    json_object_object_add(all, "version", json_object_new_string(INFINIRT_VERSION));
    json_object_object_add(all, "backends", collect_backends());
    json_object_object_add(all, "compiler",
                           json_object_new_string(engine ? engine_description(engine) : why));
    json_object_object_add(all, "devices", collect_devices());
    json_object_object_add(all, "settings", collect_settings());
    if (json) {
        puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
                                                     JSON_C_TO_STRING_NOSLASHESCAPE));
    } else {
        print_text(all);
    }
    size_t devices = json_object_array_length(json_object_object_get(all, "devices"));
    json_object_put(all);
    return devices == 0;
}
