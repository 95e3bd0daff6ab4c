package main

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestOrderIsBalanced: neither of two, and none of three, comes more often at a place or after another one.
func TestOrderIsBalanced(t *testing.T) {
	for n, turns := range map[int]int{2: 2, 3: 6} {
		places, after := map[[2]int]int{}, map[[2]int]int{}
		for turn := range turns {
			o := order(turn, n)
			for place, arm := range o {
				places[[2]int{place, arm}]++
				if place > 0 {
					after[[2]int{o[place-1], arm}]++
				}
			}
		}
		for what, counts := range map[string]map[[2]int]int{"place": places, "succession": after} {
			for of, times := range counts {
				if times*n != turns || of[0] == of[1] && what == "succession" {
					t.Errorf("%d arms, %s %v: %d times in %d turns", n, what, of, times, turns)
				}
			}
		}
		if len(places) != n*n || len(after) != n*(n-1) {
			t.Errorf("%d arms: %d places, %d successions", n, len(places), len(after))
		}
	}
}

// TestOddTurnsAreRefused before anything is made.
func TestOddTurnsAreRefused(t *testing.T) {
	if err := measureSettings(t.Context(), options{turns: 5}); err == nil || !strings.Contains(err.Error(), "even") {
		t.Errorf("got %v", err)
	}
}

// noise is a change that makes a difference, or none, in a number of turns.
func noise(r *rand.Rand, name string, turns int, factor float64) tried {
	out := tried{name: name}
	for range turns {
		for arm, f := range []float64{1, factor} {
			out.turns[arm] = append(out.turns[arm], usage{tps: 1000 * f * math.Exp(0.03*r.NormFloat64()), user: 200.25,
				system: 100, waits: 12, preempted: 3, sentBytes: 3600, sentPackets: 7})
		}
	}
	return out
}

// TestTheTableIsComputedFromTheRawData, to the last digit.
func TestTheTableIsComputedFromTheRawData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := []tried{noise(r, "the same again", 6, 1), noise(r, "no TLS, nothing", 6, 1.3)}
	o := options{what: "settings", out: filepath.Join(t.TempDir(), "settings"), clients: []int{8}}
	if err := o.publish("- host: one\n", table(all), all); err != nil {
		t.Fatal(err)
	}
	again, err := readTurns(o.out + ".csv")
	if err != nil || !reflect.DeepEqual(again, all) {
		t.Fatalf("%v: read %+v", err, again)
	}
	page, err := os.ReadFile(o.out + ".md")
	if err != nil || !strings.HasSuffix(string(page), table(again)) || !strings.Contains(string(page),
		"settings.csv](settings.csv)") || !strings.Contains(string(page), "- host: one") {
		t.Errorf("%v:\n%s", err, page)
	}
	for _, want := range []string{"| the same again | 6 | ", " | no | ", "| no TLS, nothing | 6 | +", " | yes | ",
		"Holm's correction for all 2 comparisons", "300 → 300 | 15 → 15 | 514 → 514 |"} {
		if !strings.Contains(table(all), want) {
			t.Errorf("%q is not in\n%s", want, table(all))
		}
	}
}

// TestNoChangeIsAdoptedFromNoise: where no setting makes a difference, at most one table in twenty has one.
func TestNoChangeIsAdoptedFromNoise(t *testing.T) {
	const cases = 300
	r, found := rand.New(rand.NewPCG(2, 2)), 0
	for range cases {
		var all []tried
		for _, v := range variants {
			all = append(all, noise(r, v.name, 6, 1))
		}
		if strings.Contains(table(all), "| yes |") {
			found++
		}
	}
	if found > cases/20 {
		t.Errorf("%d of %d tables have a significant change", found, cases)
	}
}

// TestCallsOfATrace: each call counts once, whole or in halves, and has the bytes that it moved.
func TestCallsOfATrace(t *testing.T) {
	calls, sizes := parseCalls(`101 write(5, ""..., 1858) = 1858
102 futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
101 futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1
102 <... futex resumed>) = 0
101 write(5, ""..., 142 <unfinished ...>
102 read(7, ""..., 5) = 5
101 <... write resumed>) = 142
102 read(7, ""..., 16384) = -1 EAGAIN (Resource temporarily unavailable)
102 sendmsg(7, {msg_name=NULL}, MSG_NOSIGNAL) = 20
102 +++ exited with 0 +++
`)
	if want := map[string]float64{"write": 2, "futex to wait": 1, "futex to wake": 1, "read": 2,
		"sendmsg": 1}; !maps.Equal(calls, want) {
		t.Errorf("calls: %v", calls)
	}
	if want := map[string]float64{"write": 1000, "read": 5, "sendmsg": 20}; !maps.Equal(sizes, want) {
		t.Errorf("sizes: %v", sizes)
	}
}
