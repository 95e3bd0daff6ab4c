//go:build integration

package runner

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// locked is a bucket whose objects may not be deleted for a day.
func locked(t *testing.T, s *storetest.Service) string {
	t.Helper()
	const name = "locked"
	c := s3.New(s3.Options{Region: s.Region, BaseEndpoint: aws.String(s.Endpoint), UsePathStyle: true,
		HTTPClient:  s.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(s.Good[task.AccessKeyID], s.Good[task.SecretAccessKey], "")})
	_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name),
		ObjectLockEnabledForBucket: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.PutObjectLockConfiguration(t.Context(), &s3.PutObjectLockConfigurationInput{Bucket: aws.String(name),
		ObjectLockConfiguration: &types.ObjectLockConfiguration{
			ObjectLockEnabled: types.ObjectLockEnabledEnabled,
			Rule: &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{Days: aws.Int32(1),
				Mode: types.ObjectLockRetentionModeCompliance}}}})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestObjectLock: a store that locks objects, and keeps no versions alongside them, refuses a deletion; that is
// reported, and nothing is lost.
func TestObjectLock(t *testing.T) {
	s := storetest.Start(t, task.ServiceS3)
	s.Bucket = locked(t, s)
	s.Refuse(func(r *http.Request) (int, string) { // as Amazon's does, and the emulator does not
		if r.Method == http.MethodPut && r.Header.Get("Content-Md5") == "" {
			return http.StatusBadRequest,
				"<Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- HTTP header is required for Put " +
					"Object requests with Object Lock parameters</Message></Error>"
		}
		return 0, ""
	})
	bucket, err := store.OpenWith(t.Context(), s.Store, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	m := manifestOf("u1", "b1")
	shelf{bucket, s}.leave(t, m, true)
	if err := store.Write(t.Context(), bucket, "large", make([]byte, 35<<20)); err != nil { // in parts
		t.Error(store.Explain(err))
	}
	refused := func(doing string, err error) {
		t.Helper()
		var f failure
		if !errors.As(err, &f) || f.reason != task.ReasonStoreRefused || !f.fatal || !strings.Contains(err.Error(), doing) {
			t.Errorf("%v", err)
		}
	}
	refused("the manifest could not be deleted",
		remove(t.Context(), bucket, manifest.Dir(m.Namespace, m.Cluster, m.ClusterUID), m.ID))
	if have, _, err := readManifest(t.Context(), bucket, base(m)); err != nil || have.ID != m.ID {
		t.Errorf("%+v, %v", have, err)
	}
	_, err = check(t.Context(), bucket, task.Check{})
	refused("an object could not be deleted, as retention needs it", err)
}

// TestUnfinishedUpload: a service lists an upload in parts that was never completed, and it is aborted.
func TestUnfinishedUpload(t *testing.T) {
	s := storetest.Start(t, task.ServiceS3)
	s.Prefix = "shops"
	bucket, err := store.OpenWith(t.Context(), s.Store, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	var c *s3.Client
	if !bucket.As(&c) {
		t.Fatal("no client of S3")
	}
	const base = "demo/shop/a54080f9/20261124-012923-b54080f9"
	for _, key := range []string{"shops/" + base + "/000001abc/part-000003", "shops/other"} {
		if _, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(s.Bucket),
			Key: aws.String(key)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{base, ""} {
		n, err := store.RemoveUnfinished(t.Context(), bucket, s.Store, dir, time.Now().Add(time.Hour))
		if err != nil || (n == 1) != (dir != "") {
			t.Errorf("below %q: %d, %v", dir, n, err)
		}
	}
	left, err := c.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String(s.Bucket)})
	if err != nil || len(left.Uploads) != 1 || aws.ToString(left.Uploads[0].Key) != "shops/other" {
		t.Errorf("%+v, %v", left, err)
	}
}
