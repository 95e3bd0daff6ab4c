package storetest

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest/google"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func (s *Service) gcs(t *testing.T) {
	t.Helper()
	s.program(t, nil, "fake-gcs-server", func(port, cert, key, _ string) []string {
		return []string{"-scheme", "https", "-host", "localhost", "-port", port, "-cert-location", cert,
			"-private-key-location", key, "-backend", "memory", "-external-url", s.Endpoint, "-log-level", "error"}
	})
	known, public, err := google.NewKey(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := google.NewKey(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s.Good, s.Wrong, s.Refusal = map[string]string{task.ServiceAccountKey: known},
		map[string]string{task.ServiceAccountKey: other}, "invalid_grant"
	judge := google.NewJudge(public)
	s.front.admit, s.Token = judge.Admit, judge.Token
	if err := judge.CreateBucket(t.Context(), s.Client(), s.Endpoint, Bucket); err != nil {
		t.Fatal(err)
	}
}
