package archive

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

const testPart = 64 << 10

// shelf keeps parts in memory.
type shelf struct {
	mu    sync.Mutex
	parts map[int][]byte
	fail  int // the part that cannot be stored, -1 for none
}

var errFull = errors.New("the shelf is full")

func (s *shelf) put(_ context.Context, index int, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index == s.fail {
		return errFull
	}
	s.parts[index] = bytes.Clone(data)
	return nil
}

func (s *shelf) get(_ context.Context, index int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.parts[index]
	if !ok {
		return nil, errors.New("no such part")
	}
	return data, nil
}

func key(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// noise is not compressible.
func noise(n int) []byte {
	r, out := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func stored(t *testing.T, data []byte, compression string, keys ...age.Recipient) (*shelf, manifest.Manifest) {
	t.Helper()
	s := &shelf{parts: map[int][]byte{}, fail: -1}
	w, err := Write(t.Context(), bytes.NewReader(data), Options{Recipients: keys, Compression: compression,
		PartSize: testPart, Put: s.put})
	if err != nil {
		t.Fatal(err)
	}
	return s, manifest.Manifest{Compression: compression, Parts: w.Parts, StreamBytes: w.StreamBytes,
		StreamSHA256: w.StreamSHA256}
}

func TestRoundTrip(t *testing.T) {
	one, two := key(t), key(t)
	for name, data := range map[string][]byte{"nothing": nil, "a little": []byte("secret"),
		"one part exactly": noise(testPart), "many parts": noise(20*testPart + 7)} {
		for _, compression := range []string{manifest.CompressionZstd, manifest.CompressionNone} {
			s, m := stored(t, data, compression, one.Recipient(), two.Recipient())
			for i, p := range s.parts {
				if bytes.Contains(p, []byte("secret")) {
					t.Errorf("%s: part %d holds clear text", name, i)
				}
			}
			var out bytes.Buffer
			if err := Read(t.Context(), m, s.get, []age.Identity{two}, &out); err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%s, %s: %d of %d bytes, %v", name, compression, out.Len(), len(data), err)
			}
		}
	}
}

// TestAltered: nothing that was changed since passes, also when the manifest was changed with it.
func TestAltered(t *testing.T) {
	own, data := key(t), noise(5*testPart)
	for _, compression := range []string{manifest.CompressionZstd, manifest.CompressionNone} {
		for name, c := range map[string]struct {
			alter func(s *shelf, m *manifest.Manifest)
			says  string
		}{
			"a bit of a part": {func(s *shelf, _ *manifest.Manifest) { s.parts[2][100] ^= 1 },
				"part-000002 is not what was stored"},
			"a part that is missing": {func(s *shelf, _ *manifest.Manifest) { delete(s.parts, 1) }, "no such part"},
			"two parts exchanged": {func(s *shelf, _ *manifest.Manifest) {
				s.parts[1], s.parts[2] = s.parts[2],
					s.parts[1]
			}, "is not what was stored"},
			"the end, with the manifest": {func(_ *shelf, m *manifest.Manifest) { m.Parts = m.Parts[:3] },
				"cannot be read to its end"},
			"the order, with the manifest": {func(s *shelf, m *manifest.Manifest) {
				s.parts[1], s.parts[2] = s.parts[2], s.parts[1]
				m.Parts[1], m.Parts[2] = m.Parts[2], m.Parts[1]
			}, "cannot be read to its end"},
			"the whole stream's checksum": {func(_ *shelf, m *manifest.Manifest) { m.StreamSHA256 = strings.Repeat("0", 64) },
				"not what its manifest says"},
		} {
			s, m := stored(t, data, compression, own.Recipient())
			if err := Check(t.Context(), m, s.get); err != nil {
				t.Errorf("%s, %s: as it was stored: %v", compression, name, err)
			}
			c.alter(s, &m)
			keyless := !strings.Contains(name, "manifest") && !strings.Contains(name, "whole") // what needs no key
			if err := Check(t.Context(), m, s.get); keyless != (err != nil) {
				t.Errorf("%s, %s, without a key: %v", compression, name, err)
			}
			if err := Read(t.Context(), m, s.get, []age.Identity{own}, &bytes.Buffer{}); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v", compression, name, err)
			}
		}
	}
}

func TestWrongKey(t *testing.T) {
	s, m := stored(t, noise(100), manifest.CompressionZstd, key(t).Recipient())
	if err := Read(t.Context(), m, s.get, []age.Identity{key(t)}, &bytes.Buffer{}); !errors.Is(err, ErrWrongKey) {
		t.Errorf("%v", err)
	}
}

// TestStoreFails: what failed first is what is reported, and the writer does not hang.
func TestStoreFails(t *testing.T) {
	for _, at := range []int{0, 3, 20} {
		s := &shelf{parts: map[int][]byte{}, fail: at}
		_, err := Write(t.Context(), bytes.NewReader(noise(20*testPart+7)),
			Options{Recipients: []age.Recipient{key(t).Recipient()},
				Compression: manifest.CompressionZstd, PartSize: testPart, Put: s.put})
		if !errors.Is(err, errFull) {
			t.Errorf("part %d: %v", at, err)
		}
	}
}

type broken struct{ n int }

func (b *broken) Read(p []byte) (int, error) {
	if b.n -= len(p); b.n < 0 {
		return 0, errors.New("the node is gone")
	}
	copy(p, noise(len(p)))
	return len(p), nil
}

func TestSourceFails(t *testing.T) {
	for _, compression := range []string{manifest.CompressionZstd, manifest.CompressionNone} {
		s := &shelf{parts: map[int][]byte{}, fail: -1}
		_, err := Write(t.Context(), &broken{n: 5 * testPart}, Options{Recipients: []age.Recipient{key(t).Recipient()},
			Compression: compression, PartSize: testPart, Put: s.put})
		if err == nil || !strings.Contains(err.Error(), "the node is gone") {
			t.Errorf("%s: %v", compression, err)
		}
	}
}

// TestLevels: every level of the API is one of the program, a higher one makes a smaller backup, and all are read
// alike.
func TestLevels(t *testing.T) {
	k, text := key(t), []byte(strings.Repeat("0123456789 the quick brown fox ", 3000))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range text { // not too easy
		if r.IntN(5) == 0 {
			text[i] = byte('a' + r.IntN(26))
		}
	}
	size := map[string]int64{}
	for _, level := range []string{"", "Fastest", "Default", "Better", "Best"} {
		s := &shelf{parts: map[int][]byte{}, fail: -1}
		o := Options{Recipients: []age.Recipient{k.Recipient()}, Compression: manifest.CompressionZstd, Level: level,
			PartSize: testPart, Put: s.put}
		w, err := Write(t.Context(), bytes.NewReader(text), o)
		if err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		m := manifest.Manifest{Compression: o.Compression, Parts: w.Parts, StreamBytes: w.StreamBytes,
			StreamSHA256: w.StreamSHA256}
		var have bytes.Buffer
		if err := Read(t.Context(), m, s.get, []age.Identity{k}, &have); err != nil || !bytes.Equal(have.Bytes(), text) {
			t.Errorf("%s: %d bytes, %v", level, have.Len(), err)
		}
		size[level] = m.StoredBytes()
	}
	if size[""] != size["Fastest"] || size["Best"] >= size["Default"] || size["Default"] >= size["Fastest"] {
		t.Errorf("%v", size)
	}
	if _, err := Write(t.Context(), strings.NewReader("x"), Options{Recipients: []age.Recipient{k.Recipient()},
		Compression: manifest.CompressionZstd, Level: "Ultra"}); err == nil {
		t.Error("an unknown level is taken")
	}
}
