package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// lookupTimeout is how long a lookup may take, lookupTTL how long its answer is used without another one, and
	// lookupPatience how long a new lookup is waited for while there is an earlier answer.
	lookupTimeout  = 3 * time.Second
	lookupTTL      = 2 * time.Second
	lookupPatience = 200 * time.Millisecond
)

// names are the addresses of hosts. A slow server of names, or one that does not answer, keeps no member from being
// asked that was found before. Safe for concurrent use.
type names struct {
	lookup func(ctx context.Context, host string) ([]string, error)
	mu     sync.Mutex
	hosts  map[string]*name
}

type name struct {
	addresses []string
	found     time.Time
	err       error
	// busy is closed at the end of the lookup in progress, nil while there is none.
	busy chan struct{}
}

func newNames() *names {
	return &names{lookup: net.DefaultResolver.LookupHost, hosts: map[string]*name{}}
}

// find returns the addresses of a host: the last good ones while a new lookup fails or takes long.
func (n *names) find(ctx context.Context, host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	busy, known := n.begin(host)
	if busy != nil {
		limit := lookupTimeout
		if known {
			limit = lookupPatience
		}
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-busy:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[host]
	switch {
	case len(h.addresses) > 0:
		return h.addresses, nil
	case h.err != nil:
		return nil, h.err
	}
	return nil, fmt.Errorf("looking up %s takes too long", host)
}

// begin starts a lookup, unless one is in progress or the last answer is fresh; known reports whether there is an
// answer.
func (n *names) begin(host string) (busy <-chan struct{}, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[host]
	if h == nil {
		h = &name{}
		n.hosts[host] = h
	}
	known = len(h.addresses) > 0
	switch {
	case h.busy != nil:
		return h.busy, known
	case time.Since(h.found) < lookupTTL:
		return nil, known
	}
	done := make(chan struct{})
	h.busy = done
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
		defer cancel()
		addresses, err := n.lookup(ctx, host)
		n.mu.Lock()
		defer n.mu.Unlock()
		h.busy, h.err = nil, err
		if err == nil && len(addresses) > 0 {
			h.addresses, h.found = addresses, time.Now()
		}
	}()
	return done, known
}

// dial connects to the first address of a host that answers as secure wants it: one address may be another pod's.
func (n *names) dial(ctx context.Context, network, address string,
	secure func(net.Conn) (net.Conn, error)) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := n.find(ctx, host)
	if err != nil {
		return nil, err
	}
	dialer, errs := net.Dialer{Timeout: timeout}, []error(nil)
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a, port))
		if err == nil {
			conn, err = secure(conn)
		}
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
