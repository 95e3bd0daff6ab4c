package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// unusual are values that a schema may admit and a type may not hold.
var unusual = map[string][]any{
	"integer": {int64(0), int64(1), int64(5), int64(-1), int64(1) << 31, int64(1) << 32, int64(1) << 62, 1e30, float64(3)},
	"number":  {0.5, 1e300},
	"boolean": {true},
	"string": {"", "x", "5", "-1", "1h", "1 day", "3d", "9999999999h", "P1D", "1e.5", "1e99999999999",
		"0.1e-99999", "1Gi", "9E", "+5Mi", "1e3",
		"2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T03:04:05.123456789+01:00", "2026-01-02",
		"2026-02-30T00:00:00Z",
		"729f74f0-e5ac-11f1-8d21-87263796a788", "YQ==", "YQ", "a=b", "10.0.0.1", "0 3 * * *", "demo", "\u2028"},
}

// TestWhatIsAdmittedIsDecoded: one object that the API server takes and the types cannot hold is lost to the operator.
// Each field of each spec gets each odd value of its type, in an object that is otherwise the smallest one. What the
// schema takes and the type does not is shown to the API server, which has rules beyond the schema.
func TestWhatIsAdmittedIsDecoded(t *testing.T) {
	codec := kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{})
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			fields, reached := 0, 0
			walk(k.schema, nil, func(path []step, leaf *apiextensionsv1.JSONSchemaProps) {
				fields++
				admitted := false
				for _, v := range values(t, leaf) {
					o := unusualObject(t, k.name, path, v)
					if !k.admits(o) {
						continue
					}
					admitted = true
					err := decode(t, codec, o)
					if err != nil && kube.Create(t.Context(), &unstructured.Unstructured{Object: o}, client.DryRunAll) == nil {
						t.Errorf("%s: %#v is admitted: %v", fieldName(path), v, err)
					}
				}
				if admitted {
					reached++
				}
			})
			t.Logf("%d of %d fields took a value", reached, fields)
			if reached*5 < fields*4 {
				t.Errorf("only %d of %d fields took a value", reached, fields)
			}
		})
	}
}

// unusualObject is the smallest object of a kind, with an odd value in one field.
func unusualObject(t *testing.T, kind string, path []step, v any) map[string]any {
	t.Helper()
	o := map[string]any{}
	must(t, json.Unmarshal([]byte(smallest[kind]), &o))
	o["apiVersion"], o["kind"] = v1alpha1.GroupVersion.String(), kind
	o["metadata"] = map[string]any{"name": "odd", "namespace": "default"}
	put(t, o, path, v)
	text, err := json.Marshal(o)
	must(t, err)
	out := map[string]any{}
	must(t, utiljson.Unmarshal(text, &out)) // as the API server: whole numbers are integers
	return out
}

// smallest is the smallest object of each kind.
var smallest = map[string]string{
	"GaleraCluster":        `{"spec":{"storage":{"size":"1Gi"}}}`,
	"GaleraBackup":         `{"spec":{"clusterRef":{"name":"shop"},"storeRef":{"name":"store"}}}`,
	"GaleraBackupSchedule": `{"spec":{"schedule":"@daily","template":{"clusterRef":{"name":"shop"},"storeRef":{"name":"store"}}}}`,
	"GaleraBackupStore": `{"spec":{"volume":{"claimName":"c"},` +
		`"encryption":{"recipients":["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}}}`,
	"GaleraBenchmark": `{"spec":{"cluster":{"ref":{"name":"shop"}},"arms":[{"name":"a"}],` +
		`"workloads":[{"name":"w","oltp":{"profile":"ReadWrite"}}]}}`,
	"GaleraDatabase": `{"spec":{"clusterRef":{"name":"shop"}}}`,
	"GaleraUser":     `{"spec":{"clusterRef":{"name":"shop"}}}`,
	"GaleraProxy":    `{"spec":{"clusterRef":{"name":"shop"}}}`,
	"GaleraRestore": `{"spec":{"clusterRef":{"name":"shop"},"database":{"name":"shop","as":"shop_before"},` +
		`"from":{"backup":{"name":"b"},"identitySecretRef":{"name":"key"}}}}`,
}

