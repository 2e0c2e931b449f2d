/* Preloaded into the tool by decisions_test.py: a machine that is the same everywhere. Two processors are
   allowed, and what sysfs says of caches and NUMA nodes comes from the folder that the variable PLAYED_SYSFS
   names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* set) {
  (void)process;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(0, bytes, set);
  CPU_SET_S(1, bytes, set);
  return 0;
}

static FILE* open_played(const char* name, const char* path, const char* mode) {
  FILE* (*next)(const char*, const char*) = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, name);
  const char* folder = getenv("PLAYED_SYSFS");
  const char system[] = "/sys/devices/system/";
  if (folder == NULL || path == NULL || strncmp(path, system, sizeof system - 1) != 0)
    return next(path, mode);
  char played[4096];
  snprintf(played, sizeof played, "%s/%s", folder, path + sizeof system - 1);
  return next(played, mode);
}

FILE* fopen(const char* path, const char* mode) { return open_played("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_played("fopen64", path, mode); }
