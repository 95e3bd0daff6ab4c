package agentapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a report: any holder of the cluster's pair may send one, and the operator keeps the last one of every node.
// A report has a few hundred values; an entry of two bytes of JSON may take a hundred times as much in memory.
const (
	maxValues  = 4096
	maxEntries = 256
	maxText    = 4 << 10
	// maxDepth is deeper than a report.
	maxDepth = 16
)

// countable returns an error for JSON with more values than a report has, before it is decoded. Commas within texts do
// not count: any account with the right EVENT chooses the names of events, and must not make reports unreadable.
func countable(data []byte) error {
	n, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case c == ',' && !text:
			n++
		}
	}
	if n > maxValues {
		return fmt.Errorf("the report has %d values, more than %d", n, maxValues)
	}
	return nil
}

// bound clips the texts of a report, drops channels that do not exist, and refuses lists and maps that are too long.
func (r *Report) bound() error {
	maps.DeleteFunc(r.TLS.Channels, func(channel string, _ ChannelFact) bool {
		return !slices.Contains(Channels, channel)
	})
	return boundValue(reflect.ValueOf(r).Elem(), 0)
}

// DropUnknownPeers drops what a report contains about peers that have no name of a member of the cluster: nothing is
// decided from it, and it could show made-up names to a user.
func (r *Report) DropUnknownPeers(cluster string) {
	maps.DeleteFunc(r.TLS.Peers, func(name string, _ ChannelFact) bool { return !isMember(cluster, name) })
	maps.DeleteFunc(r.OtherPeers, func(name string, _ Identity) bool { return !isMember(cluster, name) })
}

// isMember reports whether a name is that of a member of the cluster, the arbitrator included. Members come and go with
// spec.replicas, so that any ordinal is one.
func isMember(cluster, name string) bool {
	rest, own := strings.CutPrefix(name, cluster+"-")
	ordinal, err := strconv.ParseUint(rest, 10, 8)
	return own && (rest == "arbitrator" || err == nil && strconv.FormatUint(ordinal, 10) == rest)
}

func boundValue(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() > maxText {
			v.SetString(strings.ToValidUTF8(v.String()[:maxText], ""))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return boundValue(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Len() > maxEntries {
			return fmt.Errorf("a list of the report has %d entries, more than %d", v.Len(), maxEntries)
		}
		for i := range v.Len() {
			if err := boundValue(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		return boundMap(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				if err := boundValue(f, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// boundMap bounds the values as well, and refuses keys that are too long.
func boundMap(v reflect.Value, depth int) error {
	if v.Len() > maxEntries {
		return fmt.Errorf("a map of the report has %d entries, more than %d", v.Len(), maxEntries)
	}
	for _, key := range v.MapKeys() {
		if key.Kind() == reflect.String && key.Len() > maxEntries {
			return fmt.Errorf("a name in the report has %d bytes, more than %d", key.Len(), maxEntries)
		}
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		if err := boundValue(value, depth+1); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return nil
}
