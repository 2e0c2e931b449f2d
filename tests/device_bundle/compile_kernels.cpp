// Compiles ahead, on a machine without a GPU, the kernels that tests on a GPU ask for. What they ask for is
// told by a cache that the same programs filled on the fake driver, whose compiler keeps the sources and
// makes no code.
//
//   compile_kernels ASKED KERNELS SOURCES [I/N]     from the cache ASKED into the cache KERNELS; every Nth
//   entry from I on
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "device/gpu/nvrtc.hpp"
#include "kernel/jit/cache.hpp"

namespace {

namespace fs = std::filesystem;
using tilewright::JitBinary, tilewright::JitCache, tilewright::JitKey, tilewright::Nvrtc;

std::vector<fs::path> keys_in(const fs::path& cache) {
  std::vector<fs::path> keys;
  for (const auto& entry : fs::directory_iterator(cache))
    if (fs::exists(entry.path() / "key")) keys.push_back(entry.path() / "key");
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The expressions are the source's first lines, as comments.
std::vector<std::string> expressions_of(const std::string& source) {
  constexpr std::string_view mark = "// ";
  std::vector<std::string> expressions;
  for (std::size_t at = 0; source.compare(at, mark.size(), mark) == 0;) {
    const std::size_t end = source.find('\n', at);
    expressions.push_back(source.substr(at + mark.size(), end - at - mark.size()));
    at = end + 1;
  }
  return expressions;
}

JitBinary compile(const Nvrtc& compiler, const JitKey& key, const char* sources) {
  auto options = key.options;
  options.push_back(fmt::format("-I{}", sources));
  return compiler.compile({key.source, "kernel.cu", expressions_of(key.source), std::move(options)});
}

int run(const char* asked, const char* kernels, const char* sources, std::size_t first, std::size_t of) {
  const Nvrtc compiler;
  const JitCache cache{kernels};
  std::size_t kept = 0, failed = 0;
  const auto keys = keys_in(asked);
  for (std::size_t i = first; i < keys.size(); i += of) {
    const auto read = JitKey::parse(text_of(keys[i]));
    if (!read)
      throw tilewright::Error(tilewright::ErrorCode::io, "ASKED", keys[i].string() + " is not a key");
    JitKey key = *read;
    key.compiler = compiler.version();
    try {
      (void)cache.get(key, [&] { return compile(compiler, key, sources); });
      std::printf("%s\n", cache.entry(key).filename().c_str());
      ++kept;
    } catch (const tilewright::Error&) {  // some are asked for to be refused
      ++failed;
    }
  }
  std::fprintf(stderr, "%zu kernels of %s are in %s, %zu do not compile\n", kept, compiler.version().c_str(),
               kernels, failed);
  return kept > 0 || keys.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t first = 0, of = 1;
  const bool usable =
      argc == 4 || (argc == 5 && std::sscanf(argv[4], "%zu/%zu", &first, &of) == 2 && first < of);
  if (!usable) {
    std::fprintf(stderr, "compile_kernels ASKED KERNELS SOURCES [I/N]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3], first, of);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_kernels: %s\n", error.what());
    return 1;
  }
}
