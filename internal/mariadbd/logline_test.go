package mariadbd

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/logs"
)

// TestParseLine: lines of mariadbd 11.8 with Galera 26.4, of its scripts and their programs, of garbd.
func TestParseLine(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.ParseInLocation("2006-01-02 15:04:05.000", text, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const info, warn, bad = slog.LevelInfo, slog.LevelWarn, slog.LevelError
	for line, want := range map[string]logs.Entry{
		"2026-11-22 12:15:04 0 [Warning] WSREP: Rejecting JOIN message from 0.0 (shop-0): new State Transfer required.": {
			Time: at("2026-11-22 12:15:04.000"), Level: warn, Subsystem: "WSREP", Thread: "0",
			Text: "Rejecting JOIN message from 0.0 (shop-0): new State Transfer required."},
		"2026-11-22  9:05:04 12 [Note] InnoDB: Buffer pool(s) load completed at 261122  9:05:04": {
			Time: at("2026-11-22 09:05:04.000"), Level: info, Subsystem: "InnoDB", Thread: "12",
			Text: "Buffer pool(s) load completed at 261122  9:05:04"},
		"2026-11-22 12:15:04 0 [Note] /usr/sbin/mariadbd: ready for connections.": {
			Time: at("2026-11-22 12:15:04.000"), Level: info, Thread: "0", Text: "/usr/sbin/mariadbd: ready for connections."},
		"2026-11-22 12:15:04 0 [Note] Server socket created on IP: '0.0.0.0', port: '3306'.": {
			Time: at("2026-11-22 12:15:04.000"), Level: info, Thread: "0",
			Text: "Server socket created on IP: '0.0.0.0', port: '3306'."},
		"2026-11-22 12:15:04 7 [ERROR] Slave SQL: Error 'x' on query. Default database: 'y'": {
			Time: at("2026-11-22 12:15:04.000"), Level: bad, Subsystem: "Slave SQL", Thread: "7",
			Text: "Error 'x' on query. Default database: 'y'"},
		"2026-11-22 12:15:04 7 [ERROR] Aborting": {Time: at("2026-11-22 12:15:04.000"), Level: bad, Thread: "7",
			Text: "Aborting"},
		"2026-11-22 12:15:04 4 [Warning] Access denied for user 'a'@'10.0.0.1' (using password: YES)": {
			Time: at("2026-11-22 12:15:04.000"), Level: warn, Thread: "4",
			Text: "Access denied for user 'a'@'10.0.0.1' (using password: YES)"},
		"261122 12:15:04 [ERROR] /usr/sbin/mariadbd got signal 11 ;": {Time: at("2026-11-22 12:15:04.000"), Level: bad,
			Text: "/usr/sbin/mariadbd got signal 11 ;"},
		"WSREP_SST: [ERROR] Possible timeout in receiving first data from donor in gtid/keyring stage (20261122 12:15:04.123)": {
			Level: bad, Subsystem: "WSREP_SST",
			Text: "Possible timeout in receiving first data from donor in gtid/keyring stage (20261122 12:15:04.123)"},
		"WSREP_SST: [INFO] mariabackup SST started on joiner (20261122 12:15:04.123)": {
			Level: info, Subsystem: "WSREP_SST", Text: "mariabackup SST started on joiner (20261122 12:15:04.123)"},
		"2026-11-22 12:15:04.123  INFO: (0f1c, 'ssl://0.0.0.0:4567') listening at ssl://0.0.0.0:4567": {
			Time: at("2026-11-22 12:15:04.123"), Level: info,
			Text: "(0f1c, 'ssl://0.0.0.0:4567') listening at ssl://0.0.0.0:4567"},
		"2026-11-22 12:15:04.123  WARN: last inactive check more than PT1.5S ago": {
			Time: at("2026-11-22 12:15:04.123"), Level: warn, Text: "last inactive check more than PT1.5S ago"},
		"2026-11-22 12:15:04.123 FATAL: Exception in creating receive loop.": {Time: at("2026-11-22 12:15:04.123"),
			Level: bad, Text: "Exception in creating receive loop."},
		"2026/11/22 12:06:47 socat[10] N SSL proto version used: TLSv1.3": {
			Time: at("2026-11-22 12:06:47.000"), Level: info, Subsystem: "socat", Thread: "10",
			Text: "SSL proto version used: TLSv1.3"},
		"2026/11/22 12:06:47 socat[10] E SSL_accept(): certificate verify failed": {
			Time: at("2026-11-22 12:06:47.000"), Level: bad, Subsystem: "socat", Thread: "10",
			Text: "SSL_accept(): certificate verify failed"},
		"2026.11.22 15:52:31 LOG4[ui]: Insecure file permissions on /tls/tls.key": {
			Time: at("2026-11-22 15:52:31.000"), Level: warn, Subsystem: "stunnel", Thread: "ui",
			Text: "Insecure file permissions on /tls/tls.key"},
		"[00] 2026-11-22 12:06:47 Connecting to MariaDB server host: localhost": {
			Time: at("2026-11-22 12:06:47.000"), Level: info, Subsystem: "mariadb-backup", Thread: "00",
			Text: "Connecting to MariaDB server host: localhost"},
		// Of no known form, or of one that only looks like it.
		"\tmembers    = 1/1 (joined/total),": {Text: "\tmembers    = 1/1 " +
			"(joined/total),"},
		"2026-11-22 12:15:04 0x7f5c5c7fa6c0  InnoDB: Assertion failure in file btr0cur.cc": {Text: "2026-11-22 " +
			"12:15:04 0x7f5c5c7fa6c0  InnoDB: Assertion failure in file btr0cur.cc"},
		"2026-99-22 12:15:04 0 [Note] WSREP: no such month": {Text: "2026-99-22 " +
			"12:15:04 0 [Note] WSREP: no such month"},
		"2026-11-22 12:15:04 0 [Panic] WSREP: no such level": {Text: "2026-11-22 " +
			"12:15:04 0 [Panic] WSREP: no such level"},
		"Version: '11.8.6-MariaDB'  socket: '/run/mysqld/mysqld.sock'  port: 3306  Debian n/a": {Text: "Version: " +
			"'11.8.6-MariaDB'  socket: '/run/mysqld/mysqld.sock'  port: 3306  Debian n/a"},
		"": {},
	} {
		if got := ParseLine(line); !got.Time.Equal(want.Time) || got.Level != want.Level || got.Subsystem != want.Subsystem ||
			got.Thread != want.Thread || got.Text != want.Text {
			t.Errorf("%q:\n%+v, want\n%+v", line, got, want)
		}
	}
}

// TestNothingIsLost: every line of a real start of mariadbd 11.8 with Galera 26.4.23 can be put together again from
// what was made of it.
func TestNothingIsLost(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "mariadbd-11.8.log"))
	if err != nil {
		t.Fatal(err)
	}
	dated := regexp.MustCompile(`^\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d \d+ \[`)
	words := map[slog.Level]string{slog.LevelInfo: "Note", slog.LevelWarn: "Warning", slog.LevelError: "ERROR"}
	parsed := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		e := ParseLine(line)
		again := e.Text
		if e.Subsystem != "" {
			again = e.Subsystem + ": " + again
		}
		if !e.Time.IsZero() {
			parsed++
			again = fmt.Sprintf("%s%3d%s %s [%s] %s", e.Time.Format("2006-01-02"), e.Time.Hour(), e.Time.Format(":04:05"),
				e.Thread, words[e.Level], again)
		}
		if again != line || e.Time.IsZero() == dated.MatchString(line) {
			t.Errorf("%q became %q", line, again)
		}
	}
	if parsed < 50 {
		t.Errorf("only %d lines have a time", parsed)
	}
}

// FuzzParseLine: whatever is printed, its text is at its end.
func FuzzParseLine(f *testing.F) {
	f.Add("2026-11-22 12:15:04 0 [Warning] WSREP: x")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, line string) {
		if e := ParseLine(line); !strings.HasSuffix(line, e.Text) || !strings.Contains(line, e.Subsystem) &&
			e.Subsystem != "stunnel" && e.Subsystem != "mariadb-backup" {
			t.Errorf("%q became %+v", line, e)
		}
	})
}
