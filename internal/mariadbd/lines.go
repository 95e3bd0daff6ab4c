package mariadbd

import "regexp"

// rejectedJoin is how every member logs one whose transfer does not count (gcs_group_handle_join_msg).
var rejectedJoin = regexp.MustCompile(
	`WSREP: Rejecting JOIN message from \d+\.\d+ \((.+)\): new State Transfer required`)

// RejectedJoiner returns the name, in the group, of the member that needs another state transfer, "" for any other
// line.
func RejectedJoiner(line string) string {
	if m := rejectedJoin.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// Handshake is the TLS the stream of a full transfer was seen to come or go over, as its program has printed it.
type Handshake struct {
	// Protocol is like TLSv1.3, Cipher like TLS_AES_256_GCM_SHA384. socat logs them in lines of their own.
	Protocol, Cipher string
}

// socat with -d -d logs both once it has accepted the other side's certificate, at either end (xio-openssl.c).
var (
	socatProtocol = regexp.MustCompile(`socat\[\d+\] N SSL proto version used: (\S+)$`)
	socatCipher   = regexp.MustCompile(`socat\[\d+\] N SSL connection using (\S+)$`)
)

// stunnel, which scriptEnv makes more verbose, names both of every connection it has accepted (print_cipher in
// client.c), among much else.
var (
	stunnelSuite   = regexp.MustCompile(stunnelInfo + `\[\d+\]: (?:Negotiated )?(TLSv\S+) ciphersuite:? (\S+) `)
	stunnelChatter = regexp.MustCompile(stunnelInfo + `\[`)
)

const stunnelInfo = `^\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d LOG[56]`

// Chatter reports whether a line is what stunnel logs of healthy connections, a dozen for each.
func Chatter(line string) bool { return stunnelChatter.MatchString(line) }

// ParseHandshake finds the TLS of a transfer in a line of the server's log; ok is false for any other line.
func ParseHandshake(line string) (h Handshake, ok bool) {
	if m := socatProtocol.FindStringSubmatch(line); m != nil {
		return Handshake{Protocol: m[1]}, true
	}
	if m := socatCipher.FindStringSubmatch(line); m != nil {
		return Handshake{Cipher: m[1]}, true
	}
	if m := stunnelSuite.FindStringSubmatch(line); m != nil {
		return Handshake{Protocol: m[1], Cipher: m[2]}, true
	}
	return Handshake{}, false
}
