// Owns the driver's resources. Each call makes the device's primary context current while it lasts.
#include "device/gpu/gpu.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "core/quantity.hpp"
#include "core/refuse.hpp"
#include "device/gpu/driver.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

GpuLimits read_limits(const GpuDriver& driver, CUdevice device) {
  GpuLimits limits;
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.device_attribute(&value, which, device), "cuDeviceGetAttribute",
                 fmt::format("attribute {}", int(which)));
    return value;
  };
  char name[256] = {};
  driver.check(driver.device_name(name, sizeof(name), device), "cuDeviceGetName");
  limits.name = name;
  CUuuid uuid{};
  driver.check(driver.device_uuid(&uuid, device), "cuDeviceGetUuid");
  limits.uuid = uuid_text(uuid);
  int version = 0;
  driver.check(driver.driver_version(&version), "cuDriverGetVersion");
  limits.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  limits.compute_capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                              attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  limits.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  limits.shared_bytes_per_multiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.shared_bytes_reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  limits.threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  limits.threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  constexpr double hz_of_khz = 1e3, edges = 2, bits = 8;
  limits.memory_bytes_per_s = edges * hz_of_khz * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                              attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / bits;
  std::size_t bytes = 0;
  driver.check(driver.device_memory(&bytes, device), "cuDeviceTotalMem");
  limits.memory_bytes = std::int64_t(bytes);
  return limits;
}

CUdevice find_device(const GpuDriver& driver, int device) {
  int count = 0;
  driver.check(driver.device_count(&count), "cuDeviceGetCount");
  if (device < 0 || device >= count)
    refuse_argument("device", fmt::format("device = {} does not exist: this machine has {}", device,
                                          counted(count, "GPU")));
  CUdevice handle = 0;
  driver.check(driver.device(&handle, device), "cuDeviceGet", fmt::format("{}", device));
  return handle;
}

// True if the launch needs the driver's newer call: for clusters. An early start is only lost without it.
bool needs_attributes(const GpuDriver& driver, const GpuLaunch& launch) {
  const bool needed = launch.cluster > 1 || launch.cooperative;
  if (needed && driver.launch_ex == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver is too old: it launches neither clusters nor cooperative grids");
  return needed || (launch.dependent && driver.launch_ex != nullptr);
}

CUresult launch_with_attributes(const GpuDriver& driver, CUfunc_st* function, const GpuLaunch& launch,
                                void** parameters, CUstream_st* stream) {
  std::array<CUlaunchAttribute, 3> attributes{};
  unsigned count = 0;
  if (launch.cluster > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {launch.cluster, 1, 1};
  }
  if (launch.dependent) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cooperative) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[count++].value.cooperative = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = launch.blocks, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = launch.threads, config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = count;
  return driver.launch_ex(&config, function, parameters, nullptr);
}

}  // namespace

GpuLimits Gpu::limits_of(int device) {
  const auto driver = GpuDriver::open();
  return read_limits(*driver, find_device(*driver, device));
}

int Gpu::count(std::string& reason) {
  try {
    const auto driver = GpuDriver::open();
    int count = 0;
    driver->check(driver->device_count(&count), "cuDeviceGetCount");
    if (count == 0) reason = "the GPU driver finds no device";
    return count;
  } catch (const Error& error) {
    reason = error.what();
    return 0;
  }
}

Gpu::Gpu(int device) : driver_(GpuDriver::open()), device_(device) {
  const CUdevice handle = find_device(*driver_, device);
  limits_ = read_limits(*driver_, handle);
  driver_->check(driver_->context_retain(&context_, handle), "cuDevicePrimaryCtxRetain",
                 fmt::format("{}", device));
}

Gpu::Gpu(Gpu&& other) noexcept
    : driver_(std::move(other.driver_)),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)),
      limits_(std::move(other.limits_)) {}

Gpu::~Gpu() {
  CUdevice handle = 0;
  if (context_ != nullptr && driver_->device(&handle, device_) == CUDA_SUCCESS)
    driver_->context_release(handle);
}

