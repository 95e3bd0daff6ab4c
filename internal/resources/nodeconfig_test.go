package resources

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestTLSConfig(t *testing.T) {
	base := agentapi.TLSConfig{
		Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired,
		Clients: galera.PolicyRequired, MinVersion: "1.3",
	}
	with := func(change func(*agentapi.TLSConfig)) agentapi.TLSConfig {
		t := base
		change(&t)
		return t
	}
	tests := map[string]struct {
		spec v1alpha1.TLSSpec
		want agentapi.TLSConfig
	}{
		"nothing set":       {v1alpha1.TLSSpec{}, base},
		"the library's own": {v1alpha1.TLSSpec{Cipher: "Auto"}, base},
		"state transfer follows replication": {
			v1alpha1.TLSSpec{Replication: "Disabled"},
			with(func(c *agentapi.TLSConfig) {
				c.Replication, c.StateTransfer = galera.SocketPlain, galera.PolicyDisabled
			}),
		},
		"state transfer by itself": {
			v1alpha1.TLSSpec{Replication: "Disabled", StateTransfer: "Required"},
			with(func(c *agentapi.TLSConfig) { c.Replication = galera.SocketPlain }),
		},
		"only state transfer in clear": {
			v1alpha1.TLSSpec{Replication: "Required", StateTransfer: "Disabled"},
			with(func(c *agentapi.TLSConfig) { c.StateTransfer = galera.PolicyDisabled }),
		},
		"clients": {
			v1alpha1.TLSSpec{Clients: "Preferred"},
			with(func(c *agentapi.TLSConfig) { c.Clients = galera.PolicyPreferred }),
		},
		"version and suite": {
			v1alpha1.TLSSpec{MinVersion: "1.2", Cipher: "TLS_AES_128_GCM_SHA256"},
			with(func(c *agentapi.TLSConfig) {
				c.MinVersion, c.CipherSuites = "1.2", []string{"TLS_AES_128_GCM_SHA256"}
			}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := shop()
			c.Spec.TLS = tt.spec
			if got := TLSConfig(c); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestRevision changes with everything an agent acts on, and with nothing else.
func TestRevision(t *testing.T) {
	revisionOf := func(change func(*v1alpha1.GaleraCluster)) string {
		c := shop()
		change(c)
		return NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), testOptions).Revision
	}
	base := revisionOf(func(*v1alpha1.GaleraCluster) {})
	for name, change := range map[string]func(*v1alpha1.GaleraCluster){
		"replicas": func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas = 5 },
		"setting": func(c *v1alpha1.GaleraCluster) {
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"max_connections": {Text: "7", Number: true}}
		},
		"policy":    func(c *v1alpha1.GaleraCluster) { c.Spec.TLS.Clients = "Preferred" },
		"method":    func(c *v1alpha1.GaleraCluster) { c.Spec.StateTransfer.Method = "Rsync" },
		"hibernate": func(c *v1alpha1.GaleraCluster) { c.Spec.Hibernate = true },
	} {
		if revisionOf(change) == base {
			t.Errorf("%s: the revision stayed the same", name)
		}
	}
	for name, change := range map[string]func(*v1alpha1.GaleraCluster){
		"labels":             func(c *v1alpha1.GaleraCluster) { c.Labels = map[string]string{"a": "b"} },
		"image":              func(c *v1alpha1.GaleraCluster) { c.Spec.Image = "other" },
		"another generation": func(c *v1alpha1.GaleraCluster) { c.Generation = 7 },
		"status":             func(c *v1alpha1.GaleraCluster) { c.Status.Epoch = 7 },
		"service":            func(c *v1alpha1.GaleraCluster) { c.Spec.Service.Type = "NodePort" },
	} {
		if revisionOf(change) != base {
			t.Errorf("%s: the revision changed", name)
		}
	}
}

// TestLogFormat: the agents get it, and restart nothing for it: the pods stay as they are. Text is what they write when
// nothing is configured, so that an upgrade of the operator changes nothing.
func TestLogFormat(t *testing.T) {
	c, opts := shop(), testOptions
	render := func(format string) (agentapi.NodeConfig, string) {
		opts.LogFormat = format
		return NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), opts), PodTemplateHash(c, opts) + ArbitratorRevision(c, opts)
	}
	untold, pods := render("")
	if text, same := render("text"); text.Revision != untold.Revision || same != pods {
		t.Error("text is news")
	}
	if json, same := render("json"); json.LogFormat != "json" || json.Revision == untold.Revision || same != pods {
		t.Errorf("%q, revision %s, pods as before: %t", json.LogFormat, json.Revision, same == pods)
	}
}

func TestConfigMapHoldsTheDocument(t *testing.T) {
	c := everything()
	want := NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), testOptions)
	var got agentapi.NodeConfig
	if err := json.Unmarshal([]byte(ConfigMap(c, want).Data[agentapi.ConfigKey]), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Settings["max_connections"] != "500" || got.Settings["innodb_buffer_pool_size"] != "2G" {
		t.Errorf("settings: %v", got.Settings)
	}
	if got.Members[4].Host != "shop-4.shop-nodes.demo.svc.cluster.local" {
		t.Errorf("members: %v", got.Members)
	}
}
