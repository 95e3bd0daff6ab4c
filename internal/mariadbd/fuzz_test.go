package mariadbd

import (
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// FuzzRecovered: whatever a server prints, a position counts only if its last such line has all of one.
func FuzzRecovered(f *testing.F) {
	f.Add("2026-11-22 12:15:04 0 [Note] WSREP: Recovered position: 6f9619ff-8b86-d011-b42d-00cf4fc964ff:42,0-1-7")
	f.Add("x\n2026-11-22 12:15:04 0 [Note] WSREP: Recovered position: " + galera.ZeroUUID + ":-1\ny")
	f.Add("Recovered position: 6f9619ff-8b86-d011-b42d-00cf4fc964ff:4\nWSREP: Recovered position: ")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		got, ok := parseRecovered(lines)
		if !ok {
			return
		}
		again, err := galera.ParsePosition(got.Position.String())
		if err != nil || again != got.Position {
			t.Errorf("%q gives the position %v, which reads as %v, %v", text, got.Position, again, err)
		}
		last := ""
		for _, line := range slices.Backward(lines) {
			if strings.Contains(line, recovered) {
				last = line
				break
			}
		}
		if !strings.Contains(strings.ToLower(last), got.Position.String()) || !strings.Contains(last, got.Start) {
			t.Errorf("%+v is not of the last line that has a position, %q", got, last)
		}
	})
}

// FuzzLines: what is taken out of a line of the server or of a transfer's program stands in it.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		"2026-11-22 12:15:04 0 [Note] WSREP: Rejecting JOIN message from 0.1 (shop-1): new State Transfer required",
		"2026/11/22 12:15:04 socat[12] N SSL proto version used: TLSv1.3",
		"2026/11/22 12:15:04 socat[12] N SSL connection using TLS_AES_256_GCM_SHA384",
		"2026.11.22 12:15:04 LOG6[0]: TLSv1.3 ciphersuite: TLS_AES_256_GCM_SHA384 (256-bit encryption)",
		"2026/11/22 12:15:04 socat[12] E connect: No space left on device",
		"[ERROR] WSREP: Process completed with error: wsrep_sst_rsync --role 'joiner': 2 (No such file or directory)",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		h, found := ParseHandshake(line)
		if found != (h != Handshake{}) {
			t.Errorf("%q: %+v, %v", line, h, found)
		}
		for _, part := range []string{RejectedJoiner(line), h.Protocol, h.Cipher} {
			if !strings.Contains(line, part) {
				t.Errorf("%q has no %q", line, part)
			}
		}
		reason, message := TransferFailure(Exit{Code: 1, Lines: []string{line}})
		if reason == "" || message == "" || len(message) > len(line)+1024 {
			t.Errorf("%q: %q, %q", line, reason, message)
		}
		_, _ = Chatter(line), TransferBroke(Exit{Lines: []string{line}})
	})
}
