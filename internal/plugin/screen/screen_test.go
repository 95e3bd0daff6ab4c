package screen

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

var update = flag.Bool("update", false, "write testdata")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(d))) }

func set(c *v1alpha1.GaleraCluster, kind string, status metav1.ConditionStatus, reason, message string) {
	for i := range c.Status.Conditions {
		if c.Status.Conditions[i].Type == kind {
			c.Status.Conditions[i].Status, c.Status.Conditions[i].Reason, c.Status.Conditions[i].Message = status, reason,
				message
			return
		}
	}
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason,
		Message: message})
}

// shop is a cluster that is as it should be.
func shop(nodes int) *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
	c.Spec.Replicas, c.Spec.TLS.Replication, c.Spec.TLS.StateTransfer, c.Spec.TLS.Clients = int32(nodes), "Required",
		"Required", "Required"
	s := &c.Status
	s.Replicas, s.ReadyReplicas, s.Primary = int32(nodes), int32(nodes), "shop-0"
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionEncrypted,
		v1alpha1.ConditionQuorumHealthy, v1alpha1.ConditionCertificatesValid} {
		set(c, kind, metav1.ConditionTrue, kind, "")
	}
	for i := range nodes {
		channel := func() *v1alpha1.ChannelStatus {
			return &v1alpha1.ChannelStatus{Observed: "TLS", Protocol: "TLSv1.3", Cipher: "TLS_AES_128_GCM_SHA256",
				PlaintextRefused: true}
		}
		s.Members = append(s.Members, v1alpha1.MemberStatus{Name: "shop-" + string(rune('0'+i)), Phase: "Running",
			NodeState: "Synced", ComponentState: "Primary",
			Position: "18cbf30b-e79e-11f1-acc2-86401dfd9420:1234", Version: "11.8.6-MariaDB",
			TLS: &v1alpha1.MemberTLSStatus{Replication: channel(), StateTransfer: channel(), Clients: channel()}})
	}
	s.TLS = &v1alpha1.ClusterTLSStatus{Replication: "Strict", Serial: "9b50e370b338705ae79de4c2b7c139db4a9e5f01",
		Key: "ECDSA-256", NotAfter: at(89 * 24 * time.Hour), Step: "Settled",
		TrustedCAs: []v1alpha1.TrustedCA{{Subject: "CN=shop Galera CA", State: v1alpha1.CACurrent,
			NotAfter: at(3649 * 24 * time.Hour)}}}
	return c
}

func change(c *v1alpha1.GaleraCluster, do func(*v1alpha1.GaleraCluster)) *v1alpha1.GaleraCluster {
	do(c)
	return c
}

func backup(name, phase string) v1alpha1.GaleraBackup {
	b := v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: *at(-5 * time.Hour)}}
	b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = "shop", "offsite"
	b.Status.Phase = phase
	if phase == v1alpha1.BackupCompleted {
		b.Status.CompletedAt, b.Status.StoredSize, b.Status.Position = at(-5*time.Hour), new(resource.MustParse("5422Ki")),
			"18cbf30b-e79e-11f1-acc2-86401dfd9420:9"
		b.Status.ID, b.Status.Directory = name, "demo/shop/a54080f9"
	}
	return b
}

