package manifest

import "testing"

// FuzzParse: what is read as a manifest names a format that this program knows, and parts.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"a","compression":"zstd","parts":[{"name":"p","size":1}]}`))
	f.Add([]byte(`{"parts":[{"size":-1}]}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err == nil && (m.Format < 1 || m.Format > IncrementFormat || m.ID == "" || len(m.Parts) == 0 ||
			m.StoredBytes() < 0) {
			t.Errorf("%q is read as %+v", text, m)
		}
	})
}
