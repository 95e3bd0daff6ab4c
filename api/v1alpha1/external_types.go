package v1alpha1

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BootstrapExternal is a MariaDB server that no GaleraCluster describes. With method: Dump it is a running one (10.5 or
// later): its tables are copied as they are at one moment, in parallel, and each is compared with the source before the
// cluster starts. The source stays in service: its commits wait for less than a second. With method: Backup the cluster
// begins with a backup that mariadb-backup has made of a server of the same series. What the source writes afterwards
// is not in the cluster, unless follow is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.backup) == (has(self.method) && self.method == 'Backup')",fieldPath=".backup",message="backup and method: Backup belong together: set both, or neither for a copy of a running server"
// +kubebuilder:validation:XValidation:rule="has(self.backup) || has(self.host) && has(self.credentialsSecretRef)",message="name the server to copy in host, and a Secret with an account of it in credentialsSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.backup) || !has(self.follow) || !self.follow || has(self.host) && has(self.credentialsSecretRef)",message="name the server to follow in host, and a Secret with an account of it in credentialsSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.backup) || has(self.follow) && self.follow || !has(self.host) && !has(self.credentialsSecretRef) && !has(self.tls) && !(has(self.insecure) && self.insecure)",message="no server is connected to for a backup that is not followed: remove host, credentialsSecretRef, tls and insecure, or set follow: true"
// +kubebuilder:validation:XValidation:rule="!has(self.backup) || !has(self.databases)",fieldPath=".databases",message="a physical backup has all databases: remove databases, or set method: Dump"
// +kubebuilder:validation:XValidation:rule="!has(self.backup) || !has(self.users) || self.users",fieldPath=".users",message="a physical backup has all accounts: remove users, or set method: Dump"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !self.follow || !has(self.databases)",fieldPath=".databases",message="follow takes over all databases of the source: remove databases"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !self.follow || !has(self.tls) || !has(self.tls.verify) || self.tls.verify == 'Identity'",fieldPath=".tls.verify",message="a source that is followed is verified by its name: set verify to Identity, and host to a name that is in its certificate"
// +kubebuilder:validation:XValidation:rule="!has(self.host) || has(self.tls) != (has(self.insecure) && self.insecure)",message="name the CA of the source's certificate in tls, or set insecure: true for a connection in clear text"
// +kubebuilder:validation:XValidation:rule="!has(self.alternatives) || has(self.follow) && self.follow",fieldPath=".alternatives",message="alternatives are servers to follow when the source is lost, and only host is copied: set follow, or remove alternatives"
// +kubebuilder:validation:XValidation:rule="!has(self.alternatives) || !has(self.host) || !self.alternatives.exists(a, a.host == self.host && a.port == self.port)",fieldPath=".alternatives",message="alternatives names the source itself (host and port): remove it there"
type BootstrapExternal struct {
	// method is Dump (the tables of a running server are copied by statements) or Backup (the files of a physical backup
	// become the cluster's). Default: Dump.
	// +optional
	// +kubebuilder:default=Dump
	// +kubebuilder:validation:Enum=Dump;Backup
	Method string `json:"method,omitempty"`
	// backup is where the backup lies. Required with method: Backup.
	// +optional
	Backup *ExternalBackup `json:"backup,omitempty"`
	// host is the name or the address of the source. Required, except for a backup that is not followed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.:-]+$`
	Host string `json:"host,omitempty"`
	// port of the source. Default: 3306.
	// +optional
	// +kubebuilder:default=3306
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// credentialsSecretRef names a Secret in the cluster's namespace with the keys username and password. The account
	// needs SELECT, RELOAD, SHOW VIEW, TRIGGER and EVENT on *.*, and REPLICATION SLAVE, BINLOG MONITOR and SLAVE MONITOR
	// with follow.
	// Only the Jobs of the copy mount it, and with follow the database pods. You can delete it when the cluster has
	// started, or no longer follows. Required with host.
	// +optional
	CredentialsSecretRef LocalName `json:"credentialsSecretRef,omitempty,omitzero"`
	// tls is how the certificate of the source is verified. Required with host, unless insecure is true.
	// +optional
	TLS *ExternalTLS `json:"tls,omitempty"`
	// insecure connects in clear text: anyone in between can read the password's proof, and all data. Default: false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// databases to copy. Default: all but those of the system.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Databases []string `json:"databases,omitempty"`
	// users also copies accounts and roles with their passwords' hashes and their grants, except root, those of the
	// system, and those whose names the operator uses: status.restore.external.skipped names what was left out. A backup
	// always has them. Default: false.
	// +optional
	Users bool `json:"users,omitempty"`
	// connections is how many tables, or parts of large tables, are read at the same time, 1 to 16. A backup is read by
	// one. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Connections int32 `json:"connections,omitempty"`
	// rateLimit is the most that the copy reads of the source, in bytes per second, for instance 50Mi, in the mean: of the
	// rows' values, and of the tables' size where the source computes checksums; or of the backup in its store. At least
	// 64Ki. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
	// follow lets the cluster go on with what the source writes after the copy, by GTID, until spec.cutover. All nodes
	// refuse the writes of clients meanwhile, except those of accounts with the privilege READ ONLY ADMIN, as root. The
	// source needs a binary log of rows. Accounts that are changed on the source are not followed. Default: false.
	// +optional
	Follow bool `json:"follow,omitempty"`
	// alternatives are servers with the same transactions, for instance replicas of the source with log_slave_updates, 8
	// at most. When the source has had no connection for 30 seconds, the cluster follows the next one of host and
	// alternatives, and stays there. One is followed only if its gtid_binlog_state has everything that the cluster has
	// applied. The credentials, the TLS and what follow needs are those of the source. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=host
	// +listMapKey=port
	// +kubebuilder:validation:MaxItems=8
	Alternatives []ExternalHost `json:"alternatives,omitempty"`
}

// ExternalHost is where another server is.
type ExternalHost struct {
	// host is the name or the address of the server. With tls, its certificate names it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.:-]+$`
	Host string `json:"host"`
	// port of the server. Default: 3306.
	// +optional
	// +kubebuilder:default=3306
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

func (h ExternalHost) String() string { return net.JoinHostPort(h.Host, strconv.Itoa(int(h.Port))) }

// Hosts are all servers that can be followed, beginning with the one that is copied.
func (b *BootstrapExternal) Hosts() []ExternalHost {
	return append([]ExternalHost{{Host: b.Host, Port: b.Port}}, b.Alternatives...)
}

// CutoverSpec ends spec.bootstrapFrom.external.follow and spec.replicaOf. kubectl galera cutover sets it.
type CutoverSpec struct {
	// gtid is the source's last position (@@gtid_binlog_pos), when it accepts no writes any more, or the archive's last
	// transaction. Each node accepts writes as soon as it has applied everything up to it.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})-[1-9][0-9]{0,18}(,(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})-[1-9][0-9]{0,18})*$`
	GTID string `json:"gtid"`
	// uid is the metadata.uid of the cluster that is to take over, or its status.identity if it has begun anew
	// (spec.replicaOf.replaces). With that of another one, or of before, nothing comes of it: the manifest of a cluster
	// that has taken over may be applied to a new one, while what is followed goes on. It is required; kubectl galera
	// cutover sets it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// own is the last transaction of the cluster's own GTID domain before clients could write, with the number 0 for none.
	// kubectl galera cutover notes it, and with --back names it to the old server, which can follow the cluster from
	// there. Absent while it is not known.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9]+-[0-9]+-[0-9]+$`
	Own string `json:"own,omitempty"`
	// withoutRecord lets a cluster that follows an archive accept writes though it is not recorded in the store that it
	// takes over, or another cluster is recorded there: for a store that is lost, or can only be read. The cluster that
	// was followed does not learn of it then, and goes on accepting writes. Default: false.
	// +optional
	WithoutRecord bool `json:"withoutRecord,omitempty"`
	// token is status.switchSite.token of the cluster that is followed, which accepts no writes then: this one takes over
	// with it, once it has applied everything, or not at all. kubectl galera switch-site sets it. Default: none.
	// +optional
	Token *SwitchToken `json:"token,omitempty"`
}

// Roles of a ReplicationStatus.
const (
	RoleFollower    = "Follower"
	RoleIndependent = "Independent"
)

// ReplicationStatus is how far a cluster is that follows another server, or an archive.
type ReplicationStatus struct {
	// role is Follower, or Independent when every node has applied the last transaction of spec.cutover and accepts
	// writes.
	// +kubebuilder:validation:Enum=Follower;Independent
	Role string `json:"role"`
	// source is HOST:PORT of the server that is followed: that of spec.bootstrapFrom.external, or one of its alternatives.
	// For an archive it is the one that offers it, NAME-source.
	// +optional
	Source string `json:"source,omitempty"`
	// store is the GaleraBackupStore with the archive that is followed. Absent for a server.
	// +optional
	Store string `json:"store,omitempty"`
	// archive is how far that archive is. Absent for a server.
	// +optional
	Archive *FollowedArchive `json:"archive,omitempty"`
	// promotion is the record in the store that this cluster takes over, which is made before a node accepts writes.
	// Absent before spec.cutover, and for a server.
	// +optional
	Promotion *PromotionRecord `json:"promotion,omitempty"`
	// stream is what is known of the stream of spec.replicaOf.endpoints. Absent without those, and for a cluster that is
	// Independent.
	// +optional
	Stream *FollowedStream `json:"stream,omitempty"`
	// acceptsAfter is spec.cutover.gtid once the nodes' configuration has them accept writes after it. That is not taken
	// back: nodes may have accepted writes since.
	// +optional
	AcceptsAfter string `json:"acceptsAfter,omitempty"`
	// node is the one that runs the channel.
	// +optional
	Node string `json:"node,omitempty"`
	// received is the position up to which the node has the source's transactions, applied the one up to which they are
	// part of the cluster's data, as GTIDs.
	// +optional
	Received string `json:"received,omitempty"`
	// +optional
	Applied string `json:"applied,omitempty"`
	// secondsBehind is the age of the transaction that is being applied, 0 when nothing is left to apply. Absent while it
	// is not known, and for an archive: archive.through is how old that is, and stream.secondsBehind how far a stream is.
	// +optional
	SecondsBehind *int64 `json:"secondsBehind,omitempty"`
	// lag is where the cluster stands by spec.readOnlyService.maxLag. Absent without that, and once it is Independent.
	// +optional
	Lag *LagStatus `json:"lag,omitempty"`
	// held is where all nodes have stopped for a comparison with the source, and until when, as the annotation
	// galera-operator.io/hold-channel has it. Absent otherwise.
	// +optional
	Held string `json:"held,omitempty"`
	// waiting is what keeps a node from running the channel, or from accepting writes after the last position: the message
	// names the nodes that are waited for. Absent for nothing.
	// +optional
	Waiting string `json:"waiting,omitempty"`
	// error is the last error of the channel. It concerns the transaction that follows applied.
	// +optional
	Error string `json:"error,omitempty"`
}

// LagStatus is where a cluster that follows stands by spec.readOnlyService.maxLag.
type LagStatus struct {
	// exceeded is true while NAME-readonly leads to no node.
	Exceeded bool `json:"exceeded"`
	// turningSince is since when that has been about to end: since when it is not known how far the cluster is behind or,
	// with exceeded, since when it has been within half of the limit. Absent otherwise.
	// +optional
	TurningSince *metav1.Time `json:"turningSince,omitempty"`
}

// Values of spec.bootstrapFrom.external.tls.verify.
const (
	VerifyIdentity = "Identity"
	VerifyCA       = "CA"
)

// ExternalTLS is how the source's certificate is verified.
type ExternalTLS struct {
	// caSecretRef names a Secret in the cluster's namespace with the certificate of the CA in the key ca.crt.
	// +required
	CASecretRef LocalName `json:"caSecretRef"`
	// verify is Identity (the certificate is the CA's, and names spec.bootstrapFrom.external.host) or CA (any certificate
	// of that CA will do). Default: Identity.
	// +optional
	// +kubebuilder:default=Identity
	// +kubebuilder:validation:Enum=Identity;CA
	Verify string `json:"verify,omitempty"`
}

// ExternalStatus is what is known of a copied server.
type ExternalStatus struct {
	// version of the source.
	// +optional
	Version string `json:"version,omitempty"`
	// plaintext reports whether the connection to the source is in clear text.
	// +optional
	Plaintext bool `json:"plaintext,omitempty"`
	// findings are what keeps the source from being copied. They are looked for again every few minutes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Findings []ExternalFinding `json:"findings,omitempty"`
	// warnings are what does not work in the copy as on the source, for instance views whose definer has no account.
	// They keep nothing from being copied.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Warnings []ExternalFinding `json:"warnings,omitempty"`
	// tables and bytes are what there is to copy, by the source's own estimate.
	// +optional
	Tables int32 `json:"tables,omitempty"`
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// gtid is the source's position at the moment that was copied. Absent without a binary log.
	// +optional
	GTID string `json:"gtid,omitempty"`
	// rows is how many were copied, and compared.
	// +optional
	Rows int64 `json:"rows,omitempty"`
	// lockedMilliseconds is for how long the source's commits waited.
	// +optional
	LockedMilliseconds int64 `json:"lockedMilliseconds,omitempty"`
	// skipped are accounts, and grants on what was not copied, that were left out; with method: Backup also views,
	// triggers, routines and events whose DEFINER is such an account. The last entry counts those that are not named.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=33
	Skipped []string `json:"skipped,omitempty"`
}

// ExternalFinding is one reason why a source is not copied.
type ExternalFinding struct {
	// name of the finding, for instance PrimaryKeyMissing.
	Name string `json:"name"`
	// objects are some of those that it is about.
	// +optional
	// +listType=atomic
	Objects []string `json:"objects,omitempty"`
	// count is how many there are.
	// +optional
	Count int32 `json:"count,omitempty"`
	// message describes what is wrong, and what to do.
	Message string `json:"message"`
}

// Source returns the server that the cluster follows, or has followed and still names; nil for none. An archive is
// offered by a server of the operator's.
func (c *GaleraCluster) Source() *BootstrapExternal {
	switch {
	case Rejoins(c):
		return nil
	case c.Spec.ReplicaOf != nil:
		return archiveSource(c)
	}
	if c.Spec.BootstrapFrom == nil || c.Spec.BootstrapFrom.External == nil || !c.Spec.BootstrapFrom.External.Follow {
		return nil
	}
	return c.Spec.BootstrapFrom.External
}

// HasFollowed reports whether the cluster follows a source, or has followed one. Its nodes write under a GTID domain of
// the cluster's own then, from their first start, also when it was to follow another one and that was taken back:
// spec.cutover is gone then.
func (c *GaleraCluster) HasFollowed() bool {
	return c.Source() != nil || c.Spec.Cutover != nil || c.Status.Replication != nil
}

// Followed returns the one of its sources that the cluster follows, as its nodes have reported last. It is called for a
// cluster with a Source.
func (c *GaleraCluster) Followed() ExternalHost {
	hosts := c.Source().Hosts()
	for _, h := range hosts {
		if c.Status.Replication != nil && c.Status.Replication.Source == h.String() {
			return h
		}
	}
	return hosts[0]
}

// Follows reports whether the cluster follows a server, so that no client writes.
func (c *GaleraCluster) Follows() bool {
	return c.Source() != nil && (c.Status.Replication == nil || c.Status.Replication.Role != RoleIndependent)
}
