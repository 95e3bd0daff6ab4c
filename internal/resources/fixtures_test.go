package resources

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

var testOptions = Options{
	OperatorImage:     "example.org/galera-operator:v1.2.3",
	DefaultImage:      "mariadb:11.8",
	OperatorNamespace: "galera-operator-system",
}

// shop is what the API server makes of the smallest useful spec.
func shop() *v1alpha1.GaleraCluster {
	return &v1alpha1.GaleraCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "5f0c2d1e-0000-4000-8000-000000000001"},
		Spec: v1alpha1.GaleraClusterSpec{
			Replicas:        3,
			ImagePullPolicy: corev1.PullIfNotPresent,
			Storage:         v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")},
			TLS: v1alpha1.TLSSpec{
				Replication: v1alpha1.TLSRequired,
				Clients:     v1alpha1.TLSRequired,
				MinVersion:  "1.3",
				Cipher:      "Auto",
				Certificate: v1alpha1.CertificateSpec{
					Duration:   &metav1.Duration{Duration: 2160 * time.Hour},
					PrivateKey: v1alpha1.PrivateKeySpec{Algorithm: "ECDSA"},
				},
			},
			StateTransfer: v1alpha1.StateTransferSpec{Method: "MariaBackup", Parallel: 4},
			NetworkPolicy: v1alpha1.NetworkPolicySpec{Enabled: new(true)},
		},
	}
}

// everything sets every field of the spec to something other than its default.
func everything() *v1alpha1.GaleraCluster {
	c := shop()
	c.Spec.Replicas = 5
	c.Spec.Image = "example.org/mariadb:12.3"
	c.Spec.ImagePullPolicy = corev1.PullAlways
	c.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	c.Spec.Storage = v1alpha1.StorageSpec{Size: resource.MustParse("20Gi"), StorageClassName: new("fast"),
		PersistentVolumeClaimRetentionPolicy: v1alpha1.ClaimRetentionPolicy{WhenDeleted: v1alpha1.ClaimDelete}}
	c.Spec.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"),
			corev1.ResourceMemory: resource.MustParse("4Gi")},
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"),
			corev1.ResourceMemory: resource.MustParse("4Gi")},
	}
	c.Spec.Scheduling = everyScheduling()
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{
		"max_connections":         {Text: "500", Number: true},
		"innodb_buffer_pool_size": {Text: "2G"},
	}
	c.Spec.TLS = everyTLS()
	c.Spec.StateTransfer = everyTransfer()
	c.Spec.Service = v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort, LoadBalancerClass: new("ignored"),
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}
	c.Spec.ReadOnlyService.ServiceSpec = v1alpha1.ServiceSpec{
		InternalTrafficPolicy: corev1.ServiceInternalTrafficPolicyLocal,
		ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		Labels:                map[string]string{"team": "shop", v1alpha1.LabelCluster: "other"}}
	c.Spec.TLS.Certificate.DNSNames = []string{"shop.example.org", "*.db.example.org", "localhost"}
	c.Spec.TLS.Certificate.IPAddresses = []string{"192.0.2.7", "127.0.0.1"}
	c.Spec.PrimaryService = v1alpha1.ServiceSpec{
		Type:                     corev1.ServiceTypeLoadBalancer,
		Annotations:              map[string]string{"example.org/internal": "true"},
		LoadBalancerClass:        new("example.org/lb"),
		LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
	}
	c.Spec.NetworkPolicy.ClientsFrom = []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "web"}},
	}}
	c.Spec.Hibernate = true
	c.Spec.Monitoring = &v1alpha1.MonitoringSpec{Exporter: &v1alpha1.ExporterSpec{Image: "example.org/exporter:1",
		Collectors: []string{"perf_schema.tableiowaits", "info_schema.innodb_cmp"}}}
	c.Spec.PodTemplate = &v1alpha1.PodTemplateSpec{
		Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{"example.org/mesh": "off"},
		Env: []v1alpha1.EnvValue{{Name: "TZ", Value: "UTC"}}, RuntimeClassName: new("gvisor"),
		HostAliases: []corev1.HostAlias{{IP: "10.1.2.3", Hostnames: []string{"ldap"}}},
		Volumes:     []v1alpha1.SidecarVolume{{Name: "rules", ConfigMap: "audit"}, {Name: "spool"}},
		Sidecars: []v1alpha1.Sidecar{{Name: "audit", Image: "example.org/audit:1", Args: []string{"--verbose"}, Port: 9000,
			VolumeMounts: []v1alpha1.SidecarMount{{Name: "rules", MountPath: "/etc/audit"}}}},
	}
	return c
}

