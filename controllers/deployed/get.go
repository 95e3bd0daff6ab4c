package deployed

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// askTimeout bounds one question, maxAnswerBytes an answer in bytes.
const (
	askTimeout     = 5 * time.Second
	maxAnswerBytes = 64 << 10
)

// Question is one to a program: its certificate, in PEM, with its key where it is to believe the operator, and what it
// is asked besides, "" for nothing (task.HeaderAsks).
type Question struct{ Pair, Asks string }

// Header returns the header of a request, which may have others already.
func (q Question) Header(others http.Header) http.Header {
	if q.Asks == "" {
		return others
	}
	if others == nil {
		others = http.Header{}
	}
	others.Set(task.HeaderAsks, q.Asks)
	return others
}

// Get returns what a program reports at a path, to a request with a header, nil for none. It shows the certificate of
// its Secret, which the operator knows: no other one is believed. With its key in the same text, the operator shows it,
// too: no one else who reaches the port can.
func Get[A any](ctx context.Context, address string, port int, path string, leaf []byte, header http.Header) (out A,
	err error) {
	block, _ := pem.Decode(leaf)
	if block == nil {
		return out, errors.New("the Secret of its pod holds no certificate")
	}
	secure := &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared: it names no host
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || !bytes.Equal(raw[0], block.Bytes) {
				return errors.New("it shows another certificate than that of its Secret; after a renewal that passes")
			}
			return nil
		},
	}
	if pair, err := tls.X509KeyPair(leaf, leaf); err == nil {
		secure.Certificates = []tls.Certificate{pair}
	}
	client := &http.Client{Timeout: askTimeout, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: secure}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"https://"+net.JoinHostPort(address, strconv.Itoa(port))+path, nil)
	if err != nil {
		return out, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := client.Do(req)
	if err != nil {
		return out, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("it answers %s", resp.Status)
	}
	return out, json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxAnswerBytes)).Decode(&out)
}
