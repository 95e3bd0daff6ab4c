package measure

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// onPort lets a fake database listen where the runner looks for one.
func onPort(t *testing.T, serve func(net.Conn)) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(serverIP, clientPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
}

// TestAnswers: each connection asks again and again, with TLS where the arm wants it, and answers of another size are
// failures.
func TestAnswers(t *testing.T) {
	dir := newAuthority(t)
	for name, tc := range map[string]struct {
		encrypted, wanted bool
		answer            int
		want              string
	}{
		"plain":                {answer: 20000},
		"encrypted":            {encrypted: true, wanted: true, answer: 20000},
		"wanted and not there": {wanted: true, answer: 20000, want: "server does not support TLS"},
		"cut off": {answer: 0,
			want: "an answer of 0 bytes instead of 20000: is the cluster's max_allowed_packet below it?"},
	} {
		t.Run(name, func(t *testing.T) {
			db := fakeDB{answer: func(query string) (string, string) {
				if !strings.Contains(query, strconv.Itoa(20000)) {
					return "", "what?"
				}
				return strings.Repeat("x", tc.answer), ""
			}}
			if tc.encrypted {
				db.tls = serverTLS(t, dir, tls.VersionTLS13)
			}
			onPort(t, db.serve)
			r := &runner{target: target{ca: filepath.Join(dir, "ca.crt"),
				plan: result.Plan{TLS: tc.wanted, Hosts: []string{serverIP},
					ResultSize: &result.Sized{Size: 20000, Threads: 2, Seconds: 1}}}}
			err := r.answers(t.Context())
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("got %v", err)
				}
				return
			}
			got := r.out.Answers
			if err != nil || got.Answers == 0 || got.Errors != 0 || got.Size != 20000 || got.P95 == 0 ||
				(got.Protocol == "TLS 1.3") != tc.encrypted {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
}
