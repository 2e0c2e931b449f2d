// Where and when a measurement was made: the keys that every measured JSON object carries. Filled from the
// machine and from what the build knows.
#pragma once

#include <string>

#include "core/json.hpp"

namespace tilewright {

// Adds device, device_uuid, driver, commit and time.
void add_provenance(nlohmann::json& object);

// Every key of a measurement that the object lacks, as null, and metrics as an empty object: what a verb
// cannot know is said to be unknown, and scripts need not ask which verb wrote a row.
void add_missing_keys(nlohmann::json& object);

// The energy keys as null, and why.
void add_no_energy(nlohmann::json& object, const std::string& why);

// The command line as it was typed, quoted so that a shell repeats it.
std::string command_line();

}  // namespace tilewright
