/* What tests of the reader ask the system first. */
#pragma once

#include "gc_dac.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether this system lets a process stop and read its child. */
static bool may_open(unsigned flags) {
    pid_t pid = fork();
    if (pid == 0)
        for (;;) pause();
    gc_dac *dac = gc_dac_open_process(pid, flags);
    bool refused = strstr(gc_dac_message(dac), "does not permit") != NULL;
    gc_dac_close(dac);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return !refused;
}
