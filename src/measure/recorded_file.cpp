// Reads recorded files; zlib passes uncompressed data through unchanged.
#include "measure/recorded_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <memory>
#include <vector>

namespace tilewright {

std::istringstream read_recorded(const std::string& path, const std::string& argument, ErrorCode code) {
  const auto refuse = [&] {
    throw Error(code, argument, fmt::format("{} = '{}' cannot be read", argument, path));
  };
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) refuse();
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) refuse();
  constexpr std::size_t most_bytes = std::size_t{2}
                                     << 30;  // a few KB may be the compressed form of any amount
  std::string text;
  std::vector<char> part(1 << 16);
  int count = 0;
  while ((count = gzread(file.get(), part.data(), unsigned(part.size()))) > 0)
    if (text.size() > most_bytes)
      refuse();
    else
      text.append(part.data(), std::size_t(count));
  int fault = Z_OK;
  gzerror(file.get(), &fault);
  if (fault != Z_OK) refuse();  // damaged or truncated
  return std::istringstream(std::move(text));
}

}  // namespace tilewright
