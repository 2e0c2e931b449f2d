// Runs another program (a disassembler, a plotter) without a shell and returns its output.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

struct ChildResult {
  int status = 0;  // exit status; 127 if there is no such program, 128 + the signal that ended it
  std::string output, errors;
};

// `command` is the program, searched on PATH, and its arguments. Throws Error(io) if the system cannot
// provide a process or a file for it.
ChildResult run_child(const std::vector<std::string>& command, const std::string& input = "");

}  // namespace tilewright
