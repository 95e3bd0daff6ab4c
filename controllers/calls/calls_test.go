package calls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func of(cluster string, object int) By {
	return By{types.NamespacedName{Namespace: "data", Name: cluster},
		types.NamespacedName{Namespace: "team", Name: cluster + fmt.Sprint(object)}}
}

// dialer answers for every cluster but one, which is silent.
func dialer(ctx context.Context, cluster string, questions []int) ([]int, error) {
	if cluster == "silent" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return questions, nil
}

// TestASilentClusterDelaysNoOther: one worker serves a thousand objects of a cluster whose agents never answer, and one
// of another cluster.
func TestASilentClusterDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Calls[string, int, int]{Do: dialer}
		began := time.Now()
		for i := range 1000 {
			if _, err := c.Ask(t.Context(), of("silent", i), "silent", i); !errors.Is(err, ErrPending) {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > budget+patience {
			t.Errorf("the silent cluster took %s of the worker's time", took)
		}
		began = time.Now()
		if got, err := c.Ask(t.Context(), of("shop", 1), "shop", 7); err != nil || got != 7 || time.Since(began) > 0 {
			t.Errorf("%d, %v after %s", got, err, time.Since(began))
		}
		time.Sleep(time.Hour)
		began = time.Now()
		for i := range 1000 {
			_, _ = c.Ask(t.Context(), of("silent", i), "silent", i)
		}
		if took := time.Since(began); took > 2*(budget+patience) {
			t.Errorf("an hour later it took %s", took)
		}
		c.drain()
	})
}

// drain ends what goes on, for synctest.
func (c *Calls[T, Q, A]) drain() {
	c.mu.Lock()
	for _, l := range c.lanes {
		l.next = nil
	}
	c.mu.Unlock()
	time.Sleep(callTimeout)
}

// TestOneRequestForEachCluster: questions about one cluster follow each other, whatever node they go to; those of two
// clusters do not.
func TestOneRequestForEachCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var order []int
		c := &Calls[string, int, int]{Do: One(func(_ context.Context, _ string, q int) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Minute / 4)
			order = append(order, q)
			return q, nil
		})}
		for i := range 6 {
			_, _ = c.Ask(t.Context(), of("shop", i), fmt.Sprint("node", i%2), i)
		}
		time.Sleep(time.Hour)
		if most.Load() != 1 || !slices.Equal(order, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("%d at the same time, %v", most.Load(), order)
		}
		_, _ = c.Ask(t.Context(), of("shop", 1), "a", 1)
		_, _ = c.Ask(t.Context(), of("other", 1), "a", 1)
		if most.Load() != 2 {
			t.Errorf("%d at the same time", most.Load())
		}
		time.Sleep(time.Hour)
	})
}

// TestLateAnswers: an object is reconciled again when its answer arrives, and a pass of two questions asks each of them
// once.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		c := &Calls[string, int, int]{Do: One(func(_ context.Context, _ string, q int) (int, error) {
			asked = append(asked, q)
			time.Sleep(20 * time.Second)
			return 10 * q, nil
		})}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		if err := c.Source().Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		by := of("shop", 1)
		pass := func() (sum int, err error) {
			defer c.EndPass(by.Object)
			for q := 1; q <= 2; q++ {
				a, err := c.Ask(t.Context(), by, "a", q)
				if err != nil {
					return 0, err
				}
				sum += a
			}
			return sum, nil
		}
		for i := range 2 {
			if _, err := pass(); !Quiet(err) {
				t.Fatalf("pass %d: %v", i, err)
			}
			time.Sleep(Slow)
			if _, err := pass(); Quiet(err) || !errors.Is(err, ErrPending) {
				t.Fatalf("pass %d: %v", i, err)
			}
			if woken, _ := queue.Get(); woken.NamespacedName != by.Object {
				t.Fatalf("pass %d: %v", i, woken)
			} else {
				queue.Done(woken)
			}
		}
		if sum, err := pass(); err != nil || sum != 30 || !slices.Equal(asked, []int{1, 2}) {
			t.Errorf("%d, %v, asked %v", sum, err, asked)
		}
		if len(c.objects) > 0 {
			t.Errorf("left: %v", c.objects)
		}
		if _, err := pass(); err == nil {
			t.Error("an answer of a pass that has ended is used by a later one")
		}
		time.Sleep(time.Hour)
	})
}

// TestOnlyTheLastQuestionIsAsked: what an object asks for replaces what it asked for before and that was not sent.
func TestOnlyTheLastQuestionIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		c := &Calls[string, int, int]{Do: One(func(_ context.Context, _ string, q int) (int, error) {
			asked = append(asked, q)
			time.Sleep(20 * time.Second)
			return q, nil
		})}
		for q := range 5 {
			_, _ = c.Ask(t.Context(), of("shop", 1), "a", q)
			c.EndPass(of("shop", 1).Object)
		}
		time.Sleep(time.Hour)
		if !slices.Equal(asked, []int{0, 4}) {
			t.Errorf("asked %v", asked)
		}
	})
}

// TestAWaitingQuestionIsReplaced: the place of a question that waits for its turn is free as soon as its object asks
// something else, and not only when that pass has ended.
func TestAWaitingQuestionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		c := &Calls[string, int, int]{Do: One(func(_ context.Context, _ string, q int) (int, error) {
			asked = append(asked, q)
			time.Sleep(patience * 3 / 2)
			return q, nil
		})}
		go func() { _, _ = c.Ask(t.Context(), of("shop", 2), "a", 7) }()
		synctest.Wait()
		for q := range 2 { // the lane becomes free while the second one is waited for
			_, _ = c.Ask(t.Context(), of("shop", 1), "a", q)
			if q == 0 {
				c.EndPass(of("shop", 1).Object)
			}
		}
		time.Sleep(time.Hour)
		if !slices.Equal(asked, []int{7, 1}) {
			t.Errorf("asked %v", asked)
		}
	})
}

