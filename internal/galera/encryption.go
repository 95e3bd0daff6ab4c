package galera

import (
	"slices"
	"strings"
)

// TLS 1.3 suites, by OpenSSL's names.
const (
	SuiteAES128   = "TLS_AES_128_GCM_SHA256"
	SuiteChaCha20 = "TLS_CHACHA20_POLY1305_SHA256"
)

// Encryption is what two nodes have to agree on to connect on the replication ports. The
// zero value means unknown.
type Encryption struct {
	Socket SocketMode
	// Suites are the TLS 1.3 suites that are allowed, sorted and joined by commas; "" for all.
	Suites string
}

// NewEncryption returns the encryption with those suites.
func NewEncryption(sockets SocketMode, suites []string) Encryption {
	if sockets == SocketPlain {
		return Encryption{Socket: sockets}
	}
	sorted := slices.Clone(suites)
	slices.Sort(sorted)
	return Encryption{sockets, strings.Join(slices.Compact(sorted), ",")}
}

// String returns the sockets, and the suites where only some are allowed.
func (e Encryption) String() string {
	if e.Suites == "" {
		return string(e.Socket)
	}
	return string(e.Socket) + " (" + e.Suites + ")"
}

// SuiteNames returns the suites one by one, nil for all.
func (e Encryption) SuiteNames() []string {
	if e.Suites == "" {
		return nil
	}
	return strings.Split(e.Suites, ",")
}

// Meets reports whether a node with e and a node with o can connect: plain nodes to plain and dynamic
// ones, strict nodes to strict and dynamic ones; TLS needs a common suite.
func (e Encryption) Meets(o Encryption) bool {
	if e.Socket != o.Socket && e.Socket != SocketDynamic && o.Socket != SocketDynamic {
		return false
	}
	if e.Socket == SocketPlain || o.Socket == SocketPlain || e.Suites == "" || o.Suites == "" {
		return true
	}
	return slices.ContainsFunc(e.SuiteNames(), func(s string) bool { return slices.Contains(o.SuiteNames(), s) })
}

// Bridge is the next encryption on the way from e to the wanted one: the wanted one itself if the two
// meet; otherwise one that meets both, and everything that e meets.
func (e Encryption) Bridge(wanted Encryption) Encryption {
	if e.Meets(wanted) {
		return wanted
	}
	bridge := Encryption{Socket: wanted.Socket}
	if e.Socket != wanted.Socket {
		bridge.Socket = SocketDynamic // meets plain and strict ones alike
	}
	switch {
	case e.Socket == SocketPlain:
		bridge.Suites = wanted.Suites
	case wanted.Socket == SocketPlain:
		bridge.Suites = e.Suites
	case e.Suites != "" && wanted.Suites != "":
		return NewEncryption(bridge.Socket, append(e.SuiteNames(), wanted.SuiteNames()...))
	}
	return bridge
}
