package users

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestBinding: whatever is in a name or a password, every address leads to the account and verifies the server.
func TestBinding(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop"}}
	for _, word := range []string{"plain", `p@ss:w/o?r&d=%2F#'"\`, "ünï cödé"} {
		u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
		user := strings.ReplaceAll(word, ":", "") // which a DSN of go-sql-driver cannot have in a name
		u.Spec.Name, u.Spec.Grants = user, []v1alpha1.GrantSpec{{Privileges: []string{"PROCESS"}, Database: "*"},
			{Privileges: []string{"SELECT"}, Database: "my_db"}}
		b := Binding(c, u, Login{Password: word, CA: []byte("ca")})
		for _, key := range []string{"uri", "sqlalchemy-url"} {
			at, err := url.Parse(string(b[key]))
			if err != nil {
				t.Fatal(err)
			}
			password, _ := at.User.Password()
			if at.User.Username() != user || password != word || at.Host != "shop-primary.data.svc:3306" || at.Path != "/my_db" {
				t.Errorf("%s: %s", key, at)
			}
			if q := at.Query(); key == "sqlalchemy-url" && (q.Get("ssl_ca") != "/bindings/app/ca.crt" ||
				q.Get("ssl_check_hostname") != "true" || q.Has("ssl_verify_cert") || q.Has("ssl_cert")) {
				t.Errorf("%s", at)
			}
		}
		dsn := string(b["go-dsn"])
		cfg, err := mysql.ParseDSN(strings.Replace(dsn, "tls=galera", "tls=true", 1))
		if err != nil || cfg.User != user || cfg.Passwd != word || cfg.DBName != "my_db" ||
			!strings.Contains(dsn, "tls=galera") {
			t.Errorf("%s: %v", dsn, err)
		}
		if got := string(
			b["jdbc-url"]); got != "jdbc:mariadb://shop-primary.data.svc:3306/my_db?useSsl=true&sslMode=verify-full&serverSslCert=/bindings/app/ca.crt" {
			t.Error(got)
		}
	}
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	u.Spec.Endpoint, u.Spec.MountPath = v1alpha1.EndpointAny, "/b"
	b := Binding(c, u, Login{CA: []byte("ca"), Cert: []byte("c"), Key: []byte("k")})
	if _, has := b["password"]; has || string(b["host"]) != "shop.data.svc" || string(b["tls.crt"]) != "c" ||
		!strings.Contains(string(b["sqlalchemy-url"]), "ssl_cert=%2Fb%2Ftls.crt") {
		t.Errorf("%s", b)
	}
	u.Spec.Endpoint = v1alpha1.EndpointReadOnly
	if host := string(Binding(c, u, Login{})["host"]); host != "shop-readonly.data.svc" {
		t.Error(host)
	}
	u.Spec.Endpoint = v1alpha1.EndpointProxy
	b = Binding(c, u, Login{CA: []byte("ca"), Proxy: "pool.data.svc"})
	for _, key := range []string{"host", "uri", "jdbc-url", "go-dsn", "sqlalchemy-url"} {
		if !strings.Contains(string(b[key]), "pool.data.svc") {
			t.Errorf("%s does not lead to the proxy: %s", key, b[key])
		}
	}
	u.Spec.Require, c.Spec.TLS.Clients = v1alpha1.RequireNone, v1alpha1.TLSDisabled
	if !LacksTLS(u, c) {
		t.Error("there is no proxy for a cluster without TLS")
	}
	u.Spec.Endpoint = v1alpha1.EndpointReadOnly
	if LacksTLS(u, c) {
		t.Error("this account asks for no TLS")
	}
	if b := Binding(c, u, Login{CA: []byte("ca")}); strings.Contains(string(b["jdbc-url"])+string(b["go-dsn"])+
		string(b["sqlalchemy-url"]), "ssl") || len(b["ca.crt"]) > 0 {
		t.Errorf("without TLS: %s", b)
	}
}

// TestTenancy: a namespace that is not selected has nothing, and one that is has its own databases.
func TestTenancy(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop"}}
	has := map[string]string{"team": "a"}
	for name, tc := range map[string]struct {
		from  string
		allow *metav1.LabelSelector
		want  bool
	}{
		"its own":      {"data", nil, true},
		"none allowed": {"team", nil, false},
		"all":          {"team", &metav1.LabelSelector{}, true},
		"selected":     {"team", &metav1.LabelSelector{MatchLabels: has}, true},
		"not selected": {"team", &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}, false},
	} {
		c.Spec.AllowedNamespaces = tc.allow
		if got, err := Admits(c, tc.from, has); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	for name, tc := range map[string]struct {
		spec v1alpha1.GaleraUserSpec
		good bool
	}{
		"nothing":    {v1alpha1.GaleraUserSpec{}, true},
		"a database": {v1alpha1.GaleraUserSpec{Grants: []v1alpha1.GrantSpec{{Database: "mine"}}}, true},
		"all": {v1alpha1.GaleraUserSpec{Grants: []v1alpha1.GrantSpec{{Database: "mine"}, {Database: "*"}}},
			false},
		"unset": {v1alpha1.GaleraUserSpec{Grants: []v1alpha1.GrantSpec{{}}}, false},
		"give away": {v1alpha1.GaleraUserSpec{Grants: []v1alpha1.GrantSpec{{Database: "mine",
			WithGrantOption: true}}}, false},
		"give away, by its name": {v1alpha1.GaleraUserSpec{Grants: []v1alpha1.GrantSpec{{Database: "mine",
			Privileges: []string{"SELECT", "Grant Option"}}}}, false},
		"roles": {v1alpha1.GaleraUserSpec{Roles: []string{"admin"}}, false},
		"adopt": {v1alpha1.GaleraUserSpec{Adopt: true}, false},
	} {
		u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}, Spec: tc.spec}
		if why := Overreach(u, "data"); (why == "") != tc.good {
			t.Errorf("%s: %q", name, why)
		}
		u.Namespace = "data"
		if why := Overreach(u, "data"); why != "" {
			t.Errorf("%s, in the cluster's namespace: %q", name, why)
		}
	}
	for _, adopt := range []bool{false, true} {
		for _, namespace := range []string{"data", "team"} {
			d := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
				Spec: v1alpha1.GaleraDatabaseSpec{Adopt: adopt}}
			if why := DatabaseOverreach(d, "data"); (why != "") != (adopt && namespace == "team") {
				t.Errorf("a database of %s, adopt %t: %q", namespace, adopt, why)
			}
		}
	}
}
