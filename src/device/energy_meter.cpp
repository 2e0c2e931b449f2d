// Reads RAPL through powercap: a wrapping counter of microjoules per package, summed over all packages.
#include "device/energy_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "core/folder.hpp"
#include "core/quantity.hpp"

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

  std::string name() const override { return "rapl"; }
  EnergyCoverage covers() const override { return {Location::host, "", int(packages_.size())}; }
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

// Returns the packages; fills `reason` if there are none.
std::vector<Package> find_packages(const fs::path& powercap, std::string& reason) {
  std::vector<Package> packages;
  std::error_code error;
  if (!fs::exists(powercap, error)) {
    reason = fmt::format("'{}' does not exist", powercap.string());
    return packages;
  }
  reason = fmt::format("'{}' names no package", powercap.string());
  for (const fs::path entry : entries_of(powercap.string())) {
    const std::string name = entry.filename().string();
    // intel-rapl:0 is a package; intel-rapl:0:1 is a part of it that is counted already.
    if (!name.starts_with("intel-rapl:") || std::count(name.begin(), name.end(), ':') != 1) continue;
    Package package{entry / "energy_uj", 0, 0, 0};
    if (!read_number(package.counter, package.last) ||
        !read_number(entry / "max_energy_range_uj", package.wrap)) {
      reason = fmt::format("'{}' may not be read", package.counter.string());
      continue;
    }
    packages.push_back(std::move(package));
  }
  return packages;
}

}  // namespace

std::string EnergyCoverage::text() const {
  if (location == Location::device) return "GPU " + uuid;
  return counted(packages, "CPU package");
}

EnergyMeter* EnergyMeters::meter_of(Location location, const std::string& uuid) const {
  for (const auto& meter : meters) {
    const EnergyCoverage covered = meter->covers();
    if (covered.location == location && (location == Location::host || covered.uuid == uuid))
      return meter.get();
  }
  return nullptr;
}

EnergyMeter& EnergyMeters::required(const std::string& objective, Location location,
                                    const std::string& uuid) const {
  if (EnergyMeter* meter = meter_of(location, uuid)) return *meter;
  std::string others;
  for (const auto& meter : meters)
    others += fmt::format("; {} covers {}", meter->name(), meter->covers().text());
  throw Error(ErrorCode::unsupported, "objective",
              fmt::format("objective = {} needs an energy meter of the {}, but there is none: {}{}",
                          objective, location == Location::host ? "CPU" : "GPU " + uuid, why_none(), others));
}

std::string EnergyMeters::why_none() const {
  std::string text;
  for (const std::string& reason : declined) text += (text.empty() ? "" : "; ") + reason;
  return text.empty() ? "no meter was searched for" : text;
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
