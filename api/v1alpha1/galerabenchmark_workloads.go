package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkWorkload is one type of load: exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher.
//
// +kubebuilder:validation:XValidation:rule="[has(self.oltp), has(self.connect), has(self.resultSize), has(self.operation), has(self.stateTransfer), has(self.cipher)].filter(x, x).size() == 1",message="set exactly one of oltp, connect, resultSize, operation, stateTransfer and cipher"
type BenchmarkWorkload struct {
	// name of the workload: lower-case letters, digits and '-', at most 32.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// oltp runs transactions with sysbench.
	// +optional
	OLTP *OLTPWorkload `json:"oltp,omitempty"`

	// connect measures new connections: connect, query, disconnect, as fast as possible.
	// +optional
	Connect *ConnectWorkload `json:"connect,omitempty"`

	// resultSize asks for answers of chosen sizes, on connections that stay open.
	// +optional
	ResultSize *ResultSizeWorkload `json:"resultSize,omitempty"`

	// operation runs a load, and lets the operator do something to the cluster meanwhile.
	// +optional
	Operation *OperationWorkload `json:"operation,omitempty"`

	// stateTransfer deletes a node's data, and measures the SST that restores it.
	// +optional
	StateTransfer *StateTransferWorkload `json:"stateTransfer,omitempty"`

	// cipher measures how fast one CPU encrypts, without a database: the ceiling of every encrypted copy.
	// +optional
	Cipher *CipherWorkload `json:"cipher,omitempty"`
}

// OLTPWorkload runs transactions with sysbench.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && has(self.events))",message="set duration or events, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || (duration(self.duration) >= duration('1s') && duration(self.duration) <= duration('2h') && duration(self.duration).getMilliseconds() % 1000 == 0)",message="duration must be 1s to 2h, in whole seconds"
// +kubebuilder:validation:XValidation:rule="!has(self.warmup) || (duration(self.warmup) >= duration('0s') && duration(self.warmup) <= duration('1h') && duration(self.warmup).getMilliseconds() % 1000 == 0)",message="warmup must be 0s to 1h, in whole seconds"
// +kubebuilder:validation:XValidation:rule="(self.via == 'PoolingProxy') == has(self.proxy)",message="via PoolingProxy needs proxy with an image, and only PoolingProxy takes one"
// +kubebuilder:validation:XValidation:rule="(self.via == 'GaleraProxy') == has(self.proxyRef)",message="via GaleraProxy needs proxyRef, and only GaleraProxy takes one"
// +kubebuilder:validation:XValidation:rule="self.via == 'Direct' || self.target == 'Primary'",message="a proxy leads to the primary: with via PoolingProxy or GaleraProxy target must be Primary"
type OLTPWorkload struct {
	// profile: WriteOnly, ReadOnly, ReadWrite or PointSelect.
	// +required
	// +kubebuilder:validation:Enum=WriteOnly;ReadOnly;ReadWrite;PointSelect
	Profile string `json:"profile"`

	// tables is the number of tables, 1 to 256. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Tables int32 `json:"tables,omitempty"`

	// tableSize is the number of rows in each table, 1 to 1000000000. A row takes some 240 bytes.
	// Default: 100000.
	// +optional
	// +kubebuilder:default=100000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	TableSize int64 `json:"tableSize,omitempty"`

	// threads lists numbers of client threads, each 1 to 1024. Each is measured. Default: [8].
	// +optional
	// +kubebuilder:default={8}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1024
	Threads []int32 `json:"threads,omitempty"`

	// duration of the measured part of a run, 1s to 2h in whole seconds. Default: 60s, if events is not set.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// events ends a run after this number of transactions; then the time is compared. Use either duration or events.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Events int64 `json:"events,omitempty"`

	// warmup is how long the same load runs before the measured part, 0s to 1h in whole seconds. Default: 5s.
	// +optional
	// +kubebuilder:default="5s"
	Warmup *metav1.Duration `json:"warmup,omitempty"`

	// distribution of the accessed rows: Uniform, Gaussian, Special (a few hot rows), Pareto or Zipfian.
	// Default: Uniform.
	// +optional
	// +kubebuilder:default=Uniform
	// +kubebuilder:validation:Enum=Uniform;Gaussian;Special;Pareto;Zipfian
	Distribution string `json:"distribution,omitempty"`

	// target: AllNodes spreads connections over all nodes in turn; Primary uses one node. Default: AllNodes.
	// +optional
	// +kubebuilder:default=AllNodes
	// +kubebuilder:validation:Enum=AllNodes;Primary
	Target string `json:"target,omitempty"`

	// via is how clients reach the database: Direct, PoolingProxy or GaleraProxy, each as of a connect workload. The
	// proxies keep the connections of all threads open: what they cost is what a transaction takes longer. Default:
	// Direct.
	// +optional
	// +kubebuilder:default=Direct
	// +kubebuilder:validation:Enum=Direct;PoolingProxy;GaleraProxy
	Via string `json:"via,omitempty"`

	// proxy configures the pooling proxy. Required with via PoolingProxy, refused otherwise.
	// +optional
	Proxy *BenchmarkProxy `json:"proxy,omitempty"`

	// proxyRef names the GaleraProxy of the measured cluster (NAME-db for a private one), in this namespace. Required with
	// via GaleraProxy, refused otherwise.
	// +optional
	ProxyRef *LocalName `json:"proxyRef,omitempty"`
}

