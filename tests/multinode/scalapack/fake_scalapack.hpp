// Records the calls of the fake ScaLAPACK and the fake libtilewright.
#pragma once

struct FakeCalls {
  int factor = 0, panel = 0, swap = 0, gemm = 0, trsm = 0, local_factor = 0, local_swap = 0;
  int deepest = 0;            // k of the deepest product
  double updated = 0;         // elements of C in all products
  int rows = 1, columns = 1;  // the reported grid; the process is the first
};
extern "C" FakeCalls fake_calls;

struct FakeGpus {
  bool takes_part = false;
  int asked = 0, factored = 0;
};
extern "C" FakeGpus fake_gpus;
