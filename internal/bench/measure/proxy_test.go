package measure

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestAwaitProxy(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "mysql.sock")
	err := awaitProxy(t.Context(), socket, 20*time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(),
		"the proxy did not answer within 20ms; its image must have ProxySQL 2") || !strings.HasSuffix(err.Error(),
		"no such file or directory") {
		t.Errorf("got %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() {
		var lc net.ListenConfig
		if l, err := lc.Listen(t.Context(), "unix", socket); err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	})
	if err := awaitProxy(t.Context(), socket, 10*time.Second); err != nil {
		t.Errorf("a proxy that takes a while: %v", err)
	}
}

func TestBackendIsTheArms(t *testing.T) {
	for name, tc := range map[string]struct {
		seen   backend
		wanted bool
		want   string
	}{
		"encrypted":                 {backend{"TLSv1.3", "TLS_AES_128_GCM_SHA256"}, true, ""},
		"plain":                     {backend{}, false, ""},
		"plain on an encrypted arm": {backend{}, true, "the arm wants TLS, and the proxy speaks none with the database"},
		"encrypted on a plain arm": {backend{"TLSv1.3", "TLS_AES_128_GCM_SHA256"}, false,
			"the arm wants no TLS, and the proxy speaks TLSv1.3 with the database"},
	} {
		if got := inWords(tc.seen.wrong(tc.wanted)); got != tc.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestSysbenchThroughAProxy: the socket of one alongside has no TLS, and a Service of one has.
func TestSysbenchThroughAProxy(t *testing.T) {
	plan := result.Plan{Hosts: []string{"x-0", "x-1"}, TLS: true}
	socket, service := plan, plan
	socket.Proxy, service.Service = "/run/mysql.sock", "pool.shops.svc"
	for want, p := range map[string]result.Plan{"--mysql-host=x-0,x-1 --mysql-ssl=on": plan,
		"--mysql-socket=/run/mysql.sock --mysql-ssl=off": socket, "--mysql-host=pool.shops.svc --mysql-ssl=on": service} {
		if got := strings.Join((&target{plan: p}).arguments("oltp_read_write", 1), " "); !strings.Contains(got, want+" ") {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// workingPods answer for the pods of a proxy.
type workingPods struct {
	hosts
	mu    sync.Mutex
	asked int
}

func (p *workingPods) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.hosts.RoundTrip(r)
}

func (p *workingPods) report(host, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[host] = text
}

func (p *workingPods) asks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func awaitAsks(t *testing.T, pods *workingPods, n int) {
	t.Helper()
	if err := await(t.Context(), time.Millisecond, func() (string, error) {
		if pods.asks() < n {
			return "the pods are not asked", nil
		}
		return "", nil
	}); err != nil {
		t.Error(err)
	}
}

// TestGaleraProxyUsage: what all pods of the proxy used is the proxy's and not the client's, and one that does not
// report is no zero.
func TestGaleraProxyUsage(t *testing.T) {
	pods := &workingPods{hosts: hosts{"10.0.0.1": "galera_proxy_cpu_seconds_total 2\ngalera_proxy_memory_bytes 3e+07\n",
		"10.0.0.2": "galera_proxy_cpu_seconds_total 3\ngalera_proxy_memory_bytes 1e+07\n"}}
	r := &runner{target: target{plan: result.Plan{ProxyPods: []result.Member{{Name: "pool-a", Host: "10.0.0.1"},
		{Name: "pool-b", Host: "10.0.0.2"}}}}}
	r.agents = newAgents(nil)
	r.agents.client.Transport = pods
	if err := r.measure(t.Context(), func(context.Context) error {
		awaitAsks(t, pods, 4) // both before, and both during the run
		pods.report("10.0.0.1", "galera_proxy_cpu_seconds_total 9\ngalera_proxy_memory_bytes 2e+07\n")
		awaitAsks(t, pods, 6)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if u := r.out.Proxy; u.CPUSeconds != 7 || u.MemoryBytes != 4e7 || r.out.Client.CPUSeconds >= 7 {
		t.Errorf("got %+v, the client %+v", u, r.out.Client)
	}
	delete(pods.hosts, "10.0.0.2")
	_, err := (proxied{r}).usage(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pool-b of the GaleraProxy") {
		t.Errorf("got %v", err)
	}
	if u, err := (proxied{&runner{}}).usage(t.Context()); err != nil || u != (result.Usage{}) {
		t.Errorf("no proxy: %+v, %v", u, err)
	}
}
