package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"testing"

	"filippo.io/age"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// increment stores i1, which adds to the backup b1, and is the one that is restored then.
func (r *restoring) increment(t *testing.T) {
	t.Helper()
	base, _, err := readManifest(t.Context(), r.bucket, r.base())
	if err != nil {
		t.Fatal(err)
	}
	base.LSN = 100
	text, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	r.replace(t, manifest.Name, text)
	m := base
	m.ID, m.Format, m.LSN = "i1", manifest.IncrementFormat, 200
	m.Base = &manifest.Base{ID: base.ID, Checksum: manifest.Checksum(text), LSN: base.LSN, Depth: 1}
	r.id = m.ID
	written, err := archive.Write(t.Context(), bytes.NewReader(r.stream[:1000]), archive.Options{
		Recipients: []age.Recipient{r.key.Recipient()}, Compression: m.Compression,
		Put: func(ctx context.Context, i int, data []byte) error {
			return store.Write(ctx, r.bucket, path.Join(r.base(), manifest.PartName(i)), data)
		}})
	if err != nil {
		t.Fatal(err)
	}
	m.Parts, m.StreamBytes, m.StreamSHA256 = written.Parts, written.StreamBytes, written.StreamSHA256
	if r.text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	r.replace(t, manifest.Name, r.text)
}

// TestDamagedBackup: what is reported as damaged is the backup of a chain that is, and not the one that is tested.
func TestDamagedBackup(t *testing.T) {
	const full, own = "demo/shop/u1/b1/", "demo/shop/u1/i1/"
	for name, c := range map[string]struct{ key, text, want string }{
		"nothing":                    {"", "", ""},
		"a part of the base":         {full + manifest.PartName(1), "x", "b1"},
		"a lost part of the base":    {full + manifest.PartName(1), "", "b1"},
		"the manifest of the base":   {full + manifest.Name, "{}", "b1"},
		"no manifest of the base":    {full + manifest.Name, "", "b1"},
		"a part of its own":          {own + manifest.PartName(0), "x", "i1"},
		"a lost part of its own":     {own + manifest.PartName(0), "", "i1"},
		"its own manifest":           {own + manifest.Name, "{}", "i1"},
		"the first part of the base": {full + manifest.PartName(0), "x", "b1"},
		"no first part of the base":  {full + manifest.PartName(0), "", "b1"},
		"another manifest of the base": {full + manifest.Name, `{"format":1,"id":"b1","lsn":100,"compression":"None",` +
			`"parts":[{"size":1}]}`, "b1"},
	} {
		r := newRestoring(t)
		r.increment(t)
		var err error
		switch {
		case c.key == "":
		case c.text == "":
			err = r.bucket.Delete(t.Context(), c.key)
		default:
			err = r.bucket.WriteAll(t.Context(), c.key, []byte(c.text), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		kill := r.serve(t, r.answer)
		all, err := r.places.chain(t.Context())
		for step := len(all) - 1; step >= 0 && err == nil; step-- { // as restore does
			err = r.places.stream(t.Context(), all[step], step, &bytes.Buffer{})
		}
		kill()
		if c.want == "" {
			if err != nil || len(all) != 2 {
				t.Errorf("%s: %d, %v", name, len(all), err)
			}
			continue
		}
		if got := failed(err); got.Damaged != c.want || got.Reason != task.ReasonBackupDamaged || !got.Fatal {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
