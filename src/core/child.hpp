// Runs another program (a disassembler, a plotter) with a text as its input and hands back what it wrote. No
// shell is in between, and nothing is left running.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

struct ChildResult {
  int status = 0;  // of its exit; 127 where there is no such program, 128 + the signal where one ended it
  std::string output, errors;
};

// `command` is the program, looked for on PATH, and its arguments. Throws Error(io) where the system gives no
// process or no file for it.
ChildResult run_child(const std::vector<std::string>& command, const std::string& input = "");

}  // namespace tilewright
