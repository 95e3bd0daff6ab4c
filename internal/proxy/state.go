// Package proxy decides what the pods of a GaleraProxy are to be, and what is reported of them. It is pure.
package proxy

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	synced           = "Synced"
	primaryComponent = "Primary"
	maxRefused       = 64
)

// Facts are what a state is decided from.
type Facts struct {
	Proxy   *v1alpha1.GaleraProxy
	Cluster *v1alpha1.GaleraCluster
	// Addresses are those of the nodes' pods, by name; Terminating are the pods that are being deleted. ServerName returns
	// a name of a node's certificate.
	Addresses   map[string]string
	Terminating map[string]bool
	ServerName  func(node string) string
	// Before is the state that was published last, the zero value where there is none.
	Before agentapi.ProxyState
	// Users are all GaleraUsers of the cluster; Password returns the one that a user's binding Secret holds, "" for none.
	Users    []v1alpha1.GaleraUser
	Password func(*v1alpha1.GaleraUser) string
	// CA verifies the nodes, ControlCA the operator.
	CA, ControlCA string
}

// State returns what the pods are to be, without a revision, and the users that cannot log in.
func State(f Facts) (agentapi.ProxyState, []v1alpha1.RefusedUser) {
	spec := f.Proxy.Spec
	s := agentapi.ProxyState{
		Mode:           agentapi.ProxyMode(spec.Mode),
		Nodes:          nodes(f),
		MaxConnections: spec.Pool.MaxConnections, MaxFrontendConnections: spec.Pool.MaxFrontendConnections,
		WaitMilliseconds: wait(spec.Pool).Milliseconds(), HoldAfterInsert: spec.Pool.HoldAfterInsert,
		Multiplexing: spec.Pool.Multiplexing == nil || *spec.Pool.Multiplexing,
		RequireTLS:   f.Cluster.Spec.TLS.Clients == v1alpha1.TLSRequired,
		CA:           f.CA, ControlCA: f.ControlCA,
	}
	for _, m := range f.Cluster.Status.Members {
		if m.Version != "" && (s.ServerVersion == "" || m.Name == f.Cluster.Status.Primary) {
			s.ServerVersion = m.Version
		}
	}
	s.ServerVersion = cmp.Or(s.ServerVersion, f.Before.ServerVersion, "10.11.0-MariaDB")
	var refused []v1alpha1.RefusedUser
	s.Users, refused = accounts(f)
	return s, refused
}

// wait is how long a statement waits for a connection.
func wait(p v1alpha1.ProxyPoolSpec) time.Duration {
	if p.WaitTimeout == nil {
		return agentapi.DefaultProxyWait
	}
	return p.WaitTimeout.Duration
}

// nodes are those with an address. The one behind NAME-primary is the writer, whatever else is known of it: there is no
// other opinion. Readers are the other nodes that are seen to be Synced, that are not about to stop, and that do not
// lag behind another reader; without one the writer reads, too. A status without members is one that was lost, or is of
// a resource that was created again: the nodes whose pods are still there stay as they are.
func nodes(f Facts) []agentapi.ProxyNode {
	out := []agentapi.ProxyNode{}
	if len(f.Cluster.Status.Members) == 0 {
		for _, n := range f.Before.Nodes {
			if f.Addresses[n.Name] == n.Address {
				out = append(out, n)
			}
		}
		return out
	}
	readers, quick := false, false
	lagging := map[string]bool{}
	for _, m := range f.Cluster.Status.Members {
		address := f.Addresses[m.Name]
		if address == "" {
			continue
		}
		n := agentapi.ProxyNode{Name: m.Name, Address: address, ServerName: f.ServerName(m.Name)}
		n.Writer = m.Name == f.Cluster.Status.Primary
		n.Reader = !n.Writer && !leaves(f, m.Name) && m.NodeState == synced && m.ComponentState == primaryComponent
		readers, quick = readers || n.Reader, quick || n.Reader && !m.Lagging
		lagging[m.Name] = m.Lagging
		out = append(out, n)
	}
	for i := range out {
		switch {
		case !readers:
			out[i].Reader = out[i].Writer
		case quick && lagging[out[i].Name]:
			out[i].Reader = false
		}
	}
	return out
}

