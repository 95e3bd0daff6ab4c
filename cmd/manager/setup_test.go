package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// TestTheCacheLeavesOutWhatIsLong: the memory of the operator has a limit, and what benchmarks leave has none.
func TestTheCacheLeavesOutWhatIsLong(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{result.KeyLog: "words", result.KeyRun: "{}"}}
	cm.Labels, cm.ManagedFields = map[string]string{v1alpha1.LabelBenchmark: "x"},
		[]metav1.ManagedFieldsEntry{{Manager: "m"}}
	o := cacheOptions(&options{})
	for of, by := range o.ByObject {
		if _, is := of.(*corev1.ConfigMap); !is || by.Transform == nil {
			continue
		}
		if _, err := by.Transform(cm); err != nil {
			t.Fatal(err)
		}
	}
	if len(cm.Data) != 1 || cm.Data[result.KeyRun] == "" || cm.ManagedFields != nil {
		t.Errorf("the cache keeps %+v", cm)
	}
}

// TestLogKeys: the operator's JSON has the keys and the words of the agents' (package logs).
func TestLogKeys(t *testing.T) {
	var out bytes.Buffer
	zap.New(zap.WriteTo(&out), zap.Encoder(encoder(logs.JSON)())).WithName("setup").Error(errors.New("broken"), "it stops",
		"cluster", "demo/shop")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if got["level"] != "ERROR" || got["msg"] != "it stops" || got["logger"] != "setup" || got["error"] != "broken" ||
		got["cluster"] != "demo/shop" {
		t.Errorf("%v", got)
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["time"])); err != nil {
		t.Error(err)
	}
	out.Reset()
	zap.New(zap.WriteTo(&out), zap.Encoder(encoder(logs.Text)())).Info("it starts", "version", "v1")
	if text := out.String(); json.Valid(out.Bytes()) || !strings.Contains(text, "INFO\tit starts\t{\"version\": \"v1\"}") {
		t.Errorf("%s", text)
	}
}

func TestOptions(t *testing.T) {
	good := func() options {
		return options{operatorImage: "op", namespace: "ns", agentClusters: 1, podUsers: podUsersAuto, logFormat: "json"}
	}
	for name, tc := range map[string]struct {
		edit func(*options)
		ok   bool
	}{
		"good":          {func(*options) {}, true},
		"log format":    {func(o *options) { o.logFormat = "console" }, false},
		"no image":      {func(o *options) { o.operatorImage = "" }, false},
		"no namespace":  {func(o *options) { o.namespace = "" }, false},
		"no agents":     {func(o *options) { o.agentClusters = 0 }, false},
		"no such users": {func(o *options) { o.podUsers = "root" }, false},
	} {
		o := good()
		tc.edit(&o)
		if err := o.check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
