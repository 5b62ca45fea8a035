// Maps memory from two places at which Go's runtime has changed to the thread's own stack: for large pieces of memory, and for the stack of a goroutine that grows.
package main

import "runtime/debug"

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
	debug.SetGCPercent(-1) // a collection that work() is to help with needs memory of its own, by chance
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
