package storetest

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Fake is a small part of S3, in memory: objects in one piece, and lists.
type Fake struct {
	task.Store
	// Dir has the credentials.
	Dir string

	serving sync.Mutex // one request after the other
	mu      sync.Mutex // not held by judge, which may change objects
	judge   func(r *http.Request, body []byte, exists bool) (status int, code string)
	objects map[string][]byte
	counts  map[string]int
	notimes bool
	uploads map[string]upload // by their IDs
	breaks  map[string]int    // after how many bytes the next answer with an object ends
	late    map[string]bool   // objects that lists do not have yet
}

// upload is one in parts.
type upload struct {
	key  string
	when time.Time
}

// Upload has an upload in parts that was begun at a time, and returns whether it is still there.
func (f *Fake) Upload(key string, when time.Time) (exists func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprint("upload-", len(f.uploads))
	f.uploads[id] = upload{key, when}
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, ok := f.uploads[id]
		return ok
	}
}

// listUploads answers with one upload, and where the next one is.
func (f *Fake) listUploads(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	type entry struct {
		Key       string
		UploadID  string `xml:"UploadId"`
		Initiated string
	}
	var p struct {
		XMLName            xml.Name `xml:"ListMultipartUploadsResult"`
		IsTruncated        bool
		NextKeyMarker      string
		NextUploadIDMarker string `xml:"NextUploadIdMarker"`
		Upload             []entry
	}
	var all []entry
	for id, u := range f.uploads {
		if strings.HasPrefix(u.key, q.Get("prefix")) && u.key+" "+id > q.Get("key-marker")+" "+q.Get("upload-id-marker") {
			all = append(all, entry{u.key, id, u.when.UTC().Format(time.RFC3339)})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Key+" "+a.UploadID, b.Key+" "+b.UploadID) })
	if p.Upload = all[:min(1, len(all))]; len(all) > 1 {
		p.IsTruncated, p.NextKeyMarker, p.NextUploadIDMarker = true, all[0].Key, all[0].UploadID
	}
	_ = xml.NewEncoder(w).Encode(p)
}

// NewFake starts one. judge refuses requests with a status and a code; status 0 lets one pass. It may be nil.
func NewFake(t *testing.T, judge func(r *http.Request, body []byte, exists bool) (status int, code string)) *Fake {
	t.Helper()
	t.Setenv("AWS_CA_BUNDLE", "") // a machine's own
	f := &Fake{Dir: t.TempDir(), judge: judge, objects: map[string][]byte{}, counts: map[string]int{},
		uploads: map[string]upload{}, breaks: map[string]int{}}
	s := httptest.NewTLSServer(f)
	t.Cleanup(s.Close)
	f.Store = task.Store{Service: task.ServiceS3, Bucket: Bucket, Endpoint: s.URL, Region: "us-east-1", PathStyle: true,
		Credentials: true}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, text := range map[string]string{task.AccessKeyID: "key", task.SecretAccessKey: "secret",
		task.CA: string(ca)} {
		write(t, filepath.Join(f.Dir, name), []byte(text))
	}
	return f
}

// Put has an object, without a request.
func (f *Fake) Put(key string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = content
}

// Credential changes one.
func (f *Fake) Credential(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(f.Dir, name), []byte(text))
}

// BreakOff has the next answer with an object end after so many of its bytes.
func (f *Fake) BreakOff(key string, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.breaks[key] = after
}

// Late has lists without some objects, which are there.
func (f *Fake) Late(keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = map[string]bool{}
	for _, key := range keys {
		f.late[key] = true
	}
}

// OmitTimes has lists without LastModified from now on.
func (f *Fake) OmitTimes() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notimes = true
}

// Requests returns how many there were since the last call.
func (f *Fake) Requests() (n int, of string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.counts {
		n += c
	}
	of = fmt.Sprint(f.counts)
	clear(f.counts)
	return n, of
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+Bucket), "/")
	f.serving.Lock()
	defer f.serving.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	_, exists := f.objects[key]
	kind := r.Method
	if key == "" {
		kind = "LIST"
	}
	f.counts[kind]++
	if f.judge != nil {
		f.mu.Unlock()
		status, code := f.judge(r, body, exists)
		f.mu.Lock()
		if status != 0 {
			refuse(w, status, code)
			return
		}
	}
	content, exists := f.objects[key]
	id := r.URL.Query().Get("uploadId")
	switch {
	case key == "" && r.URL.Query().Has("uploads"):
		f.listUploads(w, r)
	case r.Method == http.MethodDelete && id != "":
		if _, ok := f.uploads[id]; !ok || f.uploads[id].key != key {
			refuse(w, http.StatusNotFound, "NoSuchUpload")
			return
		}
		delete(f.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		f.list(w, r)
	case r.Method == http.MethodPut:
		f.objects[key] = bytes.Clone(body)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !exists:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodGet && f.breaks[key] > 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:f.breaks[key]])
		delete(f.breaks, key)
		_ = http.NewResponseController(w).Flush() // or a short answer is none, and asked for again by the library
		panic(http.ErrAbortHandler)               // with what was written
	default:
		http.ServeContent(w, r, key, time.Unix(0, 0), bytes.NewReader(content))
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
}

// page is an answer to ListObjectsV2.
type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	Contents              []object
	CommonPrefixes        []struct{ Prefix string }
}

// object is one of a list.
type object struct {
	Key          string
	LastModified string `xml:",omitempty"`
	ETag         string
	Size         int
}

// list answers with up to 1000 entries, as S3 does.
func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	prefix, delimiter, after := q.Get("prefix"), q.Get("delimiter"),
		cmp.Or(q.Get("continuation-token"), q.Get("start-after"))
	most := 1000
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	entries := map[string]int{} // the size, -1 for a prefix
	for key, content := range f.objects {
		if !strings.HasPrefix(key, prefix) || f.late[key] {
			continue
		}
		if head, _, below := strings.Cut(key[len(prefix):], delimiter); below && delimiter != "" {
			entries[prefix+head+delimiter] = -1
			continue
		}
		entries[key] = len(content)
	}
	var names []string
	for name := range entries {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var p page
	if len(names) > most {
		names, p.IsTruncated, p.NextContinuationToken = names[:most], true, names[most-1]
	}
	for _, name := range names {
		if entries[name] < 0 {
			p.CommonPrefixes = append(p.CommonPrefixes, struct{ Prefix string }{name})
		} else {
			o := object{name, time.Unix(0, 0).UTC().Format(time.RFC3339), `"0"`, entries[name]}
			if f.notimes {
				o.LastModified = ""
			}
			p.Contents = append(p.Contents, o)
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(p)
}
