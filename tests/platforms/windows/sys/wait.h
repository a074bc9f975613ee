/* The exit status of a child process on Windows, where an abort is status 3. */
#pragma once
#define WIFSIGNALED(status) ((status) < 0 || (status) == 3)
