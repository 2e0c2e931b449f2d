// The entry points of libFuzzer. `PROGRAM seeds FOLDER` writes the target's seeds into a folder, as
// libFuzzer's first inputs.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "target.hpp"

namespace tilewright::fuzz {
namespace {

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

std::string file_of(std::string_view input) {
  static const struct File {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("tilewright_fuzz." + std::to_string(::getpid()));
    ~File() { std::filesystem::remove(path); }
  } file;
  write(file.path, input);
  return file.path.string();
}

}  // namespace tilewright::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::string((*argv)[1]) != "seeds") return 0;
  const std::filesystem::path folder = (*argv)[2];
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : tilewright::fuzz::seeds())
    tilewright::fuzz::write(folder / std::to_string(number++), seed);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tilewright::fuzz::one_input(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const tilewright::Error& error) {
    tilewright::fuzz::require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
