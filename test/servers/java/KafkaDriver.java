import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The official client behind a pipe: tests hold it against what the product does. Reads requests from standard input
 * and answers them on standard output in the form that Wire describes; requests run at the same time. Ends when
 * standard input does. Arguments: name=value settings of every client it opens.
 */
public final class KafkaDriver {
    interface Operation {
        void run(JsonNode request, byte[] payload, Reply reply) throws Exception;
    }

    /** Answers one request: any number of parts, then the result. */
    interface Reply {
        void part(byte[] payload);

        void result(JsonNode result, byte[] payload);

        default void result(JsonNode result) {
            result(result, Wire.NOTHING);
        }

        default void done() {
            result(null);
        }
    }

    private final Wire wire;
    private final Map<String, Operation> operations = new HashMap<>();

    public static void main(String[] args) throws Exception {
        // Whatever prints must not disturb the protocol.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Properties clients = new Properties();
        for (String arg : args) {
            int at = arg.indexOf('=');
            clients.put(arg.substring(0, at), arg.substring(at + 1));
        }
        new KafkaDriver(new Wire(System.in, answers), clients).serve();
        // Without waiting for open transactions and other things that a test leaves behind on purpose.
        Runtime.getRuntime().halt(0);
    }

    private KafkaDriver(Wire wire, Properties clients) {
        this.wire = wire;
        new AdminOperations(clients).register(operations);
        ProduceOperations producers = new ProduceOperations(clients);
        producers.register(operations);
        new ConsumeOperations(clients).register(operations);
        GroupOperations members = new GroupOperations(clients);
        members.register(operations);
        new ShareOperations(clients).register(operations);
        new AccessOperations(clients).register(operations);
        operations.put("reset", new ResetOperation(clients, List.of(producers, members))::run);
    }

    private void serve() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        for (Wire.Message request = wire.read(); request != null; request = wire.read()) {
            Wire.Message current = request;
            threads.execute(() -> answer(current.json(), current.payload()));
        }
    }

    private void answer(JsonNode request, byte[] payload) {
        long id = request.get("id").asLong();
        try {
            Operation operation = operations.get(request.get("op").asText());
            if (operation == null) throw new IllegalArgumentException("unknown operation " + request.get("op"));
            operation.run(request, payload, new Reply() {
                @Override
                public void part(byte[] bytes) {
                    wire.write(head(id).put("more", true), bytes);
                }

                @Override
                public void result(JsonNode result, byte[] bytes) {
                    wire.write(head(id).set("result", result), bytes);
                }
            });
        } catch (Throwable failure) {
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            failure.printStackTrace();
            wire.write(head(id).put("errorName", cause.getClass().getSimpleName())
                    .put("error", String.valueOf(cause.getMessage())), Wire.NOTHING);
        }
    }

    private static ObjectNode head(long id) {
        return Wire.JSON.createObjectNode().put("id", id);
    }
}
