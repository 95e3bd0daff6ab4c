// Package store opens the place backups lie in: a bucket of an S3 service, or a directory of a volume.
package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	_ "golang.org/x/crypto/x509roots/fallback" // the public CAs: the images have none

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// connectTime bounds a connection to the service, answerTime the wait for its answer.
const (
	connectTime = 10 * time.Second
	answerTime  = time.Minute
)

// Open returns the bucket. It does not connect yet.
func Open(ctx context.Context, s task.Store) (*blob.Bucket, error) {
	bucket, err := open(ctx, s)
	if err != nil || s.Prefix == "" {
		return bucket, err
	}
	return blob.PrefixedBucket(bucket, strings.Trim(s.Prefix, "/")+"/"), nil
}

func open(ctx context.Context, s task.Store) (*blob.Bucket, error) {
	if s.Bucket == "" {
		// Temporary files beside the others: another directory may be another file system, or read-only. The metadata of a
		// file would be a second file.
		return fileblob.OpenBucket(task.VolumeDir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	}
	client, err := s3Client(ctx, s)
	if err != nil {
		return nil, err
	}
	return s3blob.OpenBucket(ctx, client, s.Bucket, nil)
}

func s3Client(ctx context.Context, s task.Store) (*s3.Client, error) {
	transport, err := transport()
	if err != nil {
		return nil, err
	}
	load := []func(*config.LoadOptions) error{
		config.WithRegion(s.Region), config.WithHTTPClient(&http.Client{Transport: transport}),
		// Repeating is the caller's: it knows how long that makes sense.
		config.WithRetryMaxAttempts(2),
	}
	if s.Credentials {
		load = append(load, config.WithCredentialsProvider(aws.CredentialsProviderFunc(mounted)))
	}
	conf, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, err
	}
	return s3.NewFromConfig(conf, func(o *s3.Options) {
		o.UsePathStyle = s.PathStyle
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
		}
		// Services other than Amazon's know no checksum trailers; parts have checksums of their own.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}), nil
}

// mounted reads the credentials from their files, anew for every use: kubelet renews them.
func mounted(ctx context.Context) (aws.Credentials, error) {
	var words [3]string
	for i, name := range []string{task.AccessKeyID, task.SecretAccessKey, task.SessionToken} {
		text, err := os.ReadFile(filepath.Join(task.StoreDir, name))
		if err != nil && (name != task.SessionToken || !errors.Is(err, fs.ErrNotExist)) {
			return aws.Credentials{}, err
		}
		words[i] = strings.TrimSpace(string(text))
	}
	return credentials.NewStaticCredentialsProvider(words[0], words[1], words[2]).Retrieve(ctx)
}

// transport believes the store's CA alone, where it has one.
func transport() (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = connectTime, answerTime
	text, err := os.ReadFile(filepath.Join(task.StoreDir, task.CA))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the store's caBundle holds no certificate in PEM")
	}
	return t, nil
}
