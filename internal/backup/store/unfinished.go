package store

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// maxUnfinished bounds how many pages of uploads, of up to a thousand each, are read at a time: the next run reads on.
const maxUnfinished = 20

// checkPrefix begins the names of the objects of checks.
const checkPrefix = ".check-"

var (
	// ownKey matches the objects that this program writes, below a store's prefix: parts and manifests of backups, the
	// segments of archives, and what a check writes.
	ownKey = regexp.MustCompile(`^(\.check-[a-z0-9-]+|[^/]+/[^/]+/[0-9a-f]{8}/(\d{8}-\d{6}-[0-9a-f]{8}/` +
		`(manifest\.json|([a-z0-9]{1,32}/)?part-\d{6})|binlog/(through\.json|\d{9}/\d{12})))$`)
	// temporary matches what the library appends to the name of a file that is being written.
	temporary = regexp.MustCompile(`\.[0-9a-f]+\.tmp$`)
)

// RemoveUnfinished removes what writers that were killed have left below a directory, "" for all, before a time:
// uploads in parts, which no listing shows and every month is paid for, temporary files of a volume, and objects of
// checks. Google and Azure remove theirs after a week. Only what this program writes is removed. It returns how much
// that was.
func RemoveUnfinished(ctx context.Context, b *Bucket, s task.Store, dir string, before time.Time) (n int, err error) {
	var client *s3.Client
	if b.As(&client) {
		if n, err = abortUploads(ctx, client, s, dir, before); err != nil {
			return n, err
		}
	}
	k := 0
	switch {
	case isFiles(b):
		k, err = removeFiles(ctx, b, dirPrefix(dir), before)
	case dir == "":
		k, err = removeObjects(ctx, b, blob.ListOptions{Prefix: checkPrefix}, before)
	}
	return n + k, err
}

// removeFiles removes those of a directory, and of the directories below it. Each is listed on its own: for a page of a
// list, the library goes through all files below its prefix, those of the pages before among them.
func removeFiles(ctx context.Context, b *Bucket, prefix string, before time.Time) (n int, err error) {
	return removeObjects(ctx, b, blob.ListOptions{Prefix: prefix, Delimiter: "/"}, before)
}

func removeObjects(ctx context.Context, b *Bucket, of blob.ListOptions, before time.Time) (n int, err error) {
	for all := b.List(&of); ; {
		if err := ctx.Err(); err != nil { // a volume is read without it
			return n, err
		}
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if o.IsDir {
			k, err := removeFiles(ctx, b, o.Key, before)
			if n += k; err != nil {
				return n, err
			}
			continue
		}
		key := temporary.ReplaceAllString(o.Key, "")
		left := key != o.Key || strings.HasPrefix(key, checkPrefix)
		if !left || !ownKey.MatchString(key) || !o.ModTime.Before(before) {
			continue
		}
		if err := b.Delete(ctx, o.Key); err != nil && !Missing(err) {
			return n, err
		}
		n++
	}
}

// abortUploads aborts uploads in parts that were begun before a time.
func abortUploads(ctx context.Context, c *s3.Client, s task.Store, dir string, before time.Time) (n int, err error) {
	prefix := ""
	if p := strings.Trim(s.Prefix, "/"); p != "" {
		prefix = p + "/"
	}
	in := &s3.ListMultipartUploadsInput{Bucket: aws.String(s.Bucket), Prefix: aws.String(prefix + dirPrefix(dir))}
	for range maxUnfinished {
		page, err := c.ListMultipartUploads(ctx, in)
		if err != nil {
			return n, err
		}
		for _, u := range page.Uploads {
			key, below := strings.CutPrefix(aws.ToString(u.Key), prefix)
			if !below || !ownKey.MatchString(key) || u.Initiated == nil || !u.Initiated.Before(before) {
				continue
			}
			_, err := c.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: in.Bucket, Key: u.Key,
				UploadId: u.UploadId})
			if err != nil && !Missing(err) && !isNoUpload(err) {
				return n, err
			}
			n++
		}
		if !aws.ToBool(page.IsTruncated) || aws.ToString(page.NextKeyMarker) == "" {
			return n, nil
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
	return n, nil
}

func dirPrefix(dir string) string {
	if dir == "" {
		return ""
	}
	return dir + "/"
}

// isNoUpload reports whether an upload was completed, or aborted, meanwhile.
func isNoUpload(err error) bool {
	said, answered := answerOf(err)
	return answered && said.code == "NoSuchUpload"
}
