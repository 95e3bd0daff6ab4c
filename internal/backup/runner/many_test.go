package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// slow is a store of backups that needs a while for each answer, of which it gives as many at once as it is asked for.
type slow struct {
	driver.Bucket
	answer time.Duration
	below  map[string][]string // the names in a directory, which ends with a slash
}

// slowStore has backups of some clusters.
func slowStore(backups, clusters int, answer time.Duration) *slow {
	s := &slow{answer: answer, below: map[string][]string{"": {"demo/"}}}
	for i := range clusters {
		s.below["demo/"] = append(s.below["demo/"], fmt.Sprintf("c%06d/", i))
		s.below[fmt.Sprintf("demo/c%06d/", i)] = []string{"u/"}
	}
	for i := range backups {
		dir := fmt.Sprintf("demo/c%06d/u/", i%clusters)
		s.below[dir] = append(s.below[dir], fmt.Sprintf("b%06d/", i))
	}
	return s
}

// ListPaged implements driver.Bucket: up to 1000 names are on a page, as S3 has it.
func (s *slow) ListPaged(_ context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	time.Sleep(s.answer)
	var page driver.ListPage
	from, _ := strconv.Atoi(string(o.PageToken))
	all := s.below[o.Prefix]
	for _, name := range all[from:min(from+1000, len(all))] {
		page.Objects = append(page.Objects, &driver.ListObject{Key: o.Prefix + name, IsDir: true})
	}
	if from+1000 < len(all) {
		page.NextPageToken = []byte(strconv.Itoa(from + 1000))
	}
	return &page, nil
}

// NewRangeReader implements driver.Bucket: every object is a manifest.
func (s *slow) NewRangeReader(_ context.Context, key string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader,
	error) {
	time.Sleep(s.answer)
	text, err := json.Marshal(manifest.Manifest{Format: manifest.Format, ID: path.Base(path.Dir(key)), CompletedAt: now,
		Compression: manifest.CompressionNone, Parts: make([]manifest.Part, 1)})
	return content{bytes.NewReader(text)}, err
}

// Close implements driver.Bucket.
func (*slow) Close() error { return nil }

// content is an object's.
type content struct{ *bytes.Reader }

// Attributes implements driver.Reader.
func (c content) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{Size: c.Size()}
}

// As implements driver.Reader.
func (content) As(any) bool { return false }

// Close implements io.Closer.
func (content) Close() error { return nil }

var _ io.ReadCloser = content{}

// TestManyBackups: a store with 12,000 backups is checked in the ten minutes of its Job, of which the search for
// unfinished uploads takes up to two, also where it needs half a second for each answer; of however many clusters they
// are.
func TestManyBackups(t *testing.T) {
	const backups, most = 12_000, 10*time.Minute - unfinishedTime - time.Minute
	for _, clusters := range []int{1, 600} {
		synctest.Test(t, func(t *testing.T) {
			bucket := blob.NewBucket(slowStore(backups, clusters, time.Second/2))
			defer func() { _ = bucket.Close() }()
			begun := time.Now()
			found, err := list(t.Context(), bucket, "")
			if took := time.Since(begun); err != nil || len(found) != backups || took > most {
				t.Errorf("%d of %d clusters are found in %s: %v", len(found), clusters, took, err)
			}
		})
	}
}

// TestTooManyBackups: what is no store of backups alone is not read for hours.
func TestTooManyBackups(t *testing.T) {
	for _, clusters := range []int{1, 3, maxListed + 1} {
		bucket := blob.NewBucket(slowStore(maxListed+1, clusters, 0))
		if found, err := list(t.Context(), bucket, ""); err == nil || !strings.Contains(err.Error(), "more than 20000") {
			t.Errorf("of %d clusters %d are found: %v", clusters, len(found), err)
		}
		_ = bucket.Close()
	}
}
