/* tap_child on Windows, where a process cannot fork. The program starts itself again, its output going nowhere. In that
   process calls before the one that is to run do nothing, and return 0. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>

/* Replaces stdout and stderr by the pipe whose handle is in the environment, runs the body, and ends the process. */
static void tap_child_body(void (*body)(void *), void *argument) {
    int to = _open_osfhandle((intptr_t)strtoull(getenv("TAP_PIPE"), NULL, 16), _O_BINARY);
    fflush(stdout);
    _dup2(to, 1), _dup2(to, 2);
    _setmode(1, _O_BINARY), _setmode(2, _O_BINARY);
    SetErrorMode(SEM_NOGPFAULTERRORBOX);
    body(argument);
    fflush(stdout);
    _exit(0);
}

int tap_child(void (*body)(void *), void *argument, char *output, size_t size) {
    static int calls;
    int number = ++calls, wanted = getenv("TAP_CHILD") ? atoi(getenv("TAP_CHILD")) : 0;
    *output = 0;
    if (wanted && number < wanted) return 0;
    if (wanted) tap_child_body(body, argument);
    fflush(stdout);
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    HANDLE from, to, nowhere = CreateFileA("NUL", GENERIC_READ | GENERIC_WRITE, 3, &inherited, OPEN_EXISTING, 0, NULL);
    if (!CreatePipe(&from, &to, &inherited, 0)) abort();
    char text[32], path[MAX_PATH];
    snprintf(text, sizeof text, "%d", number), SetEnvironmentVariableA("TAP_CHILD", text);
    snprintf(text, sizeof text, "%llx", (unsigned long long)(uintptr_t)to), SetEnvironmentVariableA("TAP_PIPE", text);
    STARTUPINFOA start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    start.hStdInput = start.hStdOutput = start.hStdError = nowhere;
    PROCESS_INFORMATION child;
    GetModuleFileNameA(NULL, path, MAX_PATH);
    if (!CreateProcessA(path, GetCommandLineA(), NULL, NULL, TRUE, 0, NULL, NULL, &start, &child)) abort();
    SetEnvironmentVariableA("TAP_CHILD", NULL);
    CloseHandle(to), CloseHandle(nowhere);
    size_t length = 0;
    char rest[512];
    DWORD count = 0, status = 0;
    while (ReadFile(from, length + 1 < size ? output + length : rest,
                    length + 1 < size ? (DWORD)(size - 1 - length) : (DWORD)sizeof rest, &count, NULL) &&
           count)
        length += length + 1 < size ? count : 0;
    output[length] = 0;
    CloseHandle(from);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &status);
    CloseHandle(child.hProcess), CloseHandle(child.hThread);
    /* as signals are numbered elsewhere */
    return status == 3 ? 256 + 6 : status & 0x80000000u ? 256 + 11 : (int)status;
}
