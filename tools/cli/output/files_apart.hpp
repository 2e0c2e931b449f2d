// Outputs of a command that would write over one of its inputs, or over one another.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cli {

// The argument that names a file, and the file: "" and "-" are none.
struct NamedFile {
  std::string argument, path;
};

// Throws Error(invalid_argument) naming an output that is an input as well, or another output.
void keep_files_apart(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace tilewright::cli
