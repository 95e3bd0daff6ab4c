package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const watchPace = time.Second

// event is what was not as it should be with a node.
type event struct {
	member, text string
	// gives reports whether the node gave its state, or caught up with what came meanwhile.
	gives bool
}

// watch checks every node once a second until ctx ends, and returns each event once.
func (a agents) watch(ctx context.Context) []event {
	var events []event
	missed := map[string]int{}
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return events
		case <-tick.C:
		}
		for _, m := range a.members {
			place, err := a.read(ctx, m, placeMetrics)
			if ctx.Err() != nil {
				return events
			}
			if err == nil {
				missed[m.Name] = 0
				events = add(events, a.judge(m, place)...)
				continue
			}
			if missed[m.Name]++; missed[m.Name] >= maxMissed {
				events = add(events, event{member: m.Name, text: m.Name + " did not answer during the run"})
			}
		}
	}
}

func add(events []event, more ...event) []event {
	for _, e := range more {
		if !slices.Contains(events, e) {
			events = append(events, e)
		}
	}
	return events
}

// judge describes what is wrong by one node's account: with itself, and with those it does not see.
func (a agents) judge(m result.Member, place result.Sample) (out []event) {
	switch state := label(place, "state"); {
	case place[result.MetricPrimary] != 1:
		out = append(out, event{member: m.Name, text: m.Name + " was not in a Primary component during the run"})
	case state != cluster.Synced:
		out = append(out, event{m.Name, fmt.Sprintf("%s was %s instead of Synced during the run", m.Name, state),
			state == cluster.Donor || state == cluster.Joined})
	}
	for _, other := range a.members {
		if _, seen := place["member:"+other.Name]; !seen && label(place, "member") != "" {
			out = append(out, event{member: other.Name, text: other.Name + " was gone during the run"})
		}
	}
	return out
}

// noticed is what a run was disturbed by, in words.
func (r *runner) noticed(events []event) (out []string) {
	for _, e := range events {
		if !r.wanted(e) {
			out = append(out, e.text)
		}
	}
	return out
}

// wanted reports whether an event is a part of the transfer, or of the operation, that is measured.
func (r *runner) wanted(e event) bool {
	if r.out.Restarts(e.member) || r.out.Gives() && e.gives {
		return true
	}
	t := r.out.Transfer
	return t != nil && (e.member == t.Victim || e.gives && (e.member == t.Donor || t.Donor == ""))
}
