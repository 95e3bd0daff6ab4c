package store

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// deny has a service answer as S3 does: a request for a missing object is refused unless the right to list holds for
// the whole bucket. listed is the prefix below which the right holds.
func deny(t *testing.T, listed string) *storetest.Fake {
	t.Helper()
	return storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
		key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+storetest.Bucket), "/")
		lists := key == "" && (listed == "" || !strings.HasPrefix(r.URL.Query().Get("prefix"), listed))
		reads := key != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
		if lists || reads && (!exists || strings.HasSuffix(key, "secret")) {
			return http.StatusForbidden, "AccessDenied"
		}
		return 0, ""
	})
}

// TestMissingWithoutRight: an object that is missing is one also where the right to list holds for the prefix only. An
// object that exists and is refused is not missing, and neither is anything where nothing can be listed.
func TestMissingWithoutRight(t *testing.T) {
	for name, tc := range map[string]struct {
		listed, key, stored string
		missing             bool
	}{
		"missing below the prefix":          {"shops/", "a", "", true},
		"a longer key exists":               {"shops/", "a", "shops/a/b", true},
		"it exists, and is refused":         {"shops/", "secret", "shops/secret", false},
		"nothing can be listed":             {"", "a", "", false},
		"another prefix can be listed":      {"wiki/", "a", "", false},
		"it exists, and nothing is refused": {"shops/", "a", "shops/a", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := deny(t, tc.listed)
			f.Prefix = "shops"
			if tc.stored != "" {
				f.Put(tc.stored, []byte("x"))
			}
			b, err := OpenWith(t.Context(), f.Store, f.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			for how, ask := range map[string]func(context.Context) error{
				"GET": func(ctx context.Context) error { _, err := b.ReadAll(ctx, tc.key); return err },
				"range": func(ctx context.Context) error {
					r, err := b.NewRangeReader(ctx, tc.key, 0, 9, nil)
					if err == nil {
						err = r.Close()
					}
					return err
				},
				"HEAD": func(ctx context.Context) error { _, err := b.Attributes(ctx, tc.key); return err },
			} {
				if err := ask(t.Context()); Missing(err) != tc.missing || err == nil != (tc.stored == "shops/"+tc.key &&
					tc.key != "secret") {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
}
