package lifecycle

import (
	"testing"
	"time"
)

func TestFarewell(t *testing.T) {
	const second, soon = time.Second, time.Millisecond
	for name, tc := range map[string]struct {
		edit func(*Farewell)
		want time.Duration
	}{
		"a restart of a replica":                  {func(*Farewell) {}, 0},
		"of the primary until a moment ago":       {func(f *Farewell) { f.Lost = soon }, followTime - soon},
		"of a primary of long ago":                {func(f *Farewell) { f.Lost = time.Hour }, 0},
		"of the primary":                          {func(f *Farewell) { f.Primary = true }, 0},
		"of the primary again":                    {func(f *Farewell) { f.Primary, f.Lost = true, second }, 0},
		"the pod of a replica goes":               {func(f *Farewell) { f.Draining = soon }, followTime - soon},
		"it has gone from the Services":           {func(f *Farewell) { f.Draining = 2 * second }, 0},
		"the primary's pod goes":                  {func(f *Farewell) { f.Primary, f.Draining = true, second }, moveTime - second},
		"the role does not move":                  {func(f *Farewell) { f.Primary, f.Draining = true, moveTime }, 0},
		"the role has just been moved":            {func(f *Farewell) { f.Lost, f.Draining = soon, 2*second }, followTime - soon},
		"there is no other":                       {func(f *Farewell) { f.Others, f.Primary, f.Draining = false, true, soon }, 0},
		"it serves no client, without a majority": {func(f *Farewell) { f.Serves, f.Lost, f.Draining = false, soon, soon }, 0},
	} {
		f := Farewell{Serves: true, Others: true}
		tc.edit(&f)
		if got := f.Wait(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
