package mariadbd

import "testing"

func TestRejectedJoiner(t *testing.T) {
	for line, want := range map[string]string{
		"2026-11-22 12:15:04 0 [Warning] WSREP: Rejecting JOIN message from 0.0 (shop-0): new State Transfer required.": "shop-0",
		"2026-11-22 12:15:04 0 [Note] WSREP: 1.0 (shop-2): State transfer to 0.0 (shop-0) complete.":                    "",
	} {
		if got := RejectedJoiner(line); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestParseHandshake: lines of socat 1.8.0.3 and stunnel 5.74.
func TestParseHandshake(t *testing.T) {
	for line, want := range map[string]Handshake{
		"2026/11/22 12:06:47 socat[10] N SSL proto version used: TLSv1.3": {
			Protocol: "TLSv1.3"},
		"2026/11/22 12:06:47 socat[10] N SSL connection using TLS_AES_256_GCM_SHA384": {
			Cipher: "TLS_AES_256_GCM_SHA384"},
		"2026/11/22 12:06:47 socat[10] N SSL connection compression \"none\"":                 {},
		"2026/11/22 12:06:47 socat[10] N accepting connection from AF=2 127.0.0.1:53726 on 1": {},
		"2026-11-22 12:06:47 5 [Note] SSL connection using TLS_AES_256_GCM_SHA384":            {},
		"2026.11.22 15:52:32 LOG6[0]: TLSv1.3 ciphersuite: TLS_AES_256_GCM_SHA384 (256-bit encryption)": {
			"TLSv1.3", "TLS_AES_256_GCM_SHA384"},
		"2026.11.22 15:52:32 LOG6[0]: Negotiated TLSv1.2 ciphersuite ECDHE-RSA-AES256-GCM-SHA384 (256-bit encryption)": {
			"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"},
		"2026.11.22 15:52:32 LOG6[0]: Peer temporary key: X25519, 253 bits": {},
		"x": {},
	} {
		got, ok := ParseHandshake(line)
		if got != want || ok != (want != Handshake{}) {
			t.Errorf("%s: %+v, %v", line, got, ok)
		}
	}
}

func TestChatter(t *testing.T) {
	for line, want := range map[string]bool{
		"2026.11.22 15:52:31 LOG5[ui]: Configuration successful":                  true,
		"2026.11.22 15:52:32 LOG6[12]: TLS accepted: new session negotiated":      true,
		"2026.11.22 15:52:31 LOG4[ui]: Insecure file permissions on /tls/tls.key": false,
		"2026.11.22 15:52:32 LOG3[0]: SSL_accept: certificate verify failed":      false,
		"2026-11-22 15:52:32 0 [Note] LOG5[ui]":                                   false,
	} {
		if Chatter(line) != want {
			t.Errorf("%s: %v", line, !want)
		}
	}
}
