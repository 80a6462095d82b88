import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writing records, plain or in transactions. A payload is a row of records as RecordCodec.decode takes them. */
final class ProduceOperations implements AutoCloseable {
    private static final Set<TransactionState> COMPLETE =
            Set.of(TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT, TransactionState.EMPTY);
    private final Properties clients;
    private final Map<String, KafkaProducer<byte[], byte[]>> kept = new ConcurrentHashMap<>();
    /** By transactional id. */
    private final Map<String, KafkaProducer<byte[], byte[]>> transactional = new ConcurrentHashMap<>();
    private final Set<String> open = ConcurrentHashMap.newKeySet();

    ProduceOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("produce", this::produce);
        operations.put("transaction", this::transaction);
        operations.put("finishTransaction", this::finishTransaction);
        operations.put("transactOffsets", this::transactOffsets);
        operations.put("seedBulk", this::seedBulk);
    }

    private void produce(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        if (request.hasNonNull("producerKey")) {
            String key = request.get("producerKey").asText();
            reply.result(null, send(kept.computeIfAbsent(key, unused -> open(request)), request, payload));
        } else {
            try (KafkaProducer<byte[], byte[]> producer = open(request)) {
                reply.result(null, send(producer, request, payload));
            }
        }
    }

    /** Goes on with the transaction that an earlier call with the same id left open. */
    private void transaction(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        String id = request.get("transactionalId").asText();
        KafkaProducer<byte[], byte[]> producer =
                transactional.computeIfAbsent(id, unused -> openTransactional(request, id));
        if (open.add(id)) producer.beginTransaction();
        byte[] places = send(producer, request, payload);
        finish(id, request.get("outcome").asText());
        reply.result(null, places);
    }

    /** Adds the position of a group to a transaction, which stays open. */
    private void transactOffsets(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        String id = request.get("transactionalId").asText();
        KafkaProducer<byte[], byte[]> producer =
                transactional.computeIfAbsent(id, unused -> openTransactional(request, id));
        if (open.add(id)) producer.beginTransaction();
        TopicPartition at = new TopicPartition(request.get("topic").asText(), request.get("partition").asInt());
        OffsetAndMetadata position = new OffsetAndMetadata(Long.parseLong(request.get("offset").asText()));
        producer.sendOffsetsToTransaction(Map.of(at, position),
                new ConsumerGroupMetadata(request.get("group").asText()));
        reply.done();
    }

    private void finishTransaction(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        String id = request.get("transactionalId").asText();
        if (!open.contains(id)) throw new IllegalStateException("no open transaction " + id);
        finish(id, request.get("outcome").asText());
        reply.done();
    }

    /** The producer ends with its transaction, so that the next one can have other settings. */
    private void finish(String id, String outcome) throws Exception {
        if (outcome.equals("open")) return;
        open.remove(id);
        try (KafkaProducer<byte[], byte[]> producer = transactional.remove(id)) {
            if (outcome.equals("commit")) producer.commitTransaction();
            else producer.abortTransaction();
        }
        awaitMarkers(id);
    }

    /**
     * The broker answers before it writes the markers. Without this wait the records that a test writes next may come
     * before the marker, and every offset after it is another one.
     */
    private void awaitMarkers(String id) throws Exception {
        try (Admin admin = Admin.create(clients)) {
            for (int attempt = 0; attempt < 600; attempt++) {
                TransactionState state = admin.describeTransactions(List.of(id)).description(id).get().state();
                if (COMPLETE.contains(state)) return;
                Thread.sleep(50);
            }
        } catch (ExecutionException error) {
            // Brokers before 3.0 cannot describe a transaction.
            if (error.getCause() instanceof UnsupportedVersionException) return;
            throw error;
        }
        throw new IllegalStateException("the markers of transaction " + id + " are not written after 30 s");
    }

    /** Aborts every transaction that is still open, and closes all producers. */
    @Override
    public void close() throws Exception {
        for (String id : open) finish(id, "abort");
        for (KafkaProducer<byte[], byte[]> producer : transactional.values()) producer.close();
        transactional.clear();
        for (KafkaProducer<byte[], byte[]> producer : kept.values()) producer.close();
        kept.clear();
    }

    private void seedBulk(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = open(request)) {
            reply.result(new BulkSeeder(request).run(producer));
        }
    }

    /** Returns partition INT32 and offset INT64 of each record. */
    private static byte[] send(KafkaProducer<byte[], byte[]> producer, JsonNode request, byte[] payload)
            throws Exception {
        String topic = request.get("topic").asText();
        int flushEvery = request.path("flushEvery").asInt(0);
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(payload));
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        while (in.available() > 0) {
            futures.add(producer.send(RecordCodec.decode(topic, in)));
            if (flushEvery > 0 && futures.size() % flushEvery == 0) producer.flush();
        }
        producer.flush();
        ByteArrayOutputStream places = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(places);
        for (Future<RecordMetadata> future : futures) {
            RecordMetadata place = future.get();
            out.writeInt(place.partition());
            out.writeLong(place.offset());
        }
        return places.toByteArray();
    }

    private KafkaProducer<byte[], byte[]> openTransactional(JsonNode request, String id) {
        Properties properties = new Properties();
        properties.put("transactional.id", id);
        // A transaction left open hangs until a test ends it; the broker would abort it after a minute.
        properties.put("transaction.timeout.ms", "900000");
        KafkaProducer<byte[], byte[]> producer = open(request, properties);
        producer.initTransactions();
        return producer;
    }

    private KafkaProducer<byte[], byte[]> open(JsonNode request) {
        return open(request, new Properties());
    }

    private KafkaProducer<byte[], byte[]> open(JsonNode request, Properties properties) {
        properties.put("acks", "all");
        properties.put("max.request.size", Integer.toString(64 << 20));
        // A broker that is gone for good shows as an error within a test's patience.
        properties.put("delivery.timeout.ms", "45000");
        properties.put("request.timeout.ms", "20000");
        // A topic that was just created may refuse the first request and take the second. The broker then accepts the
        // later sequence of a producer that it does not know, and refuses the first batch until the timeout.
        properties.put("max.in.flight.requests.per.connection", "1");
        properties.put("buffer.memory", Integer.toString(96 << 20));
        properties.put("compression.type", request.path("compression").asText("none"));
        if (request.hasNonNull("batchSize")) properties.put("batch.size", request.get("batchSize").asText());
        if (request.hasNonNull("lingerMs")) properties.put("linger.ms", request.get("lingerMs").asText());
        properties.putAll(clients);
        request.path("config").fields()
                .forEachRemaining(entry -> properties.put(entry.getKey(), entry.getValue().asText()));
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
