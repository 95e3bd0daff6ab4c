package cached

import (
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// field of a type of Kubernetes' API.
type field struct{ of, name string }

func (f field) String() string { return f.of + "." + f.name }

// api reports whether fields of types of this package count. Metadata is kept as it is.
func api(path string) bool { return strings.HasPrefix(path, "k8s.io/api/") }

// fill makes every field of a value not zero, down to where types repeat.
func fill(v reflect.Value, depth int) {
	switch o := v.Addr().Interface().(type) {
	case *metav1.Time:
		*o = metav1.NewTime(time.Unix(1800000000, 0))
		return
	case *resource.Quantity:
		*o = resource.MustParse("1Gi")
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && depth < 30 {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// walk checks all fields of API types in a value.
func walk(v reflect.Value, see func(f field, zero bool)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), see)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), see)
		}
	case reflect.Struct:
		if !api(v.Type().PkgPath()) {
			return
		}
		for i := range v.NumField() {
			see(field{v.Type().PkgPath() + "." + v.Type().Name(), v.Type().Field(i).Name}, v.Field(i).IsZero())
			walk(v.Field(i), see)
		}
	}
}