Gpu::Current::Current(const Gpu& gpu) : driver_(gpu.driver()) {
  if (driver_.was_lost()) return;  // destructors of its memory run after a fork as well
  CUcontext current = nullptr;
  if (driver_.context_current(&current) == CUDA_SUCCESS && current == gpu.context()) return;
  driver_.check(driver_.context_push(gpu.context()), "cuCtxPushCurrent");
  pushed_ = true;
}
Gpu::Current::~Current() {
  CUcontext context = nullptr;
  if (pushed_) driver_.context_pop(&context);
}

std::string Gpu::address_fault(const void* address, std::int64_t bytes) const {
  const Current current(*this);
  const char* first = static_cast<const char*>(address);
  for (const char* byte : {first, first + (bytes > 0 ? bytes - 1 : 0)}) {
    int owner = -1;
    const CUresult result = driver_->pointer_attribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                       reinterpret_cast<CUdeviceptr>(byte));
    const char* what = byte == first ? "its address" : "its last byte";
    if (result != CUDA_SUCCESS) return fmt::format("{} is not GPU memory", what);
    if (owner != device_) return fmt::format("{} lies on GPU {}, not on GPU {}", what, owner, device_);
  }
  return "";
}

void Gpu::read(void* to, const void* device_address, std::size_t bytes) const {
  const Current current(*this);
  driver_->check(driver_->copy_to_host(to, reinterpret_cast<CUdeviceptr>(device_address), bytes),
                 "cuMemcpyDtoH", fmt::format("{} bytes", bytes));
}
void Gpu::write(void* device_address, const void* from, std::size_t bytes) const {
  const Current current(*this);
  driver_->check(driver_->copy_to_device(reinterpret_cast<CUdeviceptr>(device_address), from, bytes),
                 "cuMemcpyHtoD", fmt::format("{} bytes", bytes));
  // The copy from pageable memory returns once the bytes are staged, and other streams do not wait for it.
  driver_->check(driver_->stream_synchronize(nullptr), "cuStreamSynchronize");
}

void Gpu::synchronize() const {
  const Current current(*this);
  driver_->check(driver_->context_synchronize(), "cuCtxSynchronize");
}

// Fills one word of the elements after the other, since the driver fills with single words.
void Gpu::fill(void* device_address, const void* element, std::size_t element_bytes, std::int64_t count,
               CUstream_st* stream, std::size_t spacing_bytes) const {
  const Current current(*this);
  constexpr std::size_t word = sizeof(unsigned);
  const std::size_t pitch = spacing_bytes == 0 ? element_bytes : spacing_bytes;
  const bool is_word = pitch == word;
  const auto all = std::size_t(count);
  for (std::size_t at = 0; count > 0 && at < element_bytes; at += word) {
    unsigned value = 0;
    std::memcpy(&value, static_cast<const char*>(element) + at, word);
    const auto to = reinterpret_cast<CUdeviceptr>(device_address) + at;
    driver_->check(is_word ? driver_->fill_words(to, all * word, value, all, 1, stream)
                           : driver_->fill_words(to, pitch, value, 1, all, stream),
                   "cuMemsetD2D32Async", fmt::format("{} elements", count));
  }
}

void Gpu::clear(void* device_address, std::size_t column_bytes, std::size_t pitch_bytes, std::int64_t columns,
                CUstream_st* stream) const {
  const Current current(*this);
  driver_->check(driver_->fill_words(reinterpret_cast<CUdeviceptr>(device_address), pitch_bytes, 0,
                                     column_bytes / sizeof(unsigned), std::size_t(columns), stream),
                 "cuMemsetD2D32Async", fmt::format("{} columns of {} bytes", columns, column_bytes));
}

