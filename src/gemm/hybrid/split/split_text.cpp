// One line for the CPU and one for each GPU.
#include "core/fields.hpp"
#include "core/quantity.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::string share_text(const NodeModel& node, const GpuShare& share, SplitSide side) {
  const std::string text =
      fmt::format("GPU {} ({}) {} {} to {} in ", share.gpu, node.gpus[std::size_t(share.gpu)].name,
                  to_string(side), share.first, share.first + share.count - 1);
  if (side == SplitSide::problems)
    return text + fmt::format("pieces of {}, {} in flight", share.tile, share.stages);
  return text + fmt::format("tiles of {} (the first {}, the last {}), slices of k of {}, {} stages",
                            share.tile, share.first_tile, share.last_tile, share.slice_k, share.stages);
}

}  // namespace

double cpu_share(const Split& split) {
  double all = double(split.host_count);
  for (const GpuShare& share : split.gpus) all += double(share.count);
  return all > 0 ? double(split.host_count) / all : 0;
}

std::string splits_text(const SplitChoice& choice) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<double>& seconds) {
    if (seconds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, seconds_text(*seconds));
  };
  add("CPU only", choice.host_only_s);
  add("one GPU", choice.one_gpu_s);
  add("several GPUs", choice.all_gpus_s);
  add("CPU and GPU", choice.shared_s);
  return text;
}

std::string split_text(const NodeModel& node, const Split& split, const std::string& indent) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n" + indent) + line; };
  for (const GpuShare& share : split.gpus) add(share_text(node, share, split.side));
  if (split.host_count > 0)
    add(fmt::format("CPU {} {} to {} ({:.1f} %)", to_string(split.side), split.host_first,
                    split.host_first + split.host_count - 1, 100 * cpu_share(split)));
  if (split.gpus.empty()) return text;
  const std::string copiers = counted(split.copy_threads, "thread") + " copy to and from ";
  if (split.side == SplitSide::problems && split.copy_threads > 1)
    add(copiers + "pinned buffers");
  else if (split.ring_bytes > 0)
    add(copiers + fmt::format("rings of {} MiB", split.ring_bytes >> 20));
  return text;
}

nlohmann::json split_json(const NodeModel& node, const SplitChoice& choice) {
  const Split& split = choice.split;
  nlohmann::json gpus = nlohmann::json::array();
  for (const GpuShare& share : split.gpus) {
    gpus.push_back(to_json(share));
    gpus.back()["name"] = node.gpus[std::size_t(share.gpu)].name;
  }
  return {{"cpu_share", cpu_share(split)},
          {"side", to_string(split.side)},
          {"predicted_s", split.seconds},
          {"transfer_s", split.transfer_s},
          {"compute_s", split.compute_s},
          {"cpu_only_s", or_null(choice.host_only_s)},
          {"one_gpu_s", or_null(choice.one_gpu_s)},
          {"all_gpus_s", or_null(choice.all_gpus_s)},
          {"together_s", or_null(choice.shared_s)},
          {"copy_threads", split.copy_threads},
          {"reason", choice.reason},
          {"gpus", gpus}};
}

}  // namespace tilewright
