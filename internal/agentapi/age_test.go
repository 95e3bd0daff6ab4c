package agentapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestAges sends a report from a host whose clock is wrong.
func TestAges(t *testing.T) {
	here := time.Now()
	for name, skew := range map[string]time.Duration{"right": 0, "behind": -3 * time.Minute, "ahead": 3 * time.Minute,
		"a year behind": -365 * 24 * time.Hour} {
		there := here.Add(skew)
		fact := ChannelFact{CheckedAt: there.Add(-20 * time.Second)}
		r := Report{
			TLS: TLSReport{Channels: map[string]ChannelFact{"c": fact}, Peers: map[string]ChannelFact{"p": fact}},
			Away: []Away{{From: there.Add(-time.Minute), To: there.Add(-30 * time.Second)},
				{From: there.Add(-10 * time.Second)}},
			Join: &Join{StartedAt: there.Add(-time.Minute)},
		}
		data, err := json.Marshal(r.Sent(there))
		if err != nil {
			t.Fatal(err)
		}
		if r.TLS.Channels["c"].AgeSeconds != nil || r.Away[0].FromAgeSeconds != nil || r.Join.AgeSeconds != nil {
			t.Error("what is kept was changed")
		}
		var got Report
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		got = got.Received(here)
		for what, c := range map[string]struct {
			at   time.Time
			want time.Duration
		}{
			"channel": {got.TLS.Channels["c"].CheckedAt, 20 * time.Second},
			"peer":    {got.TLS.Peers["p"].CheckedAt, 20 * time.Second},
			"from":    {got.Away[0].From, time.Minute},
			"to":      {got.Away[0].To, 30 * time.Second},
			"lasting": {got.Away[1].From, 10 * time.Second},
			"join":    {got.Join.Began(here), time.Minute},
		} {
			if age := here.Sub(c.at); (age - c.want).Abs() > time.Millisecond {
				t.Errorf("%s, %s: %s old, want %s", name, what, age, c.want)
			}
		}
		if !got.Away[1].To.IsZero() {
			t.Errorf("%s: what lasts has ended at %s", name, got.Away[1].To)
		}
	}
}

func TestAgesThatCannotBe(t *testing.T) {
	now := time.Now()
	of := func(seconds float64) time.Duration {
		f := ChannelFact{CheckedAt: now, AgeSeconds: &seconds}
		r := Report{TLS: TLSReport{Peers: map[string]ChannelFact{"p": f}}}.Received(now)
		return now.Sub(r.TLS.Peers["p"].CheckedAt)
	}
	if of(-100) != 0 || of(1e300) < 24*time.Hour {
		t.Errorf("%s, %s", of(-100), of(1e300))
	}
	old := Report{TLS: TLSReport{Peers: map[string]ChannelFact{"p": {CheckedAt: now.Add(-time.Hour)}}}}
	if got := old.Received(now).TLS.Peers["p"].CheckedAt; !got.Equal(now.Add(-time.Hour)) {
		t.Errorf("a report without ages, and its times count: %s", got)
	}
	ahead := Report{TLS: TLSReport{Peers: map[string]ChannelFact{"p": {CheckedAt: now.Add(time.Hour)}}}}.Sent(now)
	if got := *ahead.TLS.Peers["p"].AgeSeconds; got != 0 {
		t.Errorf("a clock that was set back makes an age of %v", got)
	}
}

// TestForgedHistories: conditions print them in commands for users to run.
func TestForgedHistories(t *testing.T) {
	const good, bad = "90e0b86f-e577-11f1-b9b1-fa90d5744545", "90e0b86f'; rm -rf ~; '"
	for _, c := range []struct {
		position, cluster, node string
		keeps, serves           bool
	}{
		{good, good, good, true, true}, {"", "", "", true, true}, {bad, good, good, false, true},
		{good, bad, good, true, false}, {good, good, bad, true, false},
		{galera.ZeroUUID, good, good, true, true},
	} {
		r := Report{Position: galera.Position{UUID: c.position, Seqno: 7},
			Server: &Server{ClusterUUID: c.cluster, NodeUUID: c.node}}.Received(time.Now())
		if keeps := r.Position.Seqno == 7; keeps != c.keeps || (r.Server != nil) != c.serves {
			t.Errorf("%+v: %+v, server %v", c, r.Position, r.Server)
		}
	}
}
