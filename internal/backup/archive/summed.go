package archive

import (
	"crypto/sha256"
	"io"
)

// summed is a destination whose bytes are hashed by another goroutine meanwhile: of all that a stream costs, its
// SHA-256 takes longest.
type summed struct {
	dst  io.Writer
	data chan []byte
	// done gets a word for each piece that is hashed, sum the checksum at the end.
	done chan struct{}
	sum  chan []byte
}

func newSummed(dst io.Writer) *summed {
	s := &summed{dst: dst, data: make(chan []byte), done: make(chan struct{}), sum: make(chan []byte, 1)}
	go func() {
		sum := sha256.New()
		for data := range s.data {
			_, _ = sum.Write(data) // a hash never fails
			s.done <- struct{}{}
		}
		s.sum <- sum.Sum(nil)
	}()
	return s
}

// Write implements io.Writer. Who calls it may use the bytes again then, so that it waits for the hash, too.
func (s *summed) Write(data []byte) (int, error) {
	s.data <- data
	n, err := s.dst.Write(data)
	<-s.done
	return n, err
}

// end returns the SHA-256 of all that was written.
func (s *summed) end() []byte {
	close(s.data)
	return <-s.sum
}
