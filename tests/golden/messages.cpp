// Prints what the C++ and the C interface say of bad arguments, a line for each call: tests/golden/
// messages_test.py compares them with the recorded ones. Argument: cpp or c. Ends with 1 where a call that
// was refused had written something, and with 77 where this machine lacks the processor that the lines are
// of.
#include "golden/messages.hpp"

namespace tilewright::golden {

Context& context() {
  static Context one;
  return one;
}

tilewright_context* handle() {
  static tilewright_context* const one = [] {
    tilewright_context* made = nullptr;
    (void)tilewright_create(nullptr, nullptr, &made);
    return made;
  }();
  return one;
}

}  // namespace tilewright::golden

int main(int argc, char** argv) {
  using namespace tilewright::golden;
  const std::string door = argc > 1 ? argv[1] : "";
  try {
    (void)context();
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 77;
  }
  begin_door(door);
  if (door == "cpp") {
    tell_products();
    tell_sums();
    tell_plans();
    tell_lu();
    tell_layouts();
    tell_device();
  } else if (door == "c") {
    tell_c_products();
    tell_c_batches();
    tell_c_plans();
    tell_c_lu();
    tell_c_factor();
  } else {
    std::fprintf(stderr, "usage: golden_messages cpp|c\n");
    return 2;
  }
  return fault_count() > 0 ? 1 : 0;
}
