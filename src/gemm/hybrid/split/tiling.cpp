// Tiles by some twenty predictions: after a fair guess, each quantity in turn is set to its predicted best.
#include <algorithm>
#include <cmath>

#include "gemm/hybrid/split/prediction.hpp"
#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t tile_grain = 64;
constexpr double usable_memory = 0.9;  // of a GPU without a cap: libraries need some as well

std::int64_t in_grains(double x, std::int64_t grain, std::int64_t most) {
  const std::int64_t rounded = std::int64_t(std::llround(x / double(grain))) * grain;
  return std::min(std::max(grain, rounded), std::max<std::int64_t>(1, most));
}

class Tiler {
 public:
  Tiler(const NodeModel& node, const SplitRequest& request, Split& split)
      : node_(node), request_(request), split_(split), shape_(request.problem, split.side) {}

  bool cut() {
    if (split_.gpus.empty()) return true;
    Split resident = split_, blocked = split_;
    bool fits = true, blocks_fit = true;
    for (GpuShare& share : resident.gpus) fits = fits && guess_resident(share);
    if (fits) improve(resident);
    // If the resident operand leaves little room for tiles, blocks may be faster.
    const bool roomy = fits && resident.gpus[0].tile >= std::min<std::int64_t>(256, resident.gpus[0].count);
    if (!roomy) blocks_fit = cut_into_blocks(blocked);
    if (roomy || (fits && !blocks_fit)) split_ = resident;
    if (!roomy && !fits && blocks_fit) split_ = blocked;
    if (!roomy && fits && blocks_fit) split_ = seconds(resident) <= seconds(blocked) ? resident : blocked;
    return fits || blocks_fit;
  }

 private:
  double seconds(const Split& split) const { return predict(node_, request_, split).gpu_s; }
  std::int64_t memory(const GpuShare& share) const { return gpu_memory(node_, request_, share.gpu); }
  bool fits(const GpuShare& share) const { return schedule_bytes(shape_, share) <= memory(share); }

  bool guess_resident(GpuShare& share) const {
    apply({16, 4, 16}, share);
    share.last_tile = share.tile / 4;
    return shrink(share);
  }

  // Halves tiles until they fit; false if none does.
  bool shrink(GpuShare& share) const {
    while (!fits(share)) {
      if (share.first_tile > share.tile)
        share.first_tile = std::max(share.tile, share.first_tile / 2);
      else if (share.tile > 1)
        share.first_tile = share.tile = share.tile / 2;
      else
        return false;
    }
    return true;
  }

  // Sizes as fractions 1 / x of the share and of k; first_tile 0: like the others.
  struct Cut {
    double tile = 16, first_tile = 0, slice = 16;
    bool slices_streamed = false, adds_c = false;
    int stages = 3;
  };
  void apply(const Cut& cut, GpuShare& share) const {
    share.tile = in_grains(double(share.count) / cut.tile, tile_grain, share.count);
    share.first_tile = cut.first_tile == 0
                           ? share.tile
                           : in_grains(double(share.count) / cut.first_tile, tile_grain, share.count);
    share.panel_k = shape_.k();
    share.panel_other = shape_.across();
    share.slice_k = in_grains(double(shape_.k()) / cut.slice, tile_grain, shape_.k());
    share.slices_streamed = cut.slices_streamed;
    share.adds_c = cut.adds_c && shape_.reads_c() && request_.gpus_add;
    share.stages = cut.stages;
  }

  // Seeds: transfer-bound products need small tiles, which leave little to wait for at both ends;
  // compute-bound ones a large first tile, which keeps the GPU busy while the rest arrives. Then one quantity
  // after the other.
  void improve(Split& split) const {
    Cut cut;
    double best = seconds(split);
    const auto try_cut = [&](const Cut& next) {
      Split tried = split;
      for (GpuShare& share : tried.gpus) {
        apply(next, share);
        if (!fits(share)) return;
      }
      const double time = seconds(tried);
      if (time < best * (1 - 1e-4)) best = time, split = tried, cut = next;
    };
    for (const Cut& seed :
         {Cut{32, 0, 1, false, false}, Cut{64, 0, 1, false, false}, Cut{32, 4, 16, false, false},
          Cut{16, 3, 16, true, false}, Cut{16, 2, 32, true, true}, Cut{32, 1.6, 64, true, true},
          Cut{8, 1.4, 16, true, true}})
      try_cut(seed);
    const auto try_all = [&](auto Cut::*quantity, const auto& values) {
      const Cut from = cut;
      for (const auto value : values) {
        Cut next = from;
        next.*quantity = value;
        try_cut(next);
      }
    };
    try_all(&Cut::tile, std::array{cut.tile / 2, cut.tile * 1.5, cut.tile * 2, cut.tile * 3});
    try_all(&Cut::first_tile, std::array{0.0, 64.0, 16.0, 8.0, 4.0, 3.0, 2.0, 1.6});
    try_all(&Cut::slices_streamed, std::array{!cut.slices_streamed});
    try_all(&Cut::slice, std::array{1.0, 4.0, 8.0, 16.0, 32.0, 64.0});
    try_all(&Cut::tile, std::array{cut.tile / 1.5, cut.tile * 1.5});
    try_all(&Cut::stages, std::array{4});
  }

