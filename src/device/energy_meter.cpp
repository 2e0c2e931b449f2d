// RAPL through powercap: one counter of microjoules per package, which wraps at a value the kernel names.
// Packages are added up, so that a job is charged for all of the machine's processors.
#include "device/energy_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "tilewright/types.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

bool read_number(const fs::path& path, std::uint64_t& value) {
  std::ifstream file(path);
  return bool(file >> value);
}

struct Package {
  fs::path counter;
  std::uint64_t wrap = 0;
  std::uint64_t last = 0;
  double joules = 0;
};

class Rapl : public EnergyMeter {
 public:
  explicit Rapl(std::vector<Package> packages) : packages_(std::move(packages)) {}

  std::string name() const override { return fmt::format("rapl ({} packages)", packages_.size()); }
  double shortest_s() const override { return 0.1; }  // the counter moves about every millisecond
  double joules() override {
    double sum = 0;
    for (Package& package : packages_) sum += advance(package);
    return sum;
  }

 private:
  static double advance(Package& package) {
    std::uint64_t now = 0;
    if (!read_number(package.counter, now))
      throw Error(ErrorCode::io, "energy", fmt::format("'{}' cannot be read", package.counter.string()));
    const std::uint64_t moved = now >= package.last ? now - package.last : package.wrap - package.last + now;
    package.joules += 1e-6 * double(moved);
    package.last = now;
    return package.joules;
  }

  std::vector<Package> packages_;
};

// The packages, or why there are none.
std::vector<Package> find_packages(const fs::path& powercap, std::string& reason) {
  std::vector<Package> packages;
  std::error_code error;
  if (!fs::exists(powercap, error)) {
    reason = fmt::format("'{}' does not exist", powercap.string());
    return packages;
  }
  reason = fmt::format("'{}' names no package", powercap.string());
  for (const auto& entry : fs::directory_iterator(powercap, error)) {
    const std::string name = entry.path().filename().string();
    // intel-rapl:0 is a package, intel-rapl:0:1 a part of it that is counted already.
    if (!name.starts_with("intel-rapl:") || std::count(name.begin(), name.end(), ':') != 1) continue;
    Package package{entry.path() / "energy_uj", 0, 0, 0};
    if (!read_number(package.counter, package.last) ||
        !read_number(entry.path() / "max_energy_range_uj", package.wrap)) {
      reason = fmt::format("'{}' may not be read", package.counter.string());
      continue;
    }
    packages.push_back(std::move(package));
  }
  return packages;
}

}  // namespace

std::string EnergyMeters::why_none() const {
  std::string text;
  for (const std::string& reason : declined) text += (text.empty() ? "" : "; ") + reason;
  return text.empty() ? "no meter was looked for" : text;
}

EnergyMeters find_energy_meters(const std::string& sysfs) {
  EnergyMeters found;
  std::string reason;
  auto packages = find_packages(fs::path(sysfs) / "class/powercap", reason);
  if (packages.empty())
    found.declined.push_back("rapl: " + reason);
  else
    found.meters.push_back(std::make_unique<Rapl>(std::move(packages)));
  return found;
}

}  // namespace tilewright
