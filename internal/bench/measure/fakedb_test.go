package measure

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

// fakeDB speaks as much of the MySQL protocol as the runner's own questions take; any user may log in.
type fakeDB struct {
	// tls is what it speaks TLS with; nil: it does not.
	tls *tls.Config
	// answer returns the one value a question is answered with. A refusal is an error of the server.
	answer func(query string) (value, refusal string)
}

const (
	askQuit, askQuery, askPrepare, askExecute = 1, 3, 0x16, 0x17

	greets    = 0x200 | 0x2000 | 0x8000 // the protocol of 4.1, transactions, secure passwords
	greetsTLS = 0x800
)

// talk is one connection.
type talk struct {
	net.Conn
	seq byte
}

func (f fakeDB) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	s := &talk{Conn: c}
	capabilities := greets
	if f.tls != nil {
		capabilities |= greetsTLS
	}
	greeting := append([]byte("\x0a11.8.6-fake\x00\x01\x00\x00\x0012345678\x00"), byte(capabilities),
		byte(capabilities>>8), 45, 2, 0)
	greeting = append(greeting, 8, 0, 21) // the high half: there are plugins
	s.write(append(append(greeting, make([]byte, 10)...), "123456789012\x00mysql_native_password\x00"...))
	if len(s.read()) == 32 { // a request for TLS
		s.Conn = tls.Server(c, f.tls)
		s.read()
	}
	s.ok()
	prepared := ""
	for {
		asked := s.read()
		if len(asked) == 0 || asked[0] == askQuit {
			return
		}
		switch asked[0] {
		case askPrepare:
			prepared = string(asked[1:])
			s.write([]byte{0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}) // one parameter, one column
			s.columns()
			s.columns()
		case askExecute:
			value, _ := f.answer(prepared)
			s.result(append([]byte{0, 0}, text(value)...))
		case askQuery:
			f.query(s, string(asked[1:]))
		}
	}
}

func (f fakeDB) query(s *talk, query string) {
	value, refusal := f.answer(query)
	switch {
	case refusal != "":
		s.write(append([]byte{0xff, 0x48, 0x04, '#'}, "HY000"+refusal...))
	case strings.HasPrefix(query, "SELECT"):
		s.result(text(value))
	default:
		s.ok()
	}
}

func (s *talk) ok() { s.write([]byte{0, 0, 0, 2, 0, 0, 0}) }

func (s *talk) end() { s.write([]byte{0xfe, 0, 0, 2, 0}) }

// columns describes the one there is, or the one parameter.
func (s *talk) columns() {
	column := append([]byte("\x03def\x00\x00\x00\x01v\x00\x0c"), 45, 0, 255, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0)
	s.write(column)
	s.end()
}

func (s *talk) result(row []byte) {
	s.write([]byte{1})
	s.columns()
	s.write(row)
	s.end()
}

// text is a value of less than 64 KiB.
func text(value string) []byte {
	if len(value) > 250 {
		return append([]byte{0xfc, byte(len(value)), byte(len(value) >> 8)}, value...)
	}
	return append([]byte{byte(len(value))}, value...)
}

// read returns the next packet, nil at the end.
func (s *talk) read() []byte {
	head := make([]byte, 4)
	if _, err := io.ReadFull(s, head); err != nil {
		return nil
	}
	s.seq = head[3] + 1
	body := make([]byte, binary.LittleEndian.Uint32(append(bytes.Clone(head[:3]), 0)))
	_, _ = io.ReadFull(s, body) // what is missing, the client misses as well
	return body
}

func (s *talk) write(body []byte) {
	_, _ = s.Write(append([]byte{byte(len(body)), byte(len(body) >> 8), 0, s.seq}, body...)) // as above
	s.seq++
}

// serverTLS is that of a server with a certificate of newAuthority.
func serverTLS(t *testing.T, dir string, version uint16) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(dir+"/tls.crt", dir+"/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, MaxVersion: version}
}
