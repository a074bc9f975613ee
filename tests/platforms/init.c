/* The first process of a machine that qemu_system.sh starts. It runs the lines of /tests one by one,
       SECONDS NAME PROGRAM ARGUMENT..
   each in an empty working folder, ended after that time with its children, and then switches the machine off. The console
   gets what they print, between lines that begin with ==. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 30 };

static void set_up(void) {
    static const char *const mounts[][2] = {
        {"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}};
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        mkdir(mounts[i][1], 0755);
        if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) != 0)
            printf("== cannot mount %s: %s\n", mounts[i][1], strerror(errno));
    }
    chmod("/tmp", 01777);
    int console = open("/dev/console", O_RDWR);
    if (console >= 0) dup2(console, 0), dup2(console, 1), dup2(console, 2);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("PATH", "/", 1), setenv("HOME", "/tmp", 1), setenv("QUICK", "1", 1);
}

/* Some addresses that the processor can form are more than the kernel gives to programs. */
static void describe(void) {
    struct utsname names;
    char range[80] = "", last[80] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    for (char line[400]; maps && fgets(line, sizeof line, maps);) snprintf(last, sizeof last, "%.79s", line);
    if (maps) fclose(maps);
    if (sscanf(last, "%*[^-]-%79[0-9a-f]", range) != 1) snprintf(range, sizeof range, "?");
    uname(&names);
    printf("== machine %s %s, pages of %ld KiB, addresses up to %s, %ld processors\n", names.release, names.machine,
           sysconf(_SC_PAGESIZE) >> 10, range, sysconf(_SC_NPROCESSORS_ONLN));
}

/* Runs the program as the leader of a group, which is ended whole. Returns its exit status, or 256 + the signal that ended it. */
static int run(char **words, unsigned seconds) {
    int status = 0;
    time_t end = time(NULL) + seconds;
    pid_t child = fork(), ended;
    if (child == 0) {
        setpgid(0, 0);
        if (chdir("/tmp") != 0) _exit(127);
        execv(words[0], words);
        printf("# %s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    setpgid(child, child);
    /* Children that others have left come here, too. */
    while ((ended = waitpid(-1, &status, WNOHANG)) != child) {
        if (ended == 0) usleep(20000);
        if (time(NULL) > end) kill(-child, SIGKILL);
    }
    kill(-child, SIGKILL);
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void) {
    char line[1000], *words[WORDS + 1];
    set_up();
    describe();
    FILE *tests = fopen("/tests", "r");
    while (tests && fgets(line, sizeof line, tests)) {
        int count = 0;
        for (char *word = strtok(line, " \n"); word && count < WORDS; word = strtok(NULL, " \n")) words[count++] = word;
        words[count] = NULL;
        if (count < 3) continue;
        printf("== begin %s\n", words[1]);
        time_t start = time(NULL);
        int status = run(words + 2, (unsigned)atoi(words[0]));
        printf("\n== end %s %d %ld\n", words[1], status, (long)(time(NULL) - start));
    }
    printf("== off\n");
    sync();
    reboot(RB_POWER_OFF);
    for (;;) pause();
}
