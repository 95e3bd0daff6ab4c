package galeracluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestRefusals: what passes by itself is not reported, what stays is, in the API server's words, until it is over.
func TestRefusals(t *testing.T) {
	full := fmt.Errorf("applying the Service: %w", apierrors.NewInternalError(errors.New("the range is full")))
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "shop-0", errors.New("changed"))
	for name, c := range map[string]struct {
		err        error
		wantReport bool
	}{
		"nothing":                       {},
		"refused":                       {err: full, wantReport: true},
		"refused, and a lost race":      {err: errors.Join(conflict, full), wantReport: true},
		"refused, joined twice":         {err: errors.Join(errors.New("no agent"), errors.Join(nil, full)), wantReport: true},
		"a lost race":                   {err: conflict},
		"the API server is not reached": {err: errors.New("connection refused")},
		"the API server has much to do": {err: apierrors.NewTooManyRequests("later", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			var r refusals
			key, began := types.NamespacedName{Namespace: "demo", Name: "shop"}, time.Now()
			if p := r.note(key, c.err, began); p != nil {
				t.Fatalf("reported at once: %s", p.Message)
			}
			p := r.note(key, c.err, began.Add(reportDelay))
			if reports := p != nil && strings.Contains(p.Message, "the range is full"); reports != c.wantReport {
				t.Errorf("reported: %v", p)
			}
			if r.note(key, nil, began.Add(reportDelay)); r.note(key, c.err, began.Add(2*reportDelay)) != nil {
				t.Error("what is over is reported")
			}
		})
	}
}
