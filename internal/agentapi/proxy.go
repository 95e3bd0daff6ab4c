package agentapi

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// PathProxy takes a ProxyState and answers with a ProxyReport.
	PathProxy = "/v1/proxy"

	// ProxyStateKey is the key of the ProxyState (JSON) in the Secret that a proxy pod mounts at ProxyStateDir.
	ProxyStateKey = "state.json"
	// ProxyStateDir is where the Secret with the state is mounted.
	ProxyStateDir = "/etc/galera-operator/proxy"
	// ProxyTLSDir is where the Secret with the proxy's certificate is mounted.
	ProxyTLSDir = "/etc/galera-operator/proxy-tls"
	// ProxyRunDir is a volume in memory: the configuration, the admin socket, and the files that ProxySQL reads.
	ProxyRunDir = "/run/proxysql"

	// ProxyPort is where a proxy listens for clients.
	ProxyPort = 3306

	// SidecarBindingDir is where the binding Secret of an application's account is mounted for a proxy in its pod.
	SidecarBindingDir = "/etc/galera-operator/binding"
	// SidecarSocketDir is a volume that a sidecar shares with the application.
	SidecarSocketDir = "/run/galera"
	// SidecarSocket is where clients connect.
	SidecarSocket = SidecarSocketDir + "/mysql.sock"
	// EnvSidecarHost is the Service of the primary, which a sidecar connects to.
	EnvSidecarHost = "PRIMARY_HOST"
	// EnvSidecarMaxConnections bounds a sidecar's connections to the primary.
	EnvSidecarMaxConnections = "MAX_CONNECTIONS"
	// EnvSidecarMaxClients bounds a sidecar's clients.
	EnvSidecarMaxClients = "MAX_CLIENTS"
	// EnvSidecarMetricsPort is where a sidecar serves metrics; without it nowhere.
	EnvSidecarMetricsPort = "METRICS_PORT"

	// MaxProxyUsers and maxProxyNodes bound a state.
	MaxProxyUsers = 1000
	maxProxyNodes = 16
	// MaxProxyState bounds it in bytes.
	MaxProxyState = 512 << 10
	// DefaultProxyWait is how long a statement waits for a connection where nothing is said about it; maxProxyWait is the
	// longest that ProxySQL takes.
	DefaultProxyWait = 30 * time.Second
	maxProxyWait     = time.Hour
	// DefaultHoldAfterInsert is ProxySQL's own.
	DefaultHoldAfterInsert int32 = 5
)

// ProxyMode is which nodes a proxy sends statements to.
type ProxyMode string

// Values of ProxyMode.
const (
	// ProxyPrimary sends everything to the primary.
	ProxyPrimary ProxyMode = "Primary"
	// ProxyReadWriteSplit sends reads outside of transactions to the other Synced nodes.
	ProxyReadWriteSplit ProxyMode = "ReadWriteSplit"
	// ProxyReadOnly sends everything to the other Synced nodes.
	ProxyReadOnly ProxyMode = "ReadOnly"
)

// ProxyState is what a proxy is to be. It holds what servers keep of passwords, and no password.
type ProxyState struct {
	// Revision grows with every change. A proxy keeps the state with the highest one.
	Revision int64     `json:"revision"`
	Mode     ProxyMode `json:"mode"`
	// Nodes are those with an address. Without a node that is Writer or Reader, statements wait for one.
	Nodes []ProxyNode `json:"nodes"`
	Users []ProxyUser `json:"users"`
	// MaxConnections bounds the connections to one node, MaxFrontendConnections those of clients.
	MaxConnections         int32 `json:"maxConnections"`
	MaxFrontendConnections int32 `json:"maxFrontendConnections"`
	// WaitMilliseconds is how long a statement waits for a connection to a node; 0 is DefaultProxyWait.
	WaitMilliseconds int64 `json:"waitMilliseconds,omitempty"`
	// HoldAfterInsert is how many statements a client keeps its connection for after an insert; nil is
	// DefaultHoldAfterInsert.
	HoldAfterInsert *int32 `json:"holdAfterInsert,omitempty"`
	// Multiplexing reports whether clients share connections to nodes between transactions.
	Multiplexing bool `json:"multiplexing"`
	// RequireTLS refuses clients without TLS.
	RequireTLS bool `json:"requireTLS"`
	// ServerVersion is what clients are greeted with: that of the nodes.
	ServerVersion string `json:"serverVersion"`
	// Local has clients connect by a socket of their own pod, without TLS. The operator asks no proxy of its own for it.
	Local bool `json:"-"`
	// CA verifies the nodes, ControlCA the operator; both are in PEM.
	CA        string `json:"ca"`
	ControlCA string `json:"controlCA"`
}

// ProxyNode is a node of the cluster.
type ProxyNode struct {
	Name string `json:"name"`
	// Address is the pod's IP address, ServerName a name of the node's certificate.
	Address    string `json:"address"`
	ServerName string `json:"serverName"`
	// Writer and Reader are what the node is used for. A node that is neither is drained.
	Writer bool `json:"writer,omitempty"`
	Reader bool `json:"reader,omitempty"`
}

// ProxyUser is an account that logs in through the proxy.
type ProxyUser struct {
	Name string `json:"name"`
	// Hash is what mysql_native_password keeps of the password.
	Hash string `json:"hash"`
	// TLS refuses this account without TLS.
	TLS bool `json:"tls,omitempty"`
	// MaxConnections bounds the account's connections to this proxy; 0 is no limit.
	MaxConnections int64 `json:"maxConnections,omitempty"`
}

