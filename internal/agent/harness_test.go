//go:build integration

package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	image        = "galera-mariadb:11.8"
	rootPassword = "it's a \"secret\" \\ #1"
	mysqlUID     = 999
	// slack multiplies the limits of waits, which are for a machine that has little else to do: how long things take is
	// logged, and where it is promised it is measured.
	slack = 3
	// answerTime is for one answer of an agent, which a busy machine may hold up for seconds.
	answerTime = 20 * time.Second
)

// worlds is how many there were: some live at the same time.
var worlds atomic.Int64

// testCluster is a cluster of agents in containers, and the operator's side of it.
type testCluster struct {
	t       *testing.T
	dir     string
	network string
	ipv6    bool // nodes have no address of IPv4
	nodes   []*node
	config  agentapi.NodeConfig
	ca      *authority
	chain   []byte // intermediates, appended to every leaf
	root    *authority
	control *authority
	client  *agentapi.Client
	cn      string // of the leaves
}

type node struct {
	w              *testCluster
	name, ip, base string
	image          string
	command        string // of the agent; "run" when empty
	keepsRun       bool   // its RunDir outlives a container, as a pod's does
	order          int
}

func newWorld(t *testing.T, replicas int, edit func(*agentapi.NodeConfig)) *testCluster {
	t.Helper()
	return newWorldOn(t, false, replicas, edit)
}

func newWorldOn(t *testing.T, ipv6 bool, replicas int, edit func(*agentapi.NodeConfig)) *testCluster {
	t.Helper()
	if ipv6 {
		needIPv6(t)
	}
	if out, err := exec.Command("docker", "image", "inspect", image).CombinedOutput(); err != nil {
		t.Fatalf("no docker, or no image %s: %v: %s", image, err, out)
	}
	//nolint:usetesting // GAGENT_KEEP leaves it behind
	w := &testCluster{t: t, ipv6: ipv6, cn: "shop.test cluster", dir: got(os.MkdirTemp("", "gagent-"))(t),
		network: fmt.Sprintf("gagent-%d-%d", os.Getpid(), worlds.Add(1))}
	check(t, os.Chmod(w.dir, 0o755))
	t.Cleanup(w.remove)
	w.install()
	w.root = newAuthority(t, "shop root", nil)
	w.ca = newAuthority(t, "shop intermediate", w.root)
	w.chain = w.ca.pem
	w.control = newAuthority(t, "control", nil)
	certPEM, keyPEM := w.control.issue(t, agentapi.OperatorName, agentapi.OperatorName)
	w.client = w.newClient(certPEM, keyPEM)
	subnet := w.createNetwork()
	w.config = agentapi.NodeConfig{
		Cluster: "shop", Namespace: "test", UID: "6b4c1a52-0000-11f0-a000-000000000000",
		TLS: agentapi.TLSConfig{Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired,
			Clients: galera.PolicyRequired, MinVersion: "1.3"},
		StateTransfer: agentapi.StateTransferConfig{Method: "MariaBackup", Parallel: 2},
		Settings:      map[string]string{"innodb_buffer_pool_size": "64M", "max_connections": "50"},
	}
	for i := range replicas {
		n := &node{w: w, image: image, name: fmt.Sprintf("shop-%d", i), ip: fmt.Sprintf("%s%d", subnet, 10+i)}
		n.base = filepath.Join(w.dir, n.name)
		w.nodes = append(w.nodes, n)
		w.config.Members = append(w.config.Members, agentapi.Peer{Name: n.name, Host: n.name})
	}
	if edit != nil {
		edit(&w.config)
	}
	w.publishConfig(nil)
	w.publishCertificate(w.leaf())
	return w
}

// install lets the agent install itself, as the init container does.
func (w *testCluster) install() {
	w.t.Helper()
	w.run(exec.Command(built.agent(w.t), "install", filepath.Join(w.dir, "bin")))
}

