// Provenance of measurements.
#include "bench/provenance.hpp"

#include <fstream>
#include <iterator>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "measure/ceilings.hpp"

namespace tilewright {
namespace {

std::string for_shell(const std::string& word) {
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+%@";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

void add_provenance(nlohmann::json& object) {
  object["device"] = cpu_info().model;
  object["device_uuid"] = nullptr;
  object["driver"] = nullptr;
  object["commit"] = build_commit;
  object["time"] = time_now();
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string text;
  std::size_t begin = 0;
  for (std::size_t end = raw.find('\0'); end != std::string::npos;
       begin = end + 1, end = raw.find('\0', begin)) {
    std::string word = raw.substr(begin, end - begin);
    if (begin == 0) word = word.substr(word.rfind('/') + 1);  // where the program lies is nobody's business
    if (!text.empty()) text += ' ';
    text += for_shell(word);
  }
  return text;
}

}  // namespace tilewright