GpuStream::GpuStream(const Gpu& gpu, StreamPriority priority) : gpu_(&gpu) {
  const Gpu::Current current(gpu);
  const GpuDriver& driver = gpu.driver();
  if (priority == StreamPriority::normal) {
    driver.check(driver.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return;
  }
  int least = 0, greatest = 0;
  driver.check(driver.stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  driver.check(driver.stream_create_with_priority(&stream_, CU_STREAM_NON_BLOCKING, greatest),
               "cuStreamCreateWithPriority");
}
GpuStream::~GpuStream() {
  if (stream_ != nullptr) gpu_->driver().stream_destroy(stream_);
}
void GpuStream::synchronize() const {
  gpu_->driver().check(gpu_->driver().stream_synchronize(stream_), "cuStreamSynchronize");
}

GpuEvent::GpuEvent(const Gpu& gpu) : gpu_(&gpu) {
  const Gpu::Current current(gpu);
  gpu.driver().check(gpu.driver().event_create(&event_, CU_EVENT_DEFAULT), "cuEventCreate");
}
GpuEvent::~GpuEvent() {
  if (event_ != nullptr) gpu_->driver().event_destroy(event_);
}
void GpuEvent::record(CUstream_st* stream) {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().event_record(event_, stream), "cuEventRecord");
}
void GpuEvent::synchronize() const {
  gpu_->driver().check(gpu_->driver().event_synchronize(event_), "cuEventSynchronize");
}
// While any stream of the process is captured in the mode of the most rules, a query would end the capture
// unless the thread has left that mode.
bool GpuEvent::has_passed() const {
  const GpuDriver& driver = gpu_->driver();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.check(driver.exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
  const CUresult result = driver.event_query(event_);
  driver.check(driver.exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
  if (result != CUDA_ERROR_NOT_READY) gpu_->driver().check(result, "cuEventQuery");
  return result == CUDA_SUCCESS;
}
void GpuEvent::hold_back(CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().stream_wait_event(stream, event_, CU_EVENT_WAIT_DEFAULT),
                       "cuStreamWaitEvent");
}
double GpuEvent::seconds_since(const GpuEvent& start) const {
  float milliseconds = 0;
  gpu_->driver().check(gpu_->driver().event_elapsed(&milliseconds, start.event_, event_),
                       "cuEventElapsedTime");
  return milliseconds * 1e-3;
}

GpuBuffer::GpuBuffer(const Gpu& gpu, std::size_t bytes) : gpu_(&gpu), bytes_(bytes) {
  const Gpu::Current current(gpu);
  gpu.driver().check(gpu.driver().memory_allocate(&address_, bytes), "cuMemAlloc",
                     fmt::format("{} bytes", bytes));
}
GpuBuffer::~GpuBuffer() {
  if (address_ == 0) return;
  CUcontext context = nullptr;
  gpu_->driver().context_push(gpu_->context());
  gpu_->driver().memory_free(address_);
  gpu_->driver().context_pop(&context);
}
void GpuBuffer::write(const void* from, std::size_t bytes, std::size_t offset) {
  gpu_->write(as<void>(offset), from, bytes);
}
void GpuBuffer::read(void* to, std::size_t bytes, std::size_t offset) const {
  gpu_->read(to, as<void>(offset), bytes);
}
void GpuBuffer::fill(unsigned char value, CUstream_st* stream) {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().fill_bytes(address_, value, bytes_, stream), "cuMemsetD8Async");
}
void GpuBuffer::repeat(std::size_t bytes) {
  const Gpu::Current current(*gpu_);
  for (std::size_t done = bytes; done < bytes_;) {
    const std::size_t more = done < bytes_ - done ? done : bytes_ - done;
    gpu_->driver().check(gpu_->driver().copy_on_device(address_ + done, address_, more), "cuMemcpyDtoD",
                         fmt::format("{} bytes", more));
    done += more;
  }
  gpu_->driver().check(gpu_->driver().stream_synchronize(nullptr), "cuStreamSynchronize");
}

PinnedBuffer::PinnedBuffer(const Gpu& gpu, std::size_t bytes) : gpu_(&gpu), bytes_(bytes) {
  const Gpu::Current current(gpu);
  gpu.driver().check(gpu.driver().host_allocate(&data_, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc",
                     fmt::format("{} bytes", bytes));
}
PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) gpu_->driver().host_free(data_);
}

