package agentapi

// Places inside a database pod. The operator mounts volumes there, the agent uses them.
const (
	// BinDir is an emptyDir into which the init container copies the agent.
	BinDir = "/opt/galera-operator"
	// PasswdFile is the file in BinDir that names the user of the pod.
	PasswdFile = "passwd"
	// VolumeDir is the persistent volume. Data and agent state are next to each other, because a
	// state transfer wipes the data directory.
	VolumeDir = "/var/lib/mysql"
	// DataDir is mariadbd's datadir.
	DataDir = VolumeDir + "/data"
	// StateDir keeps the order book.
	StateDir = VolumeDir + "/agent"
	// RunDir is an emptyDir in memory: socket, pid file, rendered my.cnf and openssl.cnf.
	RunDir = "/run/mysqld"
	// TmpDir is an emptyDir for mariadbd and the transfer scripts.
	TmpDir = "/tmp"
	// ConfigDir is where the ConfigMap <cluster>-config is mounted.
	ConfigDir = "/etc/galera-operator/config"
	// TLSDir is where the published Secret <cluster>-tls is mounted: tls.crt, tls.key, ca.crt
	// and ControlCAKey.
	TLSDir = "/etc/galera-operator/tls"
	// RootDir is where the Secret <cluster>-root is mounted: RootPasswordKey.
	RootDir = "/etc/galera-operator/root"

	// KeysDir is where the Secret with the encryption keys is mounted: atrest.KeyFile and atrest.PasswordFile.
	KeysDir = "/etc/galera-operator/keys"
	// CacheDir is a volume in memory for Galera's cache of write-sets.
	CacheDir = "/run/gcache"
	// SourceDir is where the Secret with the credentials of the source that a cluster follows is mounted, SourceCADir the
	// one with its CA.
	SourceDir   = "/etc/galera-operator/source"
	SourceCADir = "/etc/galera-operator/source-ca"

	// ControlCAKey holds the CA that signs the operator's client certificate.
	ControlCAKey = "control-ca.crt"
	// ClientCAKey holds the CA of clients' certificates, which only port 3306 trusts; it may be missing.
	ClientCAKey = "client-ca.crt"
	// RootPasswordKey holds the password of root@'%'.
	RootPasswordKey = "password"
	// RootOverlapKey holds for how long the password before is accepted, as a Go duration; it may be missing.
	RootOverlapKey = "overlap"
)

// Environment variables the operator sets on the database container.
const (
	// EnvPodName is the pod's name (downward API).
	EnvPodName = "POD_NAME"
	// EnvPodNamespace is the pod's namespace (downward API).
	EnvPodNamespace = "POD_NAMESPACE"
	// EnvPodIP is the pod's address (downward API).
	EnvPodIP = "POD_IP"
)

// ConfigKey is the key of the NodeConfig (JSON) in the ConfigMap.
const ConfigKey = "node.json"
