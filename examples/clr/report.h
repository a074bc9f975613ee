/* What the adapter says, to whom. */
#pragma once

/* Ends the process, after what it was doing has been said. */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells the host, which is about to fail, why. */
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the thread does now, for messages: static text. Returns what it did before. */
const char *doing(const char *what);
