package runner

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestVerifyParts: the test of a backup finds which backup of its chain is damaged. A store that refuses, and a test
// that is ended, find no damage: a good backup would count as none.
func TestVerifyParts(t *testing.T) {
	const damage = task.ReasonBackupDamaged
	const full, own = "demo/shop/u1/b1/", "demo/shop/u1/i1/"
	for name, c := range map[string]struct {
		change, text string // an object, "" for one that is lost
		refused      string // an object that the store refuses
		ended        string // or whose reading the test is ended with
		damaged      string
		reason       string
	}{
		"whole":                     {},
		"a part of the base":        {change: full + manifest.PartName(1), text: "x", damaged: "b1", reason: damage},
		"a part of its own":         {change: own + manifest.PartName(0), text: "x", damaged: "i1", reason: damage},
		"a lost part of the base":   {change: full + manifest.PartName(1), damaged: "b1", reason: task.ReasonBackupDamaged},
		"the store refuses a part":  {refused: full + manifest.PartName(1), reason: task.ReasonStoreRefused},
		"it is ended in the middle": {ended: full + manifest.PartName(1), reason: task.ReasonStoreUnreachable},
	} {
		ctx, end := context.WithCancel(t.Context())
		r := newRestoring(t)
		r.increment(t)
		f := storetest.NewFake(t, func(req *http.Request, _ []byte, _ bool) (int, string) {
			switch key := strings.TrimPrefix(req.URL.Path, "/"+storetest.Bucket+"/"); {
			case c.refused != "" && key == c.refused:
				return http.StatusForbidden, "AccessDenied"
			case c.ended != "" && key == c.ended:
				end()
			}
			return 0, ""
		})
		objects := r.bucket.List(&blob.ListOptions{})
		for {
			o, err := objects.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			text, readErr := r.bucket.ReadAll(t.Context(), o.Key)
			if err != nil || readErr != nil {
				t.Fatal(err, readErr)
			}
			if o.Key == c.change {
				text = []byte(c.text)
			}
			if o.Key != c.change || c.text != "" {
				f.Put(o.Key, text)
			}
		}
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		segments, err := fetcher{bucket: bucket, dir: path.Dir(r.base()), id: r.id}.check(ctx)
		var got task.Result
		if err != nil {
			got = failed(err)
		}
		if segments != 0 || got.Damaged != c.damaged || (got.Reason == task.ReasonBackupDamaged) !=
			(c.reason == task.ReasonBackupDamaged) || (err == nil) != (c.reason == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		_ = bucket.Close()
		end()
	}
}
