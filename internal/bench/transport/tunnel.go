// Package transport configures what a benchmark's connections go through: OpenSSH or WireGuard (keys and command lines
// of both ends), or ProxySQL (its configuration and command line).
package transport

import (
	"net"
	"path/filepath"
	"strconv"
)

const (
	// SSHPort of the server: a high one, because it is not root.
	SSHPort = 2222
	// SSHDir is where each end mounts its files.
	SSHDir = "/etc/galera-operator/ssh"

	// hostAlias is the server's name in known_hosts: what it is reached by does not matter.
	hostAlias = "benchmark"
)

// Files of the Secret: those of the server, and those of the client.
const (
	HostKey        = "host_key"
	AuthorizedKeys = "authorized_keys"
	Identity       = "identity"
	KnownHosts     = "known_hosts"
)

// SSHServerCommand starts the server: who has the key may have connections opened to target (host:port), and
// nothing else.
func SSHServerCommand(dir string, port int, target, cipher string) []string {
	return append([]string{"/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null"}, options(
		"Port="+strconv.Itoa(port),
		"Ciphers="+cipher,
		"PidFile=none",
		"HostKey="+filepath.Join(dir, HostKey),
		"AuthorizedKeysFile="+filepath.Join(dir, AuthorizedKeys),
		// A Secret's directory may be written to by all, if it were not read-only: kubelet makes it so.
		"StrictModes=no",
		"UsePAM=no",
		"AuthenticationMethods=publickey",
		"PasswordAuthentication=no",
		"KbdInteractiveAuthentication=no",
		"AllowTcpForwarding=local",
		"PermitOpen="+target,
		"PermitListen=none",
		"GatewayPorts=no",
		"AllowStreamLocalForwarding=no",
		"AllowAgentForwarding=no",
		"X11Forwarding=no",
		"PermitTunnel=no",
		"PermitTTY=no",
		"PermitUserRC=no",
		// Neither a shell nor a command; forwarding needs no session.
		"MaxSessions=0",
	)...)
}

// SSHClientCommand starts the client: it leads connections to local (host:port) through the server, which is also
// host:port, to target. It asks no questions, and ends when it cannot listen or the server is lost. Both ends offer one
// cipher only: it is the one that is used.
func SSHClientCommand(dir, server, local, target, cipher string) ([]string, error) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	return append(append([]string{"ssh", "-F", "none", "-N", "-T"}, options(
		"BatchMode=yes",
		"Ciphers="+cipher,
		"ExitOnForwardFailure=yes",
		"StrictHostKeyChecking=yes",
		"HostKeyAlias="+hostAlias,
		"UserKnownHostsFile="+filepath.Join(dir, KnownHosts),
		"GlobalKnownHostsFile=none",
		"UpdateHostKeys=no",
		"IdentityFile="+filepath.Join(dir, Identity),
		"IdentitiesOnly=yes",
		"IdentityAgent=none",
		"PreferredAuthentications=publickey",
		"ConnectTimeout=10",
		"ServerAliveInterval=5",
		"ServerAliveCountMax=3",
	)...), "-L", local+":"+target, "-p", port, host), nil
}

// options writes each as -o NAME=VALUE.
func options(all ...string) []string {
	out := make([]string, 0, 2*len(all))
	for _, o := range all {
		out = append(out, "-o", o)
	}
	return out
}
