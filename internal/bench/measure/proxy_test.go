package measure

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAwaitProxy(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "mysql.sock")
	err := awaitProxy(t.Context(), socket, 20*time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(),
		"the proxy did not answer within 20ms; its image must have ProxySQL 2") || !strings.HasSuffix(err.Error(),
		"no such file or directory") {
		t.Errorf("got %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() {
		var lc net.ListenConfig
		if l, err := lc.Listen(t.Context(), "unix", socket); err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	})
	if err := awaitProxy(t.Context(), socket, 10*time.Second); err != nil {
		t.Errorf("a proxy that takes a while: %v", err)
	}
}

func TestBackendIsTheArms(t *testing.T) {
	for name, tc := range map[string]struct {
		seen   backend
		wanted bool
		want   string
	}{
		"encrypted":                 {backend{"TLSv1.3", "TLS_AES_128_GCM_SHA256"}, true, ""},
		"plain":                     {backend{}, false, ""},
		"plain on an encrypted arm": {backend{}, true, "the arm wants TLS, and the proxy speaks none with the database"},
		"encrypted on a plain arm": {backend{"TLSv1.3", "TLS_AES_128_GCM_SHA256"}, false,
			"the arm wants no TLS, and the proxy speaks TLSv1.3 with the database"},
	} {
		if got := inWords(tc.seen.wrong(tc.wanted)); got != tc.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
