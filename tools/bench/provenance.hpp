// The machine and the time of a measurement: the keys that every measured JSON object carries.
#pragma once

#include <string>

#include "core/json.hpp"

namespace tilewright {

// Adds device, device_uuid, driver, commit and time.
void add_provenance(nlohmann::json& object);

// Adds every key of a measurement that the object lacks, as null, and metrics as an empty object: a key that
// a verb cannot know is present as unknown, and scripts need not ask which verb wrote a row.
void add_missing_keys(nlohmann::json& object);

// Adds the energy keys as null, with the reason.
void add_no_energy(nlohmann::json& object, const std::string& why);

// Returns the command line as typed, quoted so that a shell repeats it.
std::string command_line();

}  // namespace tilewright
