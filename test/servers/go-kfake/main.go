// A cluster of kfake, which keeps everything in memory. Prints the address of each broker and runs until it is ended.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

func main() {
	brokers := flag.Int("brokers", 1, "number of brokers")
	release := flag.String("release", "", "release of Kafka whose request versions are offered, such as 2.1")
	flag.Parse()
	options := []kfake.Opt{
		kfake.NumBrokers(*brokers),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelWarn)),
	}
	if *release != "" {
		versions := kversion.FromString(*release)
		if versions == nil {
			fail(fmt.Errorf("%q is not a release that kfake knows", *release))
		}
		options = append(options, kfake.MaxVersions(versions))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fail(err)
	}
	for _, address := range cluster.ListenAddrs() {
		fmt.Println(address)
	}
	select {}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