int GpuFunction::blocks_per_multiprocessor(int threads, int shared_bytes) const {
  const Gpu::Current current(*gpu_);
  int blocks = 0;
  gpu_->driver().check(gpu_->driver().occupancy(&blocks, function_, threads, std::size_t(shared_bytes)),
                       "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                       fmt::format("{} threads, {} bytes", threads, shared_bytes));
  return blocks;
}

void GpuFunction::allow_large_clusters() const {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().function_set_attribute(
                           function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                       "cuFuncSetAttribute", "clusters of 16 blocks");
}

void GpuFunction::launch_with(const GpuLaunch& launch, void** parameters, CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);
  launch_bare(launch, parameters, stream);
}

void GpuFunction::launch_bare(const GpuLaunch& launch, void** parameters, CUstream_st* stream) const {
  const GpuDriver& driver = gpu_->driver();
  const bool extended = needs_attributes(driver, launch);
  const CUresult result = extended ? launch_with_attributes(driver, function_, launch, parameters, stream)
                                   : driver.launch(function_, launch.blocks, 1, 1, launch.threads, 1, 1,
                                                   launch.shared_bytes, stream, parameters, nullptr);
  if (result != CUDA_SUCCESS)
    driver.check(result, extended ? "cuLaunchKernelEx" : "cuLaunchKernel",
                 fmt::format("{} blocks of {} threads, {} bytes shared{}", launch.blocks, launch.threads,
                             launch.shared_bytes,
                             launch.cluster > 1 ? fmt::format(", clusters of {}", launch.cluster) : ""));
}

