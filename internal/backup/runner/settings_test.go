//go:build integration

package runner

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestObjectSettings: every new object is sent with the store's encryption, storage class and tags, in one piece or in
// several, and a service takes them.
func TestObjectSettings(t *testing.T) {
	s := storetest.Start(t, task.ServiceS3)
	s.StorageClass, s.Encryption, s.Tags = "STANDARD", "AES256", map[string]string{"team": "shop + co"}
	begun := 0
	s.Refuse(func(r *http.Request) (int, string) { // as a bucket's policy may
		h, q := r.Header, r.URL.Query()
		begins := r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploads")
		if !begins {
			return 0, ""
		}
		begun++
		if h.Get("X-Amz-Server-Side-Encryption") != "AES256" || h.Get("X-Amz-Tagging") == "" ||
			h.Get("X-Amz-Storage-Class") != "STANDARD" {
			return http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>unencrypted, or untagged</Message></Error>"
		}
		return 0, ""
	})
	bucket, err := store.OpenWith(t.Context(), s.Store, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	if _, err := check(t.Context(), bucket, task.Check{}); err != nil {
		t.Error(err)
	}
	var c *s3.Client
	if !bucket.As(&c) {
		t.Fatal("no client of S3")
	}
	for name, size := range map[string]int{"a/part-000000": 1, "a/part-000001": 35 << 20} {
		if err := store.Write(t.Context(), bucket, name, make([]byte, size)); err != nil {
			t.Errorf("%s: %s", name, store.Explain(err))
			continue
		}
		have, err := c.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(s.Bucket),
			Key: aws.String(name)})
		if err != nil || len(have.TagSet) != 1 || aws.ToString(have.TagSet[0].Value) != "shop + co" {
			t.Errorf("%s has the tags %+v, %v", name, have, err)
		}
	}
	if begun < 4 {
		t.Errorf("%d objects were begun", begun)
	}
}
