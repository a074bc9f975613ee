/* Folders, without a shell, which small systems lack. */
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Makes the folders in which the file is to be. */
static inline void make_folders(const char *file) {
    char path[500];
    snprintf(path, sizeof path, "%s", file);
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = 0;
        mkdir(path, 0700);
        *end = '/';
    }
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}
/* Removes the folder and what is in it. Returns whether that is done. */
static inline bool remove_folder(const char *path) { return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0; }

/* Returns how many entries of a folder end in such a way. */
static inline size_t entries_ending(const char *folder, const char *end) {
    size_t count = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        size_t length = strlen(entry->d_name);
        count += length >= strlen(end) && strcmp(entry->d_name + length - strlen(end), end) == 0;
    }
    if (all) closedir(all);
    return count;
}
