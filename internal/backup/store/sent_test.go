package store

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestSent: what services other than Amazon's do not know is not sent, and what a bucket with Object Lock asks for is.
func TestSent(t *testing.T) {
	for name, region := range map[string]string{"Amazon S3": "eu-central-1", "Ceph RGW": "default", "MinIO": "us-east-1",
		"Cloudflare R2": "auto", "Wasabi": "eu-central-2", "Google's XML API": "auto"} {
		var mu sync.Mutex
		puts := 0
		f := storetest.NewFake(t, func(r *http.Request, body []byte, _ bool) (int, string) {
			mu.Lock()
			defer mu.Unlock()
			sum := md5.Sum(body) //nolint:gosec // it is the header's
			puts += strings.Count(r.Method, http.MethodPut)
			switch {
			case r.Method == http.MethodPut && r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]):
				return http.StatusBadRequest, "InvalidRequest: Content-MD5 is required with a default retention"
			case strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked"), r.Header.Get("X-Amz-Trailer") != "",
				strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING"):
				return http.StatusNotImplemented, "chunks are signed, or have trailers"
			case r.Header.Get("X-Amz-Sdk-Checksum-Algorithm") != "", r.Header.Get("X-Amz-Checksum-Crc32") != "",
				r.Header.Get("X-Amz-Checksum-Mode") != "":
				return http.StatusNotImplemented, "a checksum of a later kind"
			case !strings.Contains(r.Header.Get("Authorization"), "/"+region+"/s3/aws4_request"):
				return http.StatusForbidden, "another region"
			case !strings.HasPrefix(r.URL.Path, "/"+storetest.Bucket):
				return http.StatusNotFound, "the bucket is not in the path"
			case r.Header.Get("X-Amz-Acl") != "" || r.Header.Get("X-Amz-Server-Side-Encryption") != "":
				return http.StatusNotImplemented, "an ACL, or encryption"
			}
			return 0, ""
		})
		f.Region = region
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		data := bytes.Repeat([]byte("0123456789"), 1000)
		if err := Write(t.Context(), b, "k", data); err != nil {
			t.Errorf("%s: %s", name, Explain(err))
		}
		if err := Create(t.Context(), b, "once", bytes.NewReader(data)); err != nil {
			t.Errorf("%s: %s", name, Explain(err))
		}
		if have, err := b.ReadAll(t.Context(), "k"); err != nil || !bytes.Equal(have, data) {
			t.Errorf("%s: %d bytes, %v", name, len(have), err)
		}
		if err := b.Delete(t.Context(), "k"); err != nil || puts != 2 {
			t.Errorf("%s: %v, %d", name, err, puts)
		}
	}
}
