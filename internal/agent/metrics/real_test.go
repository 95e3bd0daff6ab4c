package metrics

import (
	"bufio"
	"database/sql"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
)

// TestRealServer measures scrapes of the server behind MARIADB_SOCKET, as the account MARIADB_USER.
func TestRealServer(t *testing.T) {
	socket := os.Getenv("MARIADB_SOCKET")
	if socket == "" {
		t.Skip("without MARIADB_SOCKET")
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = os.Getenv("MARIADB_USER"), "unix", socket
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	r := prometheus.NewRegistry()
	r.MustRegister(NewServer(db).Collector(everything))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		series += len(f.Metric)
		if f.GetName() == "mysql_up" && f.Metric[0].GetGauge().GetValue() != 1 {
			t.Error("the server is down")
		}
	}
	const scrapes = 100
	before := resident(t)
	took := make([]time.Duration, scrapes)
	for i := range took {
		began := time.Now()
		scrape(t, r)
		took[i] = time.Since(began)
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf(
		"%d metrics with %d series; %d scrapes: median %s, 95th percentile %s, longest %s; resident memory grew by %d KiB, "+
			"heap in use %d KiB",
		len(families), series, scrapes, took[scrapes/2], took[scrapes*95/100], took[scrapes-1], (resident(t)-before)>>10,
		m.HeapInuse>>10)
	if took[scrapes/2] > 20*time.Millisecond {
		t.Errorf("a scrape takes %s", took[scrapes/2])
	}
}

// resident is this process's memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "VmRSS:" {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
