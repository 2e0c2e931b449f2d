// What wisdom has to know of the kernel families that this build has: whose source hash is current, which
// configs are well-formed, and for which architecture a config's code is made. A family is added here and
// nowhere else in wisdom; records of families this build lacks are kept, but never looked up.
#pragma once

#include <string>

#include "core/json.hpp"

namespace tilewright {

bool is_known_family(const std::string& family);

// What its kernels compute, as records' problems begin; "" for a family this build lacks.
std::string operation_of(const std::string& family);

// Whether lookups search its records by the keys of products (key.hpp), and do not read them all.
bool is_keyed(const std::string& family);

// The hash of the sources that make the family's kernels; "" for a family this build lacks.
std::string current_source_hash(const std::string& family);

// Whether a family of this build has it.
bool is_current_source_hash(const std::string& hash);

// The hash as it would be taken today of sources whose code is the same, where how it is taken has changed.
std::string renamed_source_hash(const std::string& family, const std::string& hash);

// Throws Error naming the field that the family's config does not have, that has the wrong type, or whose
// value no config could have.
void check_config(const std::string& family, const nlohmann::json& config);

// The config with the fields that its family got since it was written, as kernels were before; as it is where
// it is no config of this build.
nlohmann::json complete_config(const std::string& family, const nlohmann::json& config);

// What a config's code runs on besides the device it was measured on: the instruction set on CPUs, "gpu" on
// GPUs, whose configs are checked against the space of the device at hand. Devices of one architecture are a
// family of devices: what was learned on one is tried on another.
std::string architecture_of(const std::string& family, const nlohmann::json& config);

// The architecture of all configs of the family, where a config does not say which; "" where each names its
// own.
std::string architecture_of_all(const std::string& family);

// Bytes of the architecture's vectors: shapes with other tails run other code.
std::int64_t vector_bytes(const std::string& architecture);

}  // namespace tilewright
