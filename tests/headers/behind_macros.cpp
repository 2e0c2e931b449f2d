// Every public header behind the macros that system headers define, as lower-case words, single letters or
// functions, and behind those that users define in the manner of older ones; compiled with every warning
// about conversions.
#include <algorithm>
#include <cassert>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What the C library brings.
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// What the C++ library takes back, C's complex.h, X11, curses and Windows define.
#undef min
#undef max
#undef I
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define I (__extension__ 1.0iF)
#define None 0L
#define Always 2
#define Bool int
#define Status int
#define Success 0
#define True 1
#define False 0
#define TRUE 1
#define FALSE 0
#define OK 0
#define ERR (-1)
#define ERROR 0
#define IN
#define OUT
#define DELETE 1
#define interface struct
#define near
#define far
#define check(x) assert(x)
#define verify(x) assert(x)
#define stdmax 1
#define abs_(x) ((x) < 0 ? -(x) : (x))
#define Complex _Complex

#include "all_headers.hpp"

namespace tw = tilewright;

template <class T, int M, int N, int K, tw::Op A, tw::Op B>
void instance(const T* a, const T* b, T* c) {
  tw::gemm<M, N, K, A, B>(T(2), a, b, T(1), c);
}
template <class T>
void instances(const T* a, const T* b, T* c) {
  using enum tw::Op;
  instance<T, 1, 1, 1, none, none>(a, b, c);
  instance<T, 3, 5, 7, none, none>(a, b, c);
  instance<T, 4, 4, 4, none, none>(a, b, c);
  instance<T, 5, 13, 23, trans, none>(a, b, c);
  instance<T, 24, 24, 24, conj_trans, trans>(a, b, c);
  instance<T, 33, 2, 65, none, conj_trans>(a, b, c);
  instance<T, 100, 2, 100, trans, conj_trans>(a, b, c);
  tw::gemm<tw::Op::none, tw::Op::none>(std::integral_constant<int, 3>{}, std::integral_constant<long, 2>{},
                                       std::integral_constant<short, 4>{}, T(1), a, b, T(0), c);
  tw::Batch<T, 3, 4> x(5);
  tw::Batch<T, 4, 2> y(5);
  tw::Batch<T, 3, 2> z(5);
  tw::gemm(T(1), x, y, T(0), z);
  tw::gemm(T(1), x, y, T(0), z, 2);
  [[maybe_unused]] const tw::StridedBatch<const T> view = z;
  [[maybe_unused]] const tw::MatrixView<T> first = z[0];
  tw::Context context;
  tw::gemm<T>(context, tw::Op::none, tw::Op::trans, T(1), {a, 2, 2, 2}, {b, 2, 2, 2}, T(0), {c, 2, 2, 2});
  tw::gemm_batched<T>(context, tw::Op::none, tw::Op::trans, T(1), {{a, 2, 2, 2}, 4, 3}, {{b, 2, 2, 2}, 4, 3},
                      T(0), tw::StridedBatch<T>{{c, 2, 2, 2}, 4, 3});
}

void all(const double* a, const double* b, double* c) {
  using F = std::complex<float>;
  using D = std::complex<double>;
  instances<double>(a, b, c);
  instances<float>(reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
                   reinterpret_cast<float*>(c));
  instances<F>(reinterpret_cast<const F*>(a), reinterpret_cast<const F*>(b), reinterpret_cast<F*>(c));
  instances<D>(reinterpret_cast<const D*>(a), reinterpret_cast<const D*>(b), reinterpret_cast<D*>(c));
}