// DecodeProxyState reads a state that was published, and refuses what no operator asks for.
func DecodeProxyState(data []byte) (s ProxyState, err error) {
	if err = json.Unmarshal(data, &s); err == nil {
		err = s.Check()
	}
	return s, err
}

var nativeHash = regexp.MustCompile(`^\*[0-9A-F]{40}$`)

// Check refuses what no operator asks for.
func (s ProxyState) Check() error {
	errs := []error{
		must(s.Revision > 0, "revision"),
		must(s.Mode == ProxyPrimary || s.Mode == ProxyReadWriteSplit || s.Mode == ProxyReadOnly, "mode"),
		must(len(s.Nodes) <= maxProxyNodes, "number of nodes"),
		must(len(s.Users) <= MaxProxyUsers, "number of users"),
		must(s.MaxConnections > 0 && s.MaxFrontendConnections > 0, "limit of connections"),
		must(s.WaitMilliseconds >= 0 && s.WaitMilliseconds <= maxProxyWait.Milliseconds(), "time to wait"),
		must(s.HoldAfterInsert == nil || *s.HoldAfterInsert >= 0, "statements after an insert"),
		must(s.CA != "" && s.ControlCA != "", "CA"),
	}
	writers := 0
	for _, n := range s.Nodes {
		if n.Writer {
			writers++
		}
		errs = append(errs, must(n.Name != "" && n.ServerName != "" && net.ParseIP(n.Address) != nil, "node"))
	}
	errs = append(errs, must(writers <= 1, "two nodes to write to"))
	for _, u := range s.Users {
		errs = append(errs, must(u.Name != "" && nativeHash.MatchString(u.Hash) && u.MaxConnections >= 0, "user"))
	}
	return errors.Join(errs...)
}

// ProxyReport is what a proxy has observed.
type ProxyReport struct {
	// Revision is that of the state that ProxySQL runs with; 0 before the first one.
	Revision int64 `json:"revision"`
	// Known is the newest revision that the pod has been given: it takes none below.
	Known int64 `json:"known,omitempty"`
	// Version is ProxySQL's.
	Version string `json:"version,omitempty"`
	// Problem explains why the state is not in effect, "" when it is.
	Problem string `json:"problem,omitempty"`
	// Clients is how many are connected.
	Clients int64 `json:"clients"`
	// Waiting is how many of them wait for a connection to a node.
	Waiting int64 `json:"waiting,omitempty"`
	// TimedOut is how many statements have failed since ProxySQL began because they waited for too long.
	TimedOut int64 `json:"timedOut,omitempty"`
	// Nodes are the pools of connections.
	Nodes []ProxyPool `json:"nodes,omitempty"`
	// Frontend is the proxy's own port, as a handshake has found it.
	Frontend ChannelFact `json:"frontend"`
}

// MaxSerial bounds the serial of a certificate: 20 bytes in hexadecimal, and a sign.
const MaxSerial = 64

// maxProxyNumber bounds what is counted, and revisions: sums of such numbers overflow nothing.
const maxProxyNumber = 1 << 53

// Bounded returns the report as a status can hold it: a pod of another image may answer anything.
func (r ProxyReport) Bounded() ProxyReport {
	number := func(of *int64) { *of = min(max(*of, 0), maxProxyNumber) }
	text := func(of *string, most int) { *of = strings.ToValidUTF8((*of)[:min(len(*of), most)], "") }
	number(&r.Revision)
	number(&r.Known)
	number(&r.Clients)
	number(&r.Waiting)
	number(&r.TimedOut)
	text(&r.Version, 64)
	text(&r.Problem, 1024)
	fact := func(f *ChannelFact) {
		text(&f.Problem, 1024)
		text(&f.Serial, MaxSerial)
	}
	fact(&r.Frontend)
	r.Nodes = slices.Clone(r.Nodes[:min(len(r.Nodes), maxProxyNodes)])
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, of := range []*int64{&n.Used, &n.Free, &n.Queries, &n.Opened, &n.Errors} {
			number(of)
		}
		text(&n.Name, 253)
		text(&n.Status, 64)
		fact(&n.Backend)
	}
	return r
}

// ProxyPool is what a proxy knows of one node.
type ProxyPool struct {
	Name string `json:"name"`
	// Status is ProxySQL's: ONLINE, SHUNNED or OFFLINE_SOFT, of the group that the node serves in.
	Status string `json:"status,omitempty"`
	// Used and Free are connections; Queries, Opened and Errors are counted since ProxySQL began.
	Used    int64 `json:"used"`
	Free    int64 `json:"free"`
	Queries int64 `json:"queries"`
	Opened  int64 `json:"opened,omitempty"`
	Errors  int64 `json:"errors"`
	// Backend is the node's port, as a handshake from the proxy's pod has found it.
	Backend ChannelFact `json:"backend"`
}

// SetProxy sends a proxy its state, and returns what it has observed.
func (c *Client) SetProxy(ctx context.Context, host string, s ProxyState) (ProxyReport, error) {
	var report ProxyReport
	err := c.ask(ctx, host, PathProxy, s, &report, &report.Problem)
	return report.Bounded().Received(time.Now()), err
}
