// Collects the provenance of measurements.
#include "bench/provenance.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "measure/ceilings.hpp"

namespace tilewright {
namespace {

constexpr const char* measurement_keys =
    "family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency arrival location "
    "memory pointer_order numa threads target data impl impl_version config wisdom_match seconds "
    "seconds_low seconds_high samples gflops bound_gflops bound_share bound_kind ceiling "
    "energy_j watts gflops_per_watt error error_bound read_s kernel_s write_s total_s metrics "
    "device device_uuid driver commit time";

std::string for_shell(const std::string& word) {
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+%@";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

void add_provenance(nlohmann::json& object) {
  object["device"] = cpu_info().device;
  object["device_uuid"] = nullptr;
  object["driver"] = nullptr;
  object["commit"] = build_commit;
  object["time"] = time_now();
}

void add_missing_keys(nlohmann::json& object) {
  std::istringstream keys(measurement_keys);
  for (std::string key; keys >> key;)
    if (!object.contains(key)) object[key] = nullptr;
  if (object["metrics"].is_null()) object["metrics"] = nlohmann::json::object();
}

void add_no_energy(nlohmann::json& object, const std::string& why) {
  object["energy_j"] = object["watts"] = object["gflops_per_watt"] = nullptr;
  object["energy_note"] = why;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string text;
  std::size_t begin = 0;
  for (std::size_t end = raw.find('\0'); end != std::string::npos;
       begin = end + 1, end = raw.find('\0', begin)) {
    std::string word = raw.substr(begin, end - begin);
    if (begin == 0) word = word.substr(word.rfind('/') + 1);  // the program's folder is private
    if (!text.empty()) text += ' ';
    text += for_shell(word);
  }
  return text;
}

}  // namespace tilewright
