package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Transfer methods of NodeConfig.StateTransfer.Method.
const (
	MariaBackup = "MariaBackup"
	Rsync       = "Rsync"
)

// Input is all a configuration is made from.
type Input struct {
	Config agentapi.NodeConfig
	// Name and Address are this member's.
	Name, Address string
	// Provider is the path of libgalera_smm.so.
	Provider string
	// User is the operating system user mariadbd runs as; it is also the name of the
	// passwordless unix_socket account the transfer scripts and the agent log in with.
	User   string
	Places platform.Places
	// OpenSSLTool reports whether the image has the openssl program, which the transfer scripts need
	// for all that goes beyond encrypt=4.
	OpenSSLTool bool
	// OldSocat reports whether a listening socat refuses connect-timeout, as it does before version 1.8. The
	// scripts give both sides the same options.
	OldSocat bool
	// CPUFlags of this host, as CPUFlags returns them.
	CPUFlags []string
	// OpenFiles is how many files a process may open at most (the hard limit); 0 when it is not known.
	OpenFiles uint64
}

// Output is a complete configuration.
type Output struct {
	MyCnf   mycnf.File
	OpenSSL string
	// Scripts is read by bash before each transfer script.
	Scripts string
	// Hash covers what a running server cannot take over without a restart.
	Hash string
	// Live are the settings a running server takes over by SET GLOBAL, in order.
	Live []mycnf.Option
	// Socket is the mode group communication runs with, Suites what it may negotiate.
	Socket galera.SocketMode
	Suites []string
	// AtRest is what the server does with encryption keys, "" without.
	AtRest string
	// WritesBinlog reports whether the server writes what all nodes have committed to a binary log.
	WritesBinlog bool
}

// ProviderTLS reports whether the provider has a certificate.
func (o Output) ProviderTLS() bool {
	return o.Socket == galera.SocketStrict || o.Socket == galera.SocketDynamic
}

// ClientTLS reports whether port 3306 has one.
func (o Output) ClientTLS() bool {
	v, _ := o.MyCnf.Get("mysqld", "ssl")
	return v == "ON"
}

// ReadOnly reports whether a server with these options refuses the writes of clients from its start.
func (o Output) ReadOnly() bool {
	v, _ := o.MyCnf.Get("mysqld", "read_only")
	return v == "ON"
}

// liveSettings are the settings that a running server takes over by SET GLOBAL, in this order.
var liveSettings = []string{"require_secure_transport", "wsrep_sst_method", "strict_password_validation",
	// A server that is started with OFF decrypts nothing until it is set to OFF once more (11.8, 10.11).
	"innodb_encrypt_tables"}

// Build makes the configuration. The same input always gives the same output.
func Build(in Input) Output {
	mysqld, sst := serverSection(in), transferSection(in)
	out := Output{
		MyCnf:   mycnf.File{mysqld, sst, backupSection(in), clientSection(in)},
		OpenSSL: openSSL(in.Config.TLS, in.CPUFlags),
		Scripts: scriptEnv(in.Places.TransferNotes(), in.Places.Agent(), tunnel(in)),
		Socket:  in.Config.TLS.Replication,
		Suites:  in.Config.TLS.CipherSuites,
	}
	out.AtRest = atRestMode(in.Config.AtRest)
	out.WritesBinlog = writesBinlog(mysqld)
	for _, key := range liveSettings {
		if v, ok := out.MyCnf.Get("mysqld", key); ok {
			out.Live = append(out.Live, mycnf.Set(key, v))
		}
	}
	fixed := mysqld.Without(append([]string{"wsrep_cluster_address", "event_scheduler", "read_only"}, liveSettings...)...)
	sum := sha256.Sum256([]byte(fixed.Render() + "\x00" + out.OpenSSL))
	out.Hash = hex.EncodeToString(sum[:8])
	return out
}

// writesBinlog reports whether a server with these options writes what all nodes have committed to a binary log.
func writesBinlog(mysqld mycnf.Section) bool {
	file := mycnf.File{mysqld}
	name, set := file.Get(mysqld.Name, "log_bin")
	all, _ := file.Get(mysqld.Name, "log_slave_updates")
	return set && name != "" && name != "OFF" && name != "0" && (strings.EqualFold(all, "ON") || all == "1")
}

