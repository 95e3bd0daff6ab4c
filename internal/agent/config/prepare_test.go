package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPreparingSince(t *testing.T) {
	dir := t.TempDir()
	if PreparingSince(dir, time.Unix(0, 0)) {
		t.Error("without a log")
	}
	log := filepath.Join(dir, prepareLog)
	writeExecutable(t, log, "")
	if err := os.Chtimes(log, time.Unix(50, 0), time.Unix(50, 0)); err != nil {
		t.Fatal(err)
	}
	if !PreparingSince(dir, time.Unix(49, 0)) || PreparingSince(dir, time.Unix(51, 0)) {
		t.Error("the log of an earlier transfer is mistaken for this one's, or the other way round")
	}
}
