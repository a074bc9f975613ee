/* tap_child on Windows, which child.c defines: the system's header would define names that tests have, too. */
#pragma once
int tap_child(void (*body)(void *), void *argument, char *output, size_t size);
