// Experiments in words.
#include "tune/calibrate/experiment.hpp"

namespace tilewright {
namespace {

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kibi = 1 << 10, mebi = 1 << 20;
  if (bytes % mebi == 0) return fmt::format("{} MiB", bytes / mebi);
  if (bytes % kibi == 0) return fmt::format("{} KiB", bytes / kibi);
  return fmt::format("{} B", bytes);
}

}  // namespace

std::string to_string(const Experiment& e) {
  std::string text = to_string(e.work);
  if (e.gpu >= 0) text += fmt::format(" gpu {}", e.gpu);
  if (e.peer >= 0) text += fmt::format(" from gpu {}", e.peer);
  if (e.work == TimedWork::to_device || e.work == TimedWork::to_host)
    text += e.pinned ? " pinned" : " pageable";
  if (e.threads > 0) text += fmt::format(" {} thread{}", e.threads, e.threads == 1 ? "" : "s");
  if (e.bytes > 0) text += " " + size_text(e.bytes);
  if (e.pieces > 0) text += fmt::format(" in {} far pieces", e.pieces);
  if (e.is_gemm()) text += fmt::format(" {} {}x{}x{}", to_string(e.dtype), e.m, e.n, e.k);
  if (e.in_a_row > 0) text += fmt::format(", {} in a row", e.in_a_row);
  if (e.beside != Beside::nothing) text += " beside " + to_string(e.beside);
  if (e.beside == Beside::host_product) text += fmt::format(" {}x{}x{}", e.m, e.n, e.k);
  return text;
}

}  // namespace tilewright
