package undecodable

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
)

// again is how often the conditions of such objects are written anew: another program may have written their status.
const again = time.Minute

// Reporter describes such objects: in the log, as an event, and by their conditions Ready and Stalled.
type Reporter struct {
	Objects *Objects
	// Live reads unstructured objects past the cache.
	Live   client.Client
	Events events.EventRecorder
}

// Start implements manager.Runnable; the leader reports.
func (r *Reporter) Start(ctx context.Context) error {
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	reported := map[Key]string{}
	for {
		now := map[Key]string{}
		for _, e := range r.Objects.List() {
			now[e.Key] = e.Cause.Error()
			if err := r.report(ctx, e, reported[e.Key] == now[e.Key]); err != nil {
				log.FromContext(ctx).Error(err, "reporting what cannot be decoded", "kind", e.Kind.Kind, "object", e.NamespacedName)
			}
		}
		reported = now
		select {
		case <-ctx.Done():
			return nil
		case <-r.Objects.changed():
		case <-ticker.C:
		}
	}
}

func (r *Reporter) report(ctx context.Context, e *Error, reported bool) error {
	message := fmt.Sprintf("this operator cannot decode the resource, and changes nothing of it: %v; correct that field",
		e.Cause)
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(e.Kind)
	if err := r.Live.Get(ctx, e.NamespacedName, o); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !reported {
		log.FromContext(ctx).Info("an object cannot be decoded", "kind", e.Kind.Kind, "object", e.NamespacedName, "cause",
			e.Cause.Error())
		r.Events.Eventf(o, nil, corev1.EventTypeWarning, v1alpha1.ReasonUndecodable, "Decode", "%s", message)
	}
	if e.Kind.Group != v1alpha1.GroupVersion.Group {
		return nil
	}
	if changed, err := setConditions(o, message); err != nil || !changed {
		return err
	}
	return r.Live.Status().Update(ctx, o)
}

// setConditions sets the conditions of an object whose type is not to be relied on.
func setConditions(o *unstructured.Unstructured, message string) (bool, error) {
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return false, fmt.Errorf("reading its conditions: %w", err)
	}
	var holder struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"conditions": list},
		&holder); err != nil {
		return false, fmt.Errorf("reading its conditions: %w", err)
	}
	changed := false
	for kind, status := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionStalled: metav1.ConditionTrue,
		v1alpha1.ConditionReconciling: metav1.ConditionFalse,
	} {
		if conditions.Set(&holder.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: v1alpha1.ReasonUndecodable, Message: message,
			ObservedGeneration: o.GetGeneration(),
		}) {
			changed = true
		}
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder)
	if err != nil {
		return false, fmt.Errorf("writing its conditions: %w", err)
	}
	return changed, unstructured.SetNestedField(o.Object, written["conditions"], "status", "conditions")
}
