package transport

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
)

// optionsOf reads -o NAME=VALUE; the first of a name counts for both programs.
func optionsOf(t *testing.T, args []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, a := range args {
		if a != "-o" {
			continue
		}
		name, value, ok := strings.Cut(args[i+1], "=")
		if _, twice := out[name]; twice || !ok {
			t.Errorf("option %q", args[i+1])
		}
		out[name] = value
	}
	return out
}

func TestServerCommand(t *testing.T) {
	args := SSHServerCommand("/keys", 2222, "10.0.0.7:3306", "aes256-cbc")
	if !slices.Equal(args[:5], []string{"/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null"}) {
		t.Errorf("got %v", args[:5])
	}
	got := optionsOf(t, args)
	for name, want := range map[string]string{
		"Port": "2222", "Ciphers": "aes256-cbc", "HostKey": "/keys/host_key", "AuthorizedKeysFile": "/keys/authorized_keys",
		"PidFile": "none",
		"UsePAM":  "no", "AuthenticationMethods": "publickey", "PasswordAuthentication": "no",
		"KbdInteractiveAuthentication": "no",
		"AllowTcpForwarding":           "local", "PermitOpen": "10.0.0.7:3306", "PermitListen": "none", "GatewayPorts": "no",
		"PermitTunnel":               "no",
		"AllowStreamLocalForwarding": "no", "AllowAgentForwarding": "no", "X11Forwarding": "no",
		"MaxSessions": "0", "PermitTTY": "no", "PermitUserRC": "no",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestClientCommand(t *testing.T) {
	args, err := SSHClientCommand("/keys", "x-ssh.default.svc:2222", "127.0.0.1:13306", "[fd00::7]:3306", "aes256-ctr")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(args, " "); !strings.HasPrefix(text, "ssh -F none -N -T -o ") ||
		!strings.HasSuffix(text, " -L 127.0.0.1:13306:[fd00::7]:3306 -p 2222 x-ssh.default.svc") {
		t.Errorf("got %s", text)
	}
	got := optionsOf(t, args)
	for name, want := range map[string]string{
		"BatchMode": "yes", "Ciphers": "aes256-ctr", "ExitOnForwardFailure": "yes", "StrictHostKeyChecking": "yes",
		"UserKnownHostsFile":   "/keys/known_hosts",
		"GlobalKnownHostsFile": "none", "HostKeyAlias": "benchmark", "IdentityFile": "/keys/identity",
		"IdentitiesOnly": "yes",
		"IdentityAgent":  "none", "PreferredAuthentications": "publickey",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, err := SSHClientCommand("/keys", "no-port", "", "", ""); err == nil {
		t.Error("a server without a port")
	}
}

// publicOf is the public key of a private one, as SSH writes it.
func publicOf(t *testing.T, private []byte) string {
	t.Helper()
	block, rest := pem.Decode(private)
	if block == nil || len(rest) > 0 {
		t.Fatalf("no PEM: %d bytes", len(private))
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	pub := key.(ed25519.PrivateKey).Public().(ed25519.PublicKey)
	return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"),
		pub...))
}

func TestNewFiles(t *testing.T) {
	a, err := NewSSHFiles()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSSHFiles()
	if err != nil {
		t.Fatal(err)
	}
	host, user := publicOf(t, a[HostKey]), publicOf(t, a[Identity])
	if got, want := string(a[KnownHosts]), "benchmark "+host+"\n"; got != want {
		t.Errorf("known_hosts is %q, want %q", got, want)
	}
	if got, want := string(a[AuthorizedKeys]), "restrict,port-forwarding "+user+"\n"; got != want {
		t.Errorf("authorized_keys is %q, want %q", got, want)
	}
	if host == user || host == publicOf(t, b[HostKey]) || user == publicOf(t, b[Identity]) {
		t.Error("a key is used twice")
	}
	if len(a) != 4 {
		t.Errorf("%d files", len(a))
	}
}
