package cached

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// pagesOf is an API server with three pages of large Secrets. fails are the errors of its answers, in order.
type pagesOf struct {
	t     *testing.T
	asked []metav1.ListOptions
	given []*corev1.SecretList
	fails map[int]error
}

func (p *pagesOf) list(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	n := len(p.asked)
	p.asked = append(p.asked, o)
	for _, l := range p.given {
		for i := range l.Items {
			if len(l.Items[i].Data) > 0 {
				p.t.Errorf("request %d is made while a page before is whole", n)
			}
		}
	}
	if err := p.fails[n]; err != nil {
		return nil, err
	}
	page := map[string]int{"": 0, "c1": 1, "c2": 2}[o.Continue]
	l := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if page < 2 {
		l.Continue = fmt.Sprintf("c%d", page+1)
	}
	for i := range 2 {
		s := corev1.Secret{Data: map[string][]byte{"k": []byte(strings.Repeat("a", maxData))}}
		s.Namespace, s.Name = "demo", fmt.Sprintf("s%d-%d", page, i)
		l.Items = append(l.Items, s)
	}
	p.given = append(p.given, l)
	return l, nil
}

func (p *pagesOf) lw() *toolscache.ListWatch {
	return &toolscache.ListWatch{ListWithContextFunc: p.list,
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, apierrors.NewBadRequest("it streams no lists")
		}}
}

// TestSecretsAreListedInPages: an API server that streams no lists never has the operator hold large Secrets of many
// pages, and a list is whole or an error.
func TestSecretsAreListedInPages(t *testing.T) {
	expired, down := apierrors.NewResourceExpired("too old"), errors.New("down")
	for name, tc := range map[string]struct {
		fails map[int]error
		asked int
		err   error
	}{
		"at once":                           {nil, 3, nil},
		"its version expires":               {map[int]error{1: expired}, 5, nil},
		"it expires again and again":        {map[int]error{1: expired, 3: expired, 5: expired}, 6, expired},
		"the API server fails in the midst": {map[int]error{2: down}, 3, down},
	} {
		p := &pagesOf{t: t, fails: tc.fails}
		got, err := paged(p.lw()).ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		if !errors.Is(err, tc.err) || len(p.asked) != tc.asked {
			t.Errorf("%s: %d requests, %v", name, len(p.asked), err)
		}
		for _, o := range p.asked {
			if o.Limit != pageSize || o.ResourceVersion != "" {
				t.Errorf("%s: the request %+v is not for a page", name, o)
			}
		}
		if err != nil {
			continue
		}
		l := got.(*corev1.SecretList)
		if len(l.Items) != 6 || l.Items[0].Name != "s0-0" || l.Items[5].Name != "s2-1" || l.Continue != "" ||
			l.ResourceVersion != "7" {
			t.Errorf("%s: %d Secrets, %+v", name, len(l.Items), l.ListMeta)
		}
	}
}

// TestInformerOfPages: the informer has them all, and lists of other kinds are as they were.
func TestInformerOfPages(t *testing.T) {
	p := &pagesOf{t: t}
	ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
	defer stop()
	i := NewInformer(p.lw(), &corev1.Secret{}, 0, toolscache.Indexers{})
	go i.RunWithContext(ctx)
	if !toolscache.WaitForCacheSync(ctx.Done(), i.HasSynced) || len(i.GetStore().ListKeys()) != 6 {
		t.Errorf("it has %v", i.GetStore().ListKeys())
	}
	services := &toolscache.ListWatch{WatchFuncWithContext: p.lw().WatchFuncWithContext,
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Limit == pageSize {
				t.Error("Services are listed in small pages")
			}
			return &corev1.ServiceList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
		}}
	s := NewInformer(services, &corev1.Service{}, 0, toolscache.Indexers{})
	short, end := context.WithCancel(ctx)
	go s.RunWithContext(short)
	if !toolscache.WaitForCacheSync(ctx.Done(), s.HasSynced) {
		t.Error("Services are not listed")
	}
	end()
}
