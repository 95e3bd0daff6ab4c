//go:build integration

package external

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"database/sql"
)

// inTurn listens at an address whose connections lead to one server after the other, as a Service of several pods does.
func inTurn(t *testing.T, servers ...*sql.DB) (host string, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var n atomic.Int64
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", net.JoinHostPort(server(servers[n.Add(1)%int64(len(servers))]).Host, "3306"))
			if err != nil {
				_ = from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	at := l.Addr().(*net.TCPAddr)
	return "127.0.0.1", at.Port
}

// TestSeveralServers: a host that leads to several servers is not copied, whichever of the connections leads to another
// one: the position of one and the rows of the other are of no moment. One that leads to one server by any number of
// connections is.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	var sources []*sql.DB
	for range 2 {
		// the same server_id and port, and directories of the same name
		source, _ := start(t, "galera-mariadb:11.8", "--log-bin", "--server-id=7")
		run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
			"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
		sources = append(sources, source)
	}
	target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
	to, err := OpenTarget(socket, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	open := func(sources ...*sql.DB) *sql.DB {
		at := server(sources[0])
		at.Host, at.Port = inTurn(t, sources...)
		from, err := at.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = from.Close() })
		return from
	}
	for _, turns := range [][]*sql.DB{
		{sources[0], sources[1]},
		// the connections are that of the definitions, two of the snapshot, and that of the lock
		{sources[0], sources[0], sources[0], sources[1]},
		{sources[1], sources[0], sources[0], sources[0]},
		{sources[0], sources[1], sources[0], sources[0]},
		{sources[0], sources[0], sources[1], sources[0]},
	} {
		_, err := Copy(t.Context(), open(turns...), to, Options{Connections: 2})
		if err == nil || !strings.Contains(err.Error(), "its host leads to several servers") {
			t.Errorf("parts of several servers are copied: %v", err)
		}
	}
	t.Log(err)
	if n := value(t, target, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'shop'"); n != "0" {
		t.Error("something was created")
	}
	is, err := Inspect(t.Context(), open(sources...), Options{Connections: 1}, Wanted{Version: "11.8.3"})
	if err != nil || len(is.Findings) != 1 || is.Findings[0].Name != HostNotOneServer || is.Findings[0].Count != 2 {
		t.Errorf("%+v: %v", is, err)
	}
	one := open(sources[0])
	if is, err = Inspect(t.Context(), one, Options{Connections: 4}, Wanted{Version: "11.8.3"}); err != nil ||
		len(is.Findings) > 0 {
		t.Errorf("%+v: %v", is, err)
	}
	if _, err := Copy(t.Context(), one, to, Options{Connections: 4}); err != nil {
		t.Error(err)
	}
}
