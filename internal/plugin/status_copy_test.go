package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestCopied: what the running Job of a copy has written last is shown, in either format of its log.
func TestCopied(t *testing.T) {
	const text = `time=T level=INFO msg="copied 10 of about 100 rows"
time=T level=INFO msg="copied 25 of about 100 rows (25 %), at this rate the rest takes 3m0s; all are compared then"
time=T level=INFO msg="something else"
`
	for name, tc := range map[string]struct {
		log   string
		err   error
		phase corev1.PodPhase
		want  string
	}{
		"text": {text, nil, corev1.PodRunning,
			"copied 25 of about 100 rows (25 %), at this rate the rest takes 3m0s; all are compared then"},
		"json": {`{"level":"INFO","msg":"copied 90 rows; compared 1 of 3 tables"}` + "\n", nil, corev1.PodRunning,
			"copied 90 rows; compared 1 of 3 tables"},
		"nothing is copied yet":   {"time=T level=INFO msg=\"making a database\"\n", nil, corev1.PodRunning, ""},
		"half a line":             {`time=T level=INFO msg="copied 10 of`, nil, corev1.PodRunning, ""},
		"an attempt of before":    {text, nil, corev1.PodFailed, ""},
		"the log may not be read": {text, errors.New("forbidden"), corev1.PodRunning, ""},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop-restore-0-x",
			Labels: map[string]string{v1alpha1.LabelCluster: "shop", "app.kubernetes.io/component": "restore"}},
			Status: corev1.PodStatus{Phase: tc.phase}}
		node := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop-0",
			Labels: map[string]string{v1alpha1.LabelCluster: "shop", "app.kubernetes.io/component": "database"}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		e := overview{&env{kube: fakeKube(t, pod, node).Build()}}
		got := e.copied(t.Context(), c, sources{logs: func(_ context.Context, _, pod string,
			o *corev1.PodLogOptions) (io.ReadCloser, error) {
			if pod != "shop-restore-0-x" || o.Container != "backup" {
				t.Errorf("%s: the log of %s/%s is read", name, pod, o.Container)
			}
			return io.NopCloser(strings.NewReader(tc.log)), tc.err
		}})
		if got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
