package runner

import (
	"bytes"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/pipe"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestExchanged: a manifest that was exchanged, for one of the same ID in the same place, is believed by no step of a
// restore.
func TestExchanged(t *testing.T) {
	r := newRestoring(t)
	good := manifest.Checksum(r.text)
	forged := bytes.Replace(r.text, []byte(`"gtid":"0-1-3"`), []byte(`"gtid":"0-1-2"`), 1)
	if bytes.Equal(forged, r.text) {
		t.Fatal("nothing is forged")
	}
	steps := func() map[string]error {
		_, found := find(t.Context(), r.bucket, task.Find{Dir: r.dir, ID: r.id, Checksum: r.checksum})
		asked := func(what string) error {
			end := r.answer(t.Context(), pipe.Request{What: what}, nil)
			if end.Error == "" {
				return nil
			}
			return failure{reason: end.Reason, fatal: end.Fatal, err: errorText(end.Error)}
		}
		return map[string]error{"find": found, "open": r.open(t.Context()), "manifest": asked(pipe.Manifest)}
	}
	for name, c := range map[string]struct {
		text     []byte
		checksum string
		refused  bool
	}{
		"as it was written":           {r.text, good, false},
		"exchanged":                   {forged, good, true},
		"exchanged, without a record": {forged, "", false},
	} {
		r.replace(t, manifest.Name, c.text)
		r.checksum = c.checksum
		for step, err := range steps() {
			reason, final := explain(err)
			refused := reason == task.ReasonBackupDamaged && final && strings.Contains(err.Error(), "was "+good) &&
				strings.Contains(err.Error(), "import the backup again")
			if refused != c.refused || err != nil && !refused && reason != task.ReasonWrongKey { // find has no key here
				t.Errorf("%s: %s: %v", name, step, err)
			}
		}
	}
}

type errorText string

// Error implements error.
func (e errorText) Error() string { return string(e) }

// TestExchangedChain: the checksum on record of an increment covers all that it adds to, also where each names the one
// before as it is now.
func TestExchangedChain(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	all := chained(t, bucket, 1)
	find := func(checksum string) error {
		_, err := find(t.Context(), bucket, task.Find{Dir: chainDir, ID: "b1", Checksum: checksum})
		return err
	}
	good := rewrite(t, bucket, all[1])
	all[0].Node = "forged"
	all[1].Base.Checksum = rewrite(t, bucket, all[0])
	if reason, _ := explain(find(good)); reason != task.ReasonBackupDamaged {
		t.Errorf("the base alone: %s", reason)
	}
	forged := rewrite(t, bucket, all[1])
	if reason, _ := explain(find(good)); reason != task.ReasonBackupDamaged {
		t.Errorf("the chain: %s", reason)
	}
	if reason, _ := explain(find(forged)); reason != task.ReasonWrongKey {
		t.Errorf("a chain that is whole: %s", reason)
	}
}