func everyTransfer() v1alpha1.StateTransferSpec {
	return v1alpha1.StateTransferSpec{
		Method: "MariaBackup", Parallel: 8, Donors: []string{"shop-2", "shop-1"}, Compression: "Zstd",
		RateLimit: new(resource.MustParse("50Mi")), BufferPoolHint: new(resource.MustParse("2Gi")),
		StallTimeout: &metav1.Duration{Duration: time.Hour}, ISTWindow: &metav1.Duration{Duration: 2 * time.Hour},
	}
}

func everyScheduling() v1alpha1.SchedulingSpec {
	return v1alpha1.SchedulingSpec{
		NodeSelector: map[string]string{"disk": "ssd"},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"database"},
				}}}},
			},
		}},
		Tolerations: []corev1.Toleration{{Key: "database", Operator: corev1.TolerationOpExists}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
		}},
		PriorityClassName: "important",
	}
}

func everyTLS() v1alpha1.TLSSpec {
	return v1alpha1.TLSSpec{
		Replication:   v1alpha1.TLSRequired,
		StateTransfer: v1alpha1.TLSDisabled,
		Clients:       v1alpha1.TLSPreferred,
		IssuerRef:     &v1alpha1.IssuerReference{Name: "company", Kind: "ClusterIssuer"},
		MinVersion:    "1.2",
		Cipher:        "TLS_CHACHA20_POLY1305_SHA256",
		Certificate: v1alpha1.CertificateSpec{
			Duration:    &metav1.Duration{Duration: 24 * time.Hour},
			RenewBefore: &metav1.Duration{Duration: time.Hour},
			PrivateKey:  v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 3072},
		},
	}
}

// plaintext encrypts nothing and has no NetworkPolicy.
func plaintext() *v1alpha1.GaleraCluster {
	c := shop()
	c.Spec.Replicas = 1
	c.Spec.TLS.Replication = v1alpha1.TLSDisabled
	c.Spec.TLS.Clients = v1alpha1.TLSDisabled
	c.Spec.NetworkPolicy.Enabled = new(false)
	return c
}

// undefaulted is a spec that no API server has filled in: only what must be there is there.
func undefaulted() *v1alpha1.GaleraCluster {
	c := shop()
	c.Spec = v1alpha1.GaleraClusterSpec{Replicas: 3, Storage: v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")}}
	return c
}

// render returns every object of a cluster, in the order they are applied in.
func render(c *v1alpha1.GaleraCluster, opts Options) []client.Object {
	config := NodeConfig(c, int(c.Spec.Replicas), TLSConfig(c), opts)
	var arbitrator []client.Object
	if c.Spec.Arbitrator.Enabled {
		config = WithArbitrator(c, config, opts)
		arbitrator = append(arbitrator, Arbitrator(c, opts, true))
	}
	roles := Roles{Primary: PodName(c, 0), Replicas: true}
	objects := append(Certificates(c, opts, true), Static(c, config, roles, opts)...)
	objects = append(objects,
		RootSecret(c, "secret"),
		CAConfigMap(c, []byte("ca")),
		PublishedTLS(c, []byte("crt"), []byte("key"), []byte("ca"), []byte("control-ca"), []byte("client-ca")),
		StatefulSet(c, opts, pods(c, c.Spec.Replicas)),
	)
	return append(objects, arbitrator...)
}

// withArbitrator has two nodes and an arbitrator.
func withArbitrator() *v1alpha1.GaleraCluster {
	c := shop()
	c.Spec.Replicas = 2
	c.Spec.Arbitrator = v1alpha1.ArbitratorSpec{
		Enabled: true,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
		Scheduling: v1alpha1.SchedulingSpec{
			NodeSelector: map[string]string{"zone": "c"},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack",
				WhenUnsatisfiable: corev1.ScheduleAnyway}},
		},
	}
	return c
}

// pods is the state of a StatefulSet of that many pods.
func pods(c *v1alpha1.GaleraCluster, n int32) StatefulSetState {
	return StatefulSetState{Replicas: n, Claim: c.Spec.Storage.Size, ClaimAnnotations: NotPruned()}
}
