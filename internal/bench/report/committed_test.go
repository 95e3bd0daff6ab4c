package report

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stale returns which reports of a folder are not what is computed from the raw data next to them.
func stale(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no raw data", folder)
	}
	for _, file := range files {
		b := readCompressed(t, file)
		name := strings.TrimSuffix(file, ".json.gz")
		for _, format := range []string{"md", "csv"} {
			text, err := os.ReadFile(name + "." + format)
			if err != nil || !strings.Contains(string(text), written(t, format, b)) {
				names = append(names, filepath.Base(name)+"."+format)
			}
		}
	}
	return names
}

// readCompressed reads raw data as hack/experiment.sh leaves them.
func readCompressed(t *testing.T, file string) Benchmark {
	t.Helper()
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	text, err := gzip.NewReader(raw)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	b, err := Read(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return b
}

// TestCommittedReports: every report of docs/experiments can be computed again from its raw data.
func TestCommittedReports(t *testing.T) {
	for _, name := range stale(t, "../../../docs/experiments") {
		t.Errorf("docs/experiments/%s is not the report of the raw data next to it: write it by hack/experiment.sh", name)
	}
	folder := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"csv", "md"} {
		put("sample."+format, written(t, format, sample()))
	}
	var raw bytes.Buffer
	z := gzip.NewWriter(&raw)
	if _, err := z.Write([]byte(written(t, "json", sample()))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put("sample.json.gz", raw.String())
	if names := stale(t, folder); len(names) > 0 {
		t.Errorf("as it was written: %v", names)
	}
	put("sample.md", strings.Replace(written(t, "md", sample()), "±0.3", "±0.2", 1))
	if names := stale(t, folder); len(names) != 1 || names[0] != "sample.md" {
		t.Errorf("with an interval that was changed: %v", names)
	}
}
