// The functions of the CUDA driver that this project calls, looked up in libcuda when first needed. Only
// files of src/device include this header, for it includes the vendor's.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "core/host/fork_gate.hpp"

namespace tilewright {

class GpuDriver {
 public:
  // Returns the process's driver, opened and initialised once. Throws Error(unsupported) with the reason if
  // there is none.
  static std::shared_ptr<const GpuDriver> open();

  // True if the process forked after opening the driver: then no call works here.
  bool was_lost() const { return generation_ != fork_gate::generation(); }

  // Throws Error naming the call, its argument and the driver's message: out_of_memory, unsupported,
  // device_lost if the process can no longer use the device or its context, else internal.
  void check(CUresult result, const char* call, const std::string& argument = {}) const;

  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) driver_version = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cuGetErrorString) error_text = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetUuid) device_uuid = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_memory = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) context_retain = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) context_release = nullptr;
  decltype(&cuCtxPushCurrent) context_push = nullptr;
  decltype(&cuCtxPopCurrent) context_pop = nullptr;
  decltype(&cuCtxGetCurrent) context_current = nullptr;
  decltype(&cuCtxSynchronize) context_synchronize = nullptr;
  decltype(&cuStreamCreate) stream_create = nullptr;
  decltype(&cuStreamCreateWithPriority) stream_create_with_priority = nullptr;
  decltype(&cuCtxGetStreamPriorityRange) stream_priorities = nullptr;
  decltype(&cuStreamDestroy) stream_destroy = nullptr;
  decltype(&cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&cuStreamWaitEvent) stream_wait_event = nullptr;
  decltype(&cuStreamIsCapturing) stream_is_capturing = nullptr;
  decltype(&cuStreamBeginCapture) stream_begin_capture = nullptr;
  decltype(&cuStreamEndCapture) stream_end_capture = nullptr;
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = nullptr;
  decltype(&cuGraphLaunch) graph_launch = nullptr;
  decltype(&cuGraphDestroy) graph_destroy = nullptr;
  decltype(&cuGraphExecDestroy) graph_exec_destroy = nullptr;
  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventDestroy) event_destroy = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  decltype(&cuEventSynchronize) event_synchronize = nullptr;
  decltype(&cuEventQuery) event_query = nullptr;
  decltype(&cuEventElapsedTime) event_elapsed = nullptr;
  decltype(&cuMemAlloc) memory_allocate = nullptr;
  decltype(&cuMemFree) memory_free = nullptr;
  decltype(&cuMemGetInfo) memory_info = nullptr;
  decltype(&cuMemAllocAsync) memory_allocate_async = nullptr;
  decltype(&cuMemFreeAsync) memory_free_async = nullptr;
  decltype(&cuMemHostAlloc) host_allocate = nullptr;
  decltype(&cuMemFreeHost) host_free = nullptr;
  decltype(&cuMemHostRegister) host_register = nullptr;
  decltype(&cuMemHostUnregister) host_unregister = nullptr;
  decltype(&cuMemcpyHtoD) copy_to_device = nullptr;
  decltype(&cuMemcpyDtoH) copy_to_host = nullptr;
  decltype(&cuMemcpyDtoD) copy_on_device = nullptr;
  decltype(&cuMemcpyHtoDAsync) queue_to_device = nullptr;
  decltype(&cuMemcpyDtoHAsync) queue_to_host = nullptr;
  decltype(&cuMemcpy2DAsync) queue_block = nullptr;
  decltype(&cuMemcpyPeerAsync) queue_from_peer = nullptr;
  decltype(&cuDeviceCanAccessPeer) can_access_peer = nullptr;
  decltype(&cuCtxEnablePeerAccess) enable_peer_access = nullptr;
  decltype(&cuMemsetD8Async) fill_bytes = nullptr;
  decltype(&cuMemsetD2D32Async) fill_words = nullptr;
  decltype(&cuModuleLoadData) module_load = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_function = nullptr;
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&cuFuncSetAttribute) function_set_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuLaunchKernelEx) launch_ex = nullptr;  // absent before CUDA 11.8
  decltype(&cuPointerGetAttribute) pointer_attribute = nullptr;
  decltype(&cuPointerGetAttributes) pointer_attributes = nullptr;
  decltype(&cuTensorMapEncodeTiled) tensor_map_encode = nullptr;  // absent before CUDA 12
#if CUDA_VERSION >= 12040
  // Older headers lack these functions.
  decltype(&cuDeviceGetDevResource) device_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split_multiprocessors = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe_resource = nullptr;
  decltype(&cuGreenCtxCreate) partition_create = nullptr;
  decltype(&cuGreenCtxDestroy) partition_destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) partition_stream_create = nullptr;
#endif

 private:
  GpuDriver();
  int generation_ = fork_gate::generation();
};

}  // namespace tilewright
