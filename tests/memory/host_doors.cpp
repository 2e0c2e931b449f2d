// All doors of the library that compute in host memory.
#include "host_doors.hpp"

namespace tilewright::memory {

Doors all_doors() {
  Doors all = context_doors();
  for (const Doors& more : {product_doors(), lu_doors()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace tilewright::memory