func (w *testCluster) run(cmd *exec.Cmd) string {
	w.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// createNetwork makes a network, and returns what the nodes' addresses begin with.
func (w *testCluster) createNetwork() string {
	w.t.Helper()
	for i := 20; i < 60; i++ {
		v4, v6 := fmt.Sprintf("10.213.%d.", i), fmt.Sprintf("fd00:213:%d::", i)
		args := []string{"network", "create", "--subnet", v4 + "0/24"}
		if w.ipv6 {
			args = append(args, "--ipv6", "--subnet", v6+"/64")
		}
		out, err := exec.Command("docker", append(args, w.network)...).CombinedOutput()
		switch {
		case err != nil && w.ipv6 && noIPv6.Match(out):
			w.t.Skipf("Docker makes no network with IPv6: %s", bytes.TrimSpace(out))
		case err != nil: // taken
		case w.ipv6:
			return v6
		default:
			return v4
		}
	}
	w.t.Fatal("no subnet is free for a docker network")
	return ""
}

// noIPv6 matches Docker's reasons for making no network with IPv6; that a subnet is taken is none.
var noIPv6 = regexp.MustCompile(`(?i)ipv6|ip6tables`)

// addressing are the arguments that give a node its address, and the others' names.
func (n *node) addressing() []string {
	if !n.w.ipv6 {
		return []string{"--ip", n.ip, "--network-alias", n.name}
	}
	args := []string{"--ip6", n.ip}
	for _, other := range n.w.nodes {
		args = append(args, "--add-host", other.name+":"+other.ip)
	}
	return args
}

func (w *testCluster) remove() {
	if w.t.Failed() && os.Getenv("GAGENT_KEEP") != "" {
		return // for inspection by hand
	}
	for _, n := range w.nodes {
		n.checkRaces()
		if w.t.Failed() {
			out, _ := exec.Command("docker", "logs", "--tail", "150", n.container()).CombinedOutput()
			r, err := n.report()
			w.t.Logf("--- %s is %s %q %+v (%v), its log:\n%s", n.name, r.Phase, r.Waiting, r.Failure, err, out)
		}
		_ = exec.Command("docker", "rm", "-f", "-v", n.container()).Run()
	}
	_ = exec.Command("docker", "network", "rm", w.network).Run()
	_ = os.RemoveAll(w.dir)
}

func (w *testCluster) newClient(certPEM, keyPEM []byte) *agentapi.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.root.pem)
	pair := got(tls.X509KeyPair(certPEM, keyPEM))(w.t)
	return agentapi.NewClient(pair, roots, "shop-nodes")
}

// leaf issues a pair as all members share it. Its common name is in none of the DNS names on purpose.
func (w *testCluster) leaf() (certPEM, keyPEM []byte) {
	names := []string{"shop", "shop-nodes"}
	for _, n := range w.nodes {
		names = append(names, n.name)
	}
	certPEM, keyPEM = w.ca.issue(w.t, w.cn, names...)
	return append(certPEM, w.chain...), keyPEM
}

// publishConfig changes the configuration and mounts it everywhere.
func (w *testCluster) publishConfig(edit func(*agentapi.NodeConfig)) {
	w.t.Helper()
	if edit != nil {
		edit(&w.config)
	}
	w.config.Revision = fmt.Sprint(time.Now().UnixNano())
	for _, n := range w.nodes {
		n.mountConfig(w.config)
		n.mount("root", map[string][]byte{agentapi.RootPasswordKey: []byte(rootPassword)})
	}
}

func (n *node) mountConfig(c agentapi.NodeConfig) {
	n.w.t.Helper()
	n.mount("config", map[string][]byte{agentapi.ConfigKey: got(json.Marshal(c))(n.w.t)})
}

func (w *testCluster) publishCertificate(certPEM, keyPEM []byte) {
	w.t.Helper()
	for _, n := range w.nodes {
		n.mount("tls", map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM, "ca.crt": w.root.pem,
			agentapi.ControlCAKey: w.control.pem})
	}
}

// mount writes files the way kubelet does: a new directory, then the ..data link is swapped.
func (n *node) mount(volume string, files map[string][]byte) {
	n.w.t.Helper()
	dir := filepath.Join(n.base, volume)
	version := fmt.Sprintf("..%d", time.Now().UnixNano())
	check(n.w.t, os.MkdirAll(filepath.Join(dir, version), 0o755))
	for name, data := range files {
		check(n.w.t, os.WriteFile(filepath.Join(dir, version, name), data, 0o644))
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
	}
	check(n.w.t, os.Symlink(version, filepath.Join(dir, "..data.next")))
	check(n.w.t, os.Rename(filepath.Join(dir, "..data.next"), filepath.Join(dir, "..data")))
}

// checkRaces fails the test when the race detector has spoken.
func (n *node) checkRaces() {
	if !raceWanted() {
		return
	}
	out, _ := exec.Command("docker", "logs", n.container()).CombinedOutput()
	if at := strings.Index(string(out), "DATA RACE"); at >= 0 {
		n.w.t.Errorf("%s: %s", n.name, string(out[at:min(len(out), at+4000)]))
	}
}

func (n *node) container() string { return n.w.network + "-" + n.name }