// Values of Via of a ConnectWorkload; an OLTPWorkload has no tunnels.
const (
	// ViaDirect connects to the database itself.
	ViaDirect = "Direct"
	// ViaSSHTunnel connects through OpenSSH.
	ViaSSHTunnel = "SSHTunnel"
	// ViaWireGuard connects through a VPN.
	ViaWireGuard = "WireGuard"
	// ViaPoolingProxy connects to a ProxySQL alongside the client.
	ViaPoolingProxy = "PoolingProxy"
	// ViaGaleraProxy connects to the Service of a GaleraProxy.
	ViaGaleraProxy = "GaleraProxy"
)

// Values of ConnectWorkload.Query.
const (
	// QuerySelect1 sends SELECT 1 on every connection.
	QuerySelect1 = "Select1"
	// QueryNone logs in and closes.
	QueryNone = "None"
)

// DefaultSSHCipher is what OpenSSH's client and server choose by themselves.
const DefaultSSHCipher = "chacha20-poly1305@openssh.com"

// ConnectWorkload opens and closes connections as fast as possible.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && has(self.connections))",message="set duration or connections, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || (duration(self.duration) >= duration('1s') && duration(self.duration) <= duration('2h') && duration(self.duration).getMilliseconds() % 1000 == 0)",message="duration must be 1s to 2h, in whole seconds"
// +kubebuilder:validation:XValidation:rule="self.latency.all(l, duration(l) >= duration('0s') && duration(l) <= duration('5s'))",message="latency must be 0s to 5s"
// +kubebuilder:validation:XValidation:rule="!(self.via in ['SSHTunnel', 'WireGuard']) || self.latency.all(l, duration(l) == duration('0s'))",message="latency is added between client and tunnel, where there is no distance: with via SSHTunnel or WireGuard it must be 0s"
// +kubebuilder:validation:XValidation:rule="!(self.via in ['SSHTunnel', 'WireGuard']) || self.target == 'Primary'",message="a tunnel leads to one node: with via SSHTunnel or WireGuard target must be Primary"
// +kubebuilder:validation:XValidation:rule="!has(self.sshCiphers) || self.via == 'SSHTunnel'",message="sshCiphers are those of an SSH tunnel: set via SSHTunnel, or leave them out"
// +kubebuilder:validation:XValidation:rule="(self.via == 'PoolingProxy') == has(self.proxy)",message="via PoolingProxy needs proxy with an image, and only PoolingProxy takes one"
// +kubebuilder:validation:XValidation:rule="(self.via == 'GaleraProxy') == has(self.proxyRef)",message="via GaleraProxy needs proxyRef, and only GaleraProxy takes one"
// +kubebuilder:validation:XValidation:rule="self.via != 'GaleraProxy' || self.target == 'Primary' && self.latency.all(l, duration(l) == duration('0s')) && self.tlsVersions == ['1.3'] && !has(self.keyExchanges) && self.sessionResumption == ['Off']",message="clients speak with the proxy, and not with the database: with via GaleraProxy leave out latency, tlsVersions, keyExchanges and sessionResumption, and target must be Primary"
// +kubebuilder:validation:XValidation:rule="self.via != 'PoolingProxy' || self.latency.all(l, duration(l) == duration('0s'))",message="latency is added between client and proxy, where there is no distance: with via PoolingProxy it must be 0s"
// +kubebuilder:validation:XValidation:rule="self.via != 'PoolingProxy' || self.target == 'Primary'",message="the proxy leads to one node: with via PoolingProxy target must be Primary"
// +kubebuilder:validation:XValidation:rule="self.via != 'PoolingProxy' || self.tlsVersions == ['1.3']",message="clients of a proxy speak no TLS, and the proxy speaks the highest version the database has: with via PoolingProxy tlsVersions must be left out"
// +kubebuilder:validation:XValidation:rule="self.via != 'PoolingProxy' || !has(self.keyExchanges)",message="clients of a proxy speak no TLS: with via PoolingProxy keyExchanges must be left out"
// +kubebuilder:validation:XValidation:rule="!has(self.keyExchanges) || !('X25519MLKEM768' in self.keyExchanges && '1.2' in self.tlsVersions)",message="X25519MLKEM768 exists in TLS 1.3 only: leave it out, or \"1.2\" of tlsVersions"
// +kubebuilder:validation:XValidation:rule="self.via != 'PoolingProxy' || self.sessionResumption == ['Off']",message="clients of a proxy speak no TLS, and the proxy keeps its connections: with via PoolingProxy sessionResumption must be left out"
type ConnectWorkload struct {
	// threads lists numbers of concurrent clients, each 1 to 1024. Each is measured. Default: [1].
	// +optional
	// +kubebuilder:default={1}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1024
	Threads []int32 `json:"threads,omitempty"`

	// duration of a run, 1s to 2h in whole seconds. Default: 30s, if connections is not set.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// connections ends a run after this number of connections; then the time is compared. Use either duration or
	// connections.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Connections int64 `json:"connections,omitempty"`

	// via is how clients reach the database: Direct, SSHTunnel, WireGuard, PoolingProxy or GaleraProxy. SSHTunnel:
	// OpenSSH's client forwards a port to an SSH server, on the database node's host if possible. WireGuard: the same
	// with a VPN. Both of its ends have a network stack of their own, so that no pod needs a privilege; a kernel's
	// WireGuard takes less CPU. PoolingProxy: a ProxySQL alongside the client keeps connections to the database open;
	// clients connect to its local socket without TLS. The arm's policy applies to the connection to the database.
	// GaleraProxy: clients connect with TLS to the Service of the GaleraProxy in proxyRef. It speaks TLS with the
	// database in any case, so that such a workload is not measured against arms with clients Disabled. Default:
	// Direct.
	// +optional
	// +kubebuilder:default=Direct
	// +kubebuilder:validation:Enum=Direct;SSHTunnel;WireGuard;PoolingProxy;GaleraProxy
	Via string `json:"via,omitempty"`

	// sshCiphers lists ciphers of the SSH tunnel by OpenSSH's names. Each is measured; both ends offer nothing else. Only
	// with via SSHTunnel. Default: ["chacha20-poly1305@openssh.com"], which is what OpenSSH chooses by itself.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:Enum="chacha20-poly1305@openssh.com";"aes128-gcm@openssh.com";"aes256-gcm@openssh.com";"aes128-ctr";"aes256-ctr";"aes256-cbc"
	SSHCiphers []string `json:"sshCiphers,omitempty"`

	// query is what clients send on each connection: Select1 (SELECT 1) or None. With None they log in and close. A
	// pooling proxy may then open no connection to the database at all. Default: Select1.
	// +optional
	// +kubebuilder:default=Select1
	// +kubebuilder:validation:Enum=Select1;None
	Query string `json:"query,omitempty"`

	// proxy configures the pooling proxy. Required with via PoolingProxy, refused otherwise.
	// +optional
	Proxy *BenchmarkProxy `json:"proxy,omitempty"`

	// proxyRef names the GaleraProxy of the measured cluster (NAME-db for a private one), in this namespace. It is used as
	// it is; it may be created before the cluster. Required with via GaleraProxy, refused otherwise.
	// +optional
	ProxyRef *LocalName `json:"proxyRef,omitempty"`

	// tlsVersions lists the TLS versions of the clients. Each is measured. With "1.2" the arm's minVersion must be
	// "1.2". Default: ["1.3"].
	// +optional
	// +kubebuilder:default={"1.3"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum="1.2";"1.3"
	TLSVersions []string `json:"tlsVersions,omitempty"`

	// sessionResumption lists On, Off or both. Each is measured. Off makes a full handshake for every connection; On
	// offers the session of the previous connection. Default: [Off].
	// +optional
	// +kubebuilder:default={"Off"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=On;Off
	SessionResumption []string `json:"sessionResumption,omitempty"`

	// keyExchanges lists key exchanges of the handshake: X25519MLKEM768 (which a quantum computer does not break), X25519
	// and P-256. Each is measured; the client offers nothing else, and the server has to agree (OpenSSL 3.5 for
	// X25519MLKEM768). Default: the client's own order, which begins with X25519MLKEM768.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=X25519MLKEM768;X25519;"P-256"
	KeyExchanges []string `json:"keyExchanges,omitempty"`

	// latency lists latencies added to every round trip, each 0s to 5s, for instance 40ms. Each is measured. A relay
	// in the client's pod delays the data by half of it in each direction. Default: [0s].
	// +optional
	// +kubebuilder:default={"0s"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=16
	// +kubebuilder:validation:items:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s))+$`
	Latency []string `json:"latency,omitempty"`

	// target: AllNodes spreads connections over all nodes in turn; Primary uses one node. Default: Primary.
	// +optional
	// +kubebuilder:default=Primary
	// +kubebuilder:validation:Enum=AllNodes;Primary
	Target string `json:"target,omitempty"`
}

