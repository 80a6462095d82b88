import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reading topics to the end that they have at the time of the call. */
final class ConsumeOperations {
    private static final long STALL_MS = 30_000;

    interface Sink {
        void accept(ConsumerRecord<byte[], byte[]> record) throws Exception;

        default void polled() {}
    }

    private final Properties clients;

    ConsumeOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("consume", this::consume);
        operations.put("digest", this::digest);
    }

    /** Parts hold: partition INT32, offset INT64, leader epoch INT32 (-1 is none), timestamp type INT8, record. */
    private void consume(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        int partitions = read(request, new Sink() {
            @Override
            public void accept(ConsumerRecord<byte[], byte[]> record) throws Exception {
                out.writeInt(record.partition());
                out.writeLong(record.offset());
                out.writeInt(record.leaderEpoch().orElse(-1));
                out.writeByte(record.timestampType().id);
                RecordCodec.encode(record, out);
            }

            @Override
            public void polled() {
                if (bytes.size() > 0) reply.part(bytes.toByteArray());
                bytes.reset();
            }
        });
        reply.result(Wire.JSON.createObjectNode().put("partitions", partitions));
    }

    private void digest(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        List<PartitionDigest> digests = new ArrayList<>();
        int partitions = read(request, record -> {
            while (digests.size() <= record.partition()) digests.add(new PartitionDigest());
            digests.get(record.partition()).add(record);
        });
        while (digests.size() < partitions) digests.add(new PartitionDigest());
        ArrayNode result = Wire.JSON.createArrayNode();
        for (PartitionDigest digest : digests) result.add(digest.toJson());
        reply.result(result);
    }

    /** Hands every record of the topic to the sink, in order within a partition; returns the number of partitions. */
    private int read(JsonNode request, Sink sink) throws Exception {
        String topic = request.get("topic").asText();
        try (KafkaConsumer<byte[], byte[]> consumer = open(request.get("isolation").asText())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition())).toList();
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.beginningOffsets(partitions).forEach(consumer::seek);
            drain(consumer, ends, sink);
            return partitions.size();
        }
    }

    /** The position decides, not the records seen: markers and compacted offsets take part in it and give no record. */
    private static void drain(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends, Sink sink)
            throws Exception {
        long progressAt = System.currentTimeMillis();
        long before = -1;
        while (true) {
            long total = 0;
            boolean finished = true;
            for (TopicPartition partition : Set.copyOf(consumer.assignment())) {
                long position = consumer.position(partition);
                total += position;
                if (position >= ends.get(partition)) consumer.pause(List.of(partition));
                else finished = false;
            }
            if (finished) return;
            if (total != before) progressAt = System.currentTimeMillis();
            boolean stalled = System.currentTimeMillis() - progressAt > STALL_MS;
            if (stalled) throw new IllegalStateException("no progress to " + ends);
            before = total;
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
            for (ConsumerRecord<byte[], byte[]> record : records) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                if (record.offset() < ends.get(partition)) sink.accept(record);
            }
            sink.polled();
        }
    }

    private KafkaConsumer<byte[], byte[]> open(String isolation) {
        Properties properties = new Properties();
        properties.put("isolation.level", isolation);
        properties.put("auto.offset.reset", "none");
        properties.put("enable.auto.commit", "false");
        properties.put("allow.auto.create.topics", "false");
        properties.put("max.poll.records", "5000");
        // Closing waits for the fetch that is under way.
        properties.put("fetch.max.wait.ms", "50");
        properties.putAll(clients);
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** SHA-256 over the canonical bytes of the records in order, as hashChain of test/oracle/records.ts. */
    private static final class PartitionDigest {
        private final MessageDigest sha256;
        private long count;
        private long first = -1;
        private long last = -1;

        PartitionDigest() throws Exception {
            sha256 = MessageDigest.getInstance("SHA-256");
        }

        void add(ConsumerRecord<byte[], byte[]> record) throws Exception {
            if (count++ == 0) first = record.offset();
            last = record.offset();
            sha256.update(RecordCodec.encode(record));
        }

        ObjectNode toJson() {
            ObjectNode json = Wire.JSON.createObjectNode().put("count", count);
            json.put("first", Long.toString(first)).put("last", Long.toString(last));
            return json.put("sha256", HexFormat.of().formatHex(sha256.digest()));
        }
    }
}
