package measure

import (
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/usage"
)

// self is the processor time of this process, in seconds.
func self() float64 { return rusage(syscall.RUSAGE_SELF) }

// children is that of the load generators that have ended.
func children() float64 { return rusage(syscall.RUSAGE_CHILDREN) }

func rusage(who int) float64 {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

func throttledPeriods() float64 {
	c, _ := usage.CPU() // without counters nothing was throttled that we know of
	return c.Throttled
}
