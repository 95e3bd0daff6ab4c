package undecodable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewClient makes the manager's client, whose cached reads fail with the reason for what could not be decoded: of the
// object itself, and of lists in its namespace. Lists of all namespaces leave it out, so that it concerns no other
// namespace, unless they ask for a Complete answer.
func (o *Objects) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	return &guarded{Client: c, objects: o}, nil
}

// Complete lets a list of all namespaces fail if an object cannot be decoded, too. A client without the guard ignores
// it.
type Complete struct{}

// ApplyToList implements client.ListOption.
func (Complete) ApplyToList(*client.ListOptions) {}

type guarded struct {
	client.Client
	objects *Objects
}

// Get implements client.Reader.
func (g *guarded) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, live := into.(runtime.Unstructured); live {
		return g.Client.Get(ctx, key, into, opts...)
	}
	kind, err := apiutil.GVKForObject(into, g.Scheme())
	if err != nil {
		return err
	}
	if err := g.objects.check(kind, key); err != nil {
		return err
	}
	return g.Client.Get(ctx, key, into, opts...)
}

// List implements client.Reader.
func (g *guarded) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	of := (&client.ListOptions{}).ApplyOptions(opts)
	if _, live := into.(runtime.Unstructured); live || of.Namespace == "" &&
		!slices.Contains(opts, client.ListOption(Complete{})) {
		return g.Client.List(ctx, into, opts...)
	}
	kind, err := apiutil.GVKForObject(into, g.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if err := g.objects.check(kind, types.NamespacedName{Namespace: of.Namespace}); err != nil {
		return err
	}
	return g.Client.List(ctx, into, opts...)
}
