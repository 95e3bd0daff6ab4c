package archiver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// board is what the operator asks for.
type board struct {
	mu      sync.Mutex
	now     task.Archived
	begun   uint64 // the segment that the last chain of this run has begun with
	clocked clocked
	differ  map[string]time.Duration // clocks that are reported
	asked   asked
	hurried time.Time // when the operator has asked last to have stored at once what was read
}

// clocked is a time by the clocks that agree, and when it was that time.
type clocked struct{ time, at time.Time }

// asked is how far the clock is ahead of the own one that the operator has sent with its question, and when.
type asked struct {
	ahead time.Duration
	at    time.Time
}

// askedWithin is how long the operator's last question counts: it asks every five seconds.
const askedWithin = time.Minute

// hear notes the time of a question, which is by the API server's clock.
func (b *board) hear(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return // a question without it
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.asked = asked{at.Sub(now.Round(0)), now}
}

// heard returns how far that clock is ahead; ok reports whether it is known.
func (b *board) heard() (ahead time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked.ahead, time.Since(b.asked.at) < askedWithin
}

func (b *board) set(change func(*task.Archived)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
}

// archived describes what the store has. With a new chain, what was found about the one before is void.
func (b *board) archived(at place) {
	b.set(func(a *task.Archived) {
		a.GTID, a.Segment, a.Checksum, a.Lines = at.Last.String(), at.Number, at.Checksum, at.Lines
		a.Problem, a.Reason = "", ""
		if at.Through.After(a.Through) {
			a.Through = at.Through
		}
		if at.Begins {
			b.begun = at.Number
			a.Base, a.Surveyed = "", false
		}
	})
}

// through is a time that was stored: a restore can end there. A later one that the store does not name is not reported.
func (b *board) through(t time.Time) {
	b.set(func(a *task.Archived) { a.Through = binlog.Later(a.Through, t) })
}

// idle reports that nothing follows the last transaction.
func (b *board) idle(last binlog.GTID) {
	b.set(func(a *task.Archived) { a.GTID, a.Problem, a.Reason = last.String(), "", "" })
}

// follows names the node that is followed. A problem stays until something is archived: while the store is away, nodes
// are followed in vain.
func (b *board) follows(host string) {
	b.set(func(a *task.Archived) { a.Node = host })
}

func (b *board) problem(err error) {
	b.set(func(a *task.Archived) {
		a.Node, a.Problem, a.Reason = "", err.Error(), ""
		var s storeError
		if errors.As(err, &s) {
			a.Reason = s.reason
		}
	})
}

// surveyed takes what was found of an archive that ends at a segment.
func (b *board) surveyed(last uint64, r policy.Report) {
	b.set(func(a *task.Archived) {
		if last >= b.begun && a.Segment > 0 {
			a.Surveyed, a.Chain, a.Base, a.From, a.Gap = true, r.Chain, r.Base.ID, r.From, r.Gap
			a.Unfit, a.UnfitWhy = r.Unfit.ID, r.Unfit.Why
		}
	})
}

// needs takes the backups that points in time are reached from.
func (b *board) needs(bases []policy.Base) {
	ids := []string{}
	for _, base := range bases {
		ids = append(ids, base.ID)
	}
	b.set(func(a *task.Archived) { a.Needed = ids })
}

// empty reports whether the store has no segment, so that no point in time needs a backup; otherwise that is not known.
func (b *board) empty(none bool) {
	b.set(func(a *task.Archived) {
		switch {
		case a.Segment > 0: // meanwhile
		case none:
			a.Needed = []string{}
		default:
			a.Needed = nil
		}
	})
}

// numbered reports how nodes number transactions differently, nil for what is not known or not so.
func (b *board) numbered(skew *task.Skew) { b.set(func(a *task.Archived) { a.Skew = skew }) }

// clock notes the time now by the clocks that agree, and reports those that do not.
func (b *board) clock(now time.Time, c policy.Clock) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clocked, b.differ = clocked{now, time.Now()}, c.Differing(b.differ)
	b.now.Clocks = policy.DescribeClocks(b.differ)
}

// today is the time by those clocks; ok reports whether it is known. The archiver's own may have been set since.
func (b *board) today() (now time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clocked.time.Add(time.Since(b.clocked.at)), !b.clocked.at.IsZero()
}

// kept reports why no segment is removed, "" when those that nothing needs are, and whether the backups were not read.
func (b *board) kept(why string, unread bool) {
	b.set(func(a *task.Archived) { a.Kept, a.Unread = why, unread })
}

// serve reports it until ctx ends, under the certificate that the archiver logs in with: the operator knows it. Nothing
// of it is secret.
func (b *board) serve(ctx context.Context) error {
	s := b.server(func() (tls.Certificate, error) {
		return tls.LoadX509KeyPair(filepath.Join(task.ClientDir, "tls.crt"), filepath.Join(task.ClientDir, "tls.key"))
	})
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	return s.ListenAndServeTLS("", "")
}

// server answers everyone. A time is heard from the operator only, which shows the archiver's own certificate: others
// who reach the port would have a vote on what is called archived.
func (b *board) server(pair func() (tls.Certificate, error)) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+task.PathArchived, func(w http.ResponseWriter, r *http.Request) {
		if own, err := pair(); err == nil && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 &&
			bytes.Equal(r.TLS.PeerCertificates[0].Raw, own.Certificate[0]) {
			b.hear(r.Header.Get("Date"))
			if r.Header.Get(task.HeaderAsks) == task.AskHurry {
				b.hurry()
			}
		}
		_ = json.NewEncoder(w).Encode(b.answer())
	})
	return &http.Server{Addr: ":" + strconv.Itoa(task.ArchiverPort), Handler: mux, ReadTimeout: askTime,
		WriteTimeout: askTime, MaxHeaderBytes: 8 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				own, err := pair()
				return &own, err
			}}}
}

// answer is what is reported. Lines of history are needed for what another cluster lacks alone.
func (b *board) answer() task.Archived {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now
	if now.Promotion == nil {
		now.Lines = nil
	}
	return now
}

// archives reports whether there is an archive, and of which domain.
func (b *board) archives() (domain uint32, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := binlog.Parse(b.now.GTID)
	return g.Domain, err == nil && b.now.Segment > 0
}

// based reports whether there is a backup that leads to the end of the archive.
func (b *board) based() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now.Surveyed && b.now.Base != ""
}
