// Package store opens the place backups lie in: a bucket of an object store, or a directory of a volume.
package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Bucket is what the program uses of a store.
type Bucket = blob.Bucket

// Open returns the bucket. It does not connect yet.
func Open(ctx context.Context, s task.Store) (*Bucket, error) { return OpenWith(ctx, s, task.StoreDir) }

// OpenWith returns the bucket, with credentials and CA from a directory.
func OpenWith(ctx context.Context, s task.Store, dir string) (*Bucket, error) {
	bucket, err := place{s, dir}.open(ctx)
	if err != nil || s.Prefix == "" {
		return bucket, err
	}
	return blob.PrefixedBucket(bucket, strings.Trim(s.Prefix, "/")+"/"), nil
}

// place is a store, and the directory with its credentials and its CA.
type place struct {
	task.Store
	dir string
}

func (p place) open(ctx context.Context) (*Bucket, error) {
	switch p.Service {
	case task.ServiceS3:
		return p.s3(ctx)
	case task.ServiceGCS:
		return p.gcs(ctx)
	case task.ServiceAzure:
		return p.azure(ctx)
	case "":
		// Temporary files alongside the others: another directory may be another file system, or read-only. The metadata of a
		// file would be a second file.
		return fileblob.OpenBucket(task.VolumeDir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	}
	return nil, fmt.Errorf("the program knows no service %q: it is older than the operator", p.Service)
}

// read returns a file of the store's. Credentials are read anew for every use: kubelet renews the files.
func (p place) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.dir, name))
}

// word is what a file holds, without the space around it.
func (p place) word(name string) (string, error) {
	text, err := p.read(name)
	return strings.TrimSpace(string(text)), err
}
