package archiver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// TestHeard: everyone gets to know how far the archive is; the time is heard from who has the archiver's key.
func TestHeard(t *testing.T) {
	made := func() tls.Certificate {
		t.Helper()
		cert, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "archiver")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	own, other := made(), made()
	for name, c := range map[string]struct {
		shown []tls.Certificate
		date  string
		away  bool // its own certificate, after the handshake
		heard bool
	}{
		"the operator":          {[]tls.Certificate{own}, "", false, true},
		"the operator, no date": {[]tls.Certificate{own}, "now", false, false},
		"another certificate":   {[]tls.Certificate{other}, "", false, false},
		"none":                  {nil, "", false, false},
		"its own is not known":  {[]tls.Certificate{own}, "", true, false},
	} {
		var away atomic.Bool
		b := &board{now: task.Archived{Segment: 7}}
		s := b.server(func() (tls.Certificate, error) {
			if away.Load() {
				return tls.Certificate{}, errors.New("it is being replaced")
			}
			return own, nil
		})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.ServeTLS(listener, "", "") }()
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS13,
			InsecureSkipVerify: true, Certificates: c.shown}) //nolint:gosec // whom it reaches is known
		if err != nil {
			t.Fatal(err)
		}
		away.Store(c.away)
		client := http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn,
			error) {
			return conn, nil
		}}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://archiver"+task.PathArchived, nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Set("Date", c.date); c.date == "" {
			req.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		}
		req.Header.Set(task.HeaderAsks, task.AskHurry)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var have task.Archived
		if err := json.NewDecoder(resp.Body).Decode(&have); err != nil || have.Segment != 7 {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
		_ = resp.Body.Close()
		_ = s.Close()
		if want := len(c.shown) > 0 && &c.shown[0].Certificate[0][0] == &own.Certificate[0][0] && !c.away; want !=
			b.hurries(time.Now()) {
			t.Errorf("%s: hurries: %v", name, !want)
		}
		ahead, heard := b.heard()
		if heard != c.heard || heard && (ahead-time.Hour).Abs() > 10*time.Second {
			t.Errorf("%s: heard %v, %s ahead", name, heard, ahead)
		}
	}
}

// TestLinesAreReported: the lines of history are known to the operator once another cluster has taken over.
func TestLinesAreReported(t *testing.T) {
	b := &board{}
	b.archived(place{binlog.Head{Number: 4, Last: gtid(7), Lines: []binlog.Line{{History: "h", ID: "a"}}}})
	if have := b.answer(); have.Segment != 4 || have.Lines != nil {
		t.Errorf("%+v", have)
	}
	b.set(func(a *task.Archived) { a.Promotion = &task.Promotion{Number: 1} })
	if have := b.answer(); len(have.Lines) != 1 || have.Lines[0].ID != "a" {
		t.Errorf("%+v", have)
	}
}

// TestReported: what is reported of a chain is about that chain, and times only go on.
func TestReported(t *testing.T) {
	at := func(number, seq uint64, begins bool, through time.Time) place {
		return place{binlog.Head{Number: number, Last: gtid(seq), Begins: begins, Through: through}}
	}
	b := &board{}
	if _, known := b.today(); known || b.based() {
		t.Errorf("at first: %+v", b.now)
	}
	if _, ok := b.archives(); ok {
		t.Error("there is an archive at first")
	}
	b.surveyed(3, policy.Report{Base: policy.Base{ID: "x"}})
	if b.based() {
		t.Error("there is no archive, and it was surveyed")
	}
	b.archived(at(4, 7, true, noon))
	domain, ok := b.archives()
	if b.based() || !b.now.Through.Equal(noon) || !ok || domain != gtid(7).Domain {
		t.Errorf("begun: %+v", b.now)
	}
	b.surveyed(3, policy.Report{Base: policy.Base{ID: "before"}, Chain: 1})
	if b.based() {
		t.Errorf("a survey of the chain before: %+v", b.now)
	}
	b.surveyed(4, policy.Report{Base: policy.Base{ID: "b1"}, Chain: 4, Gap: "gap", From: noon,
		Unfit: policy.Unfit{ID: "u", Why: "w"}})
	if n := b.now; !b.based() || n.Base != "b1" || n.Chain != 4 || n.Gap != "gap" || !n.From.Equal(noon) ||
		n.Unfit != "u" || n.UnfitWhy != "w" {
		t.Errorf("surveyed: %+v", n)
	}
	b.follows("a")
	b.problem(storeError{"StoreFull", "full"})
	if n := b.now; n.Node != "" || n.Problem != "full" || n.Reason != "StoreFull" {
		t.Errorf("a problem of the store: %+v", n)
	}
	b.follows("a")
	if b.now.Problem == "" || b.now.Node != "a" {
		t.Errorf("followed while nothing is archived: %+v", b.now)
	}
	b.problem(errors.New("away"))
	if n := b.now; n.Problem != "away" || n.Reason != "" {
		t.Errorf("another problem: %+v", n)
	}
	b.archived(at(5, 8, false, noon.Add(-time.Hour)))
	if n := b.now; n.Problem != "" || n.Base != "b1" || !n.Surveyed || n.Segment != 5 || n.GTID != gtid(8).String() ||
		!n.Through.Equal(noon) {
		t.Errorf("gone on: %+v", n)
	}
	if b.through(noon.Add(-time.Minute)); !b.now.Through.Equal(noon) {
		t.Errorf("an earlier time: %s", b.now.Through)
	}
	if b.through(noon.Add(time.Minute)); !b.now.Through.Equal(noon.Add(time.Minute)) {
		t.Errorf("a later time: %s", b.now.Through)
	}
	b.problem(errors.New("away"))
	if b.idle(gtid(8)); b.now.Problem != "" || b.now.Reason != "" {
		t.Errorf("nothing follows: %+v", b.now)
	}
	if b.archived(at(6, 9, true, noon.Add(time.Hour))); b.based() || b.now.Surveyed || b.now.Base != "" {
		t.Errorf("begun anew: %+v", b.now)
	}
	if b.numbered(&task.Skew{Seqno: 3}); b.now.Skew == nil || b.now.Skew.Seqno != 3 {
		t.Errorf("numbers: %+v", b.now.Skew)
	}
	if b.kept("why", true); b.now.Kept != "why" || !b.now.Unread {
		t.Errorf("kept: %+v", b.now)
	}
}

// TestRawTimes: the times of a segment's transactions, as their clients have set them: that of the first one, the
// earliest and the latest, and when the last one was read that says to be of before what was called archived.
func TestRawTimes(t *testing.T) {
	var times rawTimes
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	for i, minute := range []int{5, 3, 9, 4, 7} {
		times.add(at(minute), at(5+i/4), at(20+i))
	}
	if times != (rawTimes{at(5), at(3), at(9), at(6), at(23)}) {
		t.Errorf("%+v", times)
	}
}