  // About square blocks of C move least per product. Two of them, and slices between, use this part of the
  // memory: smaller ones leave less to wait for at both ends.
  bool set_block(GpuShare& share, std::int64_t slice, int stages, double part) const {
    share.stages = stages;
    share.slice_k = slice;
    share.panel_k = std::min(slice * stages, shape_.k() - 1);
    share.slices_streamed = true;
    const double elements = double(memory(share)) / double(shape_.element_bytes()) * part;
    const double ring = double(slice) * stages;
    const double side = (-ring + std::sqrt(ring * ring + 2 * elements)) / 2;  // 2 x^2 + 2 ring x = elements
    if (side < 1) return false;
    double across = side, along = side;
    if (across > double(shape_.across())) {
      across = double(shape_.across());
      along = (elements - ring * across) / (2 * across + ring);
    } else if (along > double(share.count)) {
      along = double(share.count);
      across = (elements - ring * along) / (2 * along + ring);
    }
    const auto rounded = [](double x, std::int64_t most) {
      const std::int64_t whole = std::int64_t(x);
      return std::min(most, whole >= 2 * tile_grain ? whole / tile_grain * tile_grain : whole);
    };
    share.panel_other = rounded(across, shape_.across());
    share.tile = share.first_tile = rounded(along, share.count);
    if (share.panel_other < 1 || share.tile < 1) return false;
    while (!fits(share)) {  // for padding
      if (share.tile == 1 && share.panel_other == 1) return false;
      (share.tile > share.panel_other ? share.tile : share.panel_other) -= 1 + share.tile / 32;
      share.tile = std::max<std::int64_t>(1, share.tile);
      share.panel_other = std::max<std::int64_t>(1, share.panel_other);
    }
    return true;
  }

  bool cut_into_blocks(Split& split) const {
    double best = 0;
    bool found = false;
    const Split before = split;
    for (const std::int64_t slice : {2048, 1024, 512, 64, 16, 1}) {
      if (shape_.k() < 2 || (slice >= shape_.k() && slice > 1)) continue;
      if (found && slice < 512) break;
      for (const double part : {0.98, 0.4}) {
        Split next = before;
        bool possible = true;
        for (GpuShare& share : next.gpus)
          possible = possible && set_block(share, slice, slice > 1 ? 3 : 2, part);
        if (!possible) continue;
        const double time = seconds(next);
        if (!found || time < best) found = true, best = time, split = next;
      }
    }
    return found;
  }

  const NodeModel& node_;
  const SplitRequest& request_;
  Split& split_;
  StreamShape shape_;
};

constexpr int pieces_in_flight = 4;
// Pieces of a share of a batch, unless memory requires more: little is left to wait for at both ends.
constexpr double default_pieces = 32;
constexpr double least_piece_bytes = 1 << 20, most_piece_bytes = 32 << 20;

// Cuts a share of a batch into pieces, several of them in flight; false if the GPU holds not even one.
bool cut_into_pieces(const StreamShape& shape, std::int64_t memory, GpuShare& share) {
  double each = 0, left = double(memory);
  for (const ProductMatrix which : product_matrices) {
    const auto bytes = double(shape.device_bytes(which, 1));
    if (shape.is_shared(which))
      left -= bytes;
    else
      each += bytes;
  }
  const auto fits = [&](int stages) { return each * double(share.tile) * stages <= left; };
  const auto in_pieces = [&](double bytes) {
    const auto problems = std::int64_t(bytes / std::max(1.0, each));
    return std::clamp(problems / shape.grain() * shape.grain(), std::min(shape.grain(), share.count),
                      share.count);
  };
  share.tile =
      in_pieces(std::clamp(each * double(share.count) / default_pieces, least_piece_bytes, most_piece_bytes));
  for (share.stages = pieces_in_flight; share.stages > 1; --share.stages)
    if (fits(share.stages)) return true;
  share.tile = in_pieces(left / 2);
  share.stages = fits(2) ? 2 : 1;
  return fits(share.stages);
}

}  // namespace

std::int64_t gpu_memory(const NodeModel& node, const SplitRequest& request, int gpu) {
  const double own = double(node.gpus[std::size_t(gpu)].memory_bytes);
  if (request.memory_bytes > 0) return std::min(request.memory_bytes, std::int64_t(own));
  return std::int64_t(usable_memory * own);
}

bool cut_into_tiles(const NodeModel& node, const SplitRequest& request, Split& split) {
  if (split.side != SplitSide::problems) return Tiler(node, request, split).cut();
  const StreamShape shape(request.problem, split.side);
  return std::all_of(split.gpus.begin(), split.gpus.end(), [&](GpuShare& share) {
    return cut_into_pieces(shape, gpu_memory(node, request, share.gpu), share);
  });
}

void take_tiles_of(const GpuShare& other, GpuShare& share) {
  const GpuShare place = share;
  share = other;
  share.gpu = place.gpu, share.first = place.first, share.count = place.count;
  share.tile = std::min(share.tile, share.count);
  share.first_tile = std::min(share.first_tile, share.count);
}

}  // namespace tilewright
