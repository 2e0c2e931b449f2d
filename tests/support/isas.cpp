// Asks the generator's own test of CPU and operating system; the portable kernels run anywhere.
#include "support/isas.hpp"

#include "kernel/jit/x86.hpp"

namespace tilewright::testing {

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas{Isa::portable};
  for (Isa isa : {Isa::avx2, Isa::avx512})
    if (jit_available(isa)) isas.push_back(isa);
  return isas;
}

}  // namespace tilewright::testing
