// The GPU: devices with their limits, streams, events, memory, loaded kernels and graphs, each a move-only
// owner. The driver is opened on first use. No vendor header is needed; builds without GPU sources lack the
// functions (TILEWRIGHT_HAS_GPU).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgreenCtx_st;
struct CUgraphExec_st;

namespace tilewright {

class GpuDriver;  // the functions of the driver; driver.hpp

// The smallest transfer between device memory and the L2 cache.
constexpr int gpu_sector_bytes = 32;

// Returns the elements between matrices of a pointer batch for measurements: whole sectors.
constexpr std::int64_t gpu_pointer_distance(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t piece = element_bytes >= gpu_sector_bytes ? 1 : gpu_sector_bytes / element_bytes;
  return (elements + piece - 1) / piece * piece;
}

// The limits that a config must respect.
struct GpuLimits {
  std::string name;
  std::string uuid;
  std::string driver_version;
  int compute_capability = 0;  // 90 for sm_90
  int multiprocessors = 0;
  int clock_khz = 0;               // the highest
  int shared_bytes_per_block = 0;  // with the opt-in above 48 KiB
  int shared_bytes_per_multiprocessor = 0;
  int shared_bytes_reserved = 0;  // per block, reserved by the system
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;  // clock times two edges times the bus width
};

// Returns the architecture that its code is compiled for, "sm_90".
inline std::string architecture_of(const GpuLimits& limits) {
  return "sm_" + std::to_string(limits.compute_capability);
}

// Returns why this library's kernels do not run on such a device; "" if they do.
inline std::string why_too_old(const GpuLimits& limits) {
  constexpr int least = 75;
  const auto version = [](int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  };
  if (limits.compute_capability >= least) return "";
  return limits.name + " has compute capability " + version(limits.compute_capability) + ", and " +
         version(least) + " is the least that the kernels support";
}

// One device with its primary context, which other libraries in the process share.
class Gpu {
 public:
  // Returns the number of usable devices; 0 with the reason in `reason` if the driver is absent or fails.
  static int count(std::string& reason);

  // Queries the limits without initialising the device. Throws as the constructor does.
  static GpuLimits limits_of(int device);

  // Throws Error(unsupported) without a driver, Error(invalid_argument) for a device that does not exist.
  explicit Gpu(int device = 0);
  ~Gpu();
  Gpu(Gpu&&) noexcept;
  Gpu& operator=(Gpu&&) = delete;

  int device() const { return device_; }
  const GpuLimits& limits() const { return limits_; }
  const GpuDriver& driver() const { return *driver_; }
  CUctx_st* context() const { return context_; }

  // Makes the context current on the calling thread for its lifetime; does nothing if it is current already.
  class Current {
   public:
    explicit Current(const Gpu& gpu);
    ~Current();
    Current& operator=(Current&&) = delete;

   private:
    const GpuDriver& driver_;
    bool pushed_ = false;
  };

  // Returns why bytes from `address` on cannot be operands here, by the first and last; "" if they can.
  std::string address_fault(const void* address, std::int64_t bytes) const;

  // Copies between host and device memory and waits until they are done.
  void read(void* to, const void* device_address, std::size_t bytes) const;
  void write(void* device_address, const void* from, std::size_t bytes) const;

  // Queues `count` copies of the host's `element`, a multiple of 4 bytes, dense or `spacing_bytes` apart.
  void fill(void* device_address, const void* element, std::size_t element_bytes, std::int64_t count,
            CUstream_st* stream, std::size_t spacing_bytes = 0) const;
  // Queues zeros into `columns` pieces, each a multiple of 4 bytes long, `pitch_bytes` apart.
  void clear(void* device_address, std::size_t column_bytes, std::size_t pitch_bytes, std::int64_t columns,
             CUstream_st* stream) const;

  // Waits for everything on the device; for tests and programs that measure, never for calls.
  void synchronize() const;

 private:
  std::shared_ptr<const GpuDriver> driver_;
  int device_ = 0;
  CUctx_st* context_ = nullptr;
  GpuLimits limits_;
};

// `first`: blocks of its kernels are scheduled before waiting blocks of other streams.
enum class StreamPriority : std::uint8_t { normal, first };

// A part of a device's multiprocessors (a green context), so that kernels on its streams leave others free.
class GpuPartition {
 public:
  // Returns null if the driver cannot make a partition of at least `multiprocessors`.
  static std::unique_ptr<GpuPartition> make(const Gpu& gpu, int multiprocessors);
  ~GpuPartition();
  GpuPartition& operator=(GpuPartition&&) = delete;

  int multiprocessors() const { return multiprocessors_; }
  CUgreenCtx_st* context() const { return context_; }

 private:
  GpuPartition(const Gpu& gpu, CUgreenCtx_st* context, int multiprocessors)
      : gpu_(gpu), context_(context), multiprocessors_(multiprocessors) {}

  const Gpu& gpu_;
  CUgreenCtx_st* context_;
  int multiprocessors_;
};

class GpuStream {
 public:
  explicit GpuStream(const Gpu& gpu, StreamPriority priority = StreamPriority::normal);
  // Makes a stream whose kernels use the partition's multiprocessors alone.
  GpuStream(const Gpu& gpu, const GpuPartition& partition);
  ~GpuStream();
  GpuStream(GpuStream&& other) noexcept : gpu_(other.gpu_), stream_(std::exchange(other.stream_, nullptr)) {}
  GpuStream& operator=(GpuStream&&) = delete;
  CUstream_st* get() const { return stream_; }
  void synchronize() const;

