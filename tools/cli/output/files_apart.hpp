// Detects outputs of a command that would overwrite one of its inputs or one another.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cli {

// The argument that names a file, and the file; "" and "-" name none.
struct NamedFile {
  std::string argument, path;
};

// Throws Error(invalid_argument) naming an output that is also an input or another output.
void keep_files_apart(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

}  // namespace tilewright::cli
