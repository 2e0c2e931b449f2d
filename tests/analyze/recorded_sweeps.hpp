// Sweeps of a few configs, written as the sweep's program and the tuner write them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "analyze/data.hpp"
#include "core/json.hpp"
#include "support/temp_folder.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright::recorded {

inline constexpr const char* problem = "gemm:f64:nn:m=4096,n=4096,k=4096:location=device";

inline nlohmann::json row(int tile, double seconds, double joules, const std::string& uuid = "A",
                          const char* phase = "screen") {
  return {{"problem", problem},
          {"phase", phase},
          {"impl", "tilewright"},
          {"device", "card"},
          {"device_uuid", uuid},
          {"source_hash", "h"},
          {"seconds", seconds},
          {"energy_j", joules},
          {"watts", joules / seconds},
          {"config", {{"tile", tile}, {"load", tile % 2 == 0 ? "async" : "plain"}}},
          {"metrics", {{"registers", 10 * tile}, {"bytes", {{"l2", 1e6 * tile}}}, {"launches", 7}}}};
}
inline nlohmann::json sentinel(double seconds, double joules, const std::string& uuid = "A") {
  auto line = row(0, seconds, joules, uuid);
  line.erase("config");
  line["impl"] = "cublas";
  return line;
}

class Sweeps : public ::testing::Test {
 protected:
  std::string write(const std::vector<nlohmann::json>& lines) {
    const std::string path = folder_.path().string() + "/" + std::to_string(++files_) + ".jsonl";
    std::ofstream file(path);
    file << R"({"command": "made by a test"})" << '\n';
    for (const auto& line : lines) file << line.dump() << '\n';
    return path;
  }
  std::vector<SweepCase> cases(const std::vector<nlohmann::json>& lines) {
    return sweep_cases(read_sweeps({write(lines)}));
  }
  std::string refusal(const std::vector<nlohmann::json>& lines) {
    try {
      (void)cases(lines);
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  }
  TempFolder folder_;
  int files_ = 0;
};

}  // namespace tilewright::recorded
