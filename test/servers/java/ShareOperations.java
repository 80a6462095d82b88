import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consumers of share groups (KIP-932). */
final class ShareOperations {
    private static final long STALL_MS = 60_000;

    private final Properties clients;

    ShareOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("readShare", this::readShare);
    }

    /**
     * Joins the share group, reads a topic of one partition until it has `count` records, accepts those whose offsets are in
     * `accept`, releases the others and leaves. Answers with [topic, partition, offset, value] of each record.
     */
    private void readShare(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        Set<Long> accepted = new HashSet<>();
        request.get("accept").forEach(offset -> accepted.add(offset.asLong()));
        Map<Long, ConsumerRecord<byte[], byte[]>> records = new TreeMap<>();
        try (KafkaShareConsumer<byte[], byte[]> consumer = open(request.get("group").asText())) {
            consumer.subscribe(List.of(request.get("topic").asText()));
            long giveUpAt = System.currentTimeMillis() + STALL_MS;
            while (records.size() < request.get("count").asInt()) {
                if (System.currentTimeMillis() > giveUpAt) throw new IllegalStateException("only " + records.keySet());
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    boolean isAccepted = accepted.contains(record.offset());
                    consumer.acknowledge(record, isAccepted ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE);
                    records.put(record.offset(), record);
                }
            }
            consumer.commitSync();
        }
        ArrayNode read = Wire.JSON.createArrayNode();
        for (ConsumerRecord<byte[], byte[]> record : records.values()) {
            read.addArray().add(record.topic()).add(record.partition()).add(Long.toString(record.offset()))
                    .add(new String(record.value(), StandardCharsets.UTF_8));
        }
        reply.result(read);
    }

    private KafkaShareConsumer<byte[], byte[]> open(String group) {
        Properties properties = new Properties();
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        properties.put("fetch.max.wait.ms", "50");
        properties.putAll(clients);
        return new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
