package platform

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot is a clock that cannot be set: it is the same for all processes of a machine, and goes on while that one
// sleeps.
func SinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that runs containers has it
	}
	return time.Duration(t.Nano())
}