// BenchmarkProxy is the pooling proxy between clients and database.
type BenchmarkProxy struct {
	// image with ProxySQL 2 as the program proxysql, for instance "proxysql/proxysql:2.7.1". The benchmark
	// configures it for each run. It runs as user 65532 on a read-only file system with the resources of
	// spec.client, and is pulled with the cluster's imagePullSecrets.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
}

// StateTransferWorkload deletes a node's data, and measures the SST that restores it.
type StateTransferWorkload struct {
	// databases is the number of databases in the data set, 1 to 16, each with the same tables. Rsync copies one database
	// per process, so parallel has no effect on it with a single database. The load runs on the first one. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Databases int32 `json:"databases,omitempty"`

	// tables is the number of tables in each database, 1 to 256. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Tables int32 `json:"tables,omitempty"`

	// tableSize is the number of rows in each table. A row takes some 240 bytes. Default: 1000000.
	// +optional
	// +kubebuilder:default=1000000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	TableSize int64 `json:"tableSize,omitempty"`

	// methods lists SST methods: MariaBackup, Rsync or both. Each is measured. Default: [MariaBackup].
	// +optional
	// +kubebuilder:default={"MariaBackup"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=MariaBackup;Rsync
	Methods []string `json:"methods,omitempty"`

	// parallel lists numbers of threads that copy files, each 1 to 64. Each is measured with MariaBackup. Rsync copies
	// whole databases in parallel: with one database it is measured once, with the last of these numbers. Default: [4].
	// +optional
	// +kubebuilder:default={4}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=64
	Parallel []int32 `json:"parallel,omitempty"`

	// cpuAcceleration lists On, Off or both. Each is measured. Off hides the CPU's AES instructions from the TLS library
	// of all nodes, which shows the cost of ciphers on CPUs without them. Default: [On].
	// +optional
	// +kubebuilder:default={"On"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=On;Off
	CPUAcceleration []string `json:"cpuAcceleration,omitempty"`

	// loadThreads is the number of threads that run read-write transactions on the other nodes during the SST, 0 to 256.
	// It shows how much the SST slows those nodes down. Threads are assigned to the nodes in turn: with fewer threads than
	// nodes, the donor may have no load. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256
	LoadThreads int32 `json:"loadThreads,omitempty"`
}

