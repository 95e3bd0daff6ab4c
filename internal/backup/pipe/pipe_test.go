package pipe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// memory is a Sink.
type memory struct {
	data []byte
	full error
}

func (m *memory) Write(b []byte) (int, error) {
	if m.full != nil {
		return 0, m.full
	}
	m.data = append(m.data, b...)
	return len(b), nil
}

func (m *memory) Truncate(size int64) error {
	m.data = m.data[:size]
	return nil
}

// socket is one with a short name: a path of a socket has at most 107 bytes.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pipe") //nolint:usetesting // t.TempDir has the test's name, which is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// serving answers until the test ends.
func serving(t *testing.T, answer func(context.Context, Request, *Writer) End) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	name, ended := socket(t), make(chan error, 1)
	go func() { ended <- Serve(ctx, name, answer) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return name
}

// TestAnswer: the data arrive as they were written and truncated, with what the end says; one request follows the
// other.
func TestAnswer(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	name := serving(t, func(_ context.Context, r Request, w *Writer) End {
		if r.What == Manifest {
			return End{Error: "the store is away", Reason: "StoreUnreachable"}
		}
		_, _ = w.Write([]byte("keep this, not that"))
		_ = w.Truncate(int64(len("keep this")))
		_, _ = io.Copy(w, bytes.NewReader(big))
		return End{Relayed: &Relayed{Last: r.Base, Count: 7}}
	})
	var to memory
	base := binlog.GTID{Server: 1, Seq: 9}
	e, err := Ask(t.Context(), name, Request{What: Relay, Base: base}, &to)
	if err != nil || e.Relayed == nil || e.Relayed.Last != base || e.Relayed.Count != 7 || string(to.data) != "keep this"+
		string(big) {
		t.Errorf("%+v, %v, %d bytes", e, err, len(to.data))
	}
	if e, err := Ask(t.Context(), name, Request{What: Manifest}, &to); err != nil || e.Error == "" ||
		e.Reason != "StoreUnreachable" || e.Fatal {
		t.Errorf("%+v, %v", e, err)
	}
	full := errors.New("no space left")
	if _, err := Ask(t.Context(), name, Request{What: Relay}, &memory{full: full}); !errors.Is(err, full) ||
		errors.Is(err, ErrBroken) {
		t.Errorf("a sink that fails: %v", err)
	}
}

// TestBroken: an answer counts only when its end has arrived, and names the bytes that have.
func TestBroken(t *testing.T) {
	message := func(kind byte, n int, data string) string {
		return string(binary.BigEndian.AppendUint64([]byte{kind}, uint64(n))) + data
	}
	for name, sent := range map[string]string{
		"nothing":                  "",
		"half a header":            "\x01\x00",
		"half of the data":         message(kindData, 100, "half"),
		"all data, and no end":     message(kindData, 4, "data"),
		"half an end":              message(kindData, 4, "data") + message(kindEnd, 11, `{"bytes":`),
		"fewer bytes than it says": message(kindData, 4, "data") + message(kindEnd, 11, `{"bytes":8}`),
		"an end without its data":  message(kindEnd, 11, `{"bytes":8}`),
		"another protocol":         strings.Repeat("GET / HTTP/1.1", 9),
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket(t))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = conn.Read(make([]byte, maxRequest))
				_, _ = io.WriteString(conn, sent)
				_ = conn.Close()
			}
		}()
		if e, err := Ask(t.Context(), l.Addr().String(), Request{What: Stream}, &memory{}); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		_ = l.Close()
	}
}

// TestKilledServer: an answer that is cut off because its container is asked to stop has no end.
func TestKilledServer(t *testing.T) {
	ctx, kill := context.WithCancel(t.Context())
	name, ended := socket(t), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, name, func(ctx context.Context, _ Request, w *Writer) End {
			_, _ = w.Write([]byte("the first half"))
			kill()
			<-ctx.Done()
			return End{}
		})
	}()
	if e, err := Ask(t.Context(), name, Request{What: Stream}, &memory{}); !errors.Is(err, ErrBroken) {
		t.Errorf("%+v, %v", e, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStranger: what the other container sends is bounded, and stops no later request.
func TestStranger(t *testing.T) {
	name := serving(t, func(_ context.Context, r Request, _ *Writer) End { return End{Error: r.What} })
	for _, sent := range []string{"", "no JSON", `{"what":"` + strings.Repeat("x", 2*maxRequest) + `"}`} {
		conn, err := connect(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent)
		_ = conn.(*net.UnixConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if have, _ := io.ReadAll(conn); len(have) > 0 {
			t.Errorf("%.20q is answered: %q", sent, have)
		}
		_ = conn.Close()
	}
	if e, err := Ask(t.Context(), name, Request{What: Manifest}, &memory{}); err != nil || e.Error != Manifest {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestAwait: the socket may come later than the one who asks.
func TestAwait(t *testing.T) {
	name, asked := socket(t), make(chan error, 1)
	go func() {
		_, err := Ask(t.Context(), name, Request{What: Manifest}, &memory{})
		asked <- err
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, name, func(context.Context, Request, *Writer) End { return End{} }) }()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
