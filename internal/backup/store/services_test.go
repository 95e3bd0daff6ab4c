//go:build integration

package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// each runs a test with every service.
func each(t *testing.T, test func(t *testing.T, s *storetest.Service)) {
	for _, service := range []string{task.ServiceS3, task.ServiceGCS, task.ServiceAzure} {
		t.Run(service, func(t *testing.T) { test(t, storetest.Start(t, service)) })
	}
}

func open(t *testing.T, s *storetest.Service) *Bucket {
	t.Helper()
	b, err := OpenWith(t.Context(), s.Store, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestServices writes, reads, lists and deletes, and creates what must not be overwritten.
func TestServices(t *testing.T) {
	each(t, func(t *testing.T, s *storetest.Service) {
		s.Prefix = "some/prefix"
		ctx, b := t.Context(), open(t, s)
		large := make([]byte, 35<<20) // more than one part of an upload
		_, _ = rand.Read(large)
		for key, data := range map[string][]byte{"a/small.json": []byte("{}"), "a/large": large, "b": []byte("0123456789")} {
			if err := Write(ctx, b, key, data); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			if have, err := b.ReadAll(ctx, key); err != nil || !bytes.Equal(have, data) {
				t.Fatalf("%s: %d bytes, %v", key, len(have), err)
			}
		}
		r, err := b.NewRangeReader(ctx, "b", 0, 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := io.ReadAll(r); err != nil || string(have) != "0123" || r.Close() != nil {
			t.Errorf("a range: %q, %v", have, err)
		}
		if have := keys(t, b, &blob.ListOptions{Delimiter: "/"}); have != "a/ b" {
			t.Errorf("directories: %s", have)
		}
		if have := keys(t, b, &blob.ListOptions{Prefix: "a/"}); have != "a/large a/small.json" {
			t.Errorf("listed: %s", have)
		}
		if a, err := b.Attributes(ctx, "b"); err != nil || time.Since(a.ModTime).Abs() > time.Hour || a.Size != 10 {
			t.Errorf("attributes: %+v, %v", a, err)
		}
		if err := Write(ctx, b, "b", []byte("another")); err != nil {
			t.Errorf("written again: %v", err)
		}
		writeOnce(t, b)
		if err := b.Delete(ctx, "b"); err != nil {
			t.Error(err)
		}
		if err := b.Delete(ctx, "b"); !Missing(err) {
			t.Errorf("deleted again: %v", err)
		}
		if exists, err := Exists(ctx, b, "b"); exists || err != nil {
			t.Errorf("it exists: %v, %v", exists, err)
		}
		if _, err := b.ReadAll(ctx, "b"); !Missing(err) {
			t.Errorf("read: %v", err)
		}
	})
}

func writeOnce(t *testing.T, b *Bucket) {
	t.Helper()
	ctx := t.Context()
	if err := Create(ctx, b, "once", strings.NewReader("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(ctx, b, "once", strings.NewReader("second")); !Taken(err) {
		t.Errorf("created again: %v", err)
	}
	if have, err := b.ReadAll(ctx, "once"); err != nil || string(have) != "first" {
		t.Errorf("it is %q, %v", have, err)
	}
	if err := Create(ctx, b, "large once", io.LimitReader(rand.Reader, 20<<20)); err != nil {
		t.Fatal(err)
	}
	if err := Create(ctx, b, "large once", io.LimitReader(rand.Reader, 20<<20)); !Taken(err) {
		t.Errorf("a large one was created again: %v", err)
	}
	broken := errors.New("the disk")
	err := Create(ctx, b, "half", io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)))
	if exists, _ := Exists(ctx, b, "half"); !errors.Is(err, broken) || exists {
		t.Errorf("what broke off: %v, it exists: %v", err, exists)
	}
}

func keys(t *testing.T, b *Bucket, o *blob.ListOptions) string {
	t.Helper()
	var out []string
	for objects := b.List(o); ; {
		switch o, err := objects.Next(t.Context()); {
		case errors.Is(err, io.EOF):
			return strings.Join(out, " ")
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, o.Key)
		}
	}
}

// refusals are all the ways to use a bucket.
func refusals(ctx context.Context, b *Bucket) map[string]error {
	out := map[string]error{"write": Write(ctx, b, "k", []byte("x")),
		"a large write": Write(ctx, b, "k", make([]byte, 20<<20)),
		"create":        Create(ctx, b, "k", strings.NewReader("x")), "delete": b.Delete(ctx, "k")}
	_, out["read"] = b.ReadAll(ctx, "k")
	_, out["exists"] = Exists(ctx, b, "k")
	_, out["list"] = b.List(nil).Next(ctx)
	return out
}

// TestRenewedCredentials: wrong credentials are refused, by their reason; the right ones are taken without a restart.
// Where the service names the credentials, the refusal is not final: they may be about to be renewed.
func TestRenewedCredentials(t *testing.T) {
	each(t, func(t *testing.T, s *storetest.Service) {
		s.Use(t, s.Wrong)
		b := open(t, s)
		for what, err := range refusals(t.Context(), b) {
			// Azurite's code is AuthorizationFailure, which Azure gives for missing permissions. The answer to a HEAD, which
			// comes before a deletion from S3, has no code of the service, and may be about credentials.
			want := s.Service == task.ServiceAzure
			said := what == "exists" || what == "delete" || strings.Contains(Explain(err), s.Refusal)
			if reason, final := Reason(err); reason != task.ReasonStoreRefused || final != want || !said || Missing(err) {
				t.Errorf("%s: %s %v %q", what, reason, final, Explain(err))
			}
		}
		s.Use(t, s.Good)
		if err := Write(t.Context(), b, "k", []byte("x")); err != nil {
			t.Errorf("with renewed credentials: %s", Explain(err))
		}
		empty := map[string]string{}
		for name := range s.Good {
			empty[name] = "none\n"
		}
		s.Use(t, empty)
		if reason, final := Reason(Write(t.Context(), b, "k", []byte("x"))); reason != task.ReasonStoreRefused || !final {
			t.Errorf("with what is no key: %s %v", reason, final)
		}
	})
}

// TestRefusals: what is wrong with a store has a reason.
func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, s *storetest.Service) {
		refuses := func(name, reason string, final bool, says string, change func(*storetest.Service)) {
			t.Helper()
			other := *s
			change(&other)
			b := open(t, &other)
			for what, err := range refusals(t.Context(), b) {
				have, isFinal := Reason(err)
				if have != reason || isFinal != final || Missing(err) || Taken(err) || what != "exists" &&
					!strings.Contains(Explain(err), says) {
					t.Errorf("%s, %s: %s %v %q", name, what, have, isFinal, Explain(err))
				}
			}
		}
		none := &storetest.Service{Store: s.Store, Dir: s.Dir}
		none.Bucket = "no-such-bucket"
		for what, err := range refusals(t.Context(), open(t, none)) {
			// That the bucket is missing is not reported where an object is asked for.
			if reason, final := Reason(err); strings.Contains(what, "write") && (reason != task.ReasonStoreRefused || !final) ||
				err == nil && what != "exists" {
				t.Errorf("no bucket, %s: %s %v %v", what, reason, final, err)
			}
		}
		refuses("no host", task.ReasonStoreUnreachable, false, "no such host",
			func(s *storetest.Service) { s.Endpoint = "https://no-such-host.invalid" })
		refuses("no port", task.ReasonStoreUnreachable, false, "connection refused",
			func(s *storetest.Service) { s.Endpoint = "https://localhost:1" })
		foreign := t.TempDir()
		refuses("a foreign CA", task.ReasonStoreUnreachable, false, "certificate signed by unknown authority",
			func(s *storetest.Service) {
				s.Dir = foreign
				s.Use(t, s.Good)
				s.Use(t, map[string]string{task.CA: string(pkitest.NewCA("another").PEM)})
			})
		for status, reason := range map[int]string{http.StatusServiceUnavailable: task.ReasonStoreUnreachable,
			http.StatusTooManyRequests: task.ReasonStoreUnreachable, http.StatusInsufficientStorage: task.ReasonStoreFull} {
			s.Refuse(func(*http.Request) (int, string) { return status, "" })
			refuses(http.StatusText(status), reason, false, "", func(*storetest.Service) {})
		}
		s.Refuse(nil)
		readOnly(t, s)
	})
}

