package serving

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/pki"
)

const (
	testUser     = "channel"
	testPassword = "it's a \\ secret"
	testPoll     = 20 * time.Millisecond
	sourceName   = "source.test"
)

// written is an archive as it lies in a store: a chain that begins after a transaction.
type written struct {
	*testing.T
	*archived
	key *age.X25519Identity
	at  binlog.Head
	// line is the line of history of what is stored next, "a" by default.
	line string
	// earlier are the lines before that one, and after is the last transaction before it.
	earlier []binlog.Line
	after   binlog.GTID
	// more is how many transactions a node has, where a chain begins, that are not in its binary log.
	more int64
	// streams are what is streamed, nil for nothing.
	streams *streams
	// held keeps segments away from the store while it is not nil.
	held map[string][]byte
}

func newWritten(t *testing.T, after binlog.GTID) *written {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	w := &written{T: t, key: key, archived: &archived{bucket: bucket, dir: "demo/shop/1/binlog", chain: 1,
		keys: func() ([]age.Identity, error) { return []age.Identity{key}, nil }}}
	w.begin(after)
	return w
}

// begin begins a chain after a transaction.
func (w *written) begin(after binlog.GTID) {
	w.Helper()
	w.put(binlog.Head{Begins: true, Last: after, Chain: w.at.Number + 1, Why: "a test wants it"}, nil)
}

// add stores transactions in one segment.
func (w *written) add(last binlog.GTID, transactions int, content ...[]byte) {
	w.Helper()
	body := &bytes.Buffer{}
	sealed, err := age.Encrypt(body, w.key.Recipient())
	if err != nil {
		w.Fatal(err)
	}
	packed, err := zstd.NewWriter(sealed)
	if err != nil {
		w.Fatal(err)
	}
	_, err = packed.Write(bytes.Join(append([][]byte{[]byte(binlog.Magic)}, content...), nil))
	if err := errors.Join(err, packed.Close(), sealed.Close()); err != nil {
		w.Fatal(err)
	}
	sum := sha256.Sum256(body.Bytes())
	w.put(binlog.Head{Last: last, Previous: w.at.Last, Transactions: transactions, SHA256: hex.EncodeToString(sum[:]),
		Chain: w.at.Chain, Times: binlog.Between(time.Unix(10, 0), time.Now(), time.Time{}),
		Through: time.Unix(20, 0)}, body.Bytes())
}

func (w *written) put(h binlog.Head, body []byte) {
	w.Helper()
	h.Format, h.Number, h.Before = binlog.FormatVersion, w.at.Number+1, w.at.Checksum
	h.Lines = append(append([]binlog.Line{}, w.earlier...), binlog.Line{History: "h", ID: cmp.Or(w.line, "a"),
		After: w.after})
	h.LastSum, h.Held = "sum of "+h.Last.String(), int64(h.Last.Seq) //nolint:gosec // small
	h.Seqno = h.Held + w.more
	line, err := h.Encode()
	switch {
	case err == nil && w.held != nil:
		w.held[w.archived.key(h.Number)] = append(line, body...)
	case err == nil:
		err = store.Write(context.Background(), w.bucket, w.archived.key(h.Number), append(line, body...))
	}
	if err != nil {
		w.Fatal(err)
	}
	w.at = h
}

// release stores what was kept away.
func (w *written) release() {
	w.Helper()
	for key, content := range w.held {
		if err := store.Write(context.Background(), w.bucket, key, content); err != nil {
			w.Fatal(err)
		}
	}
	w.held = nil
}

// serve lets replicas in at an address, and returns its port and the CA.
func (w *written) serve(t *testing.T, address string) (port int, ca []byte, stop func()) {
	w.Helper()
	cert, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), sourceName)
	if err != nil {
		w.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		w.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		w.Fatal(err)
	}
	s := &server{archive: w.archived, streams: w.streams, trust: &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{pair}}, poll: testPoll,
		account: func() (account, error) { return account{testUser, testPassword}, nil }}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.run(ctx, l); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return l.Addr().(*net.TCPAddr).Port, cert, stop
}
