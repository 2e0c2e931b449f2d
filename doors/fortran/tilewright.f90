! The Fortran 2008 door of tilewright: products, batches and linear systems of real and complex arrays, over the C
! interface (tilewright.h), whose meaning and threads it has. Compile this file with your own compiler, because module
! files serve one compiler, and link libtilewright: gfortran -c tilewright.f90; gfortran app.f90 tilewright.o -ltilewright.
! Arrays are those of Fortran, by columns; one that is not contiguous is copied by the compiler. A call that fails sets
! its last argument, status, to a value other than tw_ok, and tw_error returns the reason; without status it stops the program.
module tilewright
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int64
  implicit none
  private
  public :: tw_context, tw_options, tw_create, tw_destroy, tw_error, tw_version, tw_explain
  public :: tw_gemm, tw_gemm_batched, tw_lu_factor, tw_lu_solve

  ! tilewright_status, tilewright_op and tilewright_target
  integer(c_int), parameter, public :: tw_ok = 0, tw_invalid_argument = 1, tw_unsupported = 2, tw_out_of_memory = 3
  integer(c_int), parameter, public :: tw_io = 4, tw_internal = 5, tw_device_lost = 6
  integer(c_int), parameter, public :: tw_none = 0, tw_trans = 1, tw_conj_trans = 2
  integer(c_int), parameter, public :: tw_target_auto = 0, tw_target_cpu = 1, tw_target_gpu = 2, tw_target_hybrid = 3
  integer(c_int), parameter :: tw_f32 = 0, tw_f64 = 1, tw_c64 = 2, tw_c128 = 3

  ! The machine, the user's wisdom and all kernels made so far: make one, use it everywhere. Do not copy it.
  type :: tw_context
    private
    type(c_ptr) :: handle = c_null_ptr
    character(:), allocatable :: message
  end type

  ! tilewright_options, in its order: zero is the default of all
  type, bind(c) :: tw_options
    integer(c_size_t) :: struct_size = 0  ! set by the calls
    integer(c_int) :: location = 0, row_major = 0, alpha_per_problem = 0, beta_per_problem = 0
    integer(c_int64_t) :: max_m = 0, max_n = 0, max_k = 0
    integer(c_int) :: device = 0
    type(c_ptr) :: stream = c_null_ptr
    integer(c_int) :: align_bytes = 0, target = 0, objective = 0
    real(c_double) :: objective_weight = 0
    integer(c_int) :: threads = 0, checked = 0, residency = 0, arrival = 0
    type(c_ptr) :: candidate = c_null_ptr, config = c_null_ptr
    real(c_double) :: tune_on_miss_s = 0
    type(c_ptr) :: gpus = c_null_ptr
    integer(c_int) :: gpu_count = 0
    integer(c_int64_t) :: gpu_memory_bytes = 0
    integer(c_int) :: split = 0
    real(c_double) :: cpu_share = 0
    integer(c_int) :: on_device_failure = 0, learn = 0
  end type

  ! tw_gemm(context, op_a, op_b, alpha, a, b, beta, c [, options, status]): c = alpha op(a) op(b) + beta c
  interface tw_gemm
    module procedure gemm_f32, gemm_f64, gemm_c64, gemm_c128
  end interface

  ! tw_gemm_batched(the same): for every p, c(:,:,p) = alpha op(a(:,:,p)) op(b(:,:,p)) + beta c(:,:,p); an a or b whose
  ! third extent is 1 serves the whole batch
  interface tw_gemm_batched
    module procedure gemm_batched_f32, gemm_batched_f64, gemm_batched_c64, gemm_batched_c128
  end interface

  ! tw_lu_factor(context, a, pivots, info [, status]): P A = L U in place, as LAPACK's GETRF
  interface tw_lu_factor
    module procedure lu_factor_f32, lu_factor_f64, lu_factor_c64, lu_factor_c128
  end interface

  ! tw_lu_solve(context, op, lu, pivots, b [, status]): op(A) X = B with these factors; X overwrites b(n, nrhs)
  interface tw_lu_solve
    module procedure lu_solve_f32, lu_solve_f64, lu_solve_c64, lu_solve_c128
  end interface

  interface
    integer(c_int) function c_create(cpu, wisdom, context) bind(c, name="tilewright_create")
      import
      type(c_ptr), value :: cpu, wisdom
      type(c_ptr) :: context
    end function
    subroutine c_destroy(context) bind(c, name="tilewright_destroy")
      import
      type(c_ptr), value :: context
    end subroutine
    type(c_ptr) function c_last_error(context) bind(c, name="tilewright_last_error")
      import
      type(c_ptr), value :: context
    end function
    type(c_ptr) function c_version() bind(c, name="tilewright_version")
      import
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
    end function
    integer(c_int) function c_plan_create(context, problem, options, plan) bind(c, name="tilewright_plan_create")
      import
      type(c_ptr), value :: context, options
      character(kind=c_char), intent(in) :: problem(*)
      type(c_ptr) :: plan
    end function
    type(c_ptr) function c_plan_explain(plan) bind(c, name="tilewright_plan_explain")
      import
      type(c_ptr), value :: plan
    end function
    subroutine c_plan_destroy(plan) bind(c, name="tilewright_plan_destroy")
      import
      type(c_ptr), value :: plan
    end subroutine
    integer(c_int) function c_gemm(context, dtype, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) &
        bind(c, name="tilewright_gemm")
      import
      type(c_ptr), value :: context, alpha, a, b, beta, c, options
      integer(c_int), value :: dtype, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
    end function
    integer(c_int) function c_gemm_strided_batched(context, dtype, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, &
        stride_b, beta, c, ldc, stride_c, batch_count, options, info_mode, info) &
        bind(c, name="tilewright_gemm_strided_batched")
      import
      type(c_ptr), value :: context, alpha, a, b, beta, c, options, info
      integer(c_int), value :: dtype, op_a, op_b, info_mode
      integer(c_int64_t), value :: m, n, k, lda, stride_a, ldb, stride_b, ldc, stride_c, batch_count
    end function
    integer(c_int) function c_lu_factor(context, dtype, m, n, a, lda, pivots, info, options) &
        bind(c, name="tilewright_lu_factor")
      import
      type(c_ptr), value :: context, a, options
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: m, n, lda
      integer(c_int64_t) :: pivots(*), info
    end function
    integer(c_int) function c_lu_solve(context, dtype, op, n, nrhs, a, lda, pivots, b, ldb, options) &
        bind(c, name="tilewright_lu_solve")
      import
      type(c_ptr), value :: context, a, b, options
      integer(c_int), value :: dtype, op
      integer(c_int64_t), value :: n, nrhs, lda, ldb
      integer(c_int64_t), intent(in) :: pivots(*)
    end function
  end interface