GpuModule::GpuModule(const Gpu& gpu, std::span<const char> cubin) : gpu_(&gpu) {
  const Gpu::Current current(gpu);
  gpu.driver().check(gpu.driver().module_load(&module_, cubin.data()), "cuModuleLoadData",
                     fmt::format("{} bytes", cubin.size()));
}
GpuModule::~GpuModule() {
  if (module_ == nullptr) return;
  CUcontext context = nullptr;
  gpu_->driver().context_push(gpu_->context());
  gpu_->driver().context_synchronize();  // the device may still run its kernels
  gpu_->driver().module_unload(module_);
  gpu_->driver().context_pop(&context);
}
GpuFunction GpuModule::function(const std::string& name, int shared_bytes, int carveout) const {
  const Gpu::Current current(*gpu_);
  const GpuDriver& driver = gpu_->driver();
  GpuFunction function;
  function.gpu_ = gpu_;
  driver.check(driver.module_function(&function.function_, module_, name.c_str()), "cuModuleGetFunction",
               name);
  driver.check(
      driver.function_attribute(&function.registers_, CU_FUNC_ATTRIBUTE_NUM_REGS, function.function_),
      "cuFuncGetAttribute", name);
  driver.check(driver.function_attribute(&function.local_bytes_, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                         function.function_),
               "cuFuncGetAttribute", name);
  driver.check(driver.function_set_attribute(function.function_,
                                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
               "cuFuncSetAttribute", fmt::format("{} bytes shared", shared_bytes));
  if (carveout >= 0)
    driver.check(driver.function_set_attribute(function.function_,
                                               CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout),
                 "cuFuncSetAttribute", fmt::format("{} percent shared", carveout));
  return function;
}

// Any refusal of the driver means that there is no partition, since a partition only improves speed.
#if CUDA_VERSION >= 12040

std::unique_ptr<GpuPartition> GpuPartition::make(const Gpu& gpu, int multiprocessors) {
  const GpuDriver& driver = gpu.driver();
  const bool is_there = driver.device_resource != nullptr && driver.split_multiprocessors != nullptr &&
                        driver.describe_resource != nullptr && driver.partition_create != nullptr &&
                        driver.partition_destroy != nullptr && driver.partition_stream_create != nullptr;
  if (!is_there || multiprocessors < 1 || multiprocessors >= gpu.limits().multiprocessors) return nullptr;
  const Gpu::Current current(gpu);
  CUdevice device = 0;
  CUdevResource all{}, part{}, rest{};
  CUdevResourceDesc description{};
  CUgreenCtx context = nullptr;
  unsigned groups = 1;
  const bool made =
      driver.device(&device, gpu.device()) == CUDA_SUCCESS &&
      driver.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      driver.split_multiprocessors(&part, &groups, &all, &rest, 0, unsigned(multiprocessors)) ==
          CUDA_SUCCESS &&
      groups == 1 && driver.describe_resource(&description, &part, 1) == CUDA_SUCCESS &&
      driver.partition_create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
  if (!made) return nullptr;
  return std::unique_ptr<GpuPartition>(new GpuPartition(gpu, context, int(part.sm.smCount)));
}

GpuPartition::~GpuPartition() { gpu_.driver().partition_destroy(context_); }

GpuStream::GpuStream(const Gpu& gpu, const GpuPartition& partition) : gpu_(&gpu) {
  const GpuDriver& driver = gpu.driver();
  driver.check(driver.partition_stream_create(&stream_, partition.context(), CU_STREAM_NON_BLOCKING, 0),
               "cuGreenCtxStreamCreate");
}

#else

std::unique_ptr<GpuPartition> GpuPartition::make(const Gpu&, int) { return nullptr; }
GpuPartition::~GpuPartition() = default;
GpuStream::GpuStream(const Gpu& gpu, const GpuPartition&) : GpuStream(gpu) {}

#endif

void encode_tensor_map(const Gpu& gpu, const GpuTensor& t, void* map) {
  const GpuDriver& driver = gpu.driver();
  if (driver.tensor_map_encode == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver is too old: it has no cuTensorMapEncodeTiled");
  const cuuint32_t rank = t.matrices > 0 ? 3 : 2;
  const cuuint64_t sizes[] = {t.inner, t.outer, t.matrices};
  const cuuint64_t strides[] = {t.stride_bytes, t.matrix_bytes};
  const cuuint32_t box[] = {t.box_inner, t.box_outer, 1};
  const cuuint32_t steps[] = {1, 1, 1};
  const CUresult result = driver.tensor_map_encode(
      static_cast<CUtensorMap*>(map),
      t.type == GpuTensorType::f64 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank,
      const_cast<void*>(t.address), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      t.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    driver.check(
        result, "cuTensorMapEncodeTiled",
        fmt::format("{} x {} elements, columns {} bytes apart, boxes of {} x {}, {} matrices {} bytes apart",
                    t.inner, t.outer, t.stride_bytes, t.box_inner, t.box_outer,
                    std::max<std::uint64_t>(1, t.matrices), t.matrix_bytes));
}

bool is_capturing(const Gpu& gpu, CUstream_st* stream) {
  const Gpu::Current current(gpu);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  gpu.driver().check(gpu.driver().stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

GpuGraph::GpuGraph(const Gpu& gpu, CUstream_st* stream, const std::function<void()>& work) : gpu_(&gpu) {
  const GpuDriver& driver = gpu.driver();
  const Gpu::Current current(gpu);
  driver.check(driver.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               "cuStreamBeginCapture");
  CUgraph recorded = nullptr;
  try {
    work();
  } catch (...) {
    if (driver.stream_end_capture(stream, &recorded) == CUDA_SUCCESS && recorded != nullptr)
      driver.graph_destroy(recorded);
    throw;
  }
  driver.check(driver.stream_end_capture(stream, &recorded), "cuStreamEndCapture");
  const CUresult result = driver.graph_instantiate(&graph_, recorded, 0);
  driver.graph_destroy(recorded);
  driver.check(result, "cuGraphInstantiate");
}

GpuGraph::~GpuGraph() {
  if (graph_ != nullptr) gpu_->driver().graph_exec_destroy(graph_);
}

void GpuGraph::launch(CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().graph_launch(graph_, stream), "cuGraphLaunch");
}

}  // namespace tilewright
