// Package result is what the operator gives the program in a benchmark's Jobs (Plan), what that program answers
// (Output), and whether an answer counts (Judge). Plan and Output are kept as JSON in ConfigMaps.
package result

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Kinds of Plan.
const (
	KindPrepare    = "prepare"
	KindOLTP       = "oltp"
	KindConnect    = "connect"
	KindResultSize = "resultSize"
	KindOperation  = "operation"
	KindTransfer   = "stateTransfer"
	KindCipher     = "cipher"
)

// Names shared by the operator, which mounts, and the runner, which reads.
const (
	// EnvPlan holds the Plan as JSON.
	EnvPlan = "BENCH_PLAN"
	// EnvPassword holds the password of Plan.User.
	EnvPassword = "BENCH_PASSWORD"
	// EnvOutput names the ConfigMap the Output goes into.
	EnvOutput = "BENCH_OUTPUT"
	// EnvNamespace is the Job's namespace.
	EnvNamespace = "BENCH_NAMESPACE"
	// ToolsDir is where the init container puts the runner.
	ToolsDir = "/opt/galera-operator"
	// TokenDir is where the token for the API server is mounted, and what the server is verified with.
	TokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// WorkDir is an emptyDir in memory.
	WorkDir = "/work"
	// CADir is where the cluster's ConfigMap NAME-ca is mounted.
	CADir = "/etc/galera-operator/ca"
	// ClientCertDir is where the client's own certificate is mounted.
	ClientCertDir = "/etc/galera-operator/client"
	// KeyOutput is the key of the Output in its ConfigMap, KeyLog that of the load generator's own words.
	KeyOutput = "output.json"
	KeyLog    = "output.txt"
	// KeyProof, KeyRun and KeyVerdict are the operator's keys alongside them.
	KeyProof   = "proof.json"
	KeyRun     = "run.json"
	KeyVerdict = "verdict.json"
	// KeyPods is the key of the Pods, written with the verdict.
	KeyPods = "pods.json"
)

// Plan is one Job's work.
type Plan struct {
	Kind string `json:"kind"`
	// Members are the cluster's nodes in ordinal order.
	Members []Member `json:"members"`
	// Hosts are those that get load, in turn.
	Hosts []string `json:"hosts"`
	// User is the benchmark's account in the database.
	User string `json:"user"`
	// TLS reports whether clients speak TLS; it is verified against the CA in CADir.
	TLS  bool    `json:"tls"`
	Data DataSet `json:"data"`
	Seed int64   `json:"seed"`
	// RequiredBytes that must be free on every node before data is made.
	RequiredBytes int64 `json:"requiredBytes,omitempty"`
	// WithoutAcceleration reports whether the AES instructions are hidden from the Job as well.
	WithoutAcceleration bool `json:"withoutAcceleration,omitempty"`
	// Proxy is the socket of the pooling proxy the connections go through; "": none.
	Proxy string `json:"proxy,omitempty"`
	// Service is the host of the GaleraProxy the connections go through; "": none. ProxyPods are its pods.
	Service   string   `json:"service,omitempty"`
	ProxyPods []Member `json:"proxyPods,omitempty"`

	OLTP       *OLTP      `json:"oltp,omitempty"`
	Connect    *Connect   `json:"connect,omitempty"`
	ResultSize *Sized     `json:"resultSize,omitempty"`
	Operation  *Operation `json:"operation,omitempty"`
	Transfer   *Transfer  `json:"transfer,omitempty"`
	Cipher     *Cipher    `json:"cipher,omitempty"`
}

// Member is one database node.
type Member struct {
	Name string `json:"name"`
	// Host resolves also while the node is not ready.
	Host string `json:"host"`
}

// DataSet is test data.
type DataSet struct {
	// Database is its name, and that of its first database.
	Database string `json:"database"`
	// Databases it consists of, each with all of the tables; 0: one.
	Databases int   `json:"databases,omitempty"`
	Tables    int   `json:"tables"`
	Rows      int64 `json:"rows"`
	// Bytes and Checksum are filled in by the runner.
	Bytes    int64  `json:"bytes,omitempty"`
	Checksum string `json:"checksum,omitempty"`
}

// Names of all its databases, the first one first. Each has the benchmark's suffix at its end.
func (d DataSet) Names() []string {
	names := []string{d.Database}
	for i := 2; i <= d.Databases; i++ {
		names = append(names, fmt.Sprintf("bench_%d_%s", i, strings.TrimPrefix(d.Database, "bench_")))
	}
	return names
}

// OLTP is a run of sysbench.
type OLTP struct {
	// Script is sysbench's name of a script, for instance oltp_write_only.
	Script        string `json:"script"`
	Threads       int    `json:"threads"`
	Seconds       int    `json:"seconds,omitempty"`
	Events        int64  `json:"events,omitempty"`
	WarmupSeconds int    `json:"warmupSeconds,omitempty"`
	Distribution  string `json:"distribution"`
}

