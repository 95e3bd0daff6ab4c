package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// readAfterWrite writes rows behind a transaction that the readers take long to apply. The reader itself does not have
// them yet, which shows that the test can fail; the client of the proxy reads each of them.
func readAfterWrite(ctx context.Context, app *harness.Client, service, reader string) {
	GinkgoHelper()
	pool, err := app.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = pool.Close() }()
	client, err := pool.Conn(ctx)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = client.Close() }()
	direct, err := app.OpenPod(ctx, reader)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = direct.Close() }()
	do := func(statement string) {
		_, err := client.ExecContext(ctx, statement)
		Expect(err).NotTo(HaveOccurred(), statement)
	}
	do("CREATE TABLE app.big (id INT PRIMARY KEY, v INT)")
	do("INSERT INTO app.big SELECT seq, 0 FROM app.seq_1_to_100000")
	behind := 0
	for n := range 10 {
		do("UPDATE app.big SET v = v + 1")
		do(fmt.Sprintf("INSERT INTO app.t (w, n) VALUES (99, %d)", n))
		there, read := 0, 0
		question := fmt.Sprintf("SELECT COUNT(*) FROM app.t WHERE w = 99 AND n = %d", n)
		Expect(direct.QueryRowContext(ctx, question).Scan(&there)).To(Succeed())
		Expect(client.QueryRowContext(ctx, question).Scan(&read)).To(Succeed())
		Expect(read).To(Equal(1), "a client of the proxy does not read its own write")
		behind += 1 - there
	}
	progress("the reader itself was behind %d times of 10", behind)
	Expect(behind).To(BeNumerically(">", 0), "the test could not fail")
}
