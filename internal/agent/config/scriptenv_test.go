package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestScriptEnvSocat: the scripts call socat in pipes and stunnel in the background, ask it for its version, and ask
// bash whether there is one.
func TestScriptEnvSocat(t *testing.T) {
	const fake = "#!/bin/sh\necho \"$PPID: $*\"\nexit 3\n"
	for name, tc := range map[string]struct {
		script string
		absent bool
		want   string
	}{
		"a pipe": {script: `echo $$ >me; socat -u stdio TCP:x | sed "s/^$(cat me):/itself:/"; echo ${PIPESTATUS[0]}`,
			want: "agent widen\nitself: -d -d -b 65536 -u stdio TCP:x\n3\n"},
		"evaluated": {script: `tcmd="socat -u 'a b' stdio"; eval "$tcmd | sed s/^.*:.-d/-d/"`,
			want: "agent widen\n-d -d -b 65536 -u a b stdio\n"},
		"a stand-in": {script: `tcmd="socat stdio openssl-connect:x:1,verify=1,commonname='unnamed',retry=5"; eval "$tcmd | sed s/^.*:.-d/-d/"`, want: "agent widen\n-d -d -b 65536 stdio openssl-connect:x:1,verify=1,commonname=,retry=5\n"},
		"a real name": {script: `socat stdio openssl-connect:x:1,commonname=unname | sed s/^.*:.-d/-d/`,
			want: "agent widen\n-d -d -b 65536 stdio openssl-connect:x:1,commonname=unname\n"},
		"awaited": {script: `timeout -k 9 5 socat -u 'a b' stdio | sed s/^.*:.-d/-d/; echo ${PIPESTATUS[0]}`,
			want: "-d -d -d -u a b stdio\n3\n"},
		"another wait":   {script: `timeout 5 echo 'a b'`, want: "a b\n"},
		"the version":    {script: `socat -V | cut -d: -f2`, want: "agent widen\n -d -d -b 65536 -V\n"},
		"without a pipe": {script: `socat -V >out; echo $?`, want: "3\n"},
		"none there":     {script: `command -v socat || echo none`, absent: true, want: "none\n"},
		"a tunnel":       {script: `echo "debug = warning" >conf; stunnel conf >out & wait $!; echo $?; sed s/^.*:.// out; cat conf`, want: "3\nconf\ndebug = info\nsslVersionMin = TLSv1.3\nciphersuites = TLS_CHACHA20_POLY1305_SHA256\noptions = CIPHER_SERVER_PREFERENCE\n"},
		"another sleep":  {script: `type -t sleep socat`, want: "function\nfunction\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := os.Getenv("PATH")
			if tc.absent {
				path = dir
			} else {
				write(t, filepath.Join(dir, "socat"), fake)
				write(t, filepath.Join(dir, "stunnel"), fake)
			}
			// It speaks into the pipe that it is to widen, and fails; socat follows all the same.
			agent := filepath.Join(dir, "agent")
			write(t, agent, "#!/bin/sh\necho agent $*\nexit 1\n")
			env := filepath.Join(dir, "env.sh")
			write(t, env, scriptEnv("/dev/null", agent, tunnel(required())))
			script := filepath.Join(dir, "wsrep_sst_mariabackup")
			write(t, script, tc.script)
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(bash, script)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + path, "BASH_ENV=" + env}
			out, err := cmd.CombinedOutput()
			if string(out) != tc.want {
				t.Errorf("%q (%v), want %q", out, err, tc.want)
			}
		})
	}
}

