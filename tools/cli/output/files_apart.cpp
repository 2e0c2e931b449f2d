// Compares each output with all files named before it.
#include "output/files_apart.hpp"

#include <fmt/format.h>

#include "core/new_file.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cli {
namespace {

bool names_a_file(const std::string& path) { return !path.empty() && path != "-"; }

}  // namespace

void keep_files_apart(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> before = inputs;
  for (const NamedFile& output : outputs) {
    if (!names_a_file(output.path)) continue;
    for (const NamedFile& other : before)
      if (names_a_file(other.path) && is_same_file(output.path, other.path))
        throw Error(
            ErrorCode::invalid_argument, output.argument,
            fmt::format("{} = '{}' is also the file of {}", output.argument, output.path, other.argument));
    before.push_back(output);
  }
}

}  // namespace tilewright::cli
