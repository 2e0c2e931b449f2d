// Tests of how a host process ends, each in a process that main.cpp starts for it: the library must let its
// host fork, exit, cancel its threads and keep its own state. Each returns an exit code.
#pragma once

#include <string>

// `door`: blas, context, contexts or c. `beside`: first (another thread is within its first call) or busy.
int forks(const std::string& door, const std::string& beside, int count);
// `how` is signal, other, blas, handler or computing.
int exits(const std::string& how, int count);
// Calls every entry with a cancellation pending.
int cancels();
// Measures the bytes of the caller's stack that calls use, on threads and on fibers.
int stacks();
// Checks signals, errno, locale, environment, limits, descriptors, memory and messages.
int promises(const std::string& which);
