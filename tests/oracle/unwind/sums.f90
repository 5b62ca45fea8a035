! Internal procedures, recursion, formatted output, array functions.
module numbers
contains
  recursive function fib(n) result(r)
    integer, intent(in) :: n
    integer :: r
    if (n < 2) then
      r = n
    else
      r = fib(n - 1) + fib(n - 2)
    end if
  end function
  subroutine outer(rounds)
    integer, intent(in) :: rounds
    real(8), allocatable :: a(:, :), b(:, :)
    character(len=80) :: text
    integer :: i
    allocate (a(60, 60), b(60, 60))
    call random_number(a)
    do i = 1, rounds
      b = matmul(a, a)
      call inner(i)
      write (text, '(i8,f12.4)') fib(15), b(3, 3)
      if (text(1:1) == 'x') print *, text
    end do
  contains
    subroutine inner(k)
      integer, intent(in) :: k
      a(1, 1) = sum(sin(b)) + k
    end subroutine
  end subroutine
end module

program sums
  use numbers
  call outer(1500)
end program