// TestScriptEnvCommonName: a common name that MariaDB refuses in a request for a transfer is not given to the script.
func TestScriptEnvCommonName(t *testing.T) {
	const subject = `set -ue; PATH="$PWD:$PATH"; "$(command -v openssl)" x509 -noout -subject -in cert`
	for name, tc := range map[string]struct{ script, cn, want string }{
		"plain":           {script: subject, cn: "shop-1.test_a", want: "subject=CN = shop-1.test_a\n"},
		"a space":         {script: subject, cn: "shop.test cluster", want: "subject=CN = unnamed\n"},
		"a wildcard":      {script: subject, cn: "*.shop.test", want: "subject=CN = unnamed\n"},
		"none":            {script: subject, want: "subject=CN = unnamed\n"},
		"another letter":  {script: "export LC_ALL=C.UTF-8; " + subject, cn: "caf\u00e9", want: "subject=CN = unnamed\n"},
		"another command": {script: "openssl rand -hex 16", cn: "shop.test cluster", want: "ran rand -hex 16\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "openssl"), `#!/bin/sh
case "$*" in
*multiline) echo subject=; echo "    organizationName          = Acme Inc"; echo "    commonName                = `+tc.cn+`" ;;
*-subject*) echo "subject=CN = `+tc.cn+`" ;;
*) echo "ran $*" ;;
esac
`)
			write(t, filepath.Join(dir, "env.sh"), scriptEnv("/dev/null", "true", ""))
			write(t, filepath.Join(dir, "wsrep_sst_rsync"), tc.script)
			cmd := exec.Command("bash", filepath.Join(dir, "wsrep_sst_rsync"))
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "BASH_ENV=" + filepath.Join(dir, "env.sh")}
			if out, err := cmd.CombinedOutput(); string(out) != tc.want || err != nil {
				t.Errorf("%q (%v), want %q", out, err, tc.want)
			}
		})
	}
}

// TestTunnel: stunnel is configured with the least version that the policy takes, and nothing where there is no TLS.
func TestTunnel(t *testing.T) {
	in := required()
	in.Config.TLS.MinVersion = "1.2"
	const want = `\nsslVersionMin = TLSv1.2\nciphersuites = TLS_CHACHA20_POLY1305_SHA256\noptions = CIPHER_SERVER_PREFERENCE`
	if got := tunnel(in); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	in.Config.TLS.StateTransfer = galera.PolicyDisabled
	if got := tunnel(in); got != "" {
		t.Errorf("%q without TLS", got)
	}
}

// required is a policy that encrypts transfers with one suite.
func required() (in Input) {
	in.Config.TLS.StateTransfer, in.Config.TLS.CipherSuites = galera.PolicyRequired, []string{galera.SuiteChaCha20}
	return in
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestScriptEnvTunnel: without stunnel in its PATH wsrep_sst_rsync copies in clear and calls it no error, whatever
// ssl-mode says.
func TestScriptEnvTunnel(t *testing.T) {
	for name, tc := range map[string]struct {
		script            string
		encrypted, tunnel bool
		want              string
	}{
		"rsync through a tunnel": {"wsrep_sst_rsync", true, true, "copied\n"},
		"rsync in clear":         {"wsrep_sst_rsync", false, false, "copied\n"},
		"the tunnel is missing": {"wsrep_sst_rsync", true, false,
			"WSREP_SST: [ERROR] stunnel not found in PATH: rsync would send everything in clear\n"},
		"MariaBackup": {"wsrep_sst_mariabackup", true, false, "copied\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Skip("no bash here")
			}
			dir := t.TempDir()
			if tc.tunnel {
				write(t, filepath.Join(dir, "stunnel"), "#!/bin/sh\n")
			}
			env, script := filepath.Join(dir, "env.sh"), filepath.Join(dir, tc.script)
			in := required()
			if !tc.encrypted {
				in.Config.TLS.StateTransfer = galera.PolicyDisabled
			}
			write(t, env, scriptEnv("/dev/null", "agent", tunnel(in)))
			write(t, script, "echo copied")
			cmd := exec.Command(bash, script)
			cmd.Env = []string{"PATH=" + dir, "BASH_ENV=" + env}
			out, err := cmd.CombinedOutput()
			if string(out) != tc.want || (err == nil) != (tc.want == "copied\n") {
				t.Errorf("%q (%v), want %q", out, err, tc.want)
			}
		})
	}
}
