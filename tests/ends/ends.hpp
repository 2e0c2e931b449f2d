// What tests of a host process's ends do, each in a process that main.cpp starts for it: the library must let
// its host fork, exit, cancel its threads and keep what is its own. Each returns an exit code.
#pragma once

#include <string>

// `door`: blas, context, contexts or c. `beside`: first (another thread is within its first call) or busy.
int forks(const std::string& door, const std::string& beside, int count);
// `how`: signal, other, handler or computing.
int exits(const std::string& how, int count);
// Every entry with a cancellation pending.
int cancels();
// Bytes of the caller's stack that calls take, on threads and on fibers.
int stacks();
// Signals, errno, locale, environment, limits, descriptors, memory, messages.
int promises(const std::string& which);
