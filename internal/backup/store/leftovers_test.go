package store

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestUnfinishedChecks: what checks have left in a bucket is looked for by its name, and not where a backup is removed.
func TestUnfinishedChecks(t *testing.T) {
	const check = ".check-abc234-once"
	for dir, want := range map[string]string{"": "report", strings.TrimSuffix(backupKey, "/"): check + " report"} {
		var lists []string
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if q := r.URL.Query(); q.Has("list-type") {
				lists = append(lists, q.Get("prefix"))
			}
			return 0, ""
		})
		for _, key := range []string{check, "report"} {
			f.Put(key, []byte("x")) // long ago
		}
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		n, err := RemoveUnfinished(t.Context(), b, f.Store, dir, time.Now())
		asked := map[bool][]string{true: {".check-"}, false: nil}[dir == ""]
		if err != nil || n != len(asked) || !slices.Equal(lists, asked) {
			t.Errorf("below %q: %d, %v, listed are %q", dir, n, err, lists)
		}
		var left []string
		for all := b.List(nil); ; {
			o, err := all.Next(t.Context())
			if err != nil {
				break
			}
			left = append(left, o.Key)
		}
		if strings.Join(left, " ") != want {
			t.Errorf("below %q: left are %v", dir, left)
		}
		_ = b.Close()
	}
}

// TestUnfinishedRefused: an upload that was completed meanwhile is none, and a refusal is reported.
func TestUnfinishedRefused(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		fails  bool
	}{"NoSuchUpload": {http.StatusNotFound, false}, "AccessDenied": {http.StatusForbidden, true}} {
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if r.Method == http.MethodDelete {
				return c.status, code
			}
			return 0, ""
		})
		f.Upload(backupKey+"000001abc/part-000001", time.Now().Add(-9*24*time.Hour))
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RemoveUnfinished(t.Context(), b, f.Store, "", time.Now()); (err != nil) != c.fails {
			t.Errorf("%s: %v", code, err)
		}
		_ = b.Close()
	}
}

// TestTaken: what services say of an object that exists, and of a refusal.
func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"S3":              {amazon(http.StatusPreconditionFailed, "PreconditionFailed"), true},
		"another service": {amazon(http.StatusPreconditionFailed, "x"), true},
		"S3 refuses":      {amazon(http.StatusForbidden, "AccessDenied"), false},
		"S3 has two":      {amazon(http.StatusConflict, "ConditionalRequestConflict"), false},
		"Azure":           {&azcore.ResponseError{StatusCode: http.StatusConflict, ErrorCode: "BlobAlreadyExists"}, true},
		"Azure is busy":   {&azcore.ResponseError{StatusCode: http.StatusConflict, ErrorCode: "LeaseIdMissing"}, false},
		"a file":          {errTaken, true},
		"none":            {nil, false},
	} {
		if Taken(c.err) != c.want {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// TestUnreadableCredentials: credentials that cannot be read now are not taken for empty ones, and a token that cannot
// be is not left out.
func TestUnreadableCredentials(t *testing.T) {
	for name, do := range map[string]func(dir string) error{
		"no key's ID":     func(dir string) error { return os.Remove(filepath.Join(dir, task.AccessKeyID)) },
		"no secret":       func(dir string) error { return os.Remove(filepath.Join(dir, task.SecretAccessKey)) },
		"an odd token":    func(dir string) error { return os.Mkdir(filepath.Join(dir, task.SessionToken), 0o700) },
		"none, as stored": nil,
	} {
		f := storetest.NewFake(t, nil)
		if do != nil {
			if err := do(f.Dir); err != nil {
				t.Fatal(err)
			}
		}
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		err = Write(t.Context(), b, "k", []byte("x"))
		if (err != nil) != (do != nil) || err != nil && strings.Contains(Explain(err), "holds an empty") {
			t.Errorf("%s: %v", name, err)
		}
		_ = b.Close()
	}
}

// TestAzureRefuses: an answer of Azure that refuses is that, though it has no times.
func TestAzureRefuses(t *testing.T) {
	status, code := 0, ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
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
	for said, c := range map[string]struct {
		status  int
		missing bool
		final   bool
	}{
		"BlobNotFound":         {http.StatusNotFound, true, true},
		"ContainerNotFound":    {http.StatusNotFound, false, true},
		"AuthenticationFailed": {http.StatusForbidden, false, false},
		"AuthorizationFailure": {http.StatusForbidden, false, true},
	} {
		status, code = c.status, said
		_, err := b.ReadAll(t.Context(), "k")
		_, described := b.Attributes(t.Context(), "k")
		for how, err := range map[string]error{"read": err, "described": described} {
			if reason, final := Reason(err); Missing(err) != c.missing || reason != task.ReasonStoreRefused ||
				final != c.final {
				t.Errorf("%s, %s: missing %v, %s %v %v", said, how, Missing(err), reason, final, err)
			}
		}
	}
}
