package measure

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestParseMetrics(t *testing.T) {
	s := parseMetrics(`# HELP galera_view x
# TYPE galera_view gauge
galera_view 7
galera_join_info{kind="SST",donor="x-2",phase=""} 1
galera_join_seconds{kind="SST"} 12.5
galera_transfers_given_total{kind="IST"} 3
galera_transfers_given_total{kind="SST"} 1
galera_agent_info{version="v1",server="11.8.6-MariaDB",provider="26.4.25(r\"1\")"} 1
galera_host_cpus{model="Some, CPU",flags="aes avx2"} 2
galera_kernel_info{release="6.1.0"} 1
galera_container_cpu_seconds_total 123456.789012
`)
	if s[result.MetricView] != 7 || s[result.MetricJoinSeconds] != 12.5 || s[result.MetricCPU] != 123456.789012 {
		t.Errorf("got %v", s)
	}
	if _, is := s["kind:IST"]; is || label(s, "donor") != "x-2" {
		t.Errorf("labels of other metrics: %v", s)
	}
	if label(s, "kind") != "SST" || label(s, "provider") != `26.4.25(r"1")` || label(s, "model") != "Some, CPU" ||
		label(s, "server") != "11.8.6-MariaDB" {
		t.Errorf("labels: %v", s)
	}
	if got := machine(s); got != (result.Machine{Kernel: "6.1.0", CPU: "Some, CPU", CPUs: 2, CPUFlags: "aes avx2"}) {
		t.Errorf("machine: %+v", got)
	}
}

func TestAround(t *testing.T) {
	start := time.Unix(1000, 0)
	l := loadResult{started: start}
	for i := 1; i <= 9; i++ {
		tps := 100.0
		if i > 4 && i < 8 {
			tps = 40
		}
		l.series = append(l.series, result.Point{Second: float64(i), TPS: tps})
	}
	before, during := around(l, start.Add(4500*time.Millisecond), start.Add(7500*time.Millisecond))
	if before != 100 || during != 40 {
		t.Errorf("got %g and %g", before, during)
	}
	if before, during = around(l, start.Add(9500*time.Millisecond), start.Add(9900*time.Millisecond)); before != 0 ||
		during != 0 {
		t.Errorf("so short that nothing was seen: %g and %g", before, during)
	}
	if before, during = around(loadResult{}, start, start); before != 0 || during != 0 {
		t.Error("a load out of nothing")
	}
}

// TestLatency: opening a connection takes one round trip more, a question and its answer another.
func TestLatency(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	const latency = 80 * time.Millisecond
	begin := time.Now()
	c, err := dialSlowly(context.Background(), "tcp", l.Addr().String(), latency)
	if err != nil {
		t.Fatal(err)
	}
	opened := time.Since(begin)
	if _, err := c.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "ping" {
		t.Fatalf("got %q, %v", buf, err)
	}
	if answered := time.Since(begin); opened < latency || answered-opened < latency {
		t.Errorf("opened after %s, answered after %s", opened, answered)
	}
	_ = c.Close()
}

// TestTheServerSpeaksFirst: it hears of the connection half a round trip after the client has it, and its greeting
// takes another half.
func TestTheServerSpeaksFirst(t *testing.T) {
	address := listen(t, func(c net.Conn) { _, _ = c.Write([]byte("hello")); _ = c.Close() })
	const latency = 80 * time.Millisecond
	begin := time.Now()
	c, err := dialSlowly(t.Context(), "tcp", address, latency)
	if err != nil {
		t.Fatal(err)
	}
	greeting, err := io.ReadAll(c)
	if took := time.Since(begin); err != nil || string(greeting) != "hello" || took < 2*latency {
		t.Errorf("%q after %s, %v", greeting, took, err)
	}
}
