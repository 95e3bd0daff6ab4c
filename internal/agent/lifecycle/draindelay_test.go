package lifecycle

import (
	"testing"
	"time"
)

func TestDrainDelay(t *testing.T) {
	const second, soon = time.Second, time.Millisecond
	for name, tc := range map[string]struct {
		edit func(*DrainDelay)
		want time.Duration
	}{
		"a restart of a replica":            {func(*DrainDelay) {}, 0},
		"of the primary until a moment ago": {func(f *DrainDelay) { f.Lost = soon }, followTimeout - soon},
		"of a primary of long ago":          {func(f *DrainDelay) { f.Lost = time.Hour }, 0},
		"of the primary":                    {func(f *DrainDelay) { f.Primary = true }, 0},
		"of the primary again":              {func(f *DrainDelay) { f.Primary, f.Lost = true, second }, 0},
		"the pod of a replica goes":         {func(f *DrainDelay) { f.Draining = soon }, followTimeout - soon},
		"it has gone from the Services":     {func(f *DrainDelay) { f.Draining = 2 * second }, 0},
		"the primary's pod goes": {func(f *DrainDelay) { f.Primary, f.Draining = true, second },
			moveTimeout - second},
		"the role does not move": {func(f *DrainDelay) { f.Primary, f.Draining = true, moveTimeout }, 0},
		"the role has just been moved": {func(f *DrainDelay) { f.Lost, f.Draining = soon, 2*second },
			followTimeout - soon},
		"a proxy uses it": {func(f *DrainDelay) { f.Proxied, f.Stopping = true, second }, proxyTimeout - second},
		"a proxy uses it, and its pod goes": {func(f *DrainDelay) {
			f.Proxied, f.Stopping, f.Draining = true, second, second
		}, proxyTimeout - second},
		"a proxy uses it, and it stays": {func(f *DrainDelay) { f.Proxied = true }, 0},
		"a proxy uses it for ever":      {func(f *DrainDelay) { f.Proxied, f.Stopping = true, proxyTimeout }, 0},
		"no proxy uses it":              {func(f *DrainDelay) { f.Stopping = second }, 0},
		"a proxy uses it, and no other is there": {func(f *DrainDelay) {
			f.Others, f.Proxied, f.Stopping = false, true, second
		}, 0},
		"there is no other": {func(f *DrainDelay) {
			f.Others, f.Primary, f.Draining = false, true,
				soon
		}, 0},
		"it serves no client, without a majority": {func(f *DrainDelay) { f.Serves, f.Lost, f.Draining = false, soon, soon },
			0},
	} {
		f := DrainDelay{Serves: true, Others: true}
		tc.edit(&f)
		if got := f.Wait(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
