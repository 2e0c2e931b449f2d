// A GPU is opened, and its tools are made, when they are first asked for.
#include "lu/device/machines.hpp"

namespace tilewright {

LuMachines& LuMachines::of(Context::Impl& context) {
  fork_safe_call_once(context.lu_asked, [&] { context.lu = std::make_shared<LuMachines>(context.gpus); });
  return *context.lu;
}

std::shared_ptr<LuTools> LuMachines::tools(int ordinal) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Kept>& kept = kept_[ordinal];
  if (kept == nullptr) {
    const std::shared_ptr<const GpuMachine> machine = gpus_->open(ordinal);
    if (const std::string reason = why_too_old(machine->gpu().limits()); !reason.empty())
      throw Error(ErrorCode::unsupported, "device", reason);
    kept =
        std::make_shared<Kept>(Kept{machine, std::make_shared<LuTools>(machine->gpu(), machine->compiler())});
  }
  // Who has the tools has the machine.
  return {kept, kept->tools.get()};
}

}  // namespace tilewright
