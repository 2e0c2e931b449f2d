/* Preloaded into the tool by outputs_test.py: a system that lacks what the variable LACKING names, of tmpfile
   (nameless files), proc (/proc/self/fd), locks (flock) and names (renaming over a file, as on a file that is
   mounted). Also counts fsync in the file that LACKING_SYNCED names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lacks(const char* what) {
  const char* all = getenv("LACKING");
  return all != NULL && strstr(all, what) != NULL;
}

static int is_proc(const char* path) { return path != NULL && strncmp(path, "/proc/self/fd", 13) == 0; }

static int fail(int error) {
  errno = error;
  return -1;
}

int openat(int folder, const char* path, int flags, ...) {
  int (*next)(int, const char*, int, ...) = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat");
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE && lacks("tmpfile")) return fail(EOPNOTSUPP);
  return next(folder, path, flags, mode);
}

int linkat(int from, const char* path, int to, const char* name, int flags) {
  int (*next)(int, const char*, int, const char*, int) =
      (int (*)(int, const char*, int, const char*, int))dlsym(RTLD_NEXT, "linkat");
  if (is_proc(path) && lacks("late_proc")) return fail(ENOENT);
  return next(from, path, to, name, flags);
}

int access(const char* path, int mode) {
  int (*next)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_NEXT, "access");
  if (is_proc(path) && lacks("no_proc")) return fail(ENOENT);
  return next(path, mode);
}

int flock(int file, int operation) {
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  if (lacks("locks")) return fail(ENOLCK);
  return next(file, operation);
}

int renameat(int from, const char* path, int to, const char* name) {
  int (*next)(int, const char*, int, const char*) =
      (int (*)(int, const char*, int, const char*))dlsym(RTLD_NEXT, "renameat");
  const char* synced = getenv("LACKING_SYNCED");
  if (synced != NULL) {
    FILE* file = fopen(synced, "a");
    fprintf(file, "rename %s\n", name);
    fclose(file);
  }
  if (lacks("names")) return fail(EBUSY);
  return next(from, path, to, name);
}

int fsync(int descriptor) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  const char* synced = getenv("LACKING_SYNCED");
  if (synced != NULL) {
    FILE* file = fopen(synced, "a");
    fprintf(file, "fsync\n");
    fclose(file);
  }
  return next(descriptor);
}
