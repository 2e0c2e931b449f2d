// One folder per entry, named after a hash of the key: kernel.cu, kernel.cubin, kernel.log, key and seal. The
// seal holds the function's name and checksums of the rest; without a seal that fits, the entry counts as
// absent.
#include "kernel/jit_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <regex>
#include <set>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::uint64_t fnv(const std::string& text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}
std::string digest(const std::string& text) {
  return fmt::format("{:016x}{:016x}", fnv(text, 14695981039346656037ull),
                     fnv(text + "#", 0x9e3779b97f4a7c15ull));
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}
bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return static_cast<bool>(file.flush());
}

std::string seal(const JitBinary& binary) {
  return fmt::format("{}\n{}\n{}\n", binary.function, digest(binary.code), digest(binary.log));
}

std::optional<JitBinary> load(const fs::path& folder, const std::string& key) {
  const auto kept_key = read_file(folder / "key");
  auto code = read_file(folder / "kernel.cubin");
  auto log = read_file(folder / "kernel.log");
  const auto kept_seal = read_file(folder / "seal");
  if (!kept_key || !code || !log || !kept_seal || *kept_key != key) return std::nullopt;
  JitBinary binary{std::move(*code), kept_seal->substr(0, kept_seal->find('\n')), std::move(*log)};
  if (*kept_seal != seal(binary)) return std::nullopt;
  return binary;
}

// A folder of this process's own beside the entries, on the same file system, so that it can be renamed into
// place.
fs::path aside(const fs::path& folder, const char* what) {
  std::random_device random;
  return folder / fmt::format(".{}-{}-{:08x}{:08x}", what, getpid(), random(), random());
}

bool write_entry(const fs::path& folder, const std::string& key, const std::string& source,
                 const JitBinary& binary) {
  std::error_code error;
  return fs::create_directories(folder, error) && write_file(folder / "kernel.cu", source) &&
         write_file(folder / "key", key) && write_file(folder / "kernel.cubin", binary.code) &&
         write_file(folder / "kernel.log", binary.log) && write_file(folder / "seal", seal(binary));
}

// Of several processes that finish at once the first wins, and the others drop theirs. A bad entry is moved
// away first.
void keep(const fs::path& folder, const fs::path& place, const std::string& key, const std::string& source,
          const JitBinary& binary) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path written = aside(folder, "new");
  if (write_entry(written, key, source, binary)) {
    if (fs::exists(place, error) && !load(place, key)) {
      const fs::path bad = aside(folder, "bad");
      fs::rename(place, bad, error);
      fs::remove_all(bad, error);
    }
    fs::rename(written, place, error);
    if (!error) return;
  }
  fs::remove_all(written, error);
}

void collect(const std::string& source, const fs::path& root, std::set<std::string>& seen,
             std::vector<std::pair<std::string, std::string>>& headers) {
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*"([^"]+)\")", std::regex::multiline);
  for (std::sregex_iterator it(source.begin(), source.end(), include), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (!seen.insert(name).second) continue;
    auto text = read_file(root / name);
    if (!text) continue;
    headers.emplace_back(name, *text);
    collect(*text, root, seen, headers);
  }
}

}  // namespace

std::string JitKey::text() const {
  // Lengths keep two different keys from having the same text.
  std::string all = fmt::format("compiler {}: {}\n", compiler.size(), compiler);
  for (const auto& option : options) all += fmt::format("option {}: {}\n", option.size(), option);
  for (const auto& [name, header] : headers)
    all += fmt::format("header {} {}: {}\n", name, header.size(), header);
  return all + fmt::format("source {}: {}\n", source.size(), source);
}

fs::path JitCache::entry(const JitKey& key) const { return folder_ / digest(key.text()); }

JitBinary JitCache::get(const JitKey& key, const std::function<JitBinary()>& build) const {
  if (folder_.empty()) return build();
  const std::string text = key.text();
  const fs::path place = folder_ / digest(text);
  if (auto kept = load(place, text)) return std::move(*kept);
  JitBinary binary = build();
  keep(folder_, place, text, key.source, binary);
  return binary;
}

std::vector<std::pair<std::string, std::string>> reachable_headers(const std::string& source,
                                                                   const fs::path& root) {
  std::vector<std::pair<std::string, std::string>> headers;
  std::set<std::string> seen;
  collect(source, root, seen, headers);
  return headers;
}

}  // namespace tilewright