// readOnly: who may only read is refused when something is written, and what is read only is not taken for missing.
func readOnly(t *testing.T, s *storetest.Service) {
	t.Helper()
	b := open(t, s)
	if err := Write(t.Context(), b, "kept", []byte("x")); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{task.ServiceS3: `<Error><Code>AccessDenied</Code><Message>no</Message></Error>`,
		task.ServiceAzure: `<Error><Code>AuthorizationPermissionMismatch</Code><Message>no</Message></Error>`,
		task.ServiceGCS:   `{"error": {"code": 403, "message": "no", "errors": [{"reason": "forbidden", "message": "no"}]}}`}
	s.Refuse(func(r *http.Request) (int, string) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.URL.Path == "/token" {
			return 0, ""
		}
		return http.StatusForbidden, bodies[s.Service]
	})
	if s.Service == task.ServiceGCS {
		s.Use(t, s.Good)
	}
	for what, err := range map[string]error{"write": Write(t.Context(), b, "k", []byte("x")),
		"a large write": Write(t.Context(), b, "k", make([]byte, 35<<20)), "delete": b.Delete(t.Context(), "kept")} {
		if reason, final := Reason(err); reason != task.ReasonStoreRefused || !final || Missing(err) {
			t.Errorf("%s: %s %v %v", what, reason, final, err)
		}
	}
	s.Refuse(func(*http.Request) (int, string) { return http.StatusForbidden, bodies[s.Service] })
	if _, err := Exists(t.Context(), b, "kept"); err == nil {
		t.Error("a refusal is taken for an object that is missing")
	}
	s.Refuse(nil)
}

