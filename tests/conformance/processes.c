// SPDX-License-Identifier: Apache-2.0
//
// Starting children of tests and talking to them over a socket pair.
#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { ROLES_MAX = 32, CHILD_SOCKET = 9 };

static struct {
    const char *name;
    void (*function)(void);
} roles[ROLES_MAX];
static size_t role_count;

void process_add_role(const char *name, void (*function)(void))
{
    if (role_count < ROLES_MAX) {
        roles[role_count].name = name;
        roles[role_count++].function = function;
    }
}

void process_play(void)
{
    const char *name = getenv("PROCESS_ROLE");
    for (size_t i = 0; name && i < role_count; i++) {
        if (strcmp(name, roles[i].name) == 0) {
            roles[i].function();
            exit(0); // with the exit handlers of the runtime
        }
    }
    if (name) {
        fprintf(stderr, "no role %s\n", name);
        _exit(3);
    }
}

struct process process_start(const char *role)
{
    int sockets[2];
    cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    char variable[64];
    snprintf(variable, sizeof variable, "PROCESS_ROLE=%s", role);
    extern char **environ;
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **environment = calloc(count + 2, sizeof *environment);
    cr_assert(environment);
    memcpy(environment, environ, count * sizeof *environment);
    environment[count] = variable;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        // Nothing here but system calls: the parent has threads.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || dup2(sockets[1], CHILD_SOCKET) < 0) {
            _exit(4);
        }
        char name[] = "child";
        char *const arguments[] = {name, NULL};
        execve("/proc/self/exe", arguments, environment);
        _exit(5);
    }
    cr_assert(pid > 0);
    free(environment);
    close(sockets[1]);
    return (struct process){.pid = pid, .socket = sockets[0]};
}

// 0, or an errno.
static int send_message(int to, const void *bytes, size_t size, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)size ? 0 : errno;
}

// False at the end.
static int receive_message(int from, struct message *ret_message)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = ret_message->bytes, .iov_len = MESSAGE_MAX};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.space};
    ssize_t size = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    ret_message->size = size > 0 ? (size_t)size : 0;
    ret_message->fd = -1;
    struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS) {
        memcpy(&ret_message->fd, CMSG_DATA(header), sizeof ret_message->fd);
    }
    return size > 0;
}

void process_send(const struct process *process, const void *bytes, size_t size, int fd)
{
    int error = send_message(process->socket, bytes, size, fd);
    cr_assert(error == 0, "sending to the child: %s", strerror(error));
}

struct message process_hear(const struct process *process)
{
    struct message message;
    cr_assert(receive_message(process->socket, &message), "the child ended without an answer");
    return message;
}

void process_finish(struct process *process)
{
    int status = 0;
    pid_t got = waitpid(process->pid, &status, 0);
    cr_assert(got == process->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "the child ended with status %#x", (unsigned)status);
    close(process->socket);
}

void process_kill(struct process *process)
{
    int status = 0;
    kill(process->pid, SIGKILL);
    waitpid(process->pid, &status, 0);
    close(process->socket);
}

struct message process_receive(void)
{
    struct message message;
    if (!receive_message(CHILD_SOCKET, &message)) {
        _exit(6); // the test is gone
    }
    return message;
}

void process_answer(const void *bytes, size_t size)
{
    process_answer_fd(bytes, size, -1);
}

void process_answer_fd(const void *bytes, size_t size, int fd)
{
    if (send_message(CHILD_SOCKET, bytes, size, fd)) {
        _exit(7);
    }
}

void process_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "child: %s:%d: %s\n", file, line, what);
    _exit(1);
}

void process_check_code(int wanted, int got, const char *call, const char *file, int line)
{
    if (wanted != got) {
        fprintf(stderr, "child: %s:%d: %s answered %d, expected %d\n", file, line, call, got,
                wanted);
        _exit(1);
    }
}
