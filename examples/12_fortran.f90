! Products and a linear system from Fortran: one product, a batch that shares a matrix, a factorization, and what an
! error looks like. Links doors/fortran/tilewright.f90 (installed as share/tilewright/fortran/tilewright.f90).
program fortran
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use, intrinsic :: iso_c_binding, only: c_int
  use tilewright
  implicit none
  integer, parameter :: n = 4, count = 1000
  type(tw_context) :: context
  real(real64) :: a(n, n, count), b(n, n, 1), c(n, n, count), system(2, 2), right(2, 1)
  complex(real64) :: z(2, 2), w(2, 2)
  integer(int64) :: pivots(2), info
  integer(c_int) :: status

  call tw_create(context)
  print "(2a)", "tilewright ", tw_version()

  ! C(:,:,p) = A(:,:,p) B for every p: B, which is one matrix, is taken for all
  a = 1
  b = 0.5_real64
  call tw_gemm_batched(context, tw_none, tw_none, 1.0_real64, a, b, 0.0_real64, c)
  print "(a, f0.1)", "every element is ", c(1, 1, 1)
  if (any(c /= 2)) error stop "wrong batch"

  ! C = 2 A B^T + C of one of them, with one thread
  call tw_gemm(context, tw_none, tw_trans, 2.0_real64, a(:, :, 1), b(:, :, 1), 1.0_real64, c(:, :, 7), tw_options(threads=1))
  if (any(c(:, :, 7) /= 6) .or. any(c(:, :, 8) /= 2)) error stop "wrong product"

  z = reshape([(0, 1), (0, 0), (0, 0), (1, 0)], [2, 2])
  call tw_gemm(context, tw_conj_trans, tw_none, (1.0_real64, 0), z, z, (0.0_real64, 0), w)
  if (any(w /= reshape([1, 0, 0, 1], [2, 2]))) error stop "wrong complex product"

  ! 1 x + 2 y = 5, 4 x + 3 y = 10
  system = reshape([1, 4, 2, 3], [2, 2])
  right = reshape([5, 10], [2, 1])
  call tw_lu_factor(context, system, pivots, info)
  call tw_lu_solve(context, tw_none, system, pivots, right)
  print "(a, 2f6.2)", "the solution is", right
  if (info /= 0 .or. any(abs(right(:, 1) - [1, 2]) > 1e-12_real64)) error stop "wrong solution"

  ! A call with a status does not stop the program.
  call tw_gemm(context, tw_none, tw_none, 1.0_real64, a(:, :2, 1), b(:, :, 1), 0.0_real64, c(:, :, 1), status=status)
  if (status /= tw_invalid_argument) error stop "a bad shape was taken"
  print "(2a)", "as expected: ", tw_error(context)
  if (len(tw_explain(context, "gemm:f64:nn:m=100,n=100,k=100")) == 0) error stop "no explanation"
  call tw_destroy(context)
end program
