package store

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestListWithoutTimes: a service that lists objects without a time is refused by name, and ends no program.
func TestListWithoutTimes(t *testing.T) {
	f := storetest.NewFake(t, nil)
	f.Put("a/1", []byte("x"))
	f.Put("a/2", []byte("x"))
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	list := func() (n int, err error) {
		for all := b.List(&blob.ListOptions{Prefix: "a/"}); ; n++ {
			if _, err := all.Next(t.Context()); err != nil {
				return n, err
			}
		}
	}
	if n, err := list(); n != 2 || !errors.Is(err, io.EOF) {
		t.Fatalf("with times: %d, %v", n, err)
	}
	f.OmitTimes()
	_, err = list()
	reason, final := Reason(err)
	if said := Explain(err); reason != task.ReasonStoreRefused || final ||
		!strings.HasPrefix(said, "the bucket "+storetest.Bucket+" at https://") || !strings.Contains(said, `"a/1" without`) {
		t.Errorf("%s, final %v: %s", reason, final, said)
	}
}

// TestAzureIncomplete: an answer that lacks what the library reads unseen ends no program.
func TestAzureIncomplete(t *testing.T) {
	const when = "Thu, 26 Nov 2026 12:00:00 GMT"
	list := func(properties string) string {
		return `<EnumerationResults><Blobs><Blob><Name>a</Name><Properties>` + properties +
			`</Properties></Blob></Blobs></EnumerationResults>`
	}
	for name, c := range map[string]struct {
		list    string
		headers map[string]string
		want    [3]bool // whether the list, the attributes and the content can be had
	}{
		"as Azure": {list("<Last-Modified>" + when + "</Last-Modified><Content-Length>1</Content-Length>"),
			map[string]string{"Last-Modified": when, "x-ms-creation-time": when}, [3]bool{true, true, true}},
		"no times": {list("<Content-Length>1</Content-Length>"), nil, [3]bool{}},
		"no size":  {list("<Last-Modified>" + when + "</Last-Modified>"), nil, [3]bool{}},
		"no time of creation": {"<EnumerationResults><Blobs></Blobs></EnumerationResults>",
			map[string]string{"Last-Modified": when}, [3]bool{true, false, true}},
		"no list": {"<EnumerationResults></EnumerationResults>", nil, [3]bool{}},
		"no XML":  {"hello", nil, [3]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("comp") == "list" {
					w.Header().Set("Content-Type", "application/xml")
					_, _ = io.WriteString(w, c.list)
					return
				}
				for k, v := range c.headers {
					w.Header().Set(k, v)
				}
				_, _ = io.WriteString(w, "x")
			}))
			defer server.Close()
			dir := t.TempDir()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			for name, text := range map[string]string{task.CA: string(ca), task.AccountKey: "a2V5"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b, err := OpenWith(t.Context(), task.Store{Service: task.ServiceAzure, Bucket: "backups", Account: "a",
				Endpoint: server.URL, Credentials: true}, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			_, listed := b.List(nil).Next(t.Context())
			if errors.Is(listed, io.EOF) {
				listed = nil
			}
			_, described := b.Attributes(t.Context(), "a")
			_, read := b.ReadAll(t.Context(), "a")
			for i, err := range []error{listed, described, read} {
				if (err == nil) != c.want[i] {
					t.Errorf("%d: %v", i, err)
				}
				if reason, final := Reason(err); err != nil && (reason != task.ReasonStoreRefused || final ||
					!strings.HasPrefix(Explain(err), "the container backups at https://")) {
					t.Errorf("%d: %s, final %v: %s", i, reason, final, Explain(err))
				}
			}
		})
	}
}
