package publish

import (
	"context"
	"crypto/rand"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// ensureExporterSecret makes the exporter's password before the pods that mount it. One that is there is kept.
func (pub Publisher) ensureExporterSecret(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if resources.Exporter(c) == nil {
		return nil
	}
	want := resources.ExporterSecret(c, rand.Text())
	have := &corev1.Secret{}
	if err := pub.Readers.Cached.Get(ctx, client.ObjectKeyFromObject(want), have); err == nil &&
		metav1.IsControlledBy(have, c) {
		return nil
	}
	err := ownership.Keep(ctx, pub.Client, pub.Readers.Live, c.UID, want)
	if foreign := (ownership.ErrForeign{}); errors.As(err, &foreign) {
		return apply.ErrNameTaken{Kind: foreign.Kind, Name: foreign.Name}
	}
	return err
}