func serverSection(in Input) mycnf.Section {
	p := in.Places
	opts := []mycnf.Option{
		mycnf.Set("datadir", p.Data),
		mycnf.Set("socket", p.Socket()),
		mycnf.Set("pid_file", p.PidFile()),
		mycnf.Set("tmpdir", p.Tmp),
		mycnf.Set("secure_file_priv", p.Files()),
		mycnf.Set("port", "3306"),
		mycnf.Set("skip_name_resolve", "ON"),
		mycnf.Set("binlog_format", "ROW"),
		mycnf.Set("innodb_autoinc_lock_mode", "2"),
		mycnf.Set("default_storage_engine", "InnoDB"),
		mycnf.Set("wsrep_on", "ON"),
		mycnf.Set("wsrep_provider", in.Provider),
		mycnf.Set("wsrep_provider_options", providerOptions(in)),
		mycnf.Set("wsrep_cluster_name", in.Config.Group()),
		mycnf.Set("wsrep_cluster_address", ClusterAddress(group(in.Config))),
		mycnf.Set("wsrep_node_name", agentapi.GroupName(in.Name)),
		mycnf.Set("wsrep_node_address", bracketed(in.Address)),
		mycnf.Set("wsrep_sst_method", sstMethod(in.Config.StateTransfer.Method)),
		mycnf.Set("wsrep_sst_auth", in.User+":"),
		mycnf.Set("wsrep_notify_cmd", p.Agent()+" notify"),
		// Accounts are made with hashes, which a password validation plugin refuses with ON, and on the node of the client
		// only: the statement has been replicated by then, and the appliers carry it out.
		mycnf.Set("strict_password_validation", "OFF"),
		// The agent of the primary turns it on, once all others are off.
		mycnf.Set("event_scheduler", "OFF"),
	}
	opts = append(opts, clientTLS(in)...)
	opts = append(opts, userSettings(in.Config.Settings)...)
	opts = append(opts, AtRestOptions(p, in.Config.AtRest)...)
	opts = append(opts, followOptions(p, in.Config)...)
	if (in.Config.Refuse || in.Config.Lease) && in.Config.Follow == nil {
		opts = append(opts, mycnf.Set("read_only", "ON")) // from its start, until the agent sets it to OFF
	}
	return mycnf.Section{Name: "mysqld", Options: opts}
}

// relayLogFile and relayLogs bound what is received of a source and not applied yet, in bytes.
const (
	relayLogFile = "67108864"
	relayLogs    = "1073741824"
)

// followOptions are the settings of a node that follows a source. It refuses the writes of clients from its start,
// until the agent has seen that nothing is left to apply; a channel begins by the agent alone, at the position in
// gtid_slave_pos, which reaches the other nodes through the binary log's settings only. The source's accounts are not
// the cluster's: what changes the schema mysql is left out. A table of an engine that Galera does not replicate would
// have its rows on one node only: the statement that creates it is refused, and ends the channel.
func followOptions(p platform.Places, c agentapi.NodeConfig) []mycnf.Option {
	f := c.Follow
	if f == nil {
		return nil
	}
	id, own := strconv.FormatUint(uint64(f.ServerID), 10), strconv.FormatUint(uint64(f.ServerID-1), 10)
	return []mycnf.Option{
		mycnf.Set("read_only", "ON"),
		mycnf.Set("server_id", id),
		mycnf.Set("log_bin", "binlog"),
		mycnf.Set("log_slave_updates", "ON"),
		mycnf.Set("wsrep_gtid_mode", "ON"),
		mycnf.Set("wsrep_gtid_domain_id", id),
		mycnf.Set("gtid_domain_id", own),
		mycnf.Set("wsrep_mode", strictMode(Mode(c.Settings))),
		mycnf.Set("skip_slave_start", "ON"),
		mycnf.Set("master_info_file", p.MasterInfo()),
		mycnf.Set("relay_log_info_file", p.RelayLogInfo()),
		mycnf.Set("relay_log", "relay"),
		mycnf.Set("max_relay_log_size", relayLogFile),
		mycnf.Set("relay_log_space_limit", relayLogs),
		mycnf.Set("replicate_wild_ignore_table", "mysql.%"),
	}
}

