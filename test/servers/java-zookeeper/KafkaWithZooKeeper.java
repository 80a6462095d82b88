import java.io.File;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * A broker of the time before KRaft with its ZooKeeper in one JVM: half of the memory and of the start of two.
 *
 * Arguments: the port and the folder of ZooKeeper, the settings of the broker.
 */
public final class KafkaWithZooKeeper {
    private static final int TICK_MS = 500;
    private static final int MAX_CONNECTIONS = 100;
    /** A busy machine can hold up the start of a broker for longer than ZooKeeper's maximum of 20 ticks. */
    private static final int SESSION_MS = 60_000;

    public static void main(String[] args) throws Exception {
        File folder = new File(args[1]);
        ZooKeeperServer server = new ZooKeeperServer(new File(folder, "snapshots"), new File(folder, "log"), TICK_MS);
        server.setMaxSessionTimeout(SESSION_MS);
        NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
        factory.configure(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), MAX_CONNECTIONS);
        factory.startup(server);
        kafka.Kafka.main(new String[] {args[2]});
    }
}
