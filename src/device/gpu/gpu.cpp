// Owns the CUDA driver's resources. Each call makes the device's primary context current for its own duration
// if it is not, so that callers on any thread, with any context of their own, are left as they were.
#include "device/gpu/gpu.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

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
                 fmt::format("attribute {}", static_cast<int>(which)));
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
  limits.memory_bytes = static_cast<std::int64_t>(bytes);
  return limits;
}

CUdevice find_device(const GpuDriver& driver, int device) {
  int count = 0;
  driver.check(driver.device_count(&count), "cuDeviceGetCount");
  if (device < 0 || device >= count)
    throw Error(ErrorCode::invalid_argument, "device",
                fmt::format("device = {} does not exist: there are {} GPUs", device, count));
  CUdevice handle = 0;
  driver.check(driver.device(&handle, device), "cuDeviceGet", fmt::format("{}", device));
  return handle;
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
    if (result != CUDA_SUCCESS) return fmt::format("{} is no memory that a GPU knows of", what);
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
  // The copy from pageable memory returns once the bytes have been staged, and other streams do not wait for
  // it.
  driver_->check(driver_->stream_synchronize(nullptr), "cuStreamSynchronize");
}

void Gpu::synchronize() const {
  const Current current(*this);
  driver_->check(driver_->context_synchronize(), "cuCtxSynchronize");
}

// Fills one word of the element at a time over all elements (a column of words), since the driver fills with
// one word at a time.
void Gpu::fill(void* device_address, const void* element, std::size_t element_bytes, std::int64_t count,
               CUstream_st* stream, std::size_t spacing_bytes) const {
  const Current current(*this);
  constexpr std::size_t word = sizeof(unsigned);
  const std::size_t pitch = spacing_bytes == 0 ? element_bytes : spacing_bytes;
  const bool is_word = pitch == word;
  const auto all = static_cast<std::size_t>(count);
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
  driver_->check(
      driver_->fill_words(reinterpret_cast<CUdeviceptr>(device_address), pitch_bytes, 0,
                          column_bytes / sizeof(unsigned), static_cast<std::size_t>(columns), stream),
      "cuMemsetD2D32Async", fmt::format("{} columns of {} bytes", columns, column_bytes));
}

GpuStream::GpuStream(const Gpu& gpu, StreamPriority priority) : gpu_(&gpu) {
  const Gpu::Current current(gpu);
  const GpuDriver& driver = gpu.driver();
  if (priority == StreamPriority::usual) {
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
bool GpuEvent::has_passed() const {
  const CUresult result = gpu_->driver().event_query(event_);
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
  gpu_->driver().check(
      gpu_->driver().occupancy(&blocks, function_, threads, static_cast<std::size_t>(shared_bytes)),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      fmt::format("{} threads, {} bytes", threads, shared_bytes));
  return blocks;
}

namespace {

// True if the launch needs the driver's newer call: for clusters. A launch that may begin early only loses
// time without that call.
bool needs_attributes(const GpuDriver& driver, const GpuLaunch& launch) {
  const bool needed = launch.cluster > 1 || launch.cooperative;
  if (needed && driver.launch_ex == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver is too old: it launches no clusters and no blocks that must run at once");
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

}  // namespace tilewright
