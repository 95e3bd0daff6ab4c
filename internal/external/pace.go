package external

import (
	"context"

	"golang.org/x/time/rate"
)

// pace bounds how much is read of the source in a second. The zero value bounds nothing.
type pace struct{ limit *rate.Limiter }

// maxBurst is the most that is read at once, in bytes: what one INSERT takes.
const maxBurst = insertBytes

func newPace(bytesPerSecond int64) pace {
	if bytesPerSecond <= 0 {
		return pace{}
	}
	return pace{rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(bytesPerSecond, maxBurst)))}
}

// wait returns when that many bytes more may be read.
func (p pace) wait(ctx context.Context, bytes int64) error {
	for p.limit != nil && bytes > 0 {
		n := min(bytes, int64(p.limit.Burst()))
		if err := p.limit.WaitN(ctx, int(n)); err != nil {
			return err
		}
		bytes -= n
	}
	return nil
}
