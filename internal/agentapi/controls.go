package agentapi

import (
	"reflect"
	"strings"
	"unicode"
)

// StripControls removes control characters from what a Job's program has left: the cluster's image wrote it.
func StripControls(v any) { stripControls(v) }

// stripControls removes control characters from every string that v points to, keys of maps included: what an agent
// reports enters conditions, events, logs and metrics, and from there terminals. Line breaks and tabs stay.
func stripControls(v any) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		p.Elem().Set(stripped(p.Elem()))
	}
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.Is(unicode.C, r) {
			return -1
		}
		return r
	}, s)
}

// stripped is a value without control characters. Unexported fields, as those of a time, are copied as they are.
func stripped(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if s := printable(v.String()); s != v.String() {
			return reflect.ValueOf(s).Convert(v.Type())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			v.Elem().Set(stripped(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(stripped(f))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).Set(stripped(v.Index(i)))
		}
	case reflect.Map:
		return strippedMap(v)
	default: // numbers and switches; a report has no interfaces
	}
	return v
}

func strippedMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for of := v.MapRange(); of.Next(); {
		value := reflect.New(v.Type().Elem()).Elem() // a map's values cannot be set in place
		value.Set(of.Value())
		key := reflect.New(v.Type().Key()).Elem()
		key.Set(of.Key())
		out.SetMapIndex(stripped(key), stripped(value))
	}
	return out
}
