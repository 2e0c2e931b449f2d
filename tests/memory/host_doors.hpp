// Doors of the library that compute in host memory, by file.
#pragma once

#include "door.hpp"

namespace tilewright::memory {

Doors context_doors();
Doors product_doors();
Doors lu_doors();

}  // namespace tilewright::memory