// start starts the pod's container on its volume.
func (n *node) start() {
	n.w.t.Helper()
	volume := filepath.Join(n.base, "volume")
	check(n.w.t, os.MkdirAll(volume, 0o770))
	check(n.w.t, os.Chown(volume, mysqlUID, mysqlUID))
	mounts := map[string]string{"config": agentapi.ConfigDir, "tls": agentapi.TLSDir, "root": agentapi.RootDir}
	if n.w.config.AtRest != nil {
		mounts["keys"] = agentapi.KeysDir
	}
	maps.Copy(mounts, n.sourceMounts())
	args := []string{"run", "-d", "--name", n.container(), "--hostname", n.name, "--network", n.w.network,
		"--user", fmt.Sprintf("%d:%d", mysqlUID, mysqlUID), "--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges",
		"--tmpfs", fmt.Sprintf("%s:uid=%d,mode=750", agentapi.CacheDir, mysqlUID), "--tmpfs", agentapi.TmpDir, "-v",
		filepath.Join(n.w.dir, "bin") + ":" + agentapi.BinDir + ":ro", "-v",
		volume + ":" + agentapi.VolumeDir,
		"-e", agentapi.EnvPodName + "=" + n.name, "-e", agentapi.EnvPodNamespace + "=test",
		"-e", agentapi.EnvPodIP + "=" + n.ip, "--entrypoint", agentapi.BinDir + "/agent"}
	for _, name := range slices.Sorted(maps.Keys(mounts)) {
		args = append(args, "-v", filepath.Join(n.base, name)+":"+mounts[name]+":ro")
	}
	args = append(append(args, n.runDir()...), n.addressing()...)
	n.w.run(exec.Command("docker", append(args, n.image, cmp.Or(n.command, "run"))...))
	if n.w.ipv6 {
		n.dropIPv4()
	}
}

// stop ends the pod: gracefully, or as if its node had lost power.
func (n *node) stop(graceful bool) time.Duration {
	n.w.t.Helper()
	started := time.Now()
	if graceful {
		n.w.run(exec.Command("docker", "stop", "-t", "60", n.container()))
		if code := n.w.run(exec.Command("docker", "inspect", "-f", "{{.State.ExitCode}}", n.container())); code != "0" {
			n.w.t.Errorf("%s: exit code %s after SIGTERM", n.name, code)
		}
	} else {
		n.kill()
	}
	took := time.Since(started)
	n.checkRaces()
	n.untilDone("rm", "-f", n.container())
	return took
}

// wipe empties the volume, as a new claim would.
func (n *node) wipe() {
	n.w.t.Helper()
	check(n.w.t, os.RemoveAll(filepath.Join(n.base, "volume")))
}

func (n *node) exec(args ...string) string {
	n.w.t.Helper()
	return n.w.run(exec.Command("docker", append([]string{"exec", n.container()}, args...)...))
}

// killServer sends SIGKILL to mariadbd.
func (n *node) killServer() {
	n.w.t.Helper()
	n.exec("bash", "-c", "kill -9 $(cat "+agentapi.RunDir+"/mysqld.pid)")
}

func (n *node) serverPID() string {
	n.w.t.Helper()
	return n.exec("cat", agentapi.RunDir+"/mysqld.pid")
}

func (n *node) report() (agentapi.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	return n.w.client.Status(ctx, n.ip, -1, 0)
}

// until waits for a report that satisfies ok.
func (n *node) until(what string, limit time.Duration, ok func(agentapi.Report) bool) agentapi.Report {
	n.w.t.Helper()
	limit *= slack
	deadline := time.Now().Add(limit)
	var last agentapi.Report
	var err error
	since := int64(-1)
	for time.Now().Before(deadline) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var r agentapi.Report
		if r, err = n.w.client.Status(ctx, n.ip, since, time.Second); err == nil {
			last, since = r, r.Generation
			if ok(r) {
				cancel()
				return r
			}
		} else {
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
	}
	text, _ := json.MarshalIndent(last, "", " ")
	n.w.t.Fatalf("%s: not %s after %s (%v):\n%s", n.name, what, limit, err, text)
	return last
}

func synced(size int) func(agentapi.Report) bool {
	return func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.State == galera.NodeSynced && r.Server.Component == galera.ComponentPrimary &&
			r.Server.Ready && r.Server.Size == size && r.Phase == galera.PhaseRunning
	}
}

// joined reports whether the member is Synced and whether its join has been summed up, which follows a moment later.
func joined(size int) func(agentapi.Report) bool {
	return func(r agentapi.Report) bool { return synced(size)(r) && r.Join != nil && r.Join.EndedAt != nil }
}

func waiting(r agentapi.Report) bool {
	return r.Phase == galera.PhaseWaiting && r.Data != galera.DataUnknown
}

// send sends an order with a fresh id in the given epoch.
func (n *node) send(kind agentapi.OrderKind, epoch int64, pos galera.Position, uuid string) (agentapi.Order,
	agentapi.OrderResult) {
	n.w.t.Helper()
	n.order++
	o := agentapi.Order{ID: fmt.Sprintf("%s-%d-%d", n.name, epoch, n.order), Epoch: epoch, Kind: kind, Position: pos,
		ClusterUUID: uuid}
	return o, n.resend(o)
}

func (n *node) resend(o agentapi.Order) agentapi.OrderResult {
	n.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	result, err := n.w.client.Order(ctx, n.ip, o)
	if err != nil {
		n.w.t.Fatalf("%s: %s: %v", n.name, o.Kind, err)
	}
	return result
}

func done(id string) func(agentapi.Report) bool {
	return func(r agentapi.Report) bool {
		return r.Order != nil && r.Order.ID == id && r.Order.State == agentapi.OrderDone
	}
}
