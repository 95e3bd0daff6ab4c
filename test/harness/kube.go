package harness

import (
	"fmt"
	"strings"
	"sync"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// DefaultContext is the kubectl context of the local cluster that make up creates.
const DefaultContext = "kind-galera"

// Logf takes one line of progress.
type Logf func(format string, args ...any)

// Kube is a connection to the Kubernetes cluster under test.
type Kube struct {
	client.Client
	Clientset kubernetes.Interface
	Config    *rest.Config
	Log       Logf
	// Context is the name in the user's kubeconfig, for programs.
	Context string
	// File is the kubeconfig that it is in, "" for the user's.
	File string
}

// Connect opens the named context of the user's kubeconfig.
func Connect(contextName string, log Logf) (*Kube, error) {
	return connect("", contextName, log)
}

func connect(file, contextName string, log Logf) (*Kube, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: contextName},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubectl context %q cannot be used (make up creates it): %w", contextName, err)
	}
	config.QPS, config.Burst = 100, 200
	config.UserAgent = "galera-operator-tests"
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, certmanagerv1.AddToScheme,
		v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Kube{Client: patientClient{c}, Clientset: set, Config: config, Log: onceInARow(log), Context: contextName,
		File: file}, nil
}

// onceInARow drops a line that only repeats the one before it.
func onceInARow(log Logf) Logf {
	var mu sync.Mutex
	last := ""
	return func(format string, args ...any) {
		line := strings.TrimSpace(fmt.Sprintf(format, args...))
		mu.Lock()
		defer mu.Unlock()
		if line == last {
			return
		}
		last = line
		log("%s", line)
	}
}
