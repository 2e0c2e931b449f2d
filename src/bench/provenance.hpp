// Where and when a measurement was made: the keys that every measured JSON object carries. Filled from the
// machine and from what the build knows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tilewright {

// Adds device, device_uuid, driver, commit and time.
void add_provenance(nlohmann::json& object);

// The command line as it was typed, quoted so that a shell repeats it.
std::string command_line();

}  // namespace tilewright