// Mode returns the wsrep_mode of the settings, "" for none.
func Mode(settings map[string]string) string {
	for key, value := range settings {
		if mycnf.Normalise(key) == "wsrep-mode" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// strictMode adds STRICT_REPLICATION to a wsrep_mode. The agent takes it away from a server that accepts writes.
func strictMode(mode string) string {
	const strict = "STRICT_REPLICATION"
	if n, err := strconv.ParseUint(mode, 10, 64); err == nil {
		return strconv.FormatUint(n|1, 10)
	}
	switch {
	case mode == "":
		return strict
	case strings.Contains(strings.ToUpper(mode), strict):
		return mode
	}
	return strict + "," + mode
}

// userSettings come last, so that they win over defaults, and leave out what belongs to the
// operator: it has refused such settings already, this is the second lock on the same door.
func userSettings(settings map[string]string) []mycnf.Option {
	var opts []mycnf.Option
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if mycnf.Refused(key, settings[key]) != "" {
			continue
		}
		opts = append(opts, mycnf.Set(key, settings[key]))
	}
	return opts
}

// ClusterAddress is wsrep_cluster_address of those members.
func ClusterAddress(members []agentapi.Peer) string {
	hosts := make([]string, len(members))
	for i, m := range members {
		hosts[i] = bracketed(m.Host)
	}
	return "gcomm://" + strings.Join(hosts, ",")
}

// clientTLS is port 3306. MariaDB from 11.4 makes itself a certificate unless TLS is off.
func clientTLS(in Input) []mycnf.Option {
	if in.Config.TLS.Clients != galera.PolicyRequired && in.Config.TLS.Clients != galera.PolicyPreferred {
		return []mycnf.Option{mycnf.Set("ssl", "OFF")}
	}
	required := "OFF"
	if in.Config.TLS.Clients == galera.PolicyRequired {
		required = "ON"
	}
	versions := "TLSv1.3"
	if in.Config.TLS.MinVersion == "1.2" {
		versions = "TLSv1.2,TLSv1.3"
	}
	p := in.Places
	return []mycnf.Option{
		mycnf.Set("ssl", "ON"),
		mycnf.Set("ssl_cert", p.Cert()),
		mycnf.Set("ssl_key", p.Key()),
		mycnf.Set("ssl_ca", p.ClientsCA()),
		mycnf.Set("tls_version", versions),
		mycnf.Set("require_secure_transport", required),
	}
}

// backupSection is read by mariadb-backup, as a backup, and as the donor and the joiner of a transfer. Its own
// connection, which is over the unix socket, does not ask for TLS. It opens every table at once, and does not raise the
// limit of open files by itself, as mariadbd does.
func backupSection(in Input) mycnf.Section {
	opts := []mycnf.Option{{Key: "skip-ssl", Bare: true}}
	if in.OpenFiles > 0 {
		opts = append(opts, mycnf.Set("open_files_limit", strconv.FormatUint(min(in.OpenFiles, maxOpenFiles), 10)))
	}
	return mycnf.Section{Name: "mariabackup", Options: opts}
}

// maxOpenFiles is what the kernel allows a process at most, unless it is configured otherwise (fs.nr_open).
const maxOpenFiles = 1 << 20

// clientSection is for people who run a client in the container.
func clientSection(in Input) mycnf.Section {
	opts := []mycnf.Option{mycnf.Set("socket", in.Places.Socket())}
	if in.Config.TLS.Clients != galera.PolicyDisabled {
		opts = append(opts, mycnf.Set("ssl-ca", in.Places.CA()))
	}
	return mycnf.Section{Name: "client", Options: opts}
}

func sstMethod(method string) string {
	if method == Rsync {
		return "rsync"
	}
	return "mariabackup"
}

// bracketed puts an IPv6 address in brackets, as Galera wants it.
func bracketed(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return "[" + host + "]"
	}
	return host
}

// NeedsPair reports whether a configuration needs a certificate to run with.
func NeedsPair(t agentapi.TLSConfig) bool {
	return t.Replication != galera.SocketPlain || t.StateTransfer == galera.PolicyRequired ||
		t.Clients != galera.PolicyDisabled
}

// Check returns the reason why a NodeConfig cannot be used by the member called name.
func Check(c agentapi.NodeConfig, name string) error {
	switch {
	case c.Cluster == "" || len(c.Members) == 0:
		return fmt.Errorf("the configuration names no cluster or no members")
	case !slices.ContainsFunc(c.Members, func(p agentapi.Peer) bool { return p.Name == name }):
		return fmt.Errorf("the configuration does not list %s as a member", name)
	case !slices.Contains([]galera.SocketMode{galera.SocketPlain, galera.SocketDynamic, galera.SocketStrict},
		c.TLS.Replication):
		return fmt.Errorf("unknown replication mode %q", c.TLS.Replication)
	case !slices.Contains([]galera.ChannelPolicy{galera.PolicyRequired, galera.PolicyDisabled}, c.TLS.StateTransfer):
		return fmt.Errorf("unknown state transfer policy %q", c.TLS.StateTransfer)
	case !slices.Contains([]galera.ChannelPolicy{galera.PolicyRequired, galera.PolicyPreferred, galera.PolicyDisabled},
		c.TLS.Clients):
		return fmt.Errorf("unknown client policy %q", c.TLS.Clients)
	case c.TLS.MinVersion != "1.2" && c.TLS.MinVersion != "1.3":
		return fmt.Errorf("unknown minimum TLS version %q", c.TLS.MinVersion)
	case c.StateTransfer.Method != MariaBackup && c.StateTransfer.Method != Rsync:
		return fmt.Errorf("unknown state transfer method %q", c.StateTransfer.Method)
	case c.AtRest != nil && c.AtRest.Algorithm != "AES_CTR" && c.AtRest.Algorithm != "AES_CBC":
		return fmt.Errorf("unknown algorithm of encryption at rest %q", c.AtRest.Algorithm)
	case c.AtRest != nil && !slices.Contains([]string{agentapi.AtRestPrepared, agentapi.AtRestEncrypted,
		agentapi.AtRestDecrypted}, c.AtRest.State):
		return fmt.Errorf("unknown state of encryption at rest %q", c.AtRest.State)
	case c.AtRest != nil && len(c.AtRest.Keys) == 0:
		return fmt.Errorf("the configuration names no key of the encryption at rest")
	case c.Follow != nil && (c.Follow.Host == "" || c.Follow.ServerID < 2):
		return fmt.Errorf("the configuration names no host, or no server ID, of a server to follow")
	case c.StateTransfer.Compression != "" && c.StateTransfer.Compression != agentapi.CompressionZstd:
		return fmt.Errorf("unknown compression of state transfers %q", c.StateTransfer.Compression)
	}
	for _, s := range c.TLS.CipherSuites {
		if strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) {
			return fmt.Errorf("%q is not the name of a TLS 1.3 cipher suite", s)
		}
	}
	return nil
}
