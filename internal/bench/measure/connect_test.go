package measure

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
	"github.com/galera-operator/galera-operator/internal/usage"
)

func TestAwait(t *testing.T) {
	looks := 0
	err := await(context.Background(), time.Millisecond, func() (string, error) {
		if looks++; looks < 3 {
			return "the old key", nil
		}
		return "", nil
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, %v", looks, err)
	}
	short, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer stop()
	if err := await(short, time.Millisecond, func() (string, error) { return "the old key", nil }); err == nil ||
		err.Error() != "the old key" {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused")
	if err := await(context.Background(), time.Hour, func() (string, error) { return "", refused }); !errors.Is(err,
		refused) {
		t.Errorf("got %v", err)
	}
}

// refusing fails at once, as a local port without a listener.
type refusing struct{ driver.Connector }

func (refusing) Connect(context.Context) (driver.Conn, error) { return nil, errors.New("refused") }

func TestConnectionsEndWithTheirWay(t *testing.T) {
	lost := make(chan struct{})
	c := &connector{hosts: []driver.Connector{refusing{}}, loop: loop{threads: 2, seconds: 20, lost: lost}}
	time.AfterFunc(20*time.Millisecond, func() { close(lost) })
	begin := time.Now()
	c.run(t.Context(), c.next)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("went on for %s", took)
	}
}

// late is a context whose deadline is over, and which does not know yet.
type late struct{ context.Context }

// Deadline is over.
func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// TestTheEndIsNoFailure: what is dialled after the end fails at once, and there may be time for thousands.
func TestTheEndIsNoFailure(t *testing.T) {
	lost := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(lost) })
	c := &connector{hosts: []driver.Connector{refusing{}}, loop: loop{threads: 2, seconds: 20, lost: lost}}
	c.run(late{t.Context()}, c.next)
	if c.failed != 0 {
		t.Errorf("%d connections failed after the end", c.failed)
	}
}

