package store

import (
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
