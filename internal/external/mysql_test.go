package external

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
)

// TestMySQLIsRefusedByName: MySQL does not know the variables of a source's session. It is a finding by its name all
// the same, before anything else is asked.
func TestMySQLIsRefusedByName(t *testing.T) {
	for _, version := range []string{"8.0.36", "5.7.44-log", "8.4.3-3"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan []string, 1)
		go func() { asked <- mysqlServer(l, version) }()
		db, err := Server{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "mover", Password: "x",
			Plain: true}.Open()
		if err != nil {
			t.Fatal(err)
		}
		found, err := Inspect(t.Context(), db, Options{}, Wanted{Version: "11.8.3-MariaDB"})
		if err != nil || len(found.Findings) != 1 || found.Findings[0].Name != VersionUnsupported ||
			!strings.Contains(found.Findings[0].Message, "MySQL, or a server made of it (version \""+version) {
			t.Errorf("%s: %+v, %v", version, found, err)
		}
		if _, err := Copy(context.Background(), db, db, Options{}); err == nil || errors.Is(err, ErrChanged) ||
			!strings.Contains(err.Error(), "MySQL") {
			t.Errorf("%s: %v", version, err)
		}
		_ = db.Close()
		_ = l.Close()
		for _, q := range <-asked {
			if q != "SELECT VERSION()" && q != "SELECT @@max_allowed_packet" {
				t.Errorf("%s is asked for %q", version, q)
			}
		}
	}
}

// mysqlServer answers as a MySQL of a version does, until the listener is closed, and returns what it was asked for.
func mysqlServer(l net.Listener, version string) (queries []string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return queries
		}
		sequence := byte(0)
		send := func(p []byte) {
			head := binary.LittleEndian.AppendUint32(nil, uint32(len(p))) //nolint:gosec // short
			head[3] = sequence
			sequence++
			_, _ = c.Write(append(head, p...))
		}
		greeting := append([]byte("\x0a"+version+"\x00\x01\x00\x00\x00"), "12345678\x00"...)
		greeting = append(greeting, 0xff, 0xf7, 45, 2, 0, 0xff, 0x80, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		send(append(greeting, "123456789012\x00mysql_native_password\x00"...))
		for first := true; ; first = false {
			p, at, err := packet(c)
			if err != nil || p[0] == 1 && len(p) == 1 {
				break
			}
			sequence = at + 1
			switch query := string(p[1:]); {
			case first:
				send([]byte{0, 0, 0, 2, 0, 0, 0})
			case query == "SELECT VERSION()" || query == "SELECT @@max_allowed_packet": // the driver asks for that
				queries = append(queries, query)
				answer := map[bool]string{true: version, false: "16777216"}[query == "SELECT VERSION()"]
				send([]byte{1})
				send(append([]byte("\x03def\x00\x00\x00\x01v\x00\x0c\x21\x00"), 0xff, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0))
				send([]byte{0xfe, 0, 0, 2, 0})
				send(append([]byte{byte(len(answer))}, answer...))
				send([]byte{0xfe, 0, 0, 2, 0})
			default:
				queries = append(queries, query)
				send(append([]byte{0xff, 0xa9, 0x04}, "#HY000Unknown system variable 'max_statement_time'"...))
			}
		}
		_ = c.Close()
	}
}
