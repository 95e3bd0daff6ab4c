package store

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestSettings: new objects have the encryption and the tags that the store asks for; parts, and what a check writes,
// its storage class.
func TestSettings(t *testing.T) {
	const key = "arn:aws:kms:eu-central-1:1234:key/a-b"
	var mu sync.Mutex
	sent := map[string]http.Header{}
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPut {
			sent[r.URL.Path[len("/"+storetest.Bucket+"/"):]] = r.Header.Clone()
		}
		return 0, ""
	})
	f.StorageClass, f.Encryption, f.KMSKey = "GLACIER_IR", "aws:kms", key
	f.Tags = map[string]string{"team": "shop & co", "kind": "backup"}
	b, err := OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for name, class := range map[string]string{"demo/shop/1/b1/000001x/part-000000": "GLACIER_IR",
		".check-x":                     "GLACIER_IR",
		"demo/shop/1/b1/manifest.json": "", "demo/shop/1/binlog/000000000/000000000001": ""} {
		if err := Create(t.Context(), b, name, bytes.NewReader([]byte("x"))); err != nil {
			t.Errorf("%s: %s", name, Explain(err))
		}
		for header, want := range map[string]string{"X-Amz-Storage-Class": class, "X-Amz-Server-Side-Encryption": "aws:kms",
			"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": key, "X-Amz-Tagging": "kind=backup&team=shop+%26+co",
			"Content-Type": kind(name)} {
			if have := sent[name].Get(header); have != want {
				t.Errorf("%s: %s is %q, not %q", name, header, have, want)
			}
		}
	}
}

// kind is the type that an object is stored with.
func kind(name string) string {
	if strings.HasSuffix(name, ".json") {
		return "application/json"
	}
	return "application/octet-stream"
}
