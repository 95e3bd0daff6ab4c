package harness

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Secrets remembers every secret value there was in Kubernetes since it began to watch, replaced ones included.
type Secrets struct {
	kube   *Kube
	mu     sync.Mutex
	values map[string]string // value → where it is from
}

// WatchSecrets watches until ctx ends.
func WatchSecrets(ctx context.Context, k *Kube) (*Secrets, error) {
	s := &Secrets{kube: k, values: map[string]string{}}
	factory := informers.NewSharedInformerFactory(k.Clientset, 0)
	informer := factory.Core().V1().Secrets().Informer()
	take := func(object any) {
		if secret, ok := object.(*corev1.Secret); ok {
			s.take(secret)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: take,
		UpdateFunc: func(_, object any) { take(object) }}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching Secrets: %w", ctx.Err())
	}
	return s, nil
}

// public are the keys of Secrets whose values are no secret.
var public = []string{"ca.crt", "tls.crt", "client-ca.crt", "username", "user", "host", "port", "database", "type",
	"provider", "access-key-id", "namespace", "overlap", "sslmode", "name"}

// shortest is the shortest value that is looked for: shorter ones are found in anything.
const shortest = 8

func (s *Secrets) take(secret *corev1.Secret) {
	if secret.Type == "helm.sh/release.v1" { // a whole release, compressed
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range secret.Data {
		if slices.Contains(public, key) {
			continue
		}
		from := fmt.Sprintf("key %s of the Secret %s/%s", key, secret.Namespace, secret.Name)
		for _, v := range recognizable(string(value)) {
			s.values[v] = from
		}
	}
}

// recognizable are the texts by which a value is known in a log: itself, on one line, and as Secrets are written in
// YAML; of a key in PEM each line of its body.
func recognizable(value string) []string {
	var out []string
	add := func(v string) {
		if len(v) >= shortest {
			out = append(out, v)
		}
	}
	value = strings.TrimSpace(value)
	if !strings.Contains(value, "-----BEGIN") {
		if !strings.Contains(value, "\n") {
			add(value)
			add(base64.StdEncoding.EncodeToString([]byte(value)))
		}
		return out
	}
	private := false
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----BEGIN"):
			private = strings.Contains(line, "PRIVATE KEY")
		case private && !strings.HasPrefix(line, "-----"):
			add(line)
		}
	}
	return out
}

// InLogs reports where a secret stands in a log of a namespace's pods, without saying it, or a panic. What a pod has
// not said yet, or no more, is not checked.
func (s *Secrets) InLogs(ctx context.Context, namespace string) ([]string, error) {
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var found []string
	for i := range pods.Items {
		p := &pods.Items[i]
		for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			for _, previous := range []bool{false, true} {
				if previous && status.RestartCount == 0 {
					continue
				}
				text, err := s.kube.podLogs(ctx, namespace, p.Name, status.Name, 0, previous)
				if err != nil {
					continue // it has none, or goes just now
				}
				for _, from := range s.in(text) {
					found = append(found, fmt.Sprintf("the log of %s/%s, container %s, has the %s", namespace, p.Name, status.Name,
						from))
				}
			}
		}
	}
	return found, nil
}

// in says whose values a text has, and whether it describes a panic.
func (s *Secrets) in(text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	if strings.Contains(text, "Observed a panic") { // controller-runtime goes on after one
		found["panic of a controller"] = true
	}
	for value, from := range s.values {
		if strings.Contains(text, value) {
			found[from] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Known is how many values are looked for.
func (s *Secrets) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}