 private:
  const Gpu* gpu_;
  CUstream_st* stream_ = nullptr;
};

class GpuEvent {
 public:
  explicit GpuEvent(const Gpu& gpu);
  ~GpuEvent();
  GpuEvent(GpuEvent&& other) noexcept : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}
  GpuEvent& operator=(GpuEvent&&) = delete;
  void record(CUstream_st* stream);
  void synchronize() const;
  bool has_passed() const;  // true if synchronize() would return at once
  // Work queued on `stream` from now on begins after the event; the host does not wait.
  void hold_back(CUstream_st* stream) const;
  // Returns the seconds from `start` to this event; both must have happened.
  double seconds_since(const GpuEvent& start) const;

 private:
  const Gpu* gpu_;
  CUevent_st* event_ = nullptr;
};

class GpuBuffer {
 public:
  GpuBuffer(const Gpu& gpu, std::size_t bytes);
  ~GpuBuffer();
  GpuBuffer(GpuBuffer&& other) noexcept
      : gpu_(other.gpu_),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  GpuBuffer& operator=(GpuBuffer&&) = delete;
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as(std::size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address_ + byte_offset));
  }
  // Both wait until the copy is done.
  void write(const void* from, std::size_t bytes, std::size_t offset = 0);
  void read(void* to, std::size_t bytes, std::size_t offset = 0) const;
  void fill(unsigned char value, CUstream_st* stream);
  // Repeats the buffer's first `bytes` until it is full.
  void repeat(std::size_t bytes);

 private:
  const Gpu* gpu_;
  unsigned long long address_ = 0;
  std::size_t bytes_ = 0;
};

// Host memory that the device reads and writes directly.
class PinnedBuffer {
 public:
  PinnedBuffer(const Gpu& gpu, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : gpu_(other.gpu_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Gpu* gpu_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct GpuLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;      // blocks that run at once and share their shared memory; divides `blocks`
  bool dependent = false;    // may begin while the preceding kernel ends, for whose end it waits itself
  bool cooperative = false;  // all blocks run at once; refused if the device has no room for them
};

// A kernel of a loaded module. Owned by its module.
class GpuFunction {
 public:
  int registers() const { return registers_; }
  // Allows clusters of more than the eight blocks that every device supports.
  void allow_large_clusters() const;
  int local_bytes() const { return local_bytes_; }  // per thread; above 0 if registers were spilled
  int blocks_per_multiprocessor(int threads, int shared_bytes) const;
  // Launches with one struct of arguments, passed by address. Never waits and never allocates.
  void launch(const GpuLaunch& launch, void* arguments, CUstream_st* stream) const {
    void* parameters[] = {arguments};
    launch_with(launch, parameters, stream);
  }
  // Launches with the address of each argument.
  void launch_with(const GpuLaunch& launch, void** parameters, CUstream_st* stream) const;
  // Makes the driver's call alone, for measuring the overhead of launch(). The context must be current.
  void launch_bare(const GpuLaunch& launch, void** parameters, CUstream_st* stream) const;

 private:
  friend class GpuModule;
  const Gpu* gpu_ = nullptr;
  CUfunc_st* function_ = nullptr;
  int registers_ = 0;
  int local_bytes_ = 0;
};

class GpuModule {
 public:
  GpuModule(const Gpu& gpu, std::span<const char> cubin);
  ~GpuModule();
  GpuModule(GpuModule&& other) noexcept : gpu_(other.gpu_), module_(std::exchange(other.module_, nullptr)) {}
  GpuModule& operator=(GpuModule&&) = delete;
  // `shared_bytes`: the most of a launch; `carveout`: percent of L1 for shared memory (-1: the driver's).
  GpuFunction function(const std::string& name, int shared_bytes, int carveout = -1) const;

 private:
  const Gpu* gpu_;
  CUmod_st* module_ = nullptr;
};

enum class GpuTensorType : unsigned char { f32, f64 };

// A device matrix for the copy engine (compute capability 9.0), or several at even distances: columns
// `stride_bytes` apart, read in boxes.
struct GpuTensor {
  GpuTensorType type = GpuTensorType::f64;
  const void* address = nullptr;  // a multiple of 16
  std::uint64_t inner = 0;        // contiguous elements of a run, and the number of such runs
  std::uint64_t outer = 0;
  std::uint64_t stride_bytes = 0;  // a multiple of 16
  std::uint32_t box_inner = 0;     // at most 256 each
  std::uint32_t box_outer = 0;
  bool swizzled = false;           // boxes are 128 bytes wide and stored with their 16-byte chunks permuted
  std::uint64_t matrices = 0;      // 0: one, and boxes have two coordinates
  std::uint64_t matrix_bytes = 0;  // from one matrix to the next, a multiple of 16 below 2^40
};

// Fills the 128 bytes of `map`, which lie at a multiple of 64. Throws Error(unsupported) if the driver has no
// tensor maps, Error naming the tensor if it refuses it.
void encode_tensor_map(const Gpu& gpu, const GpuTensor& tensor, void* map);

// True if work put into the stream is currently being recorded into a graph.
bool is_capturing(const Gpu& gpu, CUstream_st* stream);

// Work of a stream, recorded once and launched repeatedly. It must neither wait nor allocate.
class GpuGraph {
 public:
  // Records what `work` puts into the stream, without running it. Throws as it does, and Error(internal).
  GpuGraph(const Gpu& gpu, CUstream_st* stream, const std::function<void()>& work);
  ~GpuGraph();
  GpuGraph& operator=(GpuGraph&&) = delete;

  void launch(CUstream_st* stream) const;

 private:
  const Gpu* gpu_;
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace tilewright
