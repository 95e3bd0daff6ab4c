// Command google-store is fake-gcs-server behind TLS, with one bucket, and with tokens for one service account: for the
// end-to-end tests, in a pod (images/google-store).
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest/google"
)

const (
	behind  = "http://127.0.0.1:4443"
	keyFile = "/key/key.json"
	bucket  = "backups"
	start   = time.Minute
	headers = 10 * time.Second
)

func main() {
	if err := run(context.Background(), os.Getenv("EXTERNAL_URL")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, external string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	key, err := google.PublicKey(text)
	if err != nil {
		return fmt.Errorf("%s: %w", keyFile, err)
	}
	cmd := exec.CommandContext(ctx, "/fake-gcs-server", "-scheme", "http", "-host", "127.0.0.1", "-port", "4443",
		"-backend", "memory", "-external-url", external, "-log-level", "error")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	judge := google.NewJudge(key)
	for end := time.Now().Add(start); ; {
		if err = judge.CreateBucket(ctx, http.DefaultClient, behind, bucket); err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
		<-time.After(headers / 100)
	}
	ended := make(chan error, 2)
	go func() { ended <- fmt.Errorf("fake-gcs-server has ended: %w", cmd.Wait()) }()
	target, err := url.Parse(behind)
	if err != nil {
		return err
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := &http.Server{Addr: ":9000", ReadHeaderTimeout: headers,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, body := judge.Admit(r)
			if status == 0 {
				pass.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})}
	go func() { ended <- server.ListenAndServeTLS("/tls/tls.crt", "/tls/tls.key") }()
	return <-ended
}
