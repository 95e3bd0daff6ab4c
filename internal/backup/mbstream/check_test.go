package mbstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"
)

// chunk is one as mbstream reads it.
func chunk(kind byte, flags byte, name string, rest ...[]byte) []byte {
	out := append([]byte(Magic), flags, kind)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(name))) //nolint:gosec // short
	return append(append(out, name...), bytes.Join(rest, nil)...)
}

func part(flags byte, name string, at uint64, text string) []byte {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	head = binary.LittleEndian.AppendUint64(head, at)
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE([]byte(text)))
	return chunk(payload, flags, name, head, []byte(text))
}

func to(name string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(name))), name...) //nolint:gosec // short
}

// TestChecker: a stream is passed on as it is, whatever pieces it comes in. One that is damaged, or names what is not
// of the backup, is taken to its end, and not passed on from there.
func TestChecker(t *testing.T) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	whole := join(part(0, "ibdata1", 0, "abc"), part(0, "shop/t.ibd", 0, ""), part(0, "ibdata1", 3, "defgh"),
		chunk(eof, 0, "ibdata1"), chunk(eof, 0, "shop/t.ibd"))
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte("abc"))]++
	unknown := bytes.Clone(whole)
	unknown[fixedHead-5] = 'Q'
	long := bytes.Clone(whole)
	long[fixedHead-2] = 9
	for name, c := range map[string]struct {
		stream []byte
		err    error
	}{
		"whole":          {whole, nil},
		"empty":          {nil, nil},
		"below":          {join(part(0, "./ibdata1", 0, "abcdefgh"), chunk(eof, 0, "ibdata1")), nil},
		"damaged":        {damaged, ErrDamaged},
		"no magic":       {join([]byte("XBSTCK00"), whole[8:]), ErrDamaged},
		"in the middle":  {join(whole[:40], whole[41:]), ErrDamaged},
		"an unknown one": {unknown, ErrDamaged},
		"a long name":    {long, ErrDamaged},
		"no name":        {part(0, "", 0, "abc"), ErrDamaged},
		"cut off":        {whole[:len(whole)-1], ErrDamaged},
		"within a file":  {whole[:len(whole)-len(chunk(eof, 0, "shop/t.ibd"))], ErrDamaged},
		"a part less": {join(part(0, "ibdata1", 0, "abc"), part(0, "ibdata1", 4, "efgh"), chunk(eof, 0, "ibdata1")),
			ErrDamaged},
		"two streams": {join(whole, whole), ErrDamaged},
		"an empty file twice": {join(part(0, "ibdata1", 0, "abcdefgh"), chunk(eof, 0, "ibdata1"), chunk(eof, 0, "x"),
			chunk(eof, 0, "x")), ErrDamaged},
		"outside":      {join(part(0, "../x", 0, "abc"), chunk(eof, 0, "../x")), ErrName},
		"a root":       {join(part(0, "/x", 0, "abc"), chunk(eof, 0, "/x")), ErrName},
		"within, out":  {join(part(0, "shop/../../x", 0, "abc")), ErrName},
		"the backup":   {chunk(eof, 0, "."), ErrName},
		"two names":    {chunk(eof, 0, "x\x00y"), ErrName},
		"rewritten":    {join(whole, part(rewrite, "ibdata1", 0, "xyzabcde"), chunk(eof, 0, "ibdata1")), nil},
		"renamed":      {join(whole, chunk(rename, 0, "shop/t.ibd", to("shop/u.ibd"))), nil},
		"renamed, out": {join(whole, chunk(rename, 0, "shop/t.ibd", to("../u.ibd"))), ErrName},
		"removed":      {join(whole, chunk(remove, 0, "shop/t.ibd")), nil},
		"removed, out": {join(whole, chunk(remove, 0, "../t.ibd")), ErrName},
		"a hole": {join(part(0, "ibdata1", 0, "abc"), chunk(seek, 0, "ibdata1", []byte{5, 0, 0, 0, 0, 0, 0, 0}),
			part(0, "ibdata1", 5, "fgh"), chunk(eof, 0, "ibdata1")), nil},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var out bytes.Buffer
			var data uint64
			k := NewChecker(&out, func(name string, at uint64, piece []byte) {
				if name == "ibdata1" && len(piece) > 0 {
					data = at + uint64(len(piece))
				}
			})
			n, err := io.CopyBuffer(struct{ io.Writer }{k}, struct{ io.Reader }{bytes.NewReader(c.stream)}, make([]byte, size))
			if int(n) != len(c.stream) || err != nil {
				t.Errorf("%s: %d of %d, %v", name, n, len(c.stream), err)
			}
			switch err := k.Close(); {
			case !errors.Is(err, c.err):
				t.Errorf("%s, by %d: %v", name, size, err)
			case !bytes.HasPrefix(c.stream, out.Bytes()) || err == nil && out.Len() != len(c.stream):
				t.Errorf("%s, by %d: %d bytes are passed on", name, size, out.Len())
			case err == nil && len(c.stream) > 0 && (data != 8 || k.Sizes()["ibdata1"] != 8):
				t.Errorf("%s, by %d: %d, %v", name, size, data, k.Sizes())
			}
			if errors.Is(c.err, ErrName) && bytes.Contains(out.Bytes(), []byte("abc")) && !bytes.HasPrefix(c.stream, whole) {
				t.Errorf("%s, by %d: %q is passed on", name, size, out.Bytes())
			}
		}
	}
}

// TestCheckerFails: what cannot be written is no fault of the stream.
func TestCheckerFails(t *testing.T) {
	_, in := io.Pipe()
	_ = in.CloseWithError(io.ErrShortWrite)
	k := NewChecker(in, func(string, uint64, []byte) {})
	if _, err := k.Write(chunk(eof, 0, "x")); err == nil {
		t.Error("nothing fails")
	}
}
