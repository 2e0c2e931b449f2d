// Opens libcuda and turns its results into errors.
#include "device/gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/input/failure.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

// True for errors after which every later call of the process fails, as the driver documents, or after which
// the device or its context is gone. Numbers stand for errors that older headers do not name.
bool is_lost(CUresult result) {
  switch (int(result)) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226:  // CUDA_ERROR_CONTAINED
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721:  // CUDA_ERROR_TENSOR_MEMORY_LEAK
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case 810:  // CUDA_ERROR_MPS_CLIENT_TERMINATED
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

ErrorCode code_of(CUresult result) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return ErrorCode::out_of_memory;
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_SUPPORTED) return ErrorCode::unsupported;
  return is_lost(result) ? ErrorCode::device_lost : ErrorCode::internal;
}

}  // namespace

void* GpuDriver::open_library() {
  // The library is never closed: other libraries of the process may hold the same driver.
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return library;
  throw Error(ErrorCode::unsupported, "driver", fmt::format("no GPU driver was found ({})", loader_error()));
}

LoadedFunction GpuDriver::find(const char* name) const {
  const LoadedFunction found(library_, name);
  if (found.address != nullptr) return found;
  throw Error(ErrorCode::unsupported, "driver",
              fmt::format("the GPU driver is too old: libcuda.so.1 has no {}", name));
}

std::shared_ptr<const GpuDriver> GpuDriver::open() {
  // One per process, as the driver is. A failure is not kept: the next call tries again.
  static constinit Once<const std::shared_ptr<const GpuDriver>> once;
  const std::shared_ptr<const GpuDriver>& driver = once.get([] {
    std::shared_ptr<const GpuDriver> opened(new GpuDriver());
    opened->check(opened->init(0), "cuInit");
    return opened;
  });
  if (driver->was_lost())
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver was opened before fork(), and it does not work in a child process");
  return driver;
}

void GpuDriver::check(CUresult result, const char* call, const std::string& argument) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(result, &name);
  error_text(result, &text);
  throw Error(code_of(result), "gpu",
              fmt::format("{}({}) failed: {} ({})", call, argument, name == nullptr ? "unknown error" : name,
                          text == nullptr ? "no text" : text));
}

}  // namespace tilewright
