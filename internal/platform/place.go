package platform

import (
	"path/filepath"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Places are the directories of a database pod.
type Places struct {
	Bin, Volume, Data, State, Run, Tmp, Config, TLS, Root, Keys, Cache, Source, SourceCA string
}

// DefaultPlaces returns the places in a real pod.
func DefaultPlaces() Places {
	return Places{
		Bin:    agentapi.BinDir,
		Volume: agentapi.VolumeDir,
		Data:   agentapi.DataDir,
		State:  agentapi.StateDir,
		Run:    agentapi.RunDir,
		Tmp:    agentapi.TmpDir,
		Config: agentapi.ConfigDir,
		TLS:    agentapi.TLSDir,
		Root:   agentapi.RootDir,
		Keys:   agentapi.KeysDir,
		Cache:  agentapi.CacheDir,
		Source: agentapi.SourceDir, SourceCA: agentapi.SourceCADir,
	}
}

// Agent is the agent's binary.
func (p Places) Agent() string { return filepath.Join(p.Bin, "agent") }

// MyCnf is the rendered option file.
func (p Places) MyCnf() string { return filepath.Join(p.Run, "my.cnf") }

// KeyFiles is the directory of the encryption keys that mariadbd uses. It is in memory, and the same in a restore: a
// backup names the files in it.
func (p Places) KeyFiles() string { return filepath.Join(p.Run, "keys") }

// OpenSSLCnf is the rendered OpenSSL configuration mariadbd and the transfer scripts run with.
func (p Places) OpenSSLCnf() string { return filepath.Join(p.Run, "openssl.cnf") }

// ScriptEnv is the file bash reads before every transfer script (BASH_ENV).
func (p Places) ScriptEnv() string { return filepath.Join(p.Run, "script-env.sh") }

// TransferNotes is where transfer scripts record that they begin.
func (p Places) TransferNotes() string { return filepath.Join(p.Run, "transfers") }

// UpgradeCnf is the option file mariadb-upgrade logs in with.
func (p Places) UpgradeCnf() string { return filepath.Join(p.Run, "upgrade.cnf") }

// InitFile is what mariadbd reads when it starts, before it takes connections.
func (p Places) InitFile() string { return filepath.Join(p.Run, "init.sql") }

// MasterInfo is where mariadbd keeps how it connects to a source, its password included: in memory, so that no channel
// and no password outlives the pod.
func (p Places) MasterInfo() string { return filepath.Join(p.Run, "master.info") }

// RelayLogInfo is where mariadbd keeps how far it has applied a source.
func (p Places) RelayLogInfo() string { return filepath.Join(p.Run, "relay-log.info") }

// Socket is mariadbd's unix socket.
func (p Places) Socket() string { return filepath.Join(p.Run, "mysqld.sock") }

// PidFile is mariadbd's pid file.
func (p Places) PidFile() string { return filepath.Join(p.Run, "mysqld.pid") }

// LastRun is where the agent keeps in which view its server is.
func (p Places) LastRun() string { return filepath.Join(p.Run, "last-run.json") }

// NotifySocket is where wsrep_notify_cmd pokes the running agent.
func (p Places) NotifySocket() string { return filepath.Join(p.Run, "agent-notify.sock") }

// PrivateTLS is a symbolic link to the pair mariadbd uses.
func (p Places) PrivateTLS() string { return filepath.Join(p.Run, "tls") }

// Cert is the certificate chain mariadbd uses.
func (p Places) Cert() string { return filepath.Join(p.PrivateTLS(), "tls.crt") }

// Key is the private key mariadbd uses.
func (p Places) Key() string { return filepath.Join(p.PrivateTLS(), "tls.key") }

// CA is the trust bundle mariadbd uses.
func (p Places) CA() string { return filepath.Join(p.PrivateTLS(), "ca.crt") }

// ClientsCA is what port 3306 verifies clients' certificates by: the CA of clients alone.
func (p Places) ClientsCA() string { return filepath.Join(p.PrivateTLS(), "clients-ca.crt") }

// TransferCA is the trust bundle the transfer scripts use; see certs.
func (p Places) TransferCA() string { return filepath.Join(p.PrivateTLS(), "transfer-ca.crt") }

// Files is the only directory that SQL statements read files from and write them to: LOAD DATA INFILE, SELECT … INTO
// OUTFILE.
func (p Places) Files() string { return filepath.Join(p.Volume, "files") }

// InitDir is where an initialisation works before its result becomes the data directory.
func (p Places) InitDir() string { return filepath.Join(p.Volume, "data.init") }