// Connect is a run of connections.
type Connect struct {
	Threads     int   `json:"threads"`
	Seconds     int   `json:"seconds,omitempty"`
	Connections int64 `json:"connections,omitempty"`
	// TLSVersion is "1.2" or "1.3".
	TLSVersion string `json:"tlsVersion,omitempty"`
	Resumption bool   `json:"resumption,omitempty"`
	// KeyExchange is the only one the client offers; "": its own choice.
	KeyExchange string `json:"keyExchange,omitempty"`
	// Latency is added to every round trip.
	Latency time.Duration `json:"latency,omitempty"`
	// NoQuery reports whether clients log in and close.
	NoQuery bool `json:"noQuery,omitempty"`
	// Tunnel the connections go through; nil: none.
	Tunnel *Tunnel `json:"tunnel,omitempty"`
	// KeyAlgorithm and KeySize are what the servers' certificate must have.
	KeyAlgorithm string `json:"keyAlgorithm,omitempty"`
	KeySize      int    `json:"keySize,omitempty"`
}

// Sized is a run of queries with answers of one size.
type Sized struct {
	// Size of an answer in bytes.
	Size    int `json:"size"`
	Threads int `json:"threads"`
	Seconds int `json:"seconds"`
}

// Tunnel is an SSH server, or that of a VPN, and what it leads to. Both are host:port.
type Tunnel struct {
	Server string `json:"server"`
	// Target is written as the server permits it: the address of the first of Plan.Hosts.
	Target string `json:"target"`
	// Cipher is the only one that both ends of SSH offer.
	Cipher string `json:"cipher,omitempty"`
	// VPN reports whether it is WireGuard and not SSH.
	VPN bool `json:"vpn,omitempty"`
}

// Cipher is a run of "openssl speed".
type Cipher struct {
	// Name is the suite's.
	Name string `json:"name"`
	// Seconds for each size of records.
	Seconds int `json:"seconds"`
}

// Transfer is the observation of a node that gets all of its data anew.
type Transfer struct {
	// Victim is the node the operator takes the data from, once the runner has watched for BaseSeconds.
	Victim      string `json:"victim"`
	BaseSeconds int    `json:"baseSeconds"`
	// LoadThreads run transactions on Plan.Hosts meanwhile; 0: none.
	LoadThreads int `json:"loadThreads,omitempty"`
	// PatienceSeconds is when the runner gives up.
	PatienceSeconds int `json:"patienceSeconds"`
}

// Output is what one Job found.
type Output struct {
	Kind string `json:"kind"`
	// Error explains why there is no result, "" when there is one. LastLines are the load generator's last words.
	Error     string   `json:"error,omitempty"`
	LastLines []string `json:"lastLines,omitempty"`
	// StartedAt and EndedAt bound the measured window.
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`

	Data    *DataSet       `json:"data,omitempty"`
	OLTP    *OLTPResult    `json:"oltp,omitempty"`
	Connect *ConnectResult `json:"connect,omitempty"`
	// Answers are those of a resultSize run.
	Answers *AnswersResult `json:"answers,omitempty"`
	// Operation is what one did to a load.
	Operation *OperationFacts `json:"operation,omitempty"`
	Transfer  *TransferFacts  `json:"transfer,omitempty"`
	Cipher    *CipherResult   `json:"cipher,omitempty"`

	// Members holds every node's counters around the window.
	Members map[string]Window `json:"members,omitempty"`
	// Client is what the load generator used, Runner what this program used alongside it.
	Client Usage `json:"client"`
	Runner Usage `json:"runner"`
	// Proxy is the proxy's; zero where there is none. That of one alongside the client is a part of the client's.
	Proxy Usage `json:"proxy,omitzero"`
	// Load is what all nodes together used over time.
	Load []LoadPoint `json:"load,omitempty"`
	// Noticed is what happened to nodes during the window, in words.
	Noticed     []string    `json:"noticed,omitempty"`
	Environment Environment `json:"environment"`
}

// Window holds one node's counters at both ends of the measured window.
type Window struct {
	Before Sample `json:"before"`
	After  Sample `json:"after"`
}

// Sample is one reading of a node's agent: the names are those of its metrics. nil: no answer.
type Sample map[string]float64

// LoadPoint is what all nodes together used in the seconds since the point before.
type LoadPoint struct {
	Second float64 `json:"s"`
	// CPU is the number of processors that were busy.
	CPU float64 `json:"cpu"`
	// Sent is what their network interfaces sent, in megabytes per second; 0 where it is not known.
	Sent float64 `json:"mbps,omitempty"`
}

// CipherResult is what one CPU encrypted, by the size of records.
type CipherResult struct {
	Speeds []Speed `json:"speeds"`
}

// Speed of one size of records.
type Speed struct {
	// Record is the size in bytes.
	Record int `json:"record"`
	// Megabytes per second.
	Megabytes float64 `json:"mbps"`
}

// Usage of processor time and memory.
type Usage struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	// Throttled is how many scheduling periods were cut short by a CPU limit.
	Throttled float64 `json:"throttled,omitempty"`
	// MemoryBytes of a proxy: the most during the window.
	MemoryBytes float64 `json:"memoryBytes,omitempty"`
}

// OLTPResult is what sysbench said. Latencies are milliseconds.
type OLTPResult struct {
	Seconds      float64 `json:"seconds"`
	Transactions int64   `json:"transactions"`
	Queries      int64   `json:"queries"`
	TPS          float64 `json:"tps"`
	QPS          float64 `json:"qps"`
	Errors       int64   `json:"errors"`
	Reconnects   int64   `json:"reconnects"`
	LatencyAvg   float64 `json:"latencyAvg"`
	LatencyMax   float64 `json:"latencyMax"`
	P50          float64 `json:"p50"`
	P95          float64 `json:"p95"`
	P99          float64 `json:"p99"`
	// Series has a point for every second.
	Series []Point `json:"series,omitempty"`
	// Histogram of latencies.
	Histogram []Bucket `json:"histogram,omitempty"`
}

// Point is one second of a run; of a long run it is the average of some, and Second the last of them.
type Point struct {
	Second     float64 `json:"s"`
	TPS        float64 `json:"tps"`
	P95        float64 `json:"p95"`
	Errors     float64 `json:"err,omitempty"`
	Reconnects float64 `json:"reconn,omitempty"`
}

// Bucket of a latency histogram: Count events took about Value milliseconds.
type Bucket struct {
	Value float64 `json:"ms"`
	Count int64   `json:"n"`
}

// TransferFacts is what was seen of one full transfer.
type TransferFacts struct {
	// Victim is the node whose data was taken.
	Victim  string  `json:"victim"`
	Kind    string  `json:"kind"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes"`
	// Donor is the node that gave its own, "" when it is not known.
	Donor string `json:"donor,omitempty"`
	// LoadBefore and LoadDuring are transactions per second of the load alongside it. Without LoadBefore neither is known.
	LoadBefore float64 `json:"loadBefore,omitempty"`
	LoadDuring float64 `json:"loadDuring,omitempty"`
	Series     []Point `json:"series,omitempty"`
}

