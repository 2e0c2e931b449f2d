// Each entry has a folder named after a hash of the key: kernel.cu, kernel.cubin, kernel.log, key and seal
// (the functions' names and digests of the rest). Entries without a matching seal, or writable by other
// users, do not count.
#include "kernel/jit/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "core/folder.hpp"
#include "core/host/host_state.hpp"
#include "core/trust.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// Returns the SHA-256 in hexadecimal digits.
std::string digest(const std::string& text) {
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> bytes{};
  sha256_digest(&state, bytes.size(), bytes.data());
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}
// Writes a file that nobody else may write, whatever the umask: files that others may write are not trusted.
bool write_file(const fs::path& path, const std::string& text) {
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  std::FILE* const file = made < 0 ? nullptr : ::fdopen(made, "wb");
  if (file == nullptr) {
    if (made >= 0) ::close(made);
    return false;
  }
  const HeldSignal limit(SIGXFSZ);
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && whole;
}

constexpr char between_names = '\t';  // separates functions in a seal

std::string seal(const JitBinary& binary) {
  return fmt::format("{}\n{}\n{}\n", fmt::join(binary.functions, std::string(1, between_names)),
                     digest(binary.code), digest(binary.log));
}
std::vector<std::string> functions_of(const std::string& seal) {
  std::istringstream names(seal.substr(0, seal.find('\n')));
  std::vector<std::string> functions;
  for (std::string name; std::getline(names, name, between_names);) functions.push_back(name);
  return functions;
}

// Returns the entry in `folder` if it is whole and is_wanted(key) is true.
template <class F>
std::optional<JitBinary> load_if(const fs::path& folder, F&& is_wanted) {
  if (!why_not_trusted(folder / "kernel.cubin").empty()) return std::nullopt;
  const auto kept_key = read_file(folder / "key");
  auto code = read_file(folder / "kernel.cubin");
  auto log = read_file(folder / "kernel.log");
  const auto kept_seal = read_file(folder / "seal");
  if (!kept_key || !code || !log || !kept_seal || !is_wanted(*kept_key)) return std::nullopt;
  JitBinary binary{std::move(*code), functions_of(*kept_seal), std::move(*log)};
  if (binary.functions.empty() || *kept_seal != seal(binary)) return std::nullopt;
  return binary;
}
std::optional<JitBinary> load(const fs::path& folder, const std::string& key) {
  return load_if(folder, [&](const std::string& kept) { return kept == key; });
}

// Returns a new folder name of this process beside the entries, so that it can be renamed into place.
fs::path aside(const fs::path& folder, const char* what) {
  std::random_device random;
  return folder / fmt::format(".{}-{}-{:08x}{:08x}", what, getpid(), random(), random());
}

// Makes a folder that is this user's alone, and those above it.
bool make_private(const fs::path& folder) {
  constexpr mode_t own = 0700;
  return make_own_folders(folder.parent_path()) == 0 && ::mkdir(folder.c_str(), own) == 0;
}

bool write_entry(const fs::path& folder, const std::string& key, const std::string& source,
                 const JitBinary& binary) {
  return make_private(folder) && write_file(folder / "kernel.cu", source) &&
         write_file(folder / "key", key) && write_file(folder / "kernel.cubin", binary.code) &&
         write_file(folder / "kernel.log", binary.log) && write_file(folder / "seal", seal(binary));
}

// Removes what killed processes left in temporary folders. A live process finishes long before that age.
void remove_stale(const fs::path& folder) {
  constexpr auto stale = std::chrono::hours(1);
  for (const fs::path path : entries_of(folder.string())) {
    const std::string name = path.filename().string();
    const bool is_aside =
        name.starts_with(".new-") || name.starts_with(".bad-") || name.starts_with(".name-");
    std::error_code own;
    const auto written = is_aside ? fs::last_write_time(path, own) : fs::file_time_type::max();
    if (is_aside && !own && written < fs::file_time_type::clock::now() - stale) fs::remove_all(path, own);
  }
}

// A file per text without its compiler names the last entry made from it, for machines without a compiler.
fs::path name_for_any_compiler(const JitKey& key) { return "any-" + digest(key.text_for_any_compiler()); }

