! SPDX-License-Identifier: Apache-2.0
!
! Each PE puts two numbers to the next PE. Build and run:
!   gfortran shmem.f90 ring.f90 $(pkg-config --libs meshmem) -o ring
!   oshrun -n 4 ./ring
program ring
  use shmem
  implicit none
  integer(c_int) :: me, n, left
  real(c_double), target :: mine(2)
  real(c_double), pointer :: from_left(:)
  type(c_ptr) :: memory

  call shmem_init()
  me = shmem_my_pe()
  n = shmem_n_pes()
  left = modulo(me - 1, n)

  memory = shmem_malloc(int(2 * 8, c_size_t))
  if (.not. c_associated(memory)) error stop 'no symmetric memory'
  call c_f_pointer(memory, from_left, [2])
  mine = [real(me, c_double), 0.5_c_double]
  call shmem_double_put(memory, c_loc(mine), 2_c_size_t, modulo(me + 1, n))
  call shmem_barrier_all()

  if (any(from_left /= [real(left, c_double), 0.5_c_double])) error stop 'wrong numbers'
  if (me == 0) print '(i0,a)', n, ' PEs in Fortran'
  call shmem_free(memory)
  call shmem_finalize()
end program
