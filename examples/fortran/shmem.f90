! SPDX-License-Identifier: Apache-2.0
!
! A module for Fortran programs: some C routines of OpenSHMEM by ISO_C_BINDING. OpenSHMEM 1.6 has no Fortran
! API of its own. Add a routine as these are: its name in bind(c), numbers by value, buffers as type(c_ptr).
module shmem
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    subroutine shmem_init() bind(c)
    end subroutine

    subroutine shmem_finalize() bind(c)
    end subroutine

    function shmem_my_pe() bind(c) result(pe)
      import :: c_int
      integer(c_int) :: pe
    end function

    function shmem_n_pes() bind(c) result(n)
      import :: c_int
      integer(c_int) :: n
    end function

    function shmem_malloc(bytes) bind(c) result(memory)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      type(c_ptr) :: memory
    end function

    subroutine shmem_free(memory) bind(c)
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine

    subroutine shmem_double_put(dest, source, nelems, pe) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: dest, source
      integer(c_size_t), value :: nelems
      integer(c_int), value :: pe
    end subroutine

    subroutine shmem_double_get(dest, source, nelems, pe) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: dest, source
      integer(c_size_t), value :: nelems
      integer(c_int), value :: pe
    end subroutine

    subroutine shmem_quiet() bind(c)
    end subroutine

    subroutine shmem_barrier_all() bind(c)
    end subroutine
  end interface
end module
