package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// asked is a gate whose API server knows the tokens "reader", "other" and, while it is down, none.
type asked struct {
	*gate
	down                  bool
	reviewed, authorising int
}

func newAsked() *asked {
	a := &asked{}
	a.gate = &gate{reviews: make(chan struct{}, maxReviews), again: make(chan struct{}, maxReviews),
		authenticate: func(_ context.Context, token string) (s authenticationv1.TokenReviewStatus, err error) {
			a.reviewed++
			if a.down {
				return s, errors.New("down")
			}
			s.Authenticated, s.User.Username = token == "reader" || token == "other", token
			return s, nil
		},
		authorize: func(_ context.Context, s authorizationv1.SubjectAccessReviewSpec) (bool, error) {
			a.authorising++
			n := s.NonResourceAttributes
			return s.User == "reader" && n.Path == "/metrics" && n.Verb == "get", nil
		}}
	return a
}

func (a *asked) get(t *testing.T, method, path, header string) int {
	t.Helper()
	h := a.filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("series"))
	}))
	req, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	h.ServeHTTP(w, req)
	if served := strings.Contains(w.Body.String(), "series"); served != (w.Code == http.StatusOK) {
		t.Errorf("%s: %d with the body %q", header, w.Code, w.Body)
	}
	return w.Code
}

// TestMetricsNeedAToken: of someone who may get the URL. Whatever else comes is refused.
func TestMetricsNeedAToken(t *testing.T) {
	for _, tc := range []struct {
		method, path, header string
		want                 int
	}{
		{"GET", "/metrics", "Bearer reader", 200},
		{"GET", "/metrics", "", 401},
		{"GET", "/metrics", "Basic reader", 401},
		{"GET", "/metrics", "Bearer ", 401},
		{"GET", "/metrics", "Bearer stranger", 401},
		{"GET", "/metrics", "Bearer " + strings.Repeat("a", maxToken+1), 401},
		{"GET", "/metrics", "Bearer other", 403},
		{"POST", "/metrics", "Bearer reader", 403},
		{"GET", "/debug", "Bearer reader", 403},
	} {
		if got := newAsked().get(t, tc.method, tc.path, tc.header); got != tc.want {
			t.Errorf("%s %s with %.20q: %d, want %d", tc.method, tc.path, tc.header, got, tc.want)
		}
	}
	a := newAsked()
	a.down = true
	if got := a.get(t, "GET", "/metrics", "Bearer reader"); got != 503 {
		t.Errorf("with the API server down: %d", got)
	}
	a.down = false
	if got := a.get(t, "GET", "/metrics", "Bearer reader"); got != 200 {
		t.Errorf("with the API server up again: %d", got)
	}
}

// TestAnswersAreKept for a while: a scrape does not cost two requests each time, and a right that was taken away ends.
func TestAnswersAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked()
		for range 10 {
			a.get(t, "GET", "/metrics", "Bearer reader")
			a.get(t, "GET", "/metrics", "Bearer stranger")
		}
		if a.reviewed != 2 || a.authorising != 1 {
			t.Errorf("%d reviews of tokens, %d of access", a.reviewed, a.authorising)
		}
		time.Sleep(admittedFor)
		a.get(t, "GET", "/metrics", "Bearer reader")
		if a.reviewed != 3 {
			t.Errorf("an answer is kept for ever")
		}
		for i := range 10 * maxAnswers {
			a.get(t, "GET", "/metrics", fmt.Sprint("Bearer ", i))
		}
		if len(a.answers) > maxAnswers {
			t.Errorf("%d answers are kept", len(a.answers))
		}
		before := a.reviewed
		if got := a.get(t, "GET", "/metrics", "Bearer reader"); got != 200 || a.reviewed != before {
			t.Errorf("%d: made-up tokens displace a good one", got)
		}
	})
}

// TestReviewsAreBounded: made-up tokens do not fill the API server, and hold up no token that is known.
func TestReviewsAreBounded(t *testing.T) {
	a := newAsked()
	a.get(t, "GET", "/metrics", "Bearer reader")
	for range maxReviews {
		a.reviews <- struct{}{}
	}
	if got := a.get(t, "GET", "/metrics", "Bearer stranger"); got != 429 || a.reviewed != 1 {
		t.Errorf("%d, %d reviews", got, a.reviewed)
	}
	if got := a.get(t, "GET", "/metrics", "Bearer reader"); got != 200 {
		t.Errorf("the known one: %d", got)
	}
}

// TestStrangersDelayNoReader: while strangers keep all reviews of new tokens busy, one that was served is reviewed
// again when its answer has ended, and is forgotten after an hour.
func TestStrangersDelayNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked()
		a.get(t, "GET", "/metrics", "Bearer reader")
		for range maxReviews {
			a.reviews <- struct{}{}
		}
		for range 3 {
			time.Sleep(admittedFor)
			if got := a.get(t, "GET", "/metrics", "Bearer reader"); got != 200 {
				t.Fatalf("%d", got)
			}
		}
		<-a.reviews
		time.Sleep(admittedFor + knownFor + time.Second)
		a.get(t, "GET", "/metrics", "Bearer stranger")
		if len(a.answers) != 1 {
			t.Errorf("%d answers are kept", len(a.answers))
		}
	})
}
