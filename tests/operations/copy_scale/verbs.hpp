// y = a x as an operation of the tool.
#pragma once

#include "operations/operation.hpp"

namespace tilewright::testing {

const cli::ToolOperation& copy_scale_verbs();

}  // namespace tilewright::testing
