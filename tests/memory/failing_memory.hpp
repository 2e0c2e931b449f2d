// Switches of failing_memory.cpp, for programs that are linked with it; others find them with dlsym. Every
// request of the program and of its libraries for memory, a descriptor or a thread is counted while it is
// armed.
#pragma once

extern "C" {

// From now on requests count from 1, and request `first` fails; with `from_then_on` all later ones as well. 0
// lets none fail and only counts.
void failing_memory_arm(long first, int from_then_on);
// Returns the number of requests since failing_memory_arm().
long failing_memory_disarm();
// Counts a request of the fake GPU's driver, and returns nonzero if it must fail.
int failing_memory_refuses();
// Returns nonzero if a request has failed since it was last armed.
int failing_memory_has_failed();
}
