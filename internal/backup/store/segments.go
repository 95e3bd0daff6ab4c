package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// ErrHead is returned for a segment whose head cannot be used, whatever the store does.
var ErrHead = errors.New("the segment is damaged")

// Head reads the head of a segment of a binary log.
func Head(ctx context.Context, bucket *blob.Bucket, key string) (binlog.Head, error) {
	r, err := bucket.NewRangeReader(ctx, key, 0, binlog.MaxHead, nil)
	if err != nil {
		return binlog.Head{}, err
	}
	text, err := io.ReadAll(r)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return binlog.Head{}, err
	}
	h, _, err := binlog.Decode(text)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrHead, err)
	}
	return h, err
}

// ReadUpTo reads an object, or as many bytes of it as are given where it has more: what lies there may be anything.
func ReadUpTo(ctx context.Context, bucket *blob.Bucket, key string, most int64) ([]byte, error) {
	r, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, most))
	return text, cmp.Or(err, r.Close())
}
