package runner

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAwait(t *testing.T) {
	looks := 0
	err := await(context.Background(), time.Millisecond, func() (string, error) {
		if looks++; looks < 3 {
			return "the old key", nil
		}
		return "", nil
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, %v", looks, err)
	}
	short, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer stop()
	if err := await(short, time.Millisecond, func() (string, error) { return "the old key", nil }); err == nil || err.Error() != "the old key" {
		t.Errorf("got %v", err)
	}
	refused := errors.New("refused")
	if err := await(context.Background(), time.Hour, func() (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
