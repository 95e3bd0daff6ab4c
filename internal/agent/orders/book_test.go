package orders

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

var bookAt17 = galera.Position{UUID: "90e0b86f-e577-11f1-b9b1-fa90d5744545", Seqno: 17}

func bookOrder(kind agentapi.OrderKind, pos galera.Position) agentapi.Order {
	return agentapi.Order{ID: "x", Epoch: 5, Kind: kind, Position: pos, ClusterUUID: pos.UUID}
}

func fixed() time.Time { return time.Unix(1000, 0).UTC() }

func open(t *testing.T, dir string) *Book {
	t.Helper()
	b := OpenBook(dir, fixed)
	if err := b.Unsaved(); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOpenOnAFullVolume: an interrupted order is over in memory, and the next change that can be written records it.
func TestOpenOnAFullVolume(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if err := do(b, b.Accept(bookOrder(agentapi.OrderBootstrap, bookAt17))); err != nil {
		t.Fatal(err)
	}
	full := openBook(dir, fixed, func(string, []byte, os.FileMode) error { return syscall.ENOSPC })
	if !errors.Is(full.Unsaved(), syscall.ENOSPC) || full.Damaged() != nil {
		t.Errorf("unsaved: %v, damaged: %v", full.Unsaved(), full.Damaged())
	}
	if c := full.Content(); c.Find("x").State != agentapi.OrderFailed || c.HighestEpoch != 5 {
		t.Errorf("%+v", c)
	}
	if err := do(full, full.SetLineage(galera.FirstLine(galera.Line{Epoch: 5, Start: bookAt17}))); !errors.Is(err,
		syscall.ENOSPC) {
		t.Errorf("a change on a full volume: %v", err)
	}
	full.write = datadir.WriteFile
	if err := do(full, full.SetLineage(galera.FirstLine(galera.Line{Epoch: 5, Start: bookAt17}))); err != nil {
		t.Fatal(err)
	}
	if c := open(t, dir).Content(); c.Find("x").State != agentapi.OrderFailed || c.Lineage.Epoch != 5 {
		t.Errorf("on the disk: %+v", c)
	}
}

func TestBookRemembersAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	o := bookOrder(agentapi.OrderBootstrap, bookAt17)
	if err := do(b, b.Accept(o)); err != nil {
		t.Fatal(err)
	}
	if c := open(t, dir).Content(); c.Find("x").State != agentapi.OrderFailed {
		t.Errorf("an order that was being carried out when the agent died is over: %+v", c)
	}
	if err := do(b, b.Finish("x", agentapi.OrderDone, "well")); err != nil {
		t.Fatal(err)
	}
	line := galera.FirstLine(galera.Line{Epoch: 5, Start: bookAt17})
	if err := do(b, b.SetLineage(line)); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir).Content()
	if last := c.Last(); last.ID != "x" || last.State != agentapi.OrderDone || last.Message != "well" {
		t.Errorf("%+v", last)
	}
	if c.HighestEpoch != 5 || c.Formed != (FormedBy{Epoch: 5, ID: "x"}) || !c.Lineage.Equal(line) || c.Held {
		t.Errorf("%+v", c)
	}
}

func TestBookHolds(t *testing.T) {
	dir := t.TempDir()
	stop := agentapi.Order{ID: "stop", Epoch: 1, Kind: agentapi.OrderStop}
	b := open(t, dir)
	if err := do(b, b.Accept(stop)); err != nil {
		t.Fatal(err)
	}
	b = open(t, dir)
	if c := b.Content(); !c.Held || c.Find("stop").State != agentapi.OrderDone {
		t.Errorf("a stop that was cut off by the end of the container is done, and holds: %+v", c)
	}
	if err := do(b, b.Refuse(agentapi.Order{ID: "no", Epoch: 7, Kind: agentapi.OrderStart}, "why")); err != nil {
		t.Fatal(err)
	}
	if c := b.Content(); !c.Held || c.HighestEpoch != 7 || c.Last().Message != "why" {
		t.Errorf("a refusal changes nothing but the record and the epoch: %+v", c)
	}
	if err := do(b, b.Accept(agentapi.Order{ID: "start", Epoch: 7, Kind: agentapi.OrderStart})); err != nil {
		t.Fatal(err)
	}
	if open(t, dir).Content().Held {
		t.Error("still held after a start")
	}
}

func TestBookFinishTouchesOnlyAcceptedOrders(t *testing.T) {
	b := open(t, t.TempDir())
	if err := do(b, b.Refuse(bookOrder(agentapi.OrderBootstrap, bookAt17), "why")); err != nil {
		t.Fatal(err)
	}
	if err := do(b, b.Finish("x", agentapi.OrderDone, "")); err != nil {
		t.Fatal(err)
	}
	if got := b.Content().Find("x").State; got != agentapi.OrderRefused {
		t.Errorf("a refused order became %s", got)
	}
}

func TestBookIsBounded(t *testing.T) {
	b := open(t, t.TempDir())
	for i := range Remembered + 5 {
		o := agentapi.Order{ID: strings.Repeat("i", i+1), Epoch: int64(i + 1), Kind: agentapi.OrderStart}
		if err := do(b, b.Accept(o)); err != nil {
			t.Fatal(err)
		}
	}
	if c := b.Content(); len(c.Records) != Remembered || c.HighestEpoch != Remembered+5 {
		t.Errorf("%d records, epoch %d", len(c.Records), c.HighestEpoch)
	}
}

func TestBookThatCannotBeWrittenChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := do(b, b.Accept(bookOrder(agentapi.OrderStop, galera.Position{}))); err == nil {
		t.Fatal("no error")
	}
	if c := b.Content(); c.Held || c.HighestEpoch != 0 || len(c.Records) != 0 {
		t.Errorf("accepted without being written: %+v", c)
	}
}

func TestDamagedBookIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, bookFile)
	if err := os.WriteFile(path, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	if b.Damaged() == nil || do(b, b.Accept(bookOrder(agentapi.OrderStop, galera.Position{}))) == nil {
		t.Error("a damaged book takes orders")
	}
	if data, _ := os.ReadFile(path); string(data) != "{torn" {
		t.Errorf("it was overwritten with %q", data)
	}
}

// do makes a change, as the agent does.
func do(b *Book, e Edit) error {
	c, err := b.Write(e)
	if err == nil {
		b.Take(c)
	}
	return err
}
