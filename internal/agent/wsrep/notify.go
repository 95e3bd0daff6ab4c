package wsrep

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// limit bounds everything: mariadbd waits for its notify command.
const limit = 300 * time.Millisecond

// Notification is what mariadbd said.
type Notification struct {
	// Status is wsrep's word for the member's state, "" when it was not given.
	Status string `json:"status,omitempty"`
	// Members are the component's members, when they were given.
	Members []agentapi.GroupMember `json:"group,omitempty"`
	// Primary reports whether the members form a Primary component.
	Primary bool `json:"primary,omitempty"`
}

// ParseNotification reads the arguments of wsrep_notify_cmd.
func ParseNotification(args []string) Notification {
	var e Notification
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--status":
			e.Status = args[i+1]
		case "--primary":
			e.Primary = args[i+1] == "yes"
		case "--members":
			e.Members = members(args[i+1])
		}
	}
	return e
}

// members reads "uuid/name/address,uuid/name/address".
func members(s string) []agentapi.GroupMember {
	var out []agentapi.GroupMember
	for _, m := range strings.Split(s, ",") {
		if parts := strings.SplitN(m+"/", "/", 3); parts[1] != "" {
			out = append(out, agentapi.GroupMember{UUID: parts[0], Name: parts[1], Address: strings.TrimSuffix(parts[2], "/")})
		}
	}
	return out
}

// SendNotification hands an event to the agent that listens on socket.
func SendNotification(socket string, e Notification) error {
	dialer := net.Dialer{Timeout: limit}
	conn, err := dialer.DialContext(context.Background(), "unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(limit))
	return json.NewEncoder(conn).Encode(e)
}

// ListenForNotifications calls f for every event until ctx ends.
func ListenForNotifications(ctx context.Context, open *platform.SocketSet, socket string, f func(Notification)) error {
	l, err := open.Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = l.Close()
	}()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go receive(conn, f)
		}
	}()
	return nil
}

func receive(conn net.Conn, f func(Notification)) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(limit))
	var e Notification
	if json.NewDecoder(conn).Decode(&e) == nil {
		f(e)
	}
}
