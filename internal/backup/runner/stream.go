package runner

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// stream is what a node sends.
type stream struct {
	resp   *http.Response
	cancel context.CancelFunc
	idle   *time.Timer
	ahead  time.Duration // of the node's clock
}

// open asks the node's agent for the backup, or for what has changed since a base.
func open(ctx context.Context, t task.Backup, base *manifest.Base) (*stream, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(task.AgentDir, "tls.crt"), filepath.Join(task.AgentDir, "tls.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(task.AgentDir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots,
			ServerName: t.ServerName},
		TLSHandshakeTimeout: dialTime, DisableCompression: true, DisableKeepAlives: true, ResponseHeaderTimeout: silence,
	}}
	ctx, cancel := context.WithCancel(ctx)
	from := "https://" + t.Address + agentapi.PathBackup + t.Manifest.ID
	if base != nil {
		from += "?" + url.Values{agentapi.QueryBase: {base.ID},
			agentapi.QueryLSN: {strconv.FormatUint(base.LSN, 10)}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the node could not be reached: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
		_ = resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("the node gives no backup: %s", strings.TrimSpace(string(text)))
	}
	return &stream{resp: resp, cancel: cancel, idle: time.AfterFunc(silence, cancel),
		ahead: aheadBy(resp.Header, time.Now())}, nil
}

// aheadBy is how far the clock of the node that answers is ahead, 0 when it is not known to be.
func aheadBy(answer http.Header, now time.Time) time.Duration {
	clock, err := http.ParseTime(answer.Get("Date"))
	if d := clock.Sub(now); err == nil && d > binlog.ClockSlack {
		return d
	}
	return 0
}

// now is the time by the later one of the Job's and the node's clock: a backup that seems to be older than it is would
// be restored for points in time before its data.
func (s *stream) now() time.Time { return time.Now().UTC().Add(s.ahead) }

// Close ends the stream.
func (s *stream) Close() {
	s.idle.Stop()
	s.cancel()
	_ = s.resp.Body.Close()
}

func (s *stream) reader() io.Reader { return watched{s} }

// watched ends a stream in which nothing comes any more.
type watched struct{ s *stream }

// Read implements io.Reader.
func (w watched) Read(to []byte) (int, error) {
	w.s.idle.Reset(silence)
	n, err := w.s.resp.Body.Read(to)
	w.s.idle.Stop() // while the store takes its time, the node is not the one that is late
	if err != nil && !errors.Is(err, io.EOF) {
		err = because(task.ReasonNodeFailed, fmt.Errorf("the node's stream has broken off: %w", err))
	}
	return n, err
}

// end is what the agent says after the last byte; without it the stream was cut off.
func (s *stream) end() (agentapi.BackupEnd, error) {
	var end agentapi.BackupEnd
	text := s.resp.Trailer.Get(agentapi.TrailerBackup)
	if err := json.Unmarshal([]byte(text), &end); err != nil {
		return end, errors.New("the node's stream has ended without a word of the agent")
	}
	if end.Error != "" {
		return end, errors.New(end.Error)
	}
	return end, nil
}