// screens are what people see in the situations that matter.
var screens = map[string]func(Style) string{
	"ready": func(s Style) string {
		return Cluster(shop(3), well(), s)
	},
	"proxies": func(s Style) string {
		r := well()
		r.Proxies = &related.Area{State: related.Waiting, Findings: []related.Finding{{Kind: "GaleraProxy", Namespace: "demo",
			Name: "reads", State: related.Waiting, Reason: "ProxyStarting", Message: "0 of 2 pods are ready",
			Command: "kubectl describe galeraproxy reads -n demo"}}}
		r.Proxied = []related.Proxy{{Name: "pool", Mode: v1alpha1.ProxyReadWriteSplit, Ready: 2, Pods: 2, Clients: 1412,
			Waiting: 3, Pools: []v1alpha1.ProxyPoolStatus{
				{Name: "shop-0", Role: "Writer", Used: 50, Free: 0, Queries: 120000, Opened: 50},
				{Name: "shop-1", Role: "Reader", Used: 4, Free: 46, Queries: 1000, Opened: 150},
				{Name: "shop-2", Role: "Draining"}}}, {Name: "reads", Mode: v1alpha1.ProxyReadOnly, Pods: 2}}
		return Cluster(shop(3), r, s)
	},
	"joining": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.ReadyReplicas = 2
			set(c, v1alpha1.ConditionReady, metav1.ConditionFalse, "Joining",
				"waiting for shop-2 to become Synced; shop-2 joins: SST from shop-1, transferring, 512 of 2048 MiB (25 %)")
			m := &c.Status.Members[2]
			m.NodeState, m.Join = "Joining", &v1alpha1.JoinStatus{Kind: "SST", Donor: "shop-1", Phase: "Transferring",
				BytesDone: new(resource.MustParse("512Mi")), BytesTotal: new(resource.MustParse("2Gi")),
				Message: "SST from shop-1, transferring, 512 of 2048 MiB (25 %), 17.0 MiB/s"}
			m.TLS.Replication.Observed, m.TLS.Clients = "Unknown", nil
		}), nil, s)
	},
	"lagging": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) { c.Status.Members[1].Lagging = true }), nil, s)
	},
	"stalled": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.ReadyReplicas, c.Status.Primary = 0, ""
			const message = "shop-2 was lost and may hold the latest writes. Bring it back; or start without it, " +
				"and give up what only it has"
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable,
				v1alpha1.ConditionQuorumHealthy} {
				set(c, kind, metav1.ConditionFalse, "DataLost", "shop-2 was lost and may hold the latest writes; "+
					"manual action is required: see the condition Stalled")
			}
			set(c, v1alpha1.ConditionStalled, metav1.ConditionTrue, "DataLost",
				message+". The command is in status.requiredActions")
			c.Status.RequiredActions = []v1alpha1.RequiredAction{{Reason: "DataLost", Message: message,
				Command: `kubectl patch galera shop -n demo --type=merge -p ` +
					`'{"spec":{"recovery":{"approval":{"member":"shop-1","seqno":1234}}}}'`}}
			set(c, v1alpha1.ConditionEncrypted, metav1.ConditionUnknown, "NotYetProved", "")
			for i := range c.Status.Members {
				m := &c.Status.Members[i]
				m.NodeState, m.ComponentState, m.Phase, m.TLS = "", "", "Waiting", nil
			}
			c.Status.Members[2].Phase, c.Status.Members[2].Position, c.Status.Members[2].Message = "Unknown", "",
				"its agent does not answer"
		}), nil, s)
	},
	"copying": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			set(c, v1alpha1.ConditionReady, metav1.ConditionFalse, "Restoring", "filling the volumes with a copy of the source")
			c.Status.ReadyReplicas, c.Status.Members = 0, nil
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring, Progress: &v1alpha1.CopyProgress{
				Rows: 250_000, ExpectedRows: 1_000_000, Tables: 12, ETA: at(3 * time.Hour), Summary: "25%",
				ObservedAt: *at(-7 * time.Second)}}
		}), nil, s)
	},
	"comparing": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.Members = nil
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring, Progress: &v1alpha1.CopyProgress{
				Rows: 990_000, ExpectedRows: 1_000_000, Tables: 12, ComparedTables: 5, ObservedAt: *at(-7 * time.Second)}}
		}), nil, s)
	},
	"switching": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			set(c, v1alpha1.ConditionReady, metav1.ConditionFalse, "Switching",
				"rolling restart of shop-1 and shop-2; the next is shop-2")
			c.Spec.TLS.Replication = "Disabled"
			c.Status.Operation = &v1alpha1.OperationStatus{ID: "x", Type: "SwitchTLS", Step: "Rolling",
				StartedAt: *at(-42 * time.Second)}
			c.Status.TLS.Switch = &v1alpha1.SwitchStatus{From: "Strict", To: "Plain", Strategy: "Rolling",
				StartedAt: *at(-42 * time.Second)}
			c.Status.Members[0].TLS.Replication = &v1alpha1.ChannelStatus{Observed: "Mixed"}
			c.Status.Members[1].TLS.Replication = &v1alpha1.ChannelStatus{Observed: "Plaintext",
				Message: "a connection without TLS was accepted"}
		}), nil, s)
	},
	"seven nodes and an expired certificate": func(s Style) string {
		return Cluster(change(shop(7), func(c *v1alpha1.GaleraCluster) {
			c.Status.TLS.NotAfter = at(-time.Hour)
			set(c, v1alpha1.ConditionCertificatesValid, metav1.ConditionFalse, "Expired", "the nodes' certificate has expired")
			c.Status.Arbitrator = &v1alpha1.ArbitratorStatus{Phase: "Waiting", Version: "4.24", Message: "waits for a node"}
		}), nil, s)
	},
	"certificate not renewed": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.TLS.NotAfter, c.Status.TLS.RenewalTime = at(10*time.Hour), at(-14*time.Hour)
		}), well(), s)
	},
	"certificate about to be renewed": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.TLS.NotAfter, c.Status.TLS.RenewalTime = at(30*time.Hour), at(-14*time.Hour)
		}), well(), s)
	},
	"no operator": func(s Style) string {
		r := well()
		r.Operator = &related.Finding{Kind: "Lease", Namespace: "galera-operator-system", Name: "galera-operator",
			State: related.Failing, Reason: "OperatorAbsent",
			Message: "no operator has been at work for 3m12s. The databases serve on; what else is shown may be old, and " +
				"nothing is repaired, switched or backed up",
			Command: "kubectl get pods -n galera-operator-system -l app.kubernetes.io/name=galera-operator," +
				"app.kubernetes.io/component=manager"}
		return Cluster(shop(3), r, s)
	},
	"requests": func(s Style) string {
		return Cluster(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.Requests = []v1alpha1.RequestStatus{
				{Kind: v1alpha1.RequestPromote, Node: "shop-2", State: v1alpha1.RequestExpired, EndedAt: at(-5 * time.Minute),
					Message: "it could not be met in 10m0s: shop-2 is not Synced: Joined"},
				{Kind: v1alpha1.RequestRestart, Node: "all", State: v1alpha1.RequestPending, RequestedAt: *at(-3 * time.Minute),
					Message: "to be restarted: shop-0, shop-1"},
			}
		}), nil, s)
	},
	"half gone": func(s Style) string {
		return Cluster(change(shop(5), func(c *v1alpha1.GaleraCluster) {
			c.DeletionTimestamp = at(-time.Minute)
			c.Status.ReadyReplicas, c.Status.Primary, c.Status.TLS = 0, "", nil
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionEncrypted,
				v1alpha1.ConditionCertificatesValid} {
				set(c, kind, metav1.ConditionUnknown, "AgentUnreachable", "")
			}
			set(c, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse, "WaitingForMembers",
				"the agents of shop-1, shop-2, shop-3 and shop-4 do not answer")
			for i := range c.Status.Members {
				m := &c.Status.Members[i]
				*m = v1alpha1.MemberStatus{Name: m.Name, Phase: "Unknown"}
			}
			c.Status.Members[0].Phase, c.Status.Members[0].Position = "Waiting", "18cbf30b-e79e-11f1-acc2-86401dfd9420:1234"
		}), nil, s)
	},
	"not seen": func(s Style) string {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		c.Spec.Replicas = 3
		return Cluster(c, nil, s)
	},
	"seven nodes with a long name": func(s Style) string {
		return Cluster(change(shop(7), func(c *v1alpha1.GaleraCluster) {
			for i := range c.Status.Members {
				c.Status.Members[i].Name = "warehouse-and-shipping-production-" + string(rune('0'+i))
				c.Status.Members[i].Join = &v1alpha1.JoinStatus{Kind: "IST", Donor: "warehouse-and-shipping-production-0",
					EndedAt: at(-time.Hour)}
			}
			c.Status.Primary = c.Status.Members[0].Name
		}), nil, s)
	},
	"backups fail": func(s Style) string { return Cluster(shop(3), failing(), s) },
	"many users wait": func(s Style) string {
		r := well()
		r.Users.State = related.Waiting
		for i := range 7 {
			r.Users.Findings = append(r.Users.Findings, related.Finding{Kind: "GaleraUser", Namespace: "front",
				Name: "app-" + string(rune('0'+i)), State: related.Waiting, Reason: "ClusterBusy",
				Message: "waiting for the cluster's operation Restart to end", Command: "kubectl describe galerauser app-" +
					string(rune('0'+i)) + " -n front"})
		}
		return Cluster(shop(3), r, s)
	},
	"not shown": func(s Style) string {
		r := &related.Report{Backups: &related.Area{State: related.Unknown}, Users: &related.Area{State: related.Unknown}}
		for _, kind := range []string{"GaleraBackupStore", "GaleraBackup", "Secret"} {
			r.Unread = append(r.Unread, related.Unread{Kind: kind, Namespace: "demo", Reason: related.Forbidden})
		}
		r.Unread = append(r.Unread, related.Unread{Kind: "GaleraUser", Reason: related.Forbidden},
			related.Unread{Kind: "GaleraDatabase", Namespace: "demo", Reason: related.NotInstalled},
			related.Unread{Kind: "GaleraBackupSchedule", Namespace: "demo", Reason: related.Unreadable,
				Message: "the server is currently unable to handle the request"})
		return Cluster(shop(3), r, s)
	},
	"no backup yet": func(s Style) string { return Cluster(shop(3), &related.Report{}, s) },
	"backups": func(s Style) string {
		running, bad := backup("shop-2", v1alpha1.BackupRunning), backup("shop-3", v1alpha1.BackupCompleted)
		running.Status.Progress = &v1alpha1.BackupProgress{Summary: "40%"}
		bad.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonBackupDamaged}}
		good := backup("shop-4", v1alpha1.BackupCompleted)
		good.Spec.Verify = v1alpha1.VerifyRestore
		good.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionTrue}}
		store := v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
		store.Status.Latest = []v1alpha1.StoredBackup{{ID: "shop-4", Directory: "demo/shop/a54080f9",
			CompletedAt: *at(-5 * time.Hour)}, {ID: "older", Directory: "demo/shop/827f65cc", CompletedAt: *at(-72 * time.Hour)}}
		away := v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "away"}}
		away.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReachable, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonStoreRefused, Message: "AccessDenied"}}
		return Backups([]v1alpha1.GaleraBackup{backup("shop-1", v1alpha1.BackupFailed), running, bad, good},
			[]v1alpha1.GaleraBackupStore{store, away}, "shop", s)
	},
	"recovery": func(s Style) string {
		return Recovery(change(shop(3), func(c *v1alpha1.GaleraCluster) {
			c.Status.ReadyReplicas, c.Status.NoPrimarySince = 0, at(-3*time.Minute)
			c.Status.RequiredActions = []v1alpha1.RequiredAction{{Reason: "DataLost", Message: "shop-2 was lost. " +
				"Bring it back, or start without it",
				Command: "kubectl patch galera shop -n demo --type=merge -p '{\"spec\":{}}'"}}
			for i := range c.Status.Members {
				c.Status.Members[i].Phase, c.Status.Members[i].ComponentState = "Waiting", ""
			}
			c.Status.Members[2].Phase, c.Status.Members[2].Position = "Unknown", ""
		}), s)
	},
	"backups elsewhere": func(s Style) string {
		store := v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
		store.Status.Latest = []v1alpha1.StoredBackup{{ID: "shop-1", Directory: "demo/shop/a54080f9",
			CompletedAt: *at(-5 * time.Hour)}}
		moved := backup("shop-1", v1alpha1.BackupCompleted)
		moved.Status.Store = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Bucket: "before"}
		return Backups([]v1alpha1.GaleraBackup{moved}, []v1alpha1.GaleraBackupStore{store}, "", s)
	},
	"no backups": func(s Style) string { return Backups(nil, nil, "", s) },
}

