package users

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// owner is how a resource is marked in the database.
func owner(o metav1.Object, clusterNamespace string, adopt bool) agentapi.SQLOwner {
	mark := o.GetNamespace() + "/" + o.GetName() + "#" + string(o.GetUID())
	return agentapi.SQLOwner{Owner: mark, Adopt: adopt, Tenant: o.GetNamespace() != clusterNamespace}
}

// User is what a user's account in a cluster is to be, given the passwords that it accepts, the one in use first.
func User(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser, passwords []string) (agentapi.SQLUser, error) {
	w := agentapi.SQLUser{SQLOwner: userOwner(u), Name: u.AccountName(), Host: u.Spec.Host, Present: true,
		Plugin: u.Spec.Plugin, TLS: u.Spec.Require == v1alpha1.RequireTLS, Roles: u.Spec.Roles, Limits: limits(u.Spec.Limits)}
	if u.Spec.Require == v1alpha1.RequireX509 {
		w.TLS, w.Subject, w.Issuer = true, resources.UserSubject(u), resources.ClientIssuerSubject(c)
	}
	if len(passwords) == 0 {
		// Only the native plugin takes a certificate alone: its empty password is no password.
		w.Plugin, passwords = v1alpha1.PluginNative, []string{""}
	}
	for _, p := range passwords {
		kept, err := agentapi.Kept(w.Plugin, p, string(u.UID))
		if err != nil {
			return w, err
		}
		w.Accepts = append(w.Accepts, kept)
	}
	for _, g := range u.Spec.Grants {
		w.Grants = append(w.Grants, agentapi.SQLGrant{Privileges: g.Privileges, Database: g.Database, Table: g.Table,
			Columns: g.Columns, WithGrant: g.WithGrantOption})
	}
	return w, nil
}

// AbsentUser is the desired state of a dropped account.
func AbsentUser(u *v1alpha1.GaleraUser) agentapi.SQLUser {
	return agentapi.SQLUser{SQLOwner: userOwner(u), Name: u.AccountName(), Host: u.Spec.Host}
}

func userOwner(u *v1alpha1.GaleraUser) agentapi.SQLOwner {
	namespace, _ := u.Cluster()
	return owner(u, namespace, u.Spec.Adopt)
}

func limits(l v1alpha1.UserLimits) agentapi.SQLLimits {
	out := agentapi.SQLLimits{QueriesPerHour: int64(l.MaxQueriesPerHour), UpdatesPerHour: int64(l.MaxUpdatesPerHour),
		ConnectionsPerHour: int64(l.MaxConnectionsPerHour), UserConnections: int64(l.MaxUserConnections)}
	if l.MaxStatementTime != nil {
		out.StatementMillis = int64(l.MaxStatementTime.Duration / time.Millisecond)
	}
	return out
}

// Database is what a database is to be; present reports whether it is to be there.
func Database(d *v1alpha1.GaleraDatabase, present bool) agentapi.SQLDatabase {
	namespace, _ := d.Cluster()
	return agentapi.SQLDatabase{SQLOwner: owner(d, namespace, d.Spec.Adopt), Name: d.DatabaseName(), Present: present,
		CharacterSet: d.Spec.CharacterSet, Collation: d.Spec.Collation}
}
