// Reading and atomically replacing.
#include "wisdom/kept_lines.hpp"

#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "core/new_file.hpp"
#include "core/trust.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

namespace fs = std::filesystem;

std::vector<nlohmann::json> read_kept_lines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  if (std::error_code error; !fs::is_regular_file(path, error)) return lines;  // a pipe would keep the reader
  std::ifstream file(path);
  for (std::string text; next_line(file, text);)
    if (auto line = parse_json_or_discard(text); line.is_object()) lines.push_back(std::move(line));
  return lines;
}

void replace_kept_lines(const std::string& path, const std::function<bool(const nlohmann::json&)>& outdated,
                        const std::vector<nlohmann::json>& added) {
  if (path.empty()) return;
  const OutputName name{"cache", path, ErrorCode::io};
  const fs::path wanted = fs::absolute(path).parent_path();
  if (const int error = make_own_folders(wanted); error != 0)
    name.fail("needs a folder that cannot be made", error);
  OutputFile file(name);
  // The folder is locked, since the file itself is replaced.
  const Descriptor folder(::open(fs::path(file.path()).parent_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (folder && !lock_file(folder.get(), std::chrono::seconds(10)))
    name.refuse("is kept locked by another process");
  auto lines = read_kept_lines(path);
  std::erase_if(lines, outdated);
  lines.insert(lines.end(), added.begin(), added.end());
  std::string text;
  for (const auto& line : lines) text += json_line(line) + '\n';
  file.write(text);
}

}  // namespace tilewright
