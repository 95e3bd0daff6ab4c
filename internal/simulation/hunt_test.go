package simulation

import ("fmt";"testing")

func TestHunt(t *testing.T) {
	m := oldLeaderRestarts
	for seed := uint64(0); seed < 3000000; seed++ {
		s := drawIn(m, seed, 80+int(seed%100))
		s.Fresh = false
		if r := Run(s, restartsByCache); r.Violation == TwoTaken {
			fmt.Println(Shrink(s, restartsByCache))
			return
		}
	}
	fmt.Println("none")
}

var oldLeaderRestarts = only(map[Kind]int{
	Round: 30, Elapse: 10, LookAround: 10, Reconcile: 60, Deliver: 20, Hear: 20, SeePod: 20, SeeStatus: 10, Configure: 8, KillServer: 3, Upgrade: 3, Agent: 10})
