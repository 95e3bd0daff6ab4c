package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// SocketSet holds listening sockets. Safe for concurrent use; the zero value has inherited none.
type SocketSet struct {
	mu        sync.Mutex
	open      map[string]int
	inherited map[string]int
	originals []*os.File
}

// Inherit takes over what Save wrote.
func (s *SocketSet) Inherit(data json.RawMessage) error { return json.Unmarshal(data, &s.inherited) }

// Listen returns the inherited socket of an address, or opens one.
func (s *SocketSet) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	raw, err := l.(syscall.Conn).SyscallConn()
	if err == nil {
		if s.open == nil {
			s.open = map[string]int{}
		}
		err = raw.Control(func(fd uintptr) { s.open[address] = int(fd) })
	}
	return l, err
}

func (s *SocketSet) listen(ctx context.Context, network, address string) (net.Listener, error) {
	if fd, ok := s.inherited[address]; ok {
		f := os.NewFile(uintptr(fd), address)
		s.originals = append(s.originals, f)
		l, err := net.FileListener(f) // has a copy
		if err != nil {
			return nil, fmt.Errorf("the inherited socket %s: %w", address, err)
		}
		return l, nil
	}
	if network == "unix" {
		_ = os.Remove(address)
	}
	var config net.ListenConfig
	return config.Listen(ctx, network, address)
}

// Save returns the descriptors of the open sockets, by address.
func (s *SocketSet) Save() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Settle closes the descriptors that were inherited: no program goes back to them.
func (s *SocketSet) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.originals {
		_ = f.Close()
	}
	s.originals, s.inherited = nil, nil
}