// TestQuestionsToSeveralClustersAtOnce: an object that asks about several clusters at the same time takes no question
// back that it has asked about another one.
func TestQuestionsToSeveralClustersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Calls[string, int, int]{Do: One(func(_ context.Context, cluster string, q int) (int, error) {
			if cluster == "late" {
				time.Sleep(patience / 4)
			}
			return q, nil
		})}
		object := types.NamespacedName{Namespace: "team", Name: "pool"}
		ask := func(cluster string, by types.NamespacedName, q int) error {
			_, err := c.Ask(t.Context(), By{types.NamespacedName{Name: cluster}, by}, cluster, q)
			return err
		}
		go func() { _ = ask("late", types.NamespacedName{Name: "other"}, 1) }()
		synctest.Wait()
		var all sync.WaitGroup
		for i, cluster := range []string{"late", "first", "second"} {
			all.Go(func() {
				if err := ask(cluster, object, i); err != nil {
					t.Errorf("%s: %v", cluster, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

// TestOneTargetForEachRequest: questions to another target go with another request.
func TestOneTargetForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := map[string][]int{}
		gate := make(chan struct{})
		c := &Calls[string, int, int]{BatchSize: 64, Do: func(_ context.Context, to string, questions []int) ([]int, error) {
			<-gate
			got[to] = append(got[to], questions...)
			return questions, nil
		}}
		for i, to := range []string{"a", "a", "b", "b", "a"} {
			_, _ = c.Ask(t.Context(), of("shop", i), to, i)
		}
		close(gate)
		synctest.Wait()
		if !slices.Equal(got["a"], []int{0, 1, 4}) || !slices.Equal(got["b"], []int{2, 3}) {
			t.Errorf("%v", got)
		}
	})
}

// TestTheFirstQuestionAgain: an object that asks for what it asked for before something else gets no answer that does
// not hold any more. What waits for its turn is not asked; what is in progress is followed by the question once more.
func TestTheFirstQuestionAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		after time.Duration // the second question is asked; the first takes 20 s
		want  []int
	}{
		"the other one waits for its turn": {0, []int{1}},
		"the other one is in progress":     {30 * time.Second, []int{1, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []int
				c := &Calls[string, int, int]{Do: One(func(_ context.Context, _ string, q int) (int, error) {
					asked = append(asked, q)
					time.Sleep(20 * time.Second)
					return q, nil
				})}
				queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				defer queue.ShutDown()
				if err := c.Source().Start(t.Context(), queue); err != nil {
					t.Fatal(err)
				}
				by := of("shop", 1)
				pass := func(q int) {
					defer c.EndPass(by.Object)
					if got, err := c.Ask(t.Context(), by, "a", q); err == nil && got != q {
						t.Errorf("%d answers %d", got, q)
					}
				}
				pass(1)
				pass(2)
				time.Sleep(tc.after)
				pass(1)
				for time.Sleep(time.Minute); queue.Len() > 0; time.Sleep(time.Minute) {
					woken, _ := queue.Get()
					pass(1)
					queue.Done(woken)
				}
				if !slices.Equal(asked, tc.want) || len(c.objects) > 0 {
					t.Errorf("asked %v, want %v; left: %v", asked, tc.want, c.objects)
				}
			})
		})
	}
}

// TestWeights: a heavy question goes alone, and none is left out.
func TestWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		gate := make(chan struct{})
		c := &Calls[string, int, int]{BatchSize: 64, Weight: func(q int) int { return q },
			Do: func(_ context.Context, _ string, questions []int) ([]int, error) {
				<-gate
				got = append(got, len(questions))
				return questions, nil
			}}
		for i, weight := range []int{1, MaxWeight + 1, 1, 1, MaxWeight + 1, 1} {
			_, _ = c.Ask(t.Context(), of("shop", i), "a", weight)
		}
		close(gate)
		synctest.Wait()
		if !slices.Equal(got, []int{1, 1, 2, 1, 1}) {
			t.Errorf("%v", got)
		}
	})
}

// TestBatches: 500 questions at once cost as many requests as they fill, and each gets its own answer.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 500
		var requests, most int
		gate := make(chan struct{})
		c := &Calls[string, int, int]{BatchSize: 64, Do: func(_ context.Context, _ string, questions []int) ([]int, error) {
			requests++
			most = max(most, len(questions))
			<-gate
			return questions, nil
		}}
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				if r, err := c.Ask(t.Context(), of("shop", i), "a", i); err != nil || r != i {
					t.Errorf("%d: %d, %v", i, r, err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		all.Wait()
		if want := 1 + (many+63)/64; requests > want || most != 64 {
			t.Errorf("%d requests of at most %d", requests, most)
		}
	})
}

// TestAPanicIsAnError: of the request, and the operator goes on.
func TestAPanicIsAnError(t *testing.T) {
	c := &Calls[string, int, int]{Do: func(context.Context, string, []int) ([]int, error) { panic("no answer") }}
	if _, err := c.Ask(t.Context(), of("shop", 1), "shop", 7); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Error(err)
	}
}
