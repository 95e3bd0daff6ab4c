package archiver

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// spool is a segment that is being written: on disk, because a transaction may be larger than memory, and encrypted
// already.
type spool struct {
	head  binlog.Head
	bytes int64
	size  int64 // of the file, at its end

	file   *os.File
	buffer *bufio.Writer
	sum    hash.Hash
	sealed io.WriteCloser
	packed *zstd.Encoder
	ended  bool
}

func newSpool(to []age.Recipient) (*spool, error) {
	f, err := os.CreateTemp("", "segment-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // it goes with the process: the volume outlives a container that is killed
		_ = f.Close()
		return nil, err
	}
	s := &spool{file: f, buffer: bufio.NewWriter(f), sum: sha256.New()}
	if s.sealed, err = age.Encrypt(io.MultiWriter(s.buffer, s.sum), to...); err != nil {
		s.Close()
		return nil, err
	}
	if s.packed, err = zstd.NewWriter(s.sealed, zstd.WithEncoderConcurrency(1)); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *spool) write(data []byte) error {
	s.bytes += int64(len(data))
	_, err := s.packed.Write(data)
	return err
}

// end completes the file, and describes it. It may be called again.
func (s *spool) end(h *binlog.Head) error {
	if !s.ended {
		if err := errors.Join(s.packed.Close(), s.sealed.Close(), s.buffer.Flush()); err != nil {
			return err
		}
		s.ended = true
	}
	size, err := s.file.Seek(0, io.SeekEnd)
	s.size = size
	h.Bytes, h.Size, h.SHA256 = s.bytes, size, hex.EncodeToString(s.sum.Sum(nil))
	return err
}

// Close frees the file.
func (s *spool) Close() { _ = s.file.Close() }