// step is one step to a field: of an object, into a list, or into a map. It knows the schema it leads to.
type step struct {
	name string // [] for lists, {} for maps
	to   *apiextensionsv1.JSONSchemaProps
}

func fieldName(path []step) string {
	var out []string
	for _, s := range path {
		out = append(out, s.name)
	}
	return strings.Join(out, ".")
}

// walk visits all leaves of the spec; the status is the operator's own.
func walk(s *apiextensionsv1.JSONSchemaProps, path []step, visit func([]step, *apiextensionsv1.JSONSchemaProps)) {
	next := func(name string, to *apiextensionsv1.JSONSchemaProps) {
		walk(to, append(slices.Clone(path), step{name, to}), visit)
	}
	switch {
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		next("{}", s.AdditionalProperties.Schema)
	case s.Type == "object":
		for _, n := range slices.Sorted(maps.Keys(s.Properties)) {
			if of := s.Properties[n]; len(path) > 0 || n == "spec" {
				next(n, &of)
			}
		}
	case s.Type == "array":
		next("[]", s.Items.Schema)
	default:
		visit(path, s)
	}
}

// values are the odd ones of a leaf, and those that it names itself.
func values(t *testing.T, s *apiextensionsv1.JSONSchemaProps) (out []any) {
	t.Helper()
	out = slices.Clone(unusual[s.Type])
	if s.XIntOrString {
		out = append(slices.Clone(unusual["integer"]), unusual["string"]...)
	}
	if s.MinLength != nil {
		out = append(out, strings.Repeat("a", int(*s.MinLength)))
	}
	return append(out, enum(t, s)...)
}

func enum(t *testing.T, s *apiextensionsv1.JSONSchemaProps) (out []any) {
	t.Helper()
	for _, e := range s.Enum {
		var v any
		must(t, json.Unmarshal(e.Raw, &v))
		out = append(out, v)
	}
	return out
}

// put sets the field, and makes what it needs on the way there.
func put(t *testing.T, o map[string]any, path []step, v any) {
	t.Helper()
	if len(path) == 1 {
		o[path[0].name] = v
		return
	}
	here := path[0]
	switch path[1].name {
	case "[]":
		o[here.name] = []any{within(t, path[1:], v)}
	case "{}":
		o[here.name] = map[string]any{"key": within(t, path[1:], v)}
	default:
		child, is := o[here.name].(map[string]any)
		if !is {
			child, _ = filled(t, here.to).(map[string]any)
		}
		o[here.name] = child
		put(t, child, path[1:], v)
	}
}

// within is an item of a list or a map.
func within(t *testing.T, path []step, v any) any {
	t.Helper()
	if len(path) == 1 {
		return v
	}
	switch path[1].name {
	case "[]":
		return []any{within(t, path[1:], v)}
	case "{}":
		return map[string]any{"key": within(t, path[1:], v)}
	}
	item, _ := filled(t, path[0].to).(map[string]any)
	put(t, item, path[1:], v)
	return item
}

// filled is a value of a schema with all that is required.
func filled(t *testing.T, s *apiextensionsv1.JSONSchemaProps) any {
	t.Helper()
	switch {
	case len(s.Enum) > 0:
		return enum(t, s)[0]
	case s.Type == "object":
		o := map[string]any{}
		for _, n := range s.Required {
			of := s.Properties[n]
			o[n] = filled(t, &of)
		}
		return o
	case s.Type == "array":
		out := []any{}
		for range ptr.Deref(s.MinItems, 0) {
			out = append(out, filled(t, s.Items.Schema))
		}
		return out
	case s.Type == "integer", s.XIntOrString:
		return int64(ptr.Deref(s.Minimum, 1<<30))
	case s.Type == "boolean":
		return true
	case s.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case strings.Contains(s.Pattern, "8}-"):
		return "729f74f0-e5ac-11f1-8d21-87263796a788"
	}
	return strings.Repeat("a", int(max(1, ptr.Deref(s.MinLength, 1))))
}
