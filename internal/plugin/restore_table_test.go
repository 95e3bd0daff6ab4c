package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestTableRestore: the flags become the resource that a person would write, or are refused with what is missing.
func TestTableRestore(t *testing.T) {
	key := restoreFlags{identity: "key"}
	with := func(change func(*restoreFlags)) restoreFlags {
		f := key
		change(&f)
		return f
	}
	orders := tableFlags{table: "shop.orders", as: "orders_before", name: "r"}
	for name, c := range map[string]struct {
		flags restoreFlags
		of    tableFlags
		store string
		want  string // the spec, or a part of the error
	}{
		"a table, from the cluster's own store": {with(func(f *restoreFlags) { f.point.gtid = "0-1-7" }),
			tableFlags{table: "shop.orders", into: "old", as: "orders_before"}, "offsite",
			`{"clusterRef":{"name":"shop"},"from":{"store":{"name":"offsite"},"identitySecretRef":{"name":"key"},` +
				`"pointInTime":{"gtid":"0-1-7"}},"table":{"database":"shop","name":"orders","into":"old","as":"orders_before"}}`},
		"a table with a dot": {key, tableFlags{table: "shop.a.b", as: "x"}, "offsite", `"name":"a.b"`},
		"a database": {with(func(f *restoreFlags) { f.backup = "b" }), tableFlags{database: "shop", as: "shop_before"}, "",
			`{"clusterRef":{"name":"shop"},"from":{"backup":{"name":"b"},"identitySecretRef":{"name":"key"}},` +
				`"database":{"name":"shop","as":"shop_before"}}`},
		"another store": {with(func(f *restoreFlags) { f.store, f.uid = "other", "a54080f9" }), orders, "offsite",
			`"store":{"name":"other","clusterUID":"a54080f9"}`},
		"no store":            {key, orders, "", "name --store or --backup"},
		"no identity":         {restoreFlags{}, orders, "offsite", "--identity is missing"},
		"no new name":         {key, tableFlags{table: "shop.orders"}, "offsite", "--as is missing"},
		"no database":         {key, tableFlags{table: "orders", as: "x"}, "offsite", "write DATABASE.TABLE"},
		"both":                {key, tableFlags{table: "a.b", database: "a", as: "x"}, "offsite", "one of --table and --database"},
		"into, of a database": {key, tableFlags{database: "a", into: "b", as: "x"}, "offsite", "--into goes with --table"},
		"a clone":             {with(func(f *restoreFlags) { f.clone = "x" }), orders, "offsite", "for a new cluster"},
		"two sources":         {with(func(f *restoreFlags) { f.backup, f.store = "b", "s" }), orders, "", "do not go with --backup"},
		"two points": {with(func(f *restoreFlags) { f.point = pointFlags{gtid: "0-1-7", latest: true} }), orders, "offsite",
			"name one point"},
	} {
		o, err := newTableRestore("shop", c.store, c.flags, c.of, noon)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			text, _ := json.Marshal(o.Spec)
			got = string(text)
		}
		if !strings.Contains(got, c.want) || (err == nil) != strings.HasPrefix(c.want, "{") && !strings.HasPrefix(c.want, `"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	o, err := newTableRestore(strings.Repeat("long", 10), "offsite", key, tableFlags{table: "shop.orders", as: "x"}, noon)
	if err != nil || len(o.Name) > 40 {
		t.Errorf("%q has %d characters, %v", o.Name, len(o.Name), err)
	}
}

// TestRestoreLine: a wait ends with the restore, and fails with it.
func TestRestoreLine(t *testing.T) {
	for phase, want := range map[string]struct{ done, failed bool }{
		v1alpha1.RestorePending: {}, v1alpha1.RestoreLoading: {},
		v1alpha1.RestoreCompleted: {true, false}, v1alpha1.RestoreFailed: {true, true}} {
		o := &v1alpha1.GaleraRestore{Status: v1alpha1.GaleraRestoreStatus{Phase: phase,
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionComplete, Message: "why"}}}}
		line, done, err := restoreLine(o)
		if done != want.done || (err != nil) != want.failed || err == nil && line != "why" {
			t.Errorf("%s: %q %t %v", phase, line, done, err)
		}
	}
}
