package backup

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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
	now := mark{ID: id, Boot: boot(), Version: g.version, Keys: g.keys.Fingerprints, Algorithm: g.keys.Algorithm}
	since, full := r.since(q, g, now)
	created, err := r.created(ctx)
	if err != nil {
		r.loop.Logger.Warn("what the data directory was created with is not known", "id", id, "error", err)
	}
	end, err := r.stream(ctx, g.version, since, func(chunk []byte) error {
		_ = controller.SetWriteDeadline(time.Now().Add(admissionTTL))
		n, err := w.Write(chunk)
		g.bytes.Add(int64(n))
		return err
	})
	if err == nil {
		err = r.sameLine(ctx, g)
	}
	if now.LSN = end.LSN; err == nil && now.LSN > 0 {
		if noted := addMark(r.places.Data, now); noted != nil {
			r.loop.Logger.Warn("no increment of this backup will be possible", "id", id, "error", noted)
			if end.FromLSN == 0 { // a restore compares where an increment ends
				end.LSN = 0
			}
		}
	}
	end.Full, end.Created = full, created
	end.Line, end.Keys, end.Algorithm = g.line, g.keys.Fingerprints, g.keys.Algorithm
	r.end(g, err)
	if err != nil {
		end.Error = err.Error()
	}
	text, _ := json.Marshal(end) // it has strings and numbers only
	w.Header().Set(agentapi.TrailerBackup, string(text))
}

// since returns the LSN that a caller asks for the changes since, 0 for a full copy, and why it gets a full one all the
// same.
func (r *Streamer) since(q *http.Request, g *stream, now mark) (lsn uint64, full string) {
	base := q.URL.Query().Get(agentapi.QueryBase)
	if base == "" {
		return 0, ""
	}
	lsn, err := strconv.ParseUint(q.URL.Query().Get(agentapi.QueryLSN), 10, 63)
	if err != nil || lsn == 0 {
		return 0, "the backup " + base + " names no LSN"
	}
	if g.joining {
		return 0, "the node has just joined, and it is not recorded yet whether its data are those of the backup " + base
	}
	if why := increment(readMarks(r.places.Data), base, lsn, now); why != "" {
		return 0, why
	}
	return lsn, ""
}

// stream runs mariadb-backup, and gives what it prints to take: all, or what has changed since an LSN.
func (r *Streamer) stream(ctx context.Context, version string, since uint64, take func([]byte) error) (
	agentapi.BackupEnd, error) {
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
		Path: tool(), Args: r.args(dir, since), Env: mariadbd.Env(r.places), Dir: r.places.Tmp, Stdout: in, Log: said.line,
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
	if err := failed(proc.Exit()); err != nil {
		return end, err
	}
	end.LSN, end.FromLSN, err = mariadbd.ReadLSN(dir)
	switch {
	case since > 0 && err != nil:
		return end, fmt.Errorf("mariadb-backup's LSN could not be read: %w", err)
	case end.FromLSN != since:
		return end, fmt.Errorf("mariadb-backup was asked for the changes since %d, and names %d", since, end.FromLSN)
	case err != nil: // as with a full copy of a release that writes it elsewhere
		r.loop.Logger.Warn("no increment of this backup will be possible", "error", err)
	}
	return end, nil
}

func (r *Streamer) args(dir string, since uint64) []string {
	args := []string{"--defaults-file=" + r.places.MyCnf(), "--backup", "--stream=mbstream", "--galera-info",
		"--parallel=" + copyThreads,
		"--user=" + r.user, "--socket=" + r.places.Socket(), "--datadir=" + r.places.Data,
		"--target-dir=" + filepath.Join(dir, "target"), "--extra-lsndir=" + dir}
	if since > 0 {
		args = append(args, "--incremental-lsn="+strconv.FormatUint(since, 10))
	}
	return args
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