// Environment is what the runner could find out.
type Environment struct {
	MariaDB  string `json:"mariadb,omitempty"`
	Galera   string `json:"galera,omitempty"`
	OpenSSL  string `json:"openssl,omitempty"`
	Sysbench string `json:"sysbench,omitempty"`
	// Machine is the one the runner itself is on.
	Machine
	// Members are those the nodes are on, by the nodes' names.
	Members map[string]Machine `json:"members,omitempty"`
}

// Machine is what a host is.
type Machine struct {
	Kernel string `json:"kernel,omitempty"`
	// CPU is the model, CPUs how many there are.
	CPU      string `json:"cpu,omitempty"`
	CPUs     int    `json:"cpus,omitempty"`
	CPUFlags string `json:"cpuFlags,omitempty"`
}

// Pod is one that took part in a run: a node of the cluster, the client, or the client's SSH server.
type Pod struct {
	Name string `json:"name"`
	// Host is the Kubernetes node it ran on.
	Host string `json:"host"`
	// Images are those that ran, with their digests, by the containers' names.
	Images map[string]string `json:"images"`
}

// Run describes what a ConfigMap with an Output is the result of.
type Run struct {
	Index    int    `json:"index"`
	Attempt  int    `json:"attempt"`
	Round    int    `json:"round"`
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Kind     string `json:"kind"`
	// ClusterUUID is the history the run was made in.
	ClusterUUID string `json:"clusterUUID,omitempty"`
}

// Verdict reports whether a run counts.
type Verdict struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"`
}

// Record is one run with everything that is known of it.
type Record struct {
	Run
	Verdict
	Output *Output `json:"output,omitempty"`
	// Pods that took part, as they were when the run was judged.
	Pods []Pod `json:"pods,omitempty"`
}

// ReadRecord reads the ConfigMap of one attempt. What is not written yet, or was left out, is not there; judged reports
// whether there is a verdict. ok is false when it is no attempt's.
func ReadRecord(data map[string]string) (r Record, judged, ok bool) {
	if json.Unmarshal([]byte(data[KeyRun]), &r.Run) != nil {
		return r, false, false
	}
	judged = json.Unmarshal([]byte(data[KeyVerdict]), &r.Verdict) == nil
	_ = json.Unmarshal([]byte(data[KeyPods]), &r.Pods) // there are none without a verdict
	if out := (&Output{}); json.Unmarshal([]byte(data[KeyOutput]), out) == nil {
		r.Output = out
	}
	return r, judged, true
}

// NotEnoughDisk begins the error of a data set that would not fit.
const NotEnoughDisk = "not enough disk: "
