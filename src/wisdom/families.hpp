// The kernel families of this build as wisdom knows them: their source hashes, well-formed configs and
// architectures. Records of other families are kept, but never looked up.
#pragma once

#include <algorithm>
#include <string>

#include "core/fields.hpp"

namespace tilewright {

struct WisdomFamily {
  std::string operation;  // what its kernels compute, as records' problems begin
  std::string source_hash;
  // Returns the config with all its fields; throws Error naming the one that is wrong.
  nlohmann::json (*complete)(const nlohmann::json& config);
  std::string (*architecture)(const nlohmann::json& config);  // null: all configs are for GPUs
};

// Adds a family of a program to those of this build, for the life of the process. Its name must be new.
void add_family(std::string name, WisdomFamily family);

// Refuses numbers that no kernel has on any device: negative ones, unless the default is negative, and
// numbers beyond any tile, stage or distance in bytes.
template <class Config>
nlohmann::json complete_fields(const nlohmann::json& config) {
  constexpr std::int64_t largest = 1 << 16;
  const nlohmann::json defaults = to_json(Config());
  nlohmann::json complete = to_json(from_json<Config>(config));
  for (const auto& [name, value] : complete.items()) {
    if (!value.is_number_integer()) continue;
    const std::int64_t least = std::min<std::int64_t>(0, defaults.at(name).template get<std::int64_t>());
    if (const auto number = value.template get<std::int64_t>(); number < least || number > largest)
      throw Error(ErrorCode::invalid_argument, name,
                  fmt::format("{} = {} is not between {} and {}", name, number, least, largest));
  }
  return complete;
}

bool is_known_family(const std::string& family);

// The operation of its kernels, as problems begin; "" for an unknown family.
std::string operation_of(const std::string& family);

// True if lookups search its records by the keys of products (key.hpp).
bool is_keyed(const std::string& family);

// The hash of the sources of its kernels; "" for an unknown family.
std::string current_source_hash(const std::string& family);

// True if a family of this build has the hash.
bool is_current_source_hash(const std::string& hash);

// Today's hash of the same code if the method of hashing has changed since; else the hash itself.
std::string renamed_source_hash(const std::string& family, const std::string& hash);

// Throws Error naming a field that is unknown, has the wrong type, or has an impossible value.
void check_config(const std::string& family, const nlohmann::json& config);

// The config with defaults for fields that are newer than it; unchanged if it is not a config of this build.
nlohmann::json complete_config(const std::string& family, const nlohmann::json& config);

// The architecture that a config runs on: the instruction set on CPUs, "gpu" on GPUs, where configs are
// checked against the device's space. Lookups try configs of other devices of the same architecture.
std::string architecture_of(const std::string& family, const nlohmann::json& config);

// The architecture of all configs of the family; "" if each config names its own.
std::string architecture_of_all(const std::string& family);

// Bytes of a vector.
std::int64_t vector_bytes(const std::string& architecture);

}  // namespace tilewright
