package undecodable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Wrap returns a transport that leaves objects out of lists and watches which the types of the scheme cannot hold. It
// is for the cache: resources of CRDs arrive as JSON, and all others pass as they are.
func (o *Objects) Wrap(scheme *runtime.Scheme, next http.RoundTripper) http.RoundTripper {
	return &transport{objects: o, next: next, scheme: scheme,
		decoder: kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{})}
}

// HTTPClient returns a client for the cache, with that transport.
func (o *Objects) HTTPClient(config *rest.Config, scheme *runtime.Scheme) (*http.Client, error) {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return o.Wrap(scheme, next) })
	return rest.HTTPClientFor(c)
}

type transport struct {
	objects *Objects
	next    http.RoundTripper
	scheme  *runtime.Scheme
	decoder runtime.Decoder
}

// isJSON reports whether a response holds the objects themselves, not a table or their metadata.
func isJSON(h http.Header) bool {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "application/json" && params["as"] == ""
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || req.Method != http.MethodGet || resp.StatusCode != http.StatusOK || !strings.HasPrefix(req.URL.Path,
		"/apis/") {
		return resp, err
	}
	if !isJSON(resp.Header) {
		return resp, nil
	}
	if slices.Contains([]string{"true", "1"}, req.URL.Query().Get("watch")) {
		resp.Body = &sifted{t: t, body: resp.Body, in: json.NewDecoder(resp.Body)}
		resp.ContentLength = -1
		return resp, nil
	}
	return resp, t.list(req, resp)
}

// list replaces the body by one without the items that cannot be decoded.
func (t *transport) list(req *http.Request, resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	body = t.sift(body, req.URL.Query().Get("continue") == "", namespaceOf(req.URL.Path))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// sift returns the list without the items that cannot be decoded. What is no list of the scheme's kinds stays as it is.
func (t *transport) sift(body []byte, first bool, namespace string) []byte {
	var of struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(body, &of) != nil || !strings.HasSuffix(of.Kind, "List") {
		return body
	}
	kind := schema.FromAPIVersionAndKind(of.APIVersion, strings.TrimSuffix(of.Kind, "List"))
	if !t.covers(kind) {
		return body
	}
	good, bad := make([]json.RawMessage, 0, len(of.Items)), map[Key]error{}
	for _, item := range of.Items {
		key, cause := t.decode(item, kind)
		t.objects.seen(key, cause)
		if cause == nil {
			good = append(good, item)
		} else {
			bad[key] = cause
		}
	}
	if first && of.Continue == "" {
		t.objects.only(kind, namespace, bad)
	}
	if len(bad) == 0 {
		return body
	}
	var whole map[string]json.RawMessage
	items, err := json.Marshal(good)
	if err = errors.Join(err, json.Unmarshal(body, &whole)); err != nil {
		return body
	}
	whole["items"] = items
	out, err := json.Marshal(whole)
	if err != nil {
		return body
	}
	return out
}

// covers reports whether objects of the kind are decoded into a type of the scheme.
func (t *transport) covers(kind schema.GroupVersionKind) bool {
	return kind.Group != "" && kind.Group != metav1.GroupName && t.scheme.Recognizes(kind)
}

// decode names an object, and returns why the client could not decode it.
func (t *transport) decode(raw []byte, kind schema.GroupVersionKind) (Key, error) {
	_, _, err := t.decoder.Decode(raw, &kind, nil)
	var named metav1.PartialObjectMetadata
	if metaErr := json.Unmarshal(raw, &named); err == nil {
		err = metaErr
	}
	return Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: named.Namespace, Name: named.Name}}, err
}

// namespaceOf returns the namespace of /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE.
func namespaceOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) > 4 && parts[3] == "namespaces" {
		return parts[4]
	}
	return ""
}

// sifted are the events of a watch.
type sifted struct {
	t    *transport
	body io.ReadCloser
	in   *json.Decoder
	out  bytes.Buffer
}

// Read implements io.Reader: it returns whole events.
func (e *sifted) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		var raw json.RawMessage
		if err := e.in.Decode(&raw); err != nil {
			return 0, err
		}
		e.out.Write(e.t.event(raw))
		e.out.WriteByte('\n')
	}
	return e.out.Read(p)
}

// Close implements io.Closer.
func (e *sifted) Close() error { return e.body.Close() }

// event returns the event itself, or what takes the place of one that cannot be decoded: for a deletion the object
// without anything but its metadata, else a bookmark, with which the cache keeps what it had.
func (t *transport) event(raw []byte) []byte {
	var e struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	var of metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &e) != nil || e.Type != watch.Added && e.Type != watch.Modified && e.Type != watch.Deleted {
		return raw
	}
	if json.Unmarshal(e.Object, &of) != nil || !t.covers(of.GroupVersionKind()) {
		return raw
	}
	key, cause := t.decode(e.Object, of.GroupVersionKind())
	if e.Type == watch.Deleted {
		t.objects.seen(key, nil)
	} else {
		t.objects.seen(key, cause)
	}
	if cause == nil {
		return raw
	}
	stub := metav1.PartialObjectMetadata{TypeMeta: of.TypeMeta, ObjectMeta: of.ObjectMeta}
	kind := watch.Deleted
	if e.Type != watch.Deleted {
		kind, stub.ObjectMeta = watch.Bookmark, metav1.ObjectMeta{ResourceVersion: of.ResourceVersion}
	}
	out, err := json.Marshal(map[string]any{"type": kind, "object": stub})
	if err != nil {
		return raw
	}
	return out
}
