// The fuzzers of fuzz_gemm: each turns one seed into one random input, runs it, and returns the error. The
// driver's caller detects crashes; faults inside a call are caught and reported.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::testing {

using Fuzzer = std::string (*)(std::uint64_t seed);

std::string fuzz_calls(std::uint64_t seed);      // valid calls of every kind, on every instruction set
std::string fuzz_kernels(std::uint64_t seed);    // random points of the config space
std::string fuzz_arguments(std::uint64_t seed);  // good and bad items in one variable batch, with info codes
std::string fuzz_problems(std::uint64_t seed);  // problem texts and problems with wild fields, through plan()
std::string fuzz_threads(std::uint64_t seed);   // four threads on one Context and one record

}  // namespace tilewright::testing
