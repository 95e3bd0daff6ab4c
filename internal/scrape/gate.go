package scrape

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	// admittedFor is how long a token is served without asking the API server again, refusedFor how long it is refused.
	admittedFor = time.Minute
	refusedFor  = 10 * time.Second
	// knownFor is how long a token that was served is reviewed again without waiting behind those of strangers.
	knownFor = time.Hour
	// maxAnswers and maxReviews bound what strangers can make the operator keep, and ask at the same time.
	maxAnswers = 256
	maxReviews = 4
	// maxToken is more than a token of Kubernetes has, reviewTimeout longer than an API server that is well takes.
	maxToken      = 16 << 10
	reviewTimeout = 10 * time.Second
)

// newGate makes a gate that serves those whom the API server authenticates by their token, and authorizes to get the
// URL. controller-runtime has such a filter as well, with all of k8s.io/apiserver: it makes the program larger by more
// than half.
func newGate(config *rest.Config) (*gate, error) {
	config = rest.CopyConfig(config)
	// A limit of its own: requests of strangers delay none of the operator's.
	config.QPS, config.Burst, config.RateLimiter, config.Timeout = 5, 10, nil, reviewTimeout
	tokens, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews of tokens: %w", err)
	}
	access, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews of access: %w", err)
	}
	return &gate{reviews: make(chan struct{}, maxReviews), again: make(chan struct{}, maxReviews),
		authenticate: func(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
			r, err := tokens.TokenReviews().Create(ctx, &authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
			if err != nil {
				return authenticationv1.TokenReviewStatus{}, err
			}
			return r.Status, nil
		},
		authorize: func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
			r, err := access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec},
				metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return r.Status.Allowed, nil
		}}, nil
}

// gate admits requests by their token. It keeps the API server's answers for a while, without the tokens.
type gate struct {
	authenticate func(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error)
	authorize    func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error)
	// reviews are those of tokens that were not served before, again of those that were.
	reviews, again chan struct{}

	mu      sync.Mutex
	answers map[[sha256.Size]byte]answer
}

// answer is the status of the answer to a request: 200, 401 or 403.
type answer struct {
	code  int
	until time.Time
}

func (g *gate) filter(log logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		code, err := g.judge(req)
		switch {
		case err != nil:
			log.Error(err, "asking the API server who may read the metrics")
			http.Error(w, "the API server could not be asked whether this token may read the metrics: try again", code)
		case code == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send a token that Kubernetes accepts: Authorization: Bearer TOKEN", code)
		case code == http.StatusForbidden:
			http.Error(w, "the owner of this token must be allowed to get the URL "+req.URL.Path+
				": bind it to the ClusterRole of the operator's installation whose name ends in -metrics-reader", code)
		case code != http.StatusOK:
			http.Error(w, "too many requests with new tokens: try again", code)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

func (g *gate) judge(req *http.Request) (code int, err error) {
	token, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if token = strings.TrimSpace(token); !bearer || token == "" || len(token) > maxToken {
		return http.StatusUnauthorized, nil
	}
	verb := strings.ToLower(req.Method)
	key := sha256.Sum256([]byte(verb + " " + req.URL.Path + " " + token))
	code, served := g.known(key, time.Now())
	if code != 0 {
		return code, nil
	}
	turn := g.reviews
	if served {
		turn = g.again
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	default:
		return http.StatusTooManyRequests, nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), reviewTimeout)
	defer cancel()
	if code, err = g.review(ctx, token, verb, req.URL.Path); err != nil {
		return http.StatusServiceUnavailable, err
	}
	g.keep(key, code, time.Now())
	return code, nil
}

// review asks the API server.
func (g *gate) review(ctx context.Context, token, verb, path string) (code int, err error) {
	who, err := g.authenticate(ctx, token)
	if err != nil {
		return 0, fmt.Errorf("reviewing a token: %w", err)
	}
	if !who.Authenticated {
		return http.StatusUnauthorized, nil
	}
	spec := authorizationv1.SubjectAccessReviewSpec{User: who.User.Username, UID: who.User.UID, Groups: who.User.Groups,
		Extra:                 map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}}
	for k, v := range who.User.Extra {
		spec.Extra[k] = authorizationv1.ExtraValue(v)
	}
	allowed, err := g.authorize(ctx, spec)
	if err != nil {
		return 0, fmt.Errorf("reviewing the access of %s: %w", spec.User, err)
	}
	if !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// known returns an answer that still holds, 0 without one, and whether the token was served before.
func (g *gate) known(key [sha256.Size]byte, now time.Time) (code int, served bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.answers[key]
	if now.Before(v.until) {
		return v.code, false
	}
	return 0, v.code == http.StatusOK
}

func (g *gate) keep(key [sha256.Size]byte, code int, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answers == nil {
		g.answers = map[[sha256.Size]byte]answer{}
	}
	delete(g.answers, key)
	for k, v := range g.answers {
		ended, served := !now.Before(v.until), v.code == http.StatusOK
		if ended && (!served || now.Sub(v.until) > knownFor) || len(g.answers) >= maxAnswers && (ended || !served) {
			delete(g.answers, k)
		}
	}
	if len(g.answers) >= maxAnswers {
		return // asked again each time
	}
	lasts := refusedFor
	if code == http.StatusOK {
		lasts = admittedFor
	}
	g.answers[key] = answer{code, now.Add(lasts)}
}