contains

  ! Makes a context.
  subroutine tw_create(context, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(out), optional :: status
    call finish(context, c_create(c_null_ptr, c_null_ptr, context%handle), status)
  end subroutine

  subroutine tw_destroy(context)
    type(tw_context), intent(inout) :: context
    call c_destroy(context%handle)
    context%handle = c_null_ptr
  end subroutine

  ! Returns the message of the last call with this context that failed, "" if none has.
  function tw_error(context) result(message)
    type(tw_context), intent(in) :: context
    character(:), allocatable :: message
    message = ""
    if (allocated(context%message)) message = context%message
  end function

  ! Returns the version of the library.
  function tw_version() result(version)
    character(:), allocatable :: version
    version = text_of(c_version())
  end function

  ! Returns what a problem in its canonical text would run, and why; "" if the call fails.
  function tw_explain(context, problem, status) result(text)
    type(tw_context), intent(inout) :: context
    character(*), intent(in) :: problem
    integer(c_int), intent(out), optional :: status
    character(:), allocatable :: text
    type(c_ptr) :: plan
    integer(c_int) :: code
    text = ""
    code = c_plan_create(context%handle, problem // c_null_char, c_null_ptr, plan)
    if (code == tw_ok) text = text_of(c_plan_explain(plan))
    if (code == tw_ok) call c_plan_destroy(plan)
    call finish(context, code, status)
  end function

  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate(character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! Keeps the message of a call that failed; stops the program if nobody looks at the status.
  subroutine finish(context, code, status, message)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: code
    integer(c_int), intent(out), optional :: status
    character(*), intent(in), optional :: message
    if (present(status)) status = code
    if (code == tw_ok) return
    if (present(message)) then
      context%message = message
    else if (c_associated(context%handle)) then
      context%message = text_of(c_last_error(context%handle))
    else
      context%message = "no context: call tw_create first"
    end if
    if (present(status)) return
    print "(a)", "tilewright: " // context%message
    error stop 1
  end subroutine

  ! Products of arrays of any type, given by their addresses and shapes; a batch has a third extent.
  subroutine multiply(context, dtype, op_a, op_b, alpha, a, shape_a, b, shape_b, beta, c, shape_c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: dtype, op_a, op_b
    type(c_ptr), intent(in) :: alpha, a, b, beta, c
    integer(int64), intent(in) :: shape_a(:), shape_b(:), shape_c(:)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    type(tw_options), target :: own
    integer(int64) :: m, n, k, rows_a, rows_b, cols_b
    if (present(options)) own = options
    own%struct_size = c_sizeof(own)
    m = shape_c(1)
    n = shape_c(2)
    rows_a = merge(shape_a(1), shape_a(2), op_a == tw_none)
    k = merge(shape_a(2), shape_a(1), op_a == tw_none)
    rows_b = merge(shape_b(1), shape_b(2), op_b == tw_none)
    cols_b = merge(shape_b(2), shape_b(1), op_b == tw_none)
    if (rows_a /= m .or. cols_b /= n .or. rows_b /= k) then
      call finish(context, tw_invalid_argument, status, "op(a) is " // sizes(rows_a, k) // " and op(b) " // &
                  sizes(rows_b, cols_b) // ", which does not fit c, " // sizes(m, n))
    else if (size(shape_c) == 2) then
      call finish(context, c_gemm(context%handle, dtype, op_a, op_b, m, n, k, alpha, a, leading(shape_a), b, &
                                  leading(shape_b), beta, c, leading(shape_c), c_loc(own)), status)
    else if (.not. (any(shape_a(3) == [1_int64, shape_c(3)]) .and. any(shape_b(3) == [1_int64, shape_c(3)]))) then
      call finish(context, tw_invalid_argument, status, "a and b must have 1 matrix or as many as c")
    else
      call finish(context, c_gemm_strided_batched(context%handle, dtype, op_a, op_b, m, n, k, alpha, a, leading(shape_a), &
                                                  stride(shape_a, shape_c), b, leading(shape_b), stride(shape_b, shape_c), &
                                                  beta, c, leading(shape_c), shape_c(1) * shape_c(2), shape_c(3), &
                                                  c_loc(own), 0_c_int, c_null_ptr), status)
    end if
  end subroutine

  pure integer(int64) function leading(extents)
    integer(int64), intent(in) :: extents(:)
    leading = max(extents(1), 1_int64)
  end function

  ! 0 for the one matrix of a whole batch
  pure integer(int64) function stride(extents, of_c)
    integer(int64), intent(in) :: extents(:), of_c(:)
    stride = merge(extents(1) * extents(2), 0_int64, extents(3) == of_c(3))
  end function

  function sizes(rows, cols) result(text)
    integer(int64), intent(in) :: rows, cols
    character(:), allocatable :: text
    character(48) :: room
    write (room, "(i0, a, i0)") rows, " x ", cols
    text = trim(room)
  end function

  subroutine gemm_f32(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    real(real32), intent(in), target :: alpha, beta
    real(real32), intent(in), contiguous, target :: a(:, :), b(:, :)
    real(real32), intent(inout), contiguous, target :: c(:, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_f32, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine gemm_batched_f32(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    real(real32), intent(in), target :: alpha, beta
    real(real32), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    real(real32), intent(inout), contiguous, target :: c(:, :, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_f32, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine lu_factor_f32(context, a, pivots, info, status)
    type(tw_context), intent(inout) :: context
    real(real32), intent(inout), contiguous, target :: a(:, :)
    integer(int64), intent(out), contiguous :: pivots(:)
    integer(int64), intent(out) :: info
    integer(c_int), intent(out), optional :: status
    call factor(context, tw_f32, c_loc(a), shape(a, int64), pivots, info, status)
  end subroutine

  subroutine lu_solve_f32(context, op, lu, pivots, b, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op
    real(real32), intent(in), contiguous, target :: lu(:, :)
    integer(int64), intent(in), contiguous :: pivots(:)
    real(real32), intent(inout), contiguous, target :: b(:, :)
    integer(c_int), intent(out), optional :: status
    call solve(context, tw_f32, op, c_loc(lu), shape(lu, int64), pivots, c_loc(b), shape(b, int64), status)
  end subroutine

  subroutine gemm_f64(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    real(real64), intent(in), target :: alpha, beta
    real(real64), intent(in), contiguous, target :: a(:, :), b(:, :)
    real(real64), intent(inout), contiguous, target :: c(:, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_f64, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine gemm_batched_f64(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    real(real64), intent(in), target :: alpha, beta
    real(real64), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    real(real64), intent(inout), contiguous, target :: c(:, :, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_f64, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine lu_factor_f64(context, a, pivots, info, status)
    type(tw_context), intent(inout) :: context
    real(real64), intent(inout), contiguous, target :: a(:, :)
    integer(int64), intent(out), contiguous :: pivots(:)
    integer(int64), intent(out) :: info
    integer(c_int), intent(out), optional :: status
    call factor(context, tw_f64, c_loc(a), shape(a, int64), pivots, info, status)
  end subroutine

  subroutine lu_solve_f64(context, op, lu, pivots, b, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op
    real(real64), intent(in), contiguous, target :: lu(:, :)
    integer(int64), intent(in), contiguous :: pivots(:)
    real(real64), intent(inout), contiguous, target :: b(:, :)
    integer(c_int), intent(out), optional :: status
    call solve(context, tw_f64, op, c_loc(lu), shape(lu, int64), pivots, c_loc(b), shape(b, int64), status)
  end subroutine

  subroutine gemm_c64(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    complex(real32), intent(in), target :: alpha, beta
    complex(real32), intent(in), contiguous, target :: a(:, :), b(:, :)
    complex(real32), intent(inout), contiguous, target :: c(:, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_c64, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine gemm_batched_c64(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    complex(real32), intent(in), target :: alpha, beta
    complex(real32), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    complex(real32), intent(inout), contiguous, target :: c(:, :, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_c64, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine lu_factor_c64(context, a, pivots, info, status)
    type(tw_context), intent(inout) :: context
    complex(real32), intent(inout), contiguous, target :: a(:, :)
    integer(int64), intent(out), contiguous :: pivots(:)
    integer(int64), intent(out) :: info
    integer(c_int), intent(out), optional :: status
    call factor(context, tw_c64, c_loc(a), shape(a, int64), pivots, info, status)
  end subroutine

  subroutine lu_solve_c64(context, op, lu, pivots, b, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op
    complex(real32), intent(in), contiguous, target :: lu(:, :)
    integer(int64), intent(in), contiguous :: pivots(:)
    complex(real32), intent(inout), contiguous, target :: b(:, :)
    integer(c_int), intent(out), optional :: status
    call solve(context, tw_c64, op, c_loc(lu), shape(lu, int64), pivots, c_loc(b), shape(b, int64), status)
  end subroutine

  subroutine gemm_c128(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    complex(real64), intent(in), target :: alpha, beta
    complex(real64), intent(in), contiguous, target :: a(:, :), b(:, :)
    complex(real64), intent(inout), contiguous, target :: c(:, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_c128, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine gemm_batched_c128(context, op_a, op_b, alpha, a, b, beta, c, options, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op_a, op_b
    complex(real64), intent(in), target :: alpha, beta
    complex(real64), intent(in), contiguous, target :: a(:, :, :), b(:, :, :)
    complex(real64), intent(inout), contiguous, target :: c(:, :, :)
    type(tw_options), intent(in), optional :: options
    integer(c_int), intent(out), optional :: status
    call multiply(context, tw_c128, op_a, op_b, c_loc(alpha), c_loc(a), shape(a, int64), c_loc(b), shape(b, int64), c_loc(beta), &
                  c_loc(c), shape(c, int64), options, status)
  end subroutine

  subroutine lu_factor_c128(context, a, pivots, info, status)
    type(tw_context), intent(inout) :: context
    complex(real64), intent(inout), contiguous, target :: a(:, :)
    integer(int64), intent(out), contiguous :: pivots(:)
    integer(int64), intent(out) :: info
    integer(c_int), intent(out), optional :: status
    call factor(context, tw_c128, c_loc(a), shape(a, int64), pivots, info, status)
  end subroutine

  subroutine lu_solve_c128(context, op, lu, pivots, b, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: op
    complex(real64), intent(in), contiguous, target :: lu(:, :)
    integer(int64), intent(in), contiguous :: pivots(:)
    complex(real64), intent(inout), contiguous, target :: b(:, :)
    integer(c_int), intent(out), optional :: status
    call solve(context, tw_c128, op, c_loc(lu), shape(lu, int64), pivots, c_loc(b), shape(b, int64), status)
  end subroutine

  subroutine factor(context, dtype, a, extents, pivots, info, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: dtype
    type(c_ptr), intent(in) :: a
    integer(int64), intent(in) :: extents(2)
    integer(int64), intent(out), contiguous :: pivots(:)
    integer(int64), intent(out) :: info
    integer(c_int), intent(out), optional :: status
    info = 0
    if (size(pivots) < minval(extents)) then
      call finish(context, tw_invalid_argument, status, "pivots is too short for a, " // sizes(extents(1), extents(2)))
      return
    end if
    call finish(context, c_lu_factor(context%handle, dtype, extents(1), extents(2), a, leading(extents), pivots, info, &
                                     c_null_ptr), status)
  end subroutine

  subroutine solve(context, dtype, op, lu, extents, pivots, b, shape_b, status)
    type(tw_context), intent(inout) :: context
    integer(c_int), intent(in) :: dtype, op
    type(c_ptr), intent(in) :: lu, b
    integer(int64), intent(in) :: extents(2), shape_b(2)
    integer(int64), intent(in), contiguous :: pivots(:)
    integer(c_int), intent(out), optional :: status
    if (extents(1) /= extents(2) .or. shape_b(1) /= extents(1) .or. size(pivots) < extents(1)) then
      call finish(context, tw_invalid_argument, status, "lu is " // sizes(extents(1), extents(2)) // " and b " // &
                  sizes(shape_b(1), shape_b(2)) // ": systems need a square lu, as many rows of b and as many pivots")
      return
    end if
    call finish(context, c_lu_solve(context%handle, dtype, op, extents(1), shape_b(2), lu, leading(extents), pivots, b, &
                                    leading(shape_b), c_null_ptr), status)
  end subroutine
end module
