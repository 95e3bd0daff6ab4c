package scrape

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// TestStrangersHoldFewConnections: a client that opens connections and sends nothing, from one address or from many,
// keeps no more than the limit open, and delays no scrape.
func TestStrangersHoldFewConnections(t *testing.T) {
	for name, from := range map[string]func(i int) string{
		"one address":    func(int) string { return "127.0.0.2" },
		"many addresses": func(i int) string { return fmt.Sprintf("127.0.1.%d", 1+i%200) },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			s := &Server{Insecure: true, Registry: prometheus.NewRegistry(), Log: logr.Discard()}
			go func() { ended <- s.serve(ctx, l) }()
			var held []net.Conn
			for i := range 3 * maxConnections {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from(i))}}
				c, err := d.DialContext(ctx, "tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				held = append(held, c)
			}
			client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Get("http://" + l.Addr().String() + Path)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", resp, err)
			}
			_ = resp.Body.Close()
			open := 0
			for _, c := range held {
				_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
				if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
					open++
				}
			}
			if open > maxConnections {
				t.Errorf("%d connections are open", open)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
