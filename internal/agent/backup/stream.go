package backup

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// copyThreads read at the same time: more would take the disk from the server.
	copyThreads = "2"
	// admissionTTL is how long a caller may take nothing of the stream. Meanwhile mariadb-backup cannot follow InnoDB's
	// log.
	admissionTTL = 5 * time.Minute
	chunkSize    = 256 << 10
)

// TLSConfig admits a client by its key alone. pair is asked at every handshake.
func (r *Streamer) TLSConfig(pair func() *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			own := pair()
			if own == nil {
				return nil, errors.New("no usable certificate has been published yet")
			}
			return &tls.Config{
				MinVersion:   tls.VersionTLS13,
				Certificates: []tls.Certificate{*own},
				// The key is what is admitted; who signed its certificate is irrelevant.
				ClientAuth: tls.RequireAnyClientCert,
				VerifyConnection: func(state tls.ConnectionState) error {
					if len(state.PeerCertificates) == 0 || r.Admitted(agentapi.KeyHash(state.PeerCertificates[0])) == "" {
						return errors.New("no backup is admitted for this key")
					}
					return nil
				},
				SessionTicketsDisabled: true,
			}, nil
		},
	}
}

// Handler gives backups.
func (r *Streamer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentapi.PathBackup+"{id}", r.serve)
	return mux
}

func (r *Streamer) serve(w http.ResponseWriter, q *http.Request) {
	id := q.PathValue("id")
	if q.TLS == nil || len(q.TLS.PeerCertificates) == 0 || r.Admitted(agentapi.KeyHash(q.TLS.PeerCertificates[0])) != id {
		http.Error(w, "this backup is not admitted for this key", http.StatusForbidden)
		return
	}
	g, ctx, err := r.begin(q.Context(), id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(time.Time{}) // a recorder of a test has no deadlines
	w.Header().Set("Trailer", agentapi.TrailerBackup)
	w.Header().Set("Content-Type", "application/octet-stream")
	end, err := r.stream(ctx, g.version, func(chunk []byte) error {
		_ = controller.SetWriteDeadline(time.Now().Add(admissionTTL))
		n, err := w.Write(chunk)
		g.bytes.Add(int64(n))
		return err
	})
	if err == nil {
		err = r.sameLine(ctx, g)
	}
	end.Line, end.Keys, end.Algorithm = g.line, g.keys.Fingerprints, g.keys.Algorithm
	r.end(g, err)
	if err != nil {
		end.Error = err.Error()
	}
	text, _ := json.Marshal(end) // it has strings and numbers only
	w.Header().Set(agentapi.TrailerBackup, string(text))
}

// stream runs mariadb-backup, and gives what it prints to take.
func (r *Streamer) stream(ctx context.Context, version string, take func([]byte) error) (agentapi.BackupEnd, error) {
	end := agentapi.BackupEnd{ServerVersion: version, Arch: runtime.GOARCH}
	dir, err := os.MkdirTemp(r.places.Tmp, "backup-")
	if err != nil {
		return end, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out, in, err := os.Pipe()
	if err != nil {
		return end, err
	}
	defer func() { _ = out.Close() }()
	said := &positionLog{}
	proc, err := mariadbd.Start(r.table, mariadbd.Command{
		Path: tool(), Args: r.args(dir), Env: mariadbd.Env(r.places), Dir: r.places.Tmp, Stdout: in, Log: said.line,
	})
	_ = in.Close()
	if err != nil {
		return end, err
	}
	stop := context.AfterFunc(ctx, func() { proc.Kill() })
	defer stop()
	if err := forEachChunk(out, take); err != nil {
		proc.Kill()
		<-proc.Done()
		return end, errors.Join(err, context.Cause(ctx))
	}
	<-proc.Done()
	if ctx.Err() != nil {
		return end, context.Cause(ctx)
	}
	end.Position, end.GTID = said.position()
	return end, failed(proc.Exit())
}

func (r *Streamer) args(dir string) []string {
	return []string{"--defaults-file=" + r.places.MyCnf(), "--backup", "--stream=mbstream", "--galera-info",
		"--parallel=" + copyThreads,
		"--user=" + r.user, "--socket=" + r.places.Socket(), "--datadir=" + r.places.Data,
		"--target-dir=" + filepath.Join(dir, "target")}
}

func forEachChunk(from io.Reader, take func([]byte) error) error {
	chunk := make([]byte, chunkSize)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if err := take(chunk[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// galeraInfo is how mariadb-backup logs the position it writes into the stream; there is no other way to get it.
const galeraInfo = "Writing Galera info succeeded with "

// binlogInfo is how it logs the position in the binary log, which it writes next to the data: a GTID for each domain.
const binlogInfo = "GTID of the last change '"

// positionLog keeps what mariadb-backup logs of the position. Its lines come from another goroutine.
type positionLog struct {
	mu         sync.Mutex
	info, gtid string
}

func (w *positionLog) line(text string) {
	if _, after, ok := strings.Cut(text, galeraInfo); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.info = strings.TrimSpace(after)
	}
	if _, after, ok := strings.Cut(text, binlogInfo); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gtid, _, _ = strings.Cut(after, "'")
	}
}

// position is UUID:SEQNO, and the GTID, "" without a binary log.
func (w *positionLog) position() (position, gtid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	position, _, _ = strings.Cut(w.info, " ") // what follows is the domain alone
	return position, w.gtid
}
