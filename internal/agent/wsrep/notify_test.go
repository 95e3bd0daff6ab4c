package wsrep

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/platform"
)

func TestParse(t *testing.T) {
	e := ParseNotification([]string{"--status", "synced", "--uuid", "x", "--primary", "yes", "--members",
		"u1/shop-0/10.0.0.1:3306,u2/shop-1/AUTO", "--index", "0"})
	if e.Status != "synced" || !e.Primary || !slices.Equal(e.Members, []agentapi.GroupMember{
		{UUID: "u1", Name: "shop-0", Address: "10.0.0.1:3306"}, {UUID: "u2", Name: "shop-1", Address: "AUTO"}}) {
		t.Errorf("%+v", e)
	}
	if e := ParseNotification([]string{"--status", "connected", "--primary", "no", "--members",
		"u1/shop-0/AUTO"}); e.Primary ||
		len(e.Members) != 1 {
		t.Errorf("%+v", e)
	}
	if e := ParseNotification([]string{"--members"}); e.Members != nil {
		t.Errorf("%+v", e)
	}
	if e := ParseNotification(nil); e.Status != "" {
		t.Errorf("%+v", e)
	}
}

func TestSendAndListen(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if SendNotification(socket, Notification{Status: "x"}) == nil {
		t.Error("no error without a listener")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := make(chan Notification, 1)
	for range 2 { // a left-over socket file must not be in the way
		if err := ListenForNotifications(ctx, &platform.SocketSet{}, socket,
			func(e Notification) { events <- e }); err != nil {
			t.Fatal(err)
		}
	}
	if err := SendNotification(socket, Notification{Status: "synced",
		Members: []agentapi.GroupMember{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		if e.Status != "synced" || len(e.Members) != 1 {
			t.Errorf("%+v", e)
		}
	case <-time.After(time.Minute):
		t.Fatal("no event")
	}
}
