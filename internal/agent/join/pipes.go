package join

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slicesPerSecond per second: what one second may carry is spread over it.
	slicesPerSecond = 10
	// maxBuffer bounds the buffer.
	maxBuffer = 256 << 10
)

// CopyThrottled copies from r to w until r ends, at no more than perSecond bytes per second. It returns the
// first error of either side.
func CopyThrottled(w io.Writer, r io.Reader, perSecond int64) error {
	if perSecond <= 0 {
		return errors.New("the rate must be positive")
	}
	buf := make([]byte, min(max(perSecond/slicesPerSecond, 1), maxBuffer))
	bucket := bucket{rate: float64(perSecond), last: time.Now()}
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if pause := bucket.take(n, time.Now()); pause > 0 {
				timer := time.NewTimer(pause)
				<-timer.C
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// bucket fills with rate bytes per second, and holds a tenth of a second's worth.
type bucket struct {
	rate, level float64
	last        time.Time
}

// take takes n bytes out and returns how long to wait until they are there.
func (b *bucket) take(n int, now time.Time) time.Duration {
	b.level = min(b.level+now.Sub(b.last).Seconds()*b.rate, b.rate/slicesPerSecond)
	b.last = now
	b.level -= float64(n)
	if b.level >= 0 {
		return 0
	}
	return time.Duration(-b.level / b.rate * float64(time.Second))
}

// size in bytes is what Linux gives an ordinary user at most (fs.pipe-max-size), where that was not changed.
const size = 1 << 20

// EnlargePipes widens standard input and output, where they are pipes. What a host does not give
// (fs.pipe-user-pages-soft) a transfer can do without, so it is not reported.
func EnlargePipes() {
	for _, fd := range []uintptr{0, 1} {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
	}
}