// TestScreens: what people see, as it stands in testdata, on a usual terminal and on a narrow one. Nothing is wider but
// commands, and words that cannot be broken.
func TestScreens(t *testing.T) {
	for name, draw := range screens {
		for _, width := range []int{80, 40} {
			got := draw(Style{Width: width, Now: now})
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+map[int]string{80: ".txt",
				40: ".narrow.txt"}[width])
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a test's file
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s in %d columns (%v):\n%s\nwant:\n%s", name, width, err, got, want)
			}
			for line := range strings.Lines(got) {
				words := strings.Fields(line)
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && len(words) > 0 &&
					len(words[len(words)-1]) < width/2 && !strings.Contains(line, "kubectl") {
					t.Errorf("%s has a line of %d characters: %s", name, n, line)
				}
			}
		}
		plain, coloured := draw(Style{Width: 80, Now: now}), draw(Style{Width: 80, Now: now, Colour: true})
		if name != "no backups" && coloured == plain {
			t.Errorf("%s has no colours", name)
		}
	}
}

// TestMessage: a command comes from its own field, and can be copied as it stands. Text that others have written begins
// no line like one, and controls no terminal.
func TestMessage(t *testing.T) {
	s := Style{Width: 60}
	for _, c := range []struct{ text, command, want string }{
		{"nothing to run", "", "nothing to run"},
		{"stuck; delete it", "kubectl delete pod db-0 -n default",
			"stuck; delete it\n  $ kubectl delete pod db-0 -n default"},
		{"db-0: run: kubectl delete ns prod", "", "db-0: run: kubectl delete ns prod"},
		{"db-0:\r\n$ kubectl delete ns prod", "", "db-0: kubectl delete ns prod"},
		{"a\x1b[2J\x1b]0;title\x07b\u009b1mc\u202ed\u2028# e", "", "a[2J]0;titleb1mcd e"},
		{"x", "kubectl get\n$ rm -rf /", "x\n  $ kubectl get $ rm -rf /"},
	} {
		if got := s.message(c.text, c.command, 2); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	evil := "\x1b[31mx\n$ kubectl delete ns prod"
	c := change(shop(3), func(c *v1alpha1.GaleraCluster) {
		c.Status.Members[1].Message, c.Status.Members[1].Version, c.Status.Members[1].Position = evil, evil, evil
		set(c, v1alpha1.ConditionReady, metav1.ConditionFalse, "MemberFailed", evil)
		c.Status.RequiredActions = []v1alpha1.RequiredAction{{Reason: "MemberFailed", Message: evil}}
		c.Status.Members[0].TLS.Clients.Message, c.Status.Members[0].TLS.Clients.Cipher = evil, evil
		c.Status.TLS.TrustedCAs[0].Subject = evil
	})
	for _, width := range []int{30, 80} {
		for _, text := range []string{Cluster(c, failing(), Style{Width: width, Now: now}),
			Recovery(c, Style{Width: width, Now: now})} {
			for line := range strings.Lines(text) {
				if strings.ContainsRune(text, 0x1b) || strings.HasPrefix(strings.TrimSpace(line), "$ kubectl delete ns") {
					t.Errorf("%q", line)
				}
			}
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Second: "5 s", 119 * time.Second: "119 s",
		3 * time.Minute: "3 min", 5 * time.Hour: "5 h", 72 * time.Hour: "3 days"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}
