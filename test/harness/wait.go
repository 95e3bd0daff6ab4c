package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is the resolution of every wait, and therefore of every measured duration.
const pollEvery = 200 * time.Millisecond

// Check looks once. It reports whether the wait is over and, in a few words, how things are; an
// error is only reported when the time is over, because a thing that is being broken on purpose fails
// in many ways meanwhile.
type Check func(ctx context.Context) (done bool, progress string, err error)

// Until checks again and again until check is content, and prints every change on the way.
func (k *Kube) Until(ctx context.Context, what string, timeout time.Duration, check Check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	start, last := time.Now(), ""
	var lastErr error
	for {
		done, progress, err := check(ctx)
		if done {
			k.Log("%s: done after %s", what, time.Since(start).Round(100*time.Millisecond))
			return nil
		}
		if ctx.Err() == nil {
			lastErr = err
			if progress == "" && err != nil {
				progress = err.Error()
			}
			if progress != last {
				last = progress
				k.Log("%s: %4.0f s: %s", what, time.Since(start).Seconds(), progress)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w; last seen: %s", what, context.Cause(ctx), last), lastErr)
		case <-time.After(pollEvery):
		}
	}
}
