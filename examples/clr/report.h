/* What the adapter says, to whom. */
#pragma once

/* Ends the process, after what it was doing has been said. */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells the host, which is about to fail, why. */
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the collecting thread does now, for messages: static text. */
void doing(const char *what);
/* Has that written to a file, too, which is there still after the process has crashed, or while it hangs. */
void report_to(const char *path);
