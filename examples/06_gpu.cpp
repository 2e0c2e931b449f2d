// A batch in device memory: a plan that is made once, run on a stream, and read back. Where there is no GPU
// it says why and ends. Device memory comes from the driver, opened as the library opens it, so that this
// builds without CUDA; a program that has the toolkit calls cudaMalloc and cudaMemcpy instead.
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <tilewright/gemm.hpp>
#include <vector>

using Address = unsigned long long;  // CUdeviceptr

// A function of the driver, called; a program should look at its status too.
template <class... Arguments>
void driver(const char* name, Arguments... arguments) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))(arguments...);
}

// An array in device memory.
struct DeviceArray {
  Address address = 0;
  std::size_t bytes;
  explicit DeviceArray(const std::vector<double>& host) : bytes(host.size() * sizeof(double)) {
    driver("cuMemAlloc_v2", &address, bytes);
    driver("cuMemcpyHtoD_v2", address, static_cast<const void*>(host.data()), bytes);
  }
  ~DeviceArray() { driver("cuMemFree_v2", address); }
  DeviceArray(const DeviceArray&) = delete;
  double* data() const { return reinterpret_cast<double*>(address); }
  void read(std::vector<double>& host) const {
    driver("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), address,
           bytes);  // waits for the work before it
  }
};

int main() try {
  namespace tw = tilewright;
  const std::int64_t n = 8, count = 10000, stride = n * n;
  tw::Context context;

  // C[p] = A[p] * B[p] + C[p]. Making the plan compiles its kernel; later ones find it on disk.
  const auto problem =
      tw::parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10000:beta=one:location=device");
  const tw::GemmPlan plan = tw::plan(context, problem);

  void* primary = nullptr;  // the device's context that all libraries share, and so does tilewright
  driver("cuDevicePrimaryCtxRetain", &primary, 0);
  driver("cuCtxPushCurrent_v2", primary);
  std::vector<double> host(stride * count, 2.0);
  const DeviceArray a(std::vector<double>(stride * count, 1.0)), b(std::vector<double>(stride * count, 0.5)),
      c(host);
  plan.run<double>(1.0, a.data(), b.data(), 1.0, c.data());  // queued on the default stream, not waited for

  // The same as a call, which finds the plan: the views say where the operands lie.
  using In = tw::StridedBatch<const double, tw::Location::device>;
  const tw::StridedBatch<double, tw::Location::device> out{{c.data(), n, n, n}, stride, count};
  tw::gemm_batched<double>(context, tw::Op::none, tw::Op::none, 1.0, In{{a.data(), n, n, n}, stride, count},
                           In{{b.data(), n, n, n}, stride, count}, 1.0, out);
  c.read(host);
  std::printf("every element is %g\n", host[0]);
  return host.front() == 10.0 && host.back() == 10.0 ? 0 : 1;
} catch (const tilewright::Error& error) {
  if (error.code() != tilewright::ErrorCode::unsupported) throw;
  std::printf("nothing was multiplied: %s\n", error.what());
  return 0;
}