// TestToken: a SAS token is used, and never reported; one that has expired is refused.
func TestToken(t *testing.T) {
	s := storetest.Start(t, task.ServiceAzure)
	key, err := container.NewSharedKeyCredential(s.Account, s.Good[task.AccountKey])
	if err != nil {
		t.Fatal(err)
	}
	valid := time.Hour
	token := func(p sas.ContainerPermissions) string {
		signed, err := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPS, ExpiryTime: time.Now().UTC().Add(valid),
			Permissions: p.String(), ContainerName: s.Bucket}.SignWithSharedKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed.Encode()
	}
	s.Use(t, map[string]string{task.SASToken: "?" + token(sas.ContainerPermissions{Read: true, Add: true, Create: true,
		Write: true, Delete: true, List: true}) + "\n"})
	b := open(t, s)
	if err := Write(t.Context(), b, "k", []byte("x")); err != nil {
		t.Fatal(Explain(err))
	}
	if have := keys(t, b, nil); have != "k" {
		t.Errorf("listed: %s", have)
	}
	s.Use(t, map[string]string{task.SASToken: token(sas.ContainerPermissions{Read: true, List: true})})
	err = Write(t.Context(), b, "k", make([]byte, 20<<20))
	if reason, final := Reason(err); reason != task.ReasonStoreRefused || !final {
		t.Errorf("it may only read: %s %v %v", reason, final, err)
	}
	valid = -time.Minute
	s.Use(t, map[string]string{task.SASToken: token(sas.ContainerPermissions{Read: true, Add: true, Create: true,
		Write: true, Delete: true, List: true})})
	for what, err := range refusals(t.Context(), b) {
		if reason, final := Reason(err); reason != task.ReasonStoreRefused || !final || Missing(err) {
			t.Errorf("it has expired, %s: %s %v %v", what, reason, final, err)
		}
	}
	s.Down()
	for what, err := range refusals(t.Context(), b) {
		for _, text := range []string{err.Error(), Explain(err)} {
			if strings.Contains(text, "sig=") {
				t.Errorf("%s reports the token: %s", what, text)
			}
		}
	}
}
