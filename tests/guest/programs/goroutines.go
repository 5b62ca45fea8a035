// Grows the stack of a goroutine, and gets memory for it from the kernel, which the runtime does on the thread's own stack.
package main

var kept [][]byte

//go:noinline
func work() { kept = append(kept, make([]byte, 80<<20)) }

//go:noinline
func deep(n int) byte {
	var room [1 << 20]byte
	room[n] = 1
	if n > 0 {
		return deep(n-1) + room[0]
	}
	return room[0]
}
func main() {
	done := make(chan bool)
	go func() {
		for i := 0; i < 4; i++ {
			work()
		}
		deep(100)
		done <- true
	}()
	<-done
}
