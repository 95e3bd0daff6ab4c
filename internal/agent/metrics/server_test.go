package metrics

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

// script is a server that answers the two questions.
type script struct {
	status, variables [][2]string
	fail              error
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (s *script) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s *script) Close() error                                 { return nil }

func (s *script) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if query == showStatus {
		return &rows{left: s.status}, nil
	}
	return &rows{left: s.variables}, s.fail
}

type rows struct{ left [][2]string }

func (r *rows) Columns() []string { return []string{"Variable_name", "Value"} }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(into []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	into[0], into[1], r.left = []byte(r.left[0][0]), []byte(r.left[0][1]), r.left[1:]
	return nil
}

func serve(t testing.TB, s *script) *Server {
	db := sql.OpenDB(s)
	t.Cleanup(func() { _ = db.Close() })
	return NewServer(db)
}

var everything = ServerQuery{Status: true, Variables: true}

// TestNames: rows of MariaDB 11.8.6 with Galera 26.4.23 (and of older ones where noted) are what mysqld_exporter makes
// of them.
func TestNames(t *testing.T) {
	s := serve(t, &script{
		status: [][2]string{
			{"Aborted_clients", "2"}, {"Com_select", "5"}, {"Com_create_table", "1"}, {"Handler_read_key", "7"},
			{"Connection_errors_max_connections", "3"},
			{"Innodb_buffer_pool_pages_data", "10"}, {"Innodb_buffer_pool_pages_dirty", "4"},
			{"Innodb_buffer_pool_pages_old", "6"}, {"Innodb_buffer_pool_pages_total", "100"},
			{"Innodb_buffer_pool_pages_made_young", "8"}, {"Innodb_rows_read", "9"}, {"Performance_schema_accounts_lost", "0"},
			{"Compression", "OFF"},
			{"Ssl_server_not_after", "Feb  5 10:00:00 2027 GMT"}, {"wsrep_cluster_status", "Primary"}, {"wsrep_ready", "ON"},
			{"wsrep_connected", "Yes"},
			{"wsrep_local_state_comment", "Synced"}, {"wsrep_flow_control_paused_ns", "1500000000"}, {"wsrep_cluster_size", "3"},
			{"Rpl_semi_sync_master_status", "OFF"},
			{"wsrep_evs_repl_latency", "0.0001/0.0002/0.0003/0.00004/12"}, {"wsrep_cluster_conf_id", "18446744073709551615"},
			{"wsrep_local_state_uuid", "a-b"}, {"wsrep_cluster_state_uuid", "c-d"}, {"wsrep_provider_version", "26.4.23(r1)"},
			{"Last_query_cost", "0.000000"}, {"Rsa_public_key", ""},
			{"aborted_clients", "2"}, // the same name again
		},
		variables: [][2]string{
			{"max_connections", "151"}, {"innodb_buffer_pool_size", "134217728"}, {"read_only", "OFF"},
			{"version", "11.8.6-MariaDB-log"}, {"version_comment", "Debian n/a"},
			{"innodb_version", "11.8.6"}, {"wsrep_cluster_name", "shop"},
			{"wsrep_provider_options", "base_dir = /d; gcache.size = 256M; gcache.keep_pages_size = 0;"},
			{"transaction_isolation", "READ-COMMITTED"}, {"tx_isolation", "READ-COMMITTED"}, {"hostname", "shop-0"},
			{"timestamp", "1800000000.5"}, {"wsrep_provider_gcs.fc_limit", "16"},
		},
	})
	const want = `# HELP mysql_galera_evs_repl_latency_avg_seconds PXC/Galera group communication latency. Avg value.
# TYPE mysql_galera_evs_repl_latency_avg_seconds gauge
mysql_galera_evs_repl_latency_avg_seconds 0.0002
# HELP mysql_galera_evs_repl_latency_max_seconds PXC/Galera group communication latency. Max value.
# TYPE mysql_galera_evs_repl_latency_max_seconds gauge
mysql_galera_evs_repl_latency_max_seconds 0.0003
# HELP mysql_galera_evs_repl_latency_min_seconds PXC/Galera group communication latency. Min value.
# TYPE mysql_galera_evs_repl_latency_min_seconds gauge
mysql_galera_evs_repl_latency_min_seconds 0.0001
# HELP mysql_galera_evs_repl_latency_sample_size PXC/Galera group communication latency. Sample Size.
# TYPE mysql_galera_evs_repl_latency_sample_size gauge
mysql_galera_evs_repl_latency_sample_size 12
# HELP mysql_galera_evs_repl_latency_stdev PXC/Galera group communication latency. Standard Deviation.
# TYPE mysql_galera_evs_repl_latency_stdev gauge
mysql_galera_evs_repl_latency_stdev 4e-05
# HELP mysql_galera_gcache_size_bytes PXC/Galera gcache size.
# TYPE mysql_galera_gcache_size_bytes gauge
mysql_galera_gcache_size_bytes 2.68435456e+08
# HELP mysql_galera_status_info PXC/Galera status information.
# TYPE mysql_galera_status_info gauge
mysql_galera_status_info{wsrep_cluster_state_uuid="c-d",wsrep_local_state_uuid="a-b",wsrep_provider_version="26.4.23(r1)"} 1
# HELP mysql_galera_variables_info PXC/Galera variables information.
# TYPE mysql_galera_variables_info gauge
mysql_galera_variables_info{wsrep_cluster_name="shop"} 1
# HELP mysql_global_status_aborted_clients Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_aborted_clients untyped
mysql_global_status_aborted_clients 2
# HELP mysql_global_status_buffer_pool_dirty_pages Innodb buffer pool dirty pages.
# TYPE mysql_global_status_buffer_pool_dirty_pages gauge
mysql_global_status_buffer_pool_dirty_pages 4
# HELP mysql_global_status_buffer_pool_page_changes_total Innodb buffer pool page state changes.
# TYPE mysql_global_status_buffer_pool_page_changes_total counter
mysql_global_status_buffer_pool_page_changes_total{operation="made_young"} 8
# HELP mysql_global_status_buffer_pool_pages Innodb buffer pool pages by state.
# TYPE mysql_global_status_buffer_pool_pages gauge
mysql_global_status_buffer_pool_pages{state="data"} 10
mysql_global_status_buffer_pool_pages{state="old"} 6
# HELP mysql_global_status_commands_total Total number of executed MySQL commands.
# TYPE mysql_global_status_commands_total counter
mysql_global_status_commands_total{command="create_table"} 1
mysql_global_status_commands_total{command="select"} 5
# HELP mysql_global_status_compression Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_compression untyped
mysql_global_status_compression 0
# HELP mysql_global_status_connection_errors_total Total number of MySQL connection errors.
# TYPE mysql_global_status_connection_errors_total counter
mysql_global_status_connection_errors_total{error="max_connections"} 3
# HELP mysql_global_status_handlers_total Total number of executed MySQL handlers.
# TYPE mysql_global_status_handlers_total counter
mysql_global_status_handlers_total{handler="read_key"} 7
# HELP mysql_global_status_innodb_row_ops_total Total number of MySQL InnoDB row operations.
# TYPE mysql_global_status_innodb_row_ops_total counter
mysql_global_status_innodb_row_ops_total{operation="read"} 9
# HELP mysql_global_status_last_query_cost Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_last_query_cost untyped
mysql_global_status_last_query_cost 0
# HELP mysql_global_status_performance_schema_lost_total Total number of MySQL instrumentations that could not be loaded or created due to memory constraints.
# TYPE mysql_global_status_performance_schema_lost_total counter
mysql_global_status_performance_schema_lost_total{instrumentation="accounts_lost"} 0
# HELP mysql_global_status_rpl_semi_sync_master_status Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_rpl_semi_sync_master_status untyped
mysql_global_status_rpl_semi_sync_master_status 0
# HELP mysql_global_status_ssl_server_not_after Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_ssl_server_not_after untyped
mysql_global_status_ssl_server_not_after 1.8018216e+09
# HELP mysql_global_status_wsrep_cluster_conf_id Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_cluster_conf_id untyped
mysql_global_status_wsrep_cluster_conf_id 1.8446744073709552e+19
# HELP mysql_global_status_wsrep_cluster_size Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_cluster_size untyped
mysql_global_status_wsrep_cluster_size 3
# HELP mysql_global_status_wsrep_cluster_status Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_cluster_status untyped
mysql_global_status_wsrep_cluster_status 1
# HELP mysql_global_status_wsrep_connected Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_connected untyped
mysql_global_status_wsrep_connected 1
# HELP mysql_global_status_wsrep_flow_control_paused_ns Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_flow_control_paused_ns untyped
mysql_global_status_wsrep_flow_control_paused_ns 1.5e+09
# HELP mysql_global_status_wsrep_ready Generic metric from SHOW GLOBAL STATUS.
# TYPE mysql_global_status_wsrep_ready untyped
mysql_global_status_wsrep_ready 1
# HELP mysql_global_variables_innodb_buffer_pool_size Generic gauge metric from SHOW GLOBAL VARIABLES.
# TYPE mysql_global_variables_innodb_buffer_pool_size gauge
mysql_global_variables_innodb_buffer_pool_size 1.34217728e+08
# HELP mysql_global_variables_max_connections Generic gauge metric from SHOW GLOBAL VARIABLES.
# TYPE mysql_global_variables_max_connections gauge
mysql_global_variables_max_connections 151
# HELP mysql_global_variables_read_only Generic gauge metric from SHOW GLOBAL VARIABLES.
# TYPE mysql_global_variables_read_only gauge
mysql_global_variables_read_only 0
# HELP mysql_global_variables_timestamp Generic gauge metric from SHOW GLOBAL VARIABLES.
# TYPE mysql_global_variables_timestamp gauge
mysql_global_variables_timestamp 1.8000000005e+09
# HELP mysql_global_variables_wsrep_provider_gcs_fc_limit Generic gauge metric from SHOW GLOBAL VARIABLES.
# TYPE mysql_global_variables_wsrep_provider_gcs_fc_limit gauge
mysql_global_variables_wsrep_provider_gcs_fc_limit 16
# HELP mysql_transaction_isolation MySQL transaction isolation.
# TYPE mysql_transaction_isolation gauge
mysql_transaction_isolation{level="READ-COMMITTED"} 1
# HELP mysql_up Whether the MySQL server is up.
# TYPE mysql_up gauge
mysql_up 1
# HELP mysql_version_info MySQL version and distribution.
# TYPE mysql_version_info gauge
mysql_version_info{innodb_version="11.8.6",version="11.8.6-MariaDB-log",version_comment="Debian n/a"} 1
`
	if err := testutil.CollectAndCompare(s.Collector(everything), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestNothingButDown: a server that breaks off yields no metrics, so that no half of it is taken for the whole.
func TestNothingButDown(t *testing.T) {
	s := serve(t, &script{status: [][2]string{{"Uptime", "1"}}, fail: io.ErrUnexpectedEOF})
	const down = "# HELP mysql_up Whether the MySQL server is up.\n# TYPE mysql_up gauge\nmysql_up 0\n"
	if err := testutil.CollectAndCompare(s.Collector(everything), strings.NewReader(down)); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(s.Collector(ServerQuery{Status: true})); n != 2 {
		t.Errorf("%d series of the status alone, want uptime and mysql_up", n)
	}
}

func TestCache(t *testing.T) {
	for options, want := range map[string]float64{
		"a = 1; gcache.size = 128M; b = 2": 128 << 20, "gcache.size = 1G;": 1 << 30, "gcache.size = 4096;": 4096, "": 7,
		"my.gcache.size = 5": 7, "gcache.page_size = 1G": 7,
	} {
		if got := cacheOf(options, 7); got != want {
			t.Errorf("%q: %v, want %v", options, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-1.5": -1.5, "1e3": 1000, "ON": 1, "off": 0, "DISABLED": 0,
		"non-Primary": 0, "Disconnected": 0, "2026-11-24 19:00:00": 1795546800} {
		if got, ok := number([]byte(text)); !ok || got != want {
			t.Errorf("%q: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "nan", "NaN", "Synced", "26.4.23(r1)", "a:b", "11.8.6-MariaDB", "0.1/0.2"} {
		if got, ok := number([]byte(text)); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// TestHungServer: a server that takes connections and does not answer costs a scrape its timeout and no more, however
// many scrapes there are.
func TestHungServer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "mysql", "unix", socket
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(3)
	t.Cleanup(func() { _ = db.Close() })
	s := NewServer(db)
	done := make(chan time.Duration)
	const scrapes = 5
	for range scrapes {
		go func() {
			began := time.Now()
			if n := testutil.CollectAndCount(s.Collector(everything)); n != 1 {
				t.Errorf("%d series", n)
			}
			done <- time.Since(began)
		}()
	}
	time.Sleep(scrapeTimeout / 2)
	if open := db.Stats().OpenConnections; open > 1 {
		t.Errorf("%d connections are held by scrapes", open)
	}
	for range scrapes {
		if took := <-done; took > scrapeTimeout+time.Second {
			t.Errorf("a scrape took %s", took)
		}
	}
}

// large is a server with more variables than MariaDB 11.8 with every plugin has.
func large() *script {
	s := &script{}
	for i := range 250 {
		s.status = append(s.status, [2]string{fmt.Sprintf("Com_command_of_some_length_%d", i), "12345"})
	}
	for i := range 500 {
		s.status = append(s.status, [2]string{fmt.Sprintf("Innodb_some_counter_of_the_engine_%d", i), "1234567890"})
	}
	for i := range 1000 {
		s.variables = append(s.variables, [2]string{fmt.Sprintf("performance_schema_max_something_%d", i), "67108864"})
	}
	return s
}

// scrape is what the handler does, without HTTP.
func scrape(t testing.TB, g prometheus.Gatherer) {
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := expfmt.NewEncoder(io.Discard, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := out.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
}

func registry(t testing.TB) prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(serve(t, large()).Collector(everything))
	return r
}

// TestCost: what a scrape costs in addition to the server's own work. docs/metrics.md promises 20 ms of processor time
// and 10 MiB for all of it; the time on the clock would depend on what else runs on the host.
func TestCost(t *testing.T) {
	r := registry(t)
	scrape(t, r)
	var before, after runtime.MemStats
	least := time.Hour
	runtime.GC()
	runtime.ReadMemStats(&before)
	const scrapes = 20
	for range scrapes {
		began := processorTime(t)
		scrape(t, r)
		least = min(least, processorTime(t)-began)
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / scrapes
	t.Logf("%s and %d KiB for each scrape", least, each>>10)
	if least > 20*time.Millisecond && !race || each > 5<<20 {
		t.Errorf("a scrape takes %s of processor time and %d KiB", least, each>>10)
	}
}

// processorTime returns what this process has used of the processors.
func processorTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkScrape(b *testing.B) {
	r := registry(b)
	b.ReportAllocs()
	for b.Loop() {
		scrape(b, r)
	}
}