// CipherWorkload measures the CPU alone: one process of "openssl speed" in the database image, on the host of a
// database node if possible. No policy changes its result, so it runs once per round, with the baseline.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || (duration(self.duration) >= duration('1s') && duration(self.duration) <= duration('60s') && duration(self.duration).getMilliseconds() % 1000 == 0)",message="duration must be 1s to 60s, in whole seconds"
type CipherWorkload struct {
	// ciphers lists the suites of TLS 1.3 and AES-128-CTR, which TLS does not use. Each is measured with records of 16,
	// 64, 256, 1024, 8192 and 16384 bytes, of which the last is the largest that TLS has. Published figures of "openssl
	// speed" are usually those of aes-128-gcm with 8192 bytes: compare them with TLS_AES_128_GCM_SHA256 and
	// megabytesPerSecond8KiB. Default: the three suites.
	// +optional
	// +kubebuilder:default={"TLS_AES_128_GCM_SHA256","TLS_AES_256_GCM_SHA384","TLS_CHACHA20_POLY1305_SHA256"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=TLS_AES_128_GCM_SHA256;TLS_AES_256_GCM_SHA384;TLS_CHACHA20_POLY1305_SHA256;AES-128-CTR
	Ciphers []string `json:"ciphers,omitempty"`

	// cpuAcceleration lists On, Off or both. Each is measured. Off hides the CPU's AES instructions from OpenSSL.
	// Default: [On, Off].
	// +optional
	// +kubebuilder:default={"On","Off"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=On;Off
	CPUAcceleration []string `json:"cpuAcceleration,omitempty"`

	// duration of the measurement of one record size, 1s to 60s in whole seconds; a run takes six times as long. Default:
	// 1s.
	// +optional
	// +kubebuilder:default="1s"
	Duration *metav1.Duration `json:"duration,omitempty"`
}