// TestResumption: sessions are resumed where the workload wants it, and nowhere else.
func TestResumption(t *testing.T) {
	dir := newAuthority(t)
	for name, tc := range map[string]struct {
		version uint16
		on      bool
		server  func(*tls.Config)
		resumed int64
		asked   string
		spoken  string
	}{
		"1.3": {version: tls.VersionTLS13, on: true, resumed: 20, asked: result.ResumptionOn,
			spoken: "TLS 1.3"},
		"1.2": {version: tls.VersionTLS12, on: true, resumed: 20, asked: result.ResumptionOn,
			spoken: "TLS 1.2"},
		"off": {version: tls.VersionTLS13, asked: result.ResumptionOff, spoken: "TLS 1.3"},
		"the server cannot": {version: tls.VersionTLS13, on: true,
			server: func(c *tls.Config) { c.SessionTicketsDisabled = true }, asked: result.ResumptionOn, spoken: "TLS 1.3"},
	} {
		conf := serverTLS(t, dir, tc.version)
		if tc.server != nil {
			tc.server(conf)
		}
		address := listen(t, fakeDB{tls: conf, answer: func(string) (string, string) { return "1", "" }}.serve)
		r := &runner{target: target{ca: filepath.Join(dir, "ca.crt"), plan: result.Plan{TLS: true, Hosts: []string{serverIP},
			Connect: &result.Connect{Threads: 2, Connections: 20, TLSVersion: strings.TrimPrefix(tc.spoken, "TLS "),
				Resumption: tc.on}}}}
		if err := (connecting{r}).connections(t.Context(), route{network: "tcp", address: address}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := r.out.Connect; got.Connections != 20 || got.Resumed != tc.resumed || got.Resumption != tc.asked ||
			got.Protocol != tc.spoken {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestKeyExchange: the client offers the one it is reported, and what both ends agreed on is reported; a server that
// has another refuses.
func TestKeyExchange(t *testing.T) {
	dir := newAuthority(t)
	for _, tc := range []struct {
		offered, agreed string
		server          []tls.CurveID
		refused         bool
	}{
		{offered: "", agreed: "X25519MLKEM768"},
		{offered: "X25519MLKEM768", agreed: "X25519MLKEM768"},
		{offered: "X25519", agreed: "X25519"},
		{offered: "P-256", agreed: "P-256"},
		{offered: "X25519MLKEM768", server: []tls.CurveID{tls.X25519}, refused: true},
	} {
		conf := serverTLS(t, dir, tls.VersionTLS13)
		conf.CurvePreferences = tc.server
		address := listen(t, fakeDB{tls: conf, answer: func(string) (string, string) { return "1", "" }}.serve)
		r := &runner{target: target{ca: filepath.Join(dir, "ca.crt"), plan: result.Plan{TLS: true, Hosts: []string{serverIP},
			Connect: &result.Connect{Threads: 1, Connections: 3, TLSVersion: "1.3", KeyExchange: tc.offered}}}}
		err := (connecting{r}).connections(t.Context(), route{network: "tcp", address: address})
		switch {
		case tc.refused && err == nil:
			t.Errorf("%s: not refused", tc.offered)
		case !tc.refused && (err != nil || r.out.Connect.KeyExchange != tc.agreed):
			t.Errorf("%s: %v, %+v", tc.offered, err, r.out.Connect)
		}
	}
}

// TestNoQuery: clients log in and close.
func TestNoQuery(t *testing.T) {
	for _, silent := range []bool{false, true} {
		var asked atomic.Int64
		address := listen(t, fakeDB{answer: func(string) (string, string) { asked.Add(1); return "1", "" }}.serve)
		r := &runner{target: target{plan: result.Plan{Hosts: []string{serverIP},
			Connect: &result.Connect{Threads: 1, Connections: 10, NoQuery: silent}}}}
		if err := (connecting{r}).connections(t.Context(), route{network: "tcp", address: address}); err != nil {
			t.Fatal(err)
		}
		if r.out.Connect.Connections != 10 || (asked.Load() == 0) != silent {
			t.Errorf("silent %v: %d connections, %d queries", silent, r.out.Connect.Connections, asked.Load())
		}
	}
}

// TestPooled: what the proxy's container used is the client's, and what it opened is counted.
func TestPooled(t *testing.T) {
	dir := shortDir(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- RunSidecar(ctx, transport.UsageSocket(dir), []string{"sh", "-c", "while :; do :; done"})
	}()
	defer func() { stop(); t.Log(<-ended) }()
	address := listen(t, fakeDB{answer: func(string) (string, string) { return "1", "" }}.serve)
	taken := 100.0
	w := route{network: "tcp", address: address, pooled: true,
		opened: func(context.Context) (float64, error) { taken += 2; return taken, nil }}
	r := &runner{sidecar: transport.UsageSocket(dir),
		target: target{plan: result.Plan{Hosts: []string{serverIP}, Connect: &result.Connect{Threads: 1, Seconds: 1}}}}
	if err := await(t.Context(), 10*time.Millisecond, func() (string, error) {
		_, err := sidecarUsage(ctx, r.sidecar)
		return inWords(err), nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := (connecting{r}).connections(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if c := r.out.Connect; !c.Pooled || c.Backend != 2 {
		t.Errorf("got %+v", c)
	}
	// Where there are no counters nothing can be reported.
	if u, known := usage.CPU(); known && u.CPUSeconds > 0 &&
		(r.out.Proxy.CPUSeconds <= 0 || r.out.Client.CPUSeconds <= r.out.Proxy.CPUSeconds) {
		t.Errorf("the proxy %+v, the client %+v", r.out.Proxy, r.out.Client)
	}
	stop()
	t.Log(<-ended)
	ended <- nil
	if err := (connecting{r}).connections(t.Context(), w); err == nil || !strings.Contains(err.Error(),
		"asking the proxy's container") {
		t.Errorf("a proxy that reports nothing: %v", err)
	}
}

// TestSeriesOfConnections: a chart is drawn of it.
func TestSeriesOfConnections(t *testing.T) {
	address := listen(t, fakeDB{answer: func(string) (string, string) { return "1", "" }}.serve)
	r := &runner{target: target{plan: result.Plan{Hosts: []string{serverIP},
		Connect: &result.Connect{Threads: 1, Seconds: 2}}}}
	if err := (connecting{r}).connections(t.Context(), route{network: "tcp", address: address}); err != nil {
		t.Fatal(err)
	}
	got := r.out.Connect
	if len(got.Series) != 2 || got.Series[1].TPS == 0 || got.Series[0].TPS+got.Series[1].TPS > float64(got.Connections) ||
		got.Resumption != "" {
		t.Errorf("%d connections, %+v", got.Connections, got.Series)
	}
}
