package plugin

import (
	"context"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

const (
	// componentRestore is the component of pods that fill volumes, copyContainer the container that does.
	componentRestore = "restore"
	copyContainer    = "backup"
	// copyTime bounds how long the log of a copy is waited for.
	copyTime = 5 * time.Second
)

// copies reports how far the copy of another server is. Its Job writes that to its log, which the operator may not
// read.
func (e overview) copies(ctx context.Context, c *v1alpha1.GaleraCluster) string {
	if r := c.Status.Restore; r == nil || r.External == nil || r.Phase != v1alpha1.RestoreRestoring {
		return ""
	}
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return ""
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	if said := e.copied(ctx, c, sourcesOf(set)); said != "" {
		return "\nCOPY  " + screen.Plain(said) + "\n"
	}
	return ""
}

// copied is what a running Job has written last, "" if that cannot be read: the rest of the screen is shown without it.
func (e overview) copied(ctx context.Context, c *v1alpha1.GaleraCluster, from sources) string {
	ctx, stop := context.WithTimeout(ctx, copyTime)
	defer stop()
	var pods corev1.PodList
	if err := e.kube.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: c.Name, "app.kubernetes.io/component": componentRestore}); err != nil {
		return ""
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodRunning {
			continue
		}
		stream, err := from.logs(ctx, p.Namespace, p.Name, &corev1.PodLogOptions{Container: copyContainer,
			TailLines: new(int64(50))})
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(stream, 1<<20))
		_ = stream.Close()
		if said := lastCopied(string(text)); err == nil && said != "" {
			return said
		}
	}
	return ""
}

// lastCopied is the last message in a log about how much is copied (external.Progress), "" for none. It is pure.
func lastCopied(log string) string {
	const begins = `"copied `
	at := strings.LastIndex(log, begins)
	if at < 0 {
		return ""
	}
	said, _, whole := strings.Cut(log[at+1:], `"`)
	if !whole || strings.Contains(said, "\n") {
		return ""
	}
	return said
}
