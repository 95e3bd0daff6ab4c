package status

import (
	"os"
	"path/filepath"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestArgoCD: in every situation that is recorded for kstatus, Argo CD shows the same. What a person has stopped is
// Suspended there.
func TestArgoCD(t *testing.T) {
	words := map[kstatus.Status]string{kstatus.CurrentStatus: "Healthy", kstatus.InProgressStatus: "Progressing",
		kstatus.FailedStatus: "Degraded", kstatus.TerminatingStatus: "Progressing"}
	seen := map[string]bool{}
	for name, tc := range kstates {
		c := record(tc)
		want := words[tc.want]
		switch {
		case tc.ready == "True Hibernated" && tc.want == kstatus.CurrentStatus, tc.stalled == "True Paused" &&
			tc.want == kstatus.FailedStatus:
			want = "Suspended"
		}
		got, message := health(t, c)
		if got != want {
			t.Errorf("%s: %s (%s), want %s", name, got, message, want)
		}
		seen[got] = true
	}
	if len(seen) != 4 {
		t.Errorf("only %v", seen)
	}
	if got, _ := health(t, &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Status: v1alpha1.GaleraClusterStatus{ObservedGeneration: -1}}); got != "Progressing" {
		t.Errorf("%s, before the operator has seen it", got)
	}
}

// TestArgoCDOfBackups: the resources alongside clusters have the same conditions.
func TestArgoCDOfBackups(t *testing.T) {
	with := func(p Progress, suspend bool) *v1alpha1.GaleraBackupSchedule {
		s := &v1alpha1.GaleraBackupSchedule{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		s.Spec.Suspend, s.Status.ObservedGeneration = suspend, 1
		SetProgress(&s.Status.Conditions, 1, p)
		return s
	}
	for want, o := range map[string]*v1alpha1.GaleraBackupSchedule{
		"Healthy":     with(Progress{Reason: v1alpha1.ReasonScheduled}, false),
		"Suspended":   with(Progress{Reason: v1alpha1.ReasonSuspended}, true),
		"Degraded":    with(Progress{Stalled: true, Reason: v1alpha1.ReasonScheduleInvalid, Message: "bad"}, false),
		"Progressing": with(Progress{Working: true, Reason: v1alpha1.ReasonChecking}, false),
	} {
		if got, message := health(t, o); got != want {
			t.Errorf("%s (%s), want %s", got, message, want)
		}
	}
}

// health runs config/argocd/health.lua as Argo CD does: the object is the global obj.
func health(t *testing.T, o any) (status, message string) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	vm := lua.NewState()
	defer vm.Close()
	vm.SetGlobal("obj", value(vm, content))
	script, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.DoString(string(script)); err != nil {
		t.Fatal(err)
	}
	answer, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script answers %s", vm.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

// value is JSON as Lua sees it.
func value(vm *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := vm.NewTable()
		for k, e := range v {
			table.RawSetString(k, value(vm, e))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, e := range v {
			table.Append(value(vm, e))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}
