package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// aSidecar is a sidecar with a binding Secret.
func aSidecar(t *testing.T) *proxy {
	t.Helper()
	dir := t.TempDir()
	p := &proxy{Options: Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Sidecar: &Sidecar{Host: "shop-primary.demo.svc", Socket: filepath.Join(dir, "mysql.sock"), BindingDir: dir,
			MaxConnections: 50, MaxClients: 100}}, kick: make(chan struct{}, 1), stepped: make(chan struct{})}
	for key, value := range map[string]string{"username": "app", "password": "first", "ca.crt": "CA"} {
		write(t, p, key, value)
	}
	return p
}

func write(t *testing.T, p *proxy, key, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.Sidecar.BindingDir, key), []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestASidecarFollowsTheService: everything goes to the node that the Service led to last, and the one before is
// drained. A node with another address, and what was at an address before, are gone.
func TestASidecarFollowsTheService(t *testing.T) {
	a, b := followed{"shop-0", "10.0.0.1", "11.8"}, followed{"shop-1", "10.0.0.2", "11.8"}
	anew, instead := followed{"shop-0", "10.0.0.9", "11.8"}, followed{"shop-1", "10.0.0.1", "11.8"}
	upgraded := followed{"shop-0", "10.0.0.1", "12.0"}
	for name, tc := range map[string]struct {
		before []followed
		to     followed
		want   []followed
	}{
		"the first one":               {nil, a, []followed{a}},
		"the primary moves":           {[]followed{a}, b, []followed{b, a}},
		"and moves back":              {[]followed{b, a}, a, []followed{a, b}},
		"its pod was made anew":       {[]followed{a, b}, anew, []followed{anew, b}},
		"its address was another's":   {[]followed{a}, instead, []followed{instead}},
		"it runs another version now": {[]followed{a, b}, upgraded, []followed{upgraded, b}},
	} {
		if got := led(tc.before, tc.to); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	var many []followed
	for i := range maxFollowed + 5 {
		many = led(many, followed{fmt.Sprint("shop-", i), fmt.Sprint("10.0.1.", i), ""})
	}
	if len(many) != maxFollowed || many[0].name != "shop-20" {
		t.Errorf("%d nodes are remembered, the first is %s", len(many), many[0].name)
	}
	p := aSidecar(t)
	p.read()
	p.learn(a, nil)
	p.learn(b, nil)
	p.read()
	if got := servers(*p.wanted, nil); !strings.Contains(got[2], "(1,'10.0.0.2',3306,'ONLINE',50,1,'shop-1')") ||
		!strings.Contains(got[2], "(1,'10.0.0.1',3306,'OFFLINE_SOFT',50,1,'shop-0')") {
		t.Errorf("%v", got)
	}
}

// TestASidecarKeepsWhatItKnows: while the Service does not answer, or answers nonsense, the node stays.
func TestASidecarKeepsWhatItKnows(t *testing.T) {
	p := aSidecar(t)
	a := followed{"shop-0", "10.0.0.1", "11.8.6-MariaDB"}
	p.learn(a, nil)
	p.learn(followed{}, errors.New("connection refused"))
	if !slices.Equal(p.nodes, []followed{a}) || p.problem == "" {
		t.Errorf("%v %q", p.nodes, p.problem)
	}
	if p.learn(a, nil); p.problem != "" || len(p.nodes) != 1 {
		t.Errorf("%v %q", p.nodes, p.problem)
	}
	for name, tc := range map[string]struct {
		rows [][]string
		want followed
	}{
		"a node":              {[][]string{{"shop-0", "10.0.0.1", "11.8.6-MariaDB"}}, a},
		"of IPv6":             {[][]string{{"shop-0", "[fd00::1]", "11.8"}}, followed{"shop-0", "fd00::1", "11.8"}},
		"nothing":             {nil, followed{}},
		"too little":          {[][]string{{"shop-0", "10.0.0.1"}}, followed{}},
		"no address":          {[][]string{{"shop-0", "AUTO", "11.8"}}, followed{}},
		"no name":             {[][]string{{"", "10.0.0.1", "11.8"}}, followed{}},
		"a server on its own": {[][]string{{"db", "", "11.8"}}, followed{}},
	} {
		got, err := answered(tc.rows)
		if got != tc.want || (err == nil) != (tc.want != followed{}) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	if _, err := p.Sidecar.ask(t.Context(), p.binding); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("without a CA the Service is asked: %v", err)
	}
}

// TestASidecarFollowsItsSecret: a new password and a new CA are loaded, and a Secret that is not whole changes nothing.
// ProxySQL gets no password, and asks the application for no TLS.
func TestASidecarFollowsItsSecret(t *testing.T) {
	p := aSidecar(t)
	p.read()
	first := *p.wanted
	if first.Revision != 1 || first.Users[0].Hash != agentapi.NativeHash("first") {
		t.Fatalf("%+v", first)
	}
	if p.read(); p.wanted.Revision != 1 {
		t.Error("what does not change is loaded again")
	}
	write(t, p, "password", "second")
	if p.read(); p.wanted.Revision != 2 || p.wanted.Users[0].Hash != agentapi.NativeHash("second") {
		t.Errorf("%+v", p.wanted)
	}
	write(t, p, "ca.crt", "another")
	if p.read(); p.wanted.Revision != 3 || p.wanted.CA != "another" {
		t.Errorf("%+v", p.wanted)
	}
	write(t, p, "password", "")
	if p.read(); p.wanted.Revision != 3 {
		t.Error("an empty password is loaded")
	}
	if err := os.Remove(filepath.Join(p.Sidecar.BindingDir, "username")); err != nil {
		t.Fatal(err)
	}
	if p.read(); p.wanted.Revision != 3 || p.wanted.Users[0].Name != "app" {
		t.Error("a Secret without a name is loaded")
	}
	all := ""
	for _, part := range sections(*p.wanted, "ca.pem", nil) {
		all += strings.Join(part.statements, "\n") + "\n"
	}
	for _, want := range []string{"variable_value='false' WHERE variable_name='mysql-have_ssl'", "',0,1,1,100)"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if strings.Contains(all, "second") {
		t.Error("ProxySQL gets the password")
	}
}

// TestASidecarEndsAfterItsClients: it has left no Service that clients could still come from, and waits for what is in
// progress alone.
func TestASidecarEndsAfterItsClients(t *testing.T) {
	s := &scripted{rows: map[string][][]string{"stats_mysql_processlist": {{"1"}}}}
	p := aSidecar(t)
	p.run = running(t, s).run
	p.drain()
	if p.drained(t.Context()) {
		t.Error("it ends with a statement in progress")
	}
	s.rows = map[string][][]string{"stats_mysql_processlist": {{"0"}}}
	if !p.drained(t.Context()) {
		t.Error("it waits with nothing in progress")
	}
}

// TestASidecarNeedsNoCertificate: it starts ProxySQL without one, and where the application connects is its socket.
func TestASidecarNeedsNoCertificate(t *testing.T) {
	p := aSidecar(t)
	if err := p.installPair(); err != nil {
		t.Error(err)
	}
	if p.listen() != p.Sidecar.Socket {
		t.Error(p.listen())
	}
	p.Sidecar = nil
	if err := p.installPair(); err == nil {
		t.Error("a proxy starts without a certificate")
	}
}

// TestASidecarIsAlive while ProxySQL greets clients, and the agent's loop turns.
func TestASidecarIsAlive(t *testing.T) {
	p := aSidecar(t)
	alive := func() string { return fmt.Sprint(Answering(p.Sidecar.Socket, p.Dir)) }
	if got := alive(); !strings.Contains(got, "has not begun") {
		t.Error("without a turn:", got)
	}
	p.turn(t.Context(), nil)
	if got := alive(); !strings.Contains(got, "mysql.sock") {
		t.Error("a socket that is not there answers:", got)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", p.Sidecar.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("x"))
			_ = c.Close()
		}
	}()
	if got := alive(); got != "<nil>" {
		t.Error(got)
	}
	then := time.Now().Add(-stuck - time.Second)
	if err := os.Chtimes(filepath.Join(p.Dir, beatFile), then, then); err != nil {
		t.Fatal(err)
	}
	if got := alive(); !strings.Contains(got, "has not turned") {
		t.Error("a loop that stands still:", got)
	}
	p.turn(t.Context(), nil)
	if got := alive(); got != "<nil>" {
		t.Error("it turns again:", got)
	}
}

// TestASidecarServesMetrics at a port that was asked for: ProxySQL's own, and when the primary answered last.
func TestASidecarServesMetrics(t *testing.T) {
	p := aSidecar(t)
	if err := serveMetrics(t.Context(), p); err != nil || p.heard.IsZero() {
		t.Fatal(p.heard, err)
	}
	p.heard, p.metrics = time.Unix(1, 0), "proxysql_uptime_seconds_total 5"
	text := func() string {
		w := httptest.NewRecorder()
		p.probes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, agentapi.PathMetrics, nil))
		return w.Body.String()
	}
	const heard = "\ngalera_proxy_state_received_timestamp_seconds 1\n"
	if p.learn(followed{}, errors.New("refused")); !strings.Contains(text(), heard) ||
		!strings.HasPrefix(text(), "proxysql_uptime_seconds_total 5\n") {
		t.Errorf("got %s", text())
	}
	if p.learn(followed{"shop-0", "10.0.0.1", "11.8"}, nil); strings.Contains(text(), heard) {
		t.Error("the answer is not counted")
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	p.Sidecar.MetricsPort = int32(taken.Addr().(*net.TCPAddr).Port) //nolint:gosec // a port
	if err := serveMetrics(t.Context(), p); err == nil {
		t.Error("a port that is taken is opened")
	}
}