// leaves reports whether a node is about to stop.
func leaves(f Facts, node string) bool {
	op := f.Cluster.Status.Operation
	switch {
	case f.Terminating[node]:
		return true
	case op == nil:
		return false
	case op.Type == string(galera.OpHibernate):
		return true
	case op.Step == v1alpha1.SwitchRebootstrap: // all others stop while the target serves
		return op.Target != node
	}
	return op.Target == node
}

// accounts are those of the users that a proxy can log in for.
func accounts(f Facts) (out []agentapi.ProxyUser, refused []v1alpha1.RefusedUser) {
	users := slices.Clone(f.Users)
	slices.SortFunc(users, func(a, b v1alpha1.GaleraUser) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	taken := map[string]*v1alpha1.GaleraUser{}
	for i := range users {
		u := &users[i]
		if metav1.IsControlledBy(u, f.Cluster) || u.Status.Account == "" || u.DeletionTimestamp != nil {
			continue // the operator's own do not come this way, and others are not there yet, or no longer
		}
		why := refusal(u)
		if first := taken[u.AccountName()]; why == "" && first != nil {
			why = fmt.Sprintf("the GaleraUser %s/%s has an account of the same name, and a proxy keeps one password for a "+
				"name: give one of them another name", first.Namespace, first.Name)
		}
		password := ""
		if why == "" {
			if password = f.Password(u); password == "" {
				continue // it is about to be published
			}
			if len(out) == agentapi.MaxProxyUsers {
				why = fmt.Sprintf("a proxy takes %d accounts at most", agentapi.MaxProxyUsers)
			}
		}
		if why != "" {
			if len(refused) < maxRefused {
				refused = append(refused, v1alpha1.RefusedUser{Namespace: u.Namespace, Name: u.Name, Message: why})
			}
			continue
		}
		taken[u.AccountName()] = u
		out = append(out, agentapi.ProxyUser{Name: u.AccountName(), Hash: agentapi.NativeHash(password),
			TLS: u.Spec.Require == v1alpha1.RequireTLS, MaxConnections: int64(u.Spec.Limits.MaxUserConnections)})
	}
	return out, refused
}

// refusal explains why a proxy cannot log in for a user, "" when it can.
func refusal(u *v1alpha1.GaleraUser) string {
	switch {
	case u.Spec.Require == v1alpha1.RequireX509:
		return "a proxy has no certificate of the user's to log in with (require: X509): connect to the cluster itself"
	case u.Spec.Plugin != v1alpha1.PluginNative:
		return "a proxy logs in with mysql_native_password alone (plugin: " + u.Spec.Plugin +
			"): connect to the cluster itself"
	case u.Spec.Host != "%":
		return "the nodes would compare the proxy's address with the account's host (" + u.Spec.Host +
			"), not the client's: connect to the cluster itself"
	}
	return ""
}

// Revision returns the one of a state that follows another: the same while nothing differs, and above every one that
// was published or that a pod knows. known is the newest of the latter: the clock may have been set back, and the
// published state may have been deleted.
func Revision(before, s agentapi.ProxyState, known int64, now time.Time) int64 {
	if before.Revision > 0 && before.Revision >= known && Same(before, s) {
		return before.Revision
	}
	return max(before.Revision+1, known+1, now.UnixMilli())
}

// Same reports whether two states differ in nothing but their revision.
func Same(a, b agentapi.ProxyState) bool {
	a.Revision, b.Revision = 0, 0
	return a.Mode == b.Mode && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Users, b.Users) &&
		a.MaxConnections == b.MaxConnections && a.MaxFrontendConnections == b.MaxFrontendConnections &&
		a.WaitMilliseconds == b.WaitMilliseconds && reflect.DeepEqual(a.HoldAfterInsert, b.HoldAfterInsert) &&
		a.Multiplexing == b.Multiplexing && a.RequireTLS == b.RequireTLS && a.Local == b.Local &&
		a.ServerVersion == b.ServerVersion && a.CA == b.CA && a.ControlCA == b.ControlCA
}