void keep_name(const fs::path& folder, const JitKey& key, const std::string& entry) {
  const fs::path written = aside(folder, "name");
  std::error_code error;
  if (write_file(written, entry)) fs::rename(written, folder / name_for_any_compiler(key), error);
  if (error) fs::remove(written, error);
}

// Adds an entry. The first of several processes wins. A bad entry is moved away first.
void keep(const fs::path& folder, const fs::path& place, const std::string& key, const std::string& source,
          const JitBinary& binary) {
  std::error_code error;
  remove_stale(folder);
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
  const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*"([^"]+)\")", std::regex::multiline);
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
  return fmt::format("compiler {}: {}\n", compiler.size(), compiler) + text_for_any_compiler();
}

std::string JitKey::text_for_any_compiler() const {
  // The lengths keep two different keys from having the same text.
  std::string all;
  for (const auto& option : options) all += fmt::format("option {}: {}\n", option.size(), option);
  for (const auto& [name, header] : headers)
    all += fmt::format("header {} {}: {}\n", name, header.size(), header);
  return all + fmt::format("source {}: {}\n", source.size(), source);
}

std::string JitCache::distrust() const {
  const std::string why = folder_.empty() ? "" : why_not_trusted(folder_, {}, IfMissing::made);
  if (why.empty()) return "";
  return fmt::format("the cache of compiled kernels '{}' is not used: {}", folder_.string(), why);
}

std::optional<JitKey> JitKey::parse(const std::string& text) {
  JitKey key;
  std::size_t at = 0;
  while (at < text.size()) {
    // Each record is "KIND LENGTH: VALUE\n"; headers have their name before the length.
    const std::size_t colon = text.find(": ", at), space = text.rfind(' ', colon - 1),
                      first = text.find(' ', at);
    if (colon == std::string::npos || space == std::string::npos || space < at) return std::nullopt;
    const std::string kind = text.substr(at, first - at);
    const std::size_t length = std::strtoull(text.c_str() + space + 1, nullptr, 10), from = colon + 2;
    if (length > text.size() - from) return std::nullopt;
    std::string value = text.substr(from, length);
    if (kind == "header")
      key.headers.emplace_back(text.substr(first + 1, space - first - 1), std::move(value));
    else if (kind == "option")
      key.options.push_back(std::move(value));
    else
      (kind == "source" ? key.source : key.compiler) = std::move(value);
    at = from + length + 1;
  }
  return key.text() == text ? std::optional(std::move(key)) : std::nullopt;
}

fs::path JitCache::entry(const JitKey& key) const { return folder_ / digest(key.text()); }

JitBinary JitCache::get(const JitKey& key, const std::function<JitBinary()>& build) const {
  // The folder is made first, since one that others could make is not trusted.
  if (std::error_code error; !folder_.empty() && !fs::exists(folder_, error)) make_private(folder_);
  if (folder_.empty() || !distrust().empty()) return build();
  const std::string text = key.text();
  const fs::path place = folder_ / digest(text);
  if (auto kept = load(place, text)) return std::move(*kept);
  JitBinary binary = build();
  keep(folder_, place, text, key.source, binary);
  keep_name(folder_, key, place.filename().string());
  return binary;
}

std::optional<JitBinary> JitCache::find(const JitKey& key) const {
  if (folder_.empty()) return std::nullopt;
  if (!key.compiler.empty()) return load(entry(key), key.text());
  const auto name = read_file(folder_ / name_for_any_compiler(key));
  if (!name || name->find('/') != std::string::npos) return std::nullopt;
  const std::string wanted = key.text_for_any_compiler();
  return load_if(folder_ / *name, [&](const std::string& kept) {
    const std::size_t line = kept.find('\n');
    return kept.starts_with("compiler ") && line != std::string::npos && kept.substr(line + 1) == wanted;
  });
}

std::vector<std::pair<std::string, std::string>> reachable_headers(const std::string& source,
                                                                   const fs::path& root) {
  std::vector<std::pair<std::string, std::string>> headers;
  std::set<std::string> seen;
  collect(source, root, seen, headers);
  return headers;
}

}  // namespace tilewright
