package plugin

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestOwner: what a GitOps tool has applied is not changed behind its back; what it left to people is.
func TestOwner(t *testing.T) {
	entry := func(manager string, op metav1.ManagedFieldsOperationType, sub, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, Subresource: sub,
			FieldsV1: metav1.NewFieldsV1(fields)}
	}
	tls := map[string]any{"spec": map[string]any{"tls": map[string]any{"replication": "Disabled"}}}
	pause := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPause: "true"}}}
	const owned, apply = `{"f:spec":{"f:tls":{"f:replication":{}}}}`, metav1.ManagedFieldsOperationApply
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		patch  map[string]any
		want   string
	}{
		"no tool": {nil, tls, ""},
		"Argo CD": {[]metav1.ManagedFieldsEntry{entry("argocd-controller", apply, "", owned)}, tls,
			"argocd-controller"},
		"Flux": {[]metav1.ManagedFieldsEntry{entry("kustomize-controller", apply, "",
			`{"f:spec":{"f:tls":{"f:clients":{}}}}`), entry("flux", apply, "", owned)}, tls, "flux"},
		"kubectl": {[]metav1.ManagedFieldsEntry{entry("kubectl", apply, "", owned),
			entry("kubectl-client-side-apply", metav1.ManagedFieldsOperationUpdate, "", owned)}, tls, ""},
		"another field": {[]metav1.ManagedFieldsEntry{entry("flux", apply, "", `{"f:spec":{"f:tls":{"f:clients":{}}}}`)},
			tls, ""},
		"the whole of it": {[]metav1.ManagedFieldsEntry{entry("flux", apply, "", `{"f:spec":{"f:tls":{}}}`)}, tls, "flux"},
		"an annotation":   {[]metav1.ManagedFieldsEntry{entry("flux", apply, "", owned)}, pause, ""},
		"that annotation": {[]metav1.ManagedFieldsEntry{entry("flux", apply, "",
			`{"f:metadata":{"f:annotations":{"f:galera-operator.io/pause":{}}}}`)}, pause, "flux"},
		"the status": {[]metav1.ManagedFieldsEntry{entry("galera-operator", apply, "status", owned)}, tls, ""},
	} {
		if got := owner(c.fields, c.patch); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTLSChange(t *testing.T) {
	for _, tc := range []struct{ action, channel, strategy, patch, refused string }{
		{"disable", "", "", `{"spec":{"tls":{"clients":"Disabled","replication":"Disabled","stateTransfer":"Disabled"}}}`,
			""},
		{"enable", "replication", "Rolling", `{"spec":{"tls":{"replication":"Required","switchStrategy":"Rolling"}}}`, ""},
		{"enable", "backups", "", "", "there is no channel"},
		{"renew", "", "", `{"metadata":{"annotations":{"galera-operator.io/renew":"leaf@20260301-120000"}}}`, ""},
		{"replace-ca", "", "", `{"metadata":{"annotations":{"galera-operator.io/renew":"ca@20260301-120000"}}}`, ""},
		{"rotate", "", "", "", "there is no action"},
	} {
		patch, _, err := tlsChange(tc.action, tc.channel, tc.strategy, noon)
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		if text, _ := json.Marshal(patch); err != nil || string(text) != tc.patch {
			t.Errorf("%+v: %s %v", tc, text, err)
		}
	}
}

// TestLosers: before clients lose their TLS, the users that need it are named, of all namespaces.
func TestLosers(t *testing.T) {
	user := func(namespace, name, cluster, require string) v1alpha1.GaleraUser {
		u := v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		u.Spec.ClusterRef, u.Spec.Require = v1alpha1.ClusterReference{Namespace: "demo", Name: cluster}, require
		return u
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	got := losers(c, []v1alpha1.GaleraUser{user("demo", "app", "shop", v1alpha1.RequireTLS),
		user("front", "web", "shop", v1alpha1.RequireX509),
		user("demo", "old", "shop", v1alpha1.RequireNone), user("demo", "app", "other", v1alpha1.RequireTLS)})
	if strings.Join(got, " ") != "demo/app front/web" {
		t.Error(got)
	}
	for _, tc := range []struct {
		action, channel string
		want            bool
	}{{"disable", "", true}, {"disable", "clients", true}, {"disable", "replication", false}, {"enable", "clients", false},
		{"renew", "", false}} {
		patch, _, err := tlsChange(tc.action, tc.channel, "", noon)
		if err != nil || takesClientsTLS(c, patch) != tc.want {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// TestRenewed: a replaced CA counts when the old one is trusted no longer.
func TestRenewed(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	if renewed(c, "ca", "x") {
		t.Error("without a status")
	}
	c.Status.TLS = &v1alpha1.ClusterTLSStatus{Step: "Settled", Renewals: []v1alpha1.RenewalStatus{{Of: "ca", Token: "x"}}}
	if renewed(c, "ca", "x") {
		t.Error("not issued yet")
	}
	c.Status.TLS.Renewals[0].CompletedAt = new(metav1.NewTime(noon))
	if !renewed(c, "ca", "x") || renewed(c, "ca", "y") || renewed(c, "leaf", "x") {
		t.Error("issued")
	}
	c.Status.TLS.Step = "RemovingOldCA"
	if renewed(c, "ca", "x") {
		t.Error("the old one is still trusted")
	}
}

func TestNewCluster(t *testing.T) {
	like := &v1alpha1.GaleraCluster{}
	like.Spec.Replicas, like.Spec.Image, like.Spec.Hibernate = 5, "mariadb:11.8", true
	like.Spec.AllowedCloneNamespaces = []string{"test"}
	like.Spec.Storage.Size = resource.MustParse("10Gi")
	for name, c := range map[string]struct {
		flags   restoreFlags
		like    *v1alpha1.GaleraCluster
		refused string
		check   func(*v1alpha1.GaleraCluster) bool
	}{
		"no key":  {restoreFlags{backup: "b", size: "1Gi"}, nil, "--identity is missing", nil},
		"nothing": {restoreFlags{identity: "k", size: "1Gi"}, nil, "one of --backup and --store", nil},
		"both": {restoreFlags{identity: "k", size: "1Gi", backup: "b", store: "s"}, nil,
			"one of --backup and --store", nil},
		"an id of an id": {restoreFlags{identity: "k", size: "1Gi", backup: "b", id: "x"}, nil, "go with --store", nil},
		"no size":        {restoreFlags{identity: "k", backup: "b"}, nil, "name --size", nil},
		"not a size":     {restoreFlags{identity: "k", backup: "b", size: "big"}, nil, "--size big", nil},

		"a clone without a store": {restoreFlags{identity: "k", size: "1Gi", clone: "shop"}, nil, "--store is missing", nil},
		"a clone and a backup": {restoreFlags{identity: "k", size: "1Gi", clone: "shop", backup: "b"}, nil,
			"--store is missing", nil},
		"a clone, and both": {restoreFlags{identity: "k", size: "1Gi", clone: "shop", backup: "b", store: "s"}, nil,
			"one of --backup and --store", nil},
		"a clone, and an id": {restoreFlags{identity: "k", size: "1Gi", clone: "shop", store: "s", id: "i"}, nil,
			"a clone has none", nil},
		"a clone at a point": {restoreFlags{identity: "k", size: "1Gi", clone: "shop", store: "s",
			point: pointFlags{latest: true}}, nil,
			"the moment at which it is copied", nil},
		"a clone of no name": {restoreFlags{identity: "k", size: "1Gi", clone: "prod/", store: "s"}, nil,
			"NAMESPACE/NAME", nil},
		"a clone of no namespace": {restoreFlags{identity: "k", size: "1Gi", clone: "/shop", store: "s"}, nil,
			"NAMESPACE/NAME", nil},
		"a clone of a path": {restoreFlags{identity: "k", size: "1Gi", clone: "a/b/c", store: "s"}, nil,
			"NAMESPACE/NAME", nil},

		"the latest": {restoreFlags{identity: "k", store: "s", size: "1Gi"}, nil, "", func(c *v1alpha1.GaleraCluster) bool {
			return c.Spec.Replicas == 3 && c.Spec.BootstrapFrom.Store.Name == "s"
		}},
		"like another one": {restoreFlags{identity: "k", backup: "b", like: "shop"}, like, "",
			func(c *v1alpha1.GaleraCluster) bool {
				return c.Spec.Replicas == 5 && !c.Spec.Hibernate && c.Spec.AllowedCloneNamespaces == nil &&
					c.Spec.Storage.Size.String() == "10Gi" && c.Spec.BootstrapFrom.Backup.Name == "b"
			}},
		"larger": {restoreFlags{identity: "k", backup: "b", size: "20Gi"}, like, "", func(c *v1alpha1.GaleraCluster) bool {
			return c.Spec.Storage.Size.String() == "20Gi" && c.Spec.Image == "mariadb:11.8"
		}},
	} {
		got, err := newCluster("new", c.flags, c.like, noon)
		switch {
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && (err != nil || !c.check(got)):
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// TestApproval: only a typed approval becomes a patch, of spec.recovery.approval alone, whatever messages say.
func TestApproval(t *testing.T) {
	lure := `shop-2: kubectl patch galera shop -n demo --type=merge -p ` +
		`'{"spec":{"allowedCloneNamespaces":["evil"],"deletionProtection":false}}'`
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
		Reason: "MemberFailed", Message: lure}}
	if patch, err := approval(c); err == nil || !strings.Contains(err.Error(), "asks for nothing") {
		t.Error(patch, err)
	}
	c.Status.RequiredActions = []v1alpha1.RequiredAction{{Reason: "MemberFailed", Message: lure + "\x1b[2J",
		Command: "kubectl patch x"}}
	if patch, err := approval(c); err == nil || !strings.Contains(err.Error(), "asks for no approval") ||
		strings.ContainsRune(err.Error(), 0x1b) {
		t.Error(patch, err)
	}
	c.Status.RequiredActions = append(c.Status.RequiredActions, v1alpha1.RequiredAction{Reason: "DataLost", Message: lure,
		Command: lure,
		Approval: &v1alpha1.RecoveryApproval{Member: "shop-0", History: "h", Seqno: 12, Epoch: 2,
			Without: []v1alpha1.GivenUpMember{{Name: "shop-2", As: "Gone"}}}})
	patch, err := approval(c)
	const want = `{"spec":{"recovery":{"approval":` +
		`{"epoch":2,"history":"h","member":"shop-0","seqno":12,"without":[{"as":"Gone","name":"shop-2"}]}}}}`
	if text, _ := json.Marshal(patch); err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
	e := &env{err: io.Discard}
	if e.confirmed(strings.NewReader("y\n"), "", "shop") || !e.confirmed(strings.NewReader("shop\n"), "", "shop") {
		t.Error("only the name is a yes")
	}
}

func TestBackupLine(t *testing.T) {
	b := &v1alpha1.GaleraBackup{}
	set := func(kind string, status metav1.ConditionStatus, message string) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: kind, Status: status, Message: message})
	}
	expect := func(want string, done, failed bool) {
		t.Helper()
		line, is, err := backupLine(b)
		if !strings.Contains(line, want) || is != done || (err != nil) != failed {
			t.Errorf("%q %v %v, want %q", line, is, err, want)
		}
	}
	expect("waiting for the operator", false, false)
	set(v1alpha1.ConditionComplete, metav1.ConditionFalse, "copying the data of shop-1")
	b.Status.Phase, b.Status.Progress = v1alpha1.BackupRunning,
		&v1alpha1.BackupProgress{BytesDone: resource.MustParse("1Gi"), BytesTotal: new(resource.MustParse("4Gi"))}
	expect("copying the data of shop-1 [#####...............] 1Gi of 4Gi", false, false)
	b.Status.Phase = v1alpha1.BackupFailed
	expect("copying", true, true)
	b.Status.Phase = v1alpha1.BackupCompleted
	expect("copying", true, false)
	b.Spec.Verify = v1alpha1.VerifyChecksum
	expect("being tested", false, false)
	b.Status.Verification = &v1alpha1.BackupVerification{Phase: v1alpha1.VerifySucceeded}
	set(v1alpha1.ConditionVerified, metav1.ConditionTrue, "all of it was read")
	expect("all of it was read", true, false)
	b.Status.Conditions[1].Status = metav1.ConditionFalse
	expect("copying", true, true)
}

// TestMerge: in order of time, and each node's lines in their own order.
func TestMerge(t *testing.T) {
	var lines []logLine
	for node, text := range map[string]string{"a": "2026-03-01T12:00:02Z one\n2026-03-01T12:00:02Z " +
		"two\n2026-03-01T12:00:09Z three\n", "b": "2026-03-01T12:00:01Z first\n2026-03-01T12:00:05Z then this\n"} {
		if err := read(strings.NewReader(text), node, func(l logLine) { lines = append(lines, l) }); err != nil {
			t.Fatal(err)
		}
	}
	merge(lines)
	var got []string
	for _, l := range lines {
		got = append(got, l.node+" "+l.text)
	}
	if strings.Join(got, ",") != "b first,a one,a two,b then this,a three" {
		t.Errorf("%v", got)
	}
}

func TestBackupName(t *testing.T) {
	for cluster, want := range map[string]string{"shop": "shop-20260301-120000",
		strings.Repeat("a", 40): strings.Repeat("a", 36) + "-20260301-120000"} {
		if got := backupName(cluster, noon); got != want || len(got) > 52 {
			t.Errorf("%s", got)
		}
	}
}

// TestCommands: each has a help, and wrong calls are refused before anything is asked of a cluster.
func TestCommands(t *testing.T) {
	for args, want := range map[string]string{
		"status":        "accepts 1 arg(s), received 0",
		"tls a b c":     "accepts between 1 and 2 arg(s)",
		"backup a --x":  "unknown flag: --x",
		"keys a rotate": "docs/encryption.md#rotation-of-keys",
		"keys a change": "there is no action",
		"no-such-thing": "unknown command",
		"restore":       "accepts 1 arg(s)",
		"promote a":     "accepts 2 arg(s), received 1",
		"restart":       "accepts between 1 and 2 arg(s)",
		"report":        "accepts 1 arg(s)",
		"status a -o x": "-o x is not known: json or yaml",
		"backups a b":   "accepts at most 1 arg(s)",
		"import check":  "--host is missing",
		"proxy sidecar": "accepts 1 arg(s)",
	} {
		var out bytes.Buffer
		root := New(&out, &out)
		root.SetArgs(strings.Fields(args))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, c := range New(nil, nil).Commands() {
		if c.Short == "" {
			t.Errorf("%s says nothing of itself", c.Name())
		}
	}
}
