! SPDX-License-Identifier: Apache-2.0
!
! Each PE puts two numbers, and a signal after them, to the next PE. A team of all PEs then adds them up. Build and run:
!   gfortran $(pkg-config --variable=includedir meshmem)/shmem.f90 ring.f90 $(pkg-config --libs meshmem) -o ring
!   oshrun -n 4 ./ring
program ring
  use shmem
  implicit none
  integer(c_int64_t), save, target :: signal = 0, seen
  real(c_double), save, target :: sums(2)
  real(c_double), target :: mine(2)
  real(c_double), pointer :: from_left(:)
  integer(shmem_team_t) :: team
  integer(c_int) :: me, n, left, status
  type(c_ptr) :: memory

  call shmem_init()
  me = shmem_my_pe()
  n = shmem_n_pes()
  left = modulo(me - 1, n)

  memory = shmem_malloc(int(2 * 8, c_size_t))
  if (.not. c_associated(memory)) error stop 'no symmetric memory'
  call c_f_pointer(memory, from_left, [2])
  mine = [real(me, c_double), 0.5_c_double]
  call shmem_double_put_signal(memory, c_loc(mine), 2_c_size_t, c_loc(signal), 1_c_int64_t, &
                               SHMEM_SIG_OP_ADD, modulo(me + 1, n))
  seen = shmem_signal_wait_until(c_loc(signal), SHMEM_CMP_EQ, 1_c_int64_t)
  if (seen /= 1 .or. any(from_left /= [real(left, c_double), 0.5_c_double])) error stop 'wrong numbers'

  status = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, c_null_ptr, 0_c_long, team)
  if (status /= 0) error stop 'no team'
  status = shmem_double_sum_reduce(team, c_loc(sums), memory, 2_c_size_t)
  if (status /= 0 .or. any(sums /= [0.5_c_double * n * (n - 1), 0.5_c_double * n])) error stop 'wrong sums'

  if (me == 0) print '(i0,a)', n, ' PEs in Fortran'
  call shmem_free(memory)
  call shmem_finalize()
end program
