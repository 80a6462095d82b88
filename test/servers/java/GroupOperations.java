import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consumers that are members of a group, as applications are. */
final class GroupOperations implements AutoCloseable {
    private static final long STALL_MS = 60_000;

    private final Properties clients;
    private final Map<String, Member> held = new ConcurrentHashMap<>();

    GroupOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("readGroup", this::readGroup);
        operations.put("holdGroup", this::holdGroup);
        operations.put("releaseGroup", this::releaseGroup);
    }

    /**
     * Joins the group alone, reads from where it stands at most `take` records of each partition (-1: all that there is
     * at the time), commits and leaves. Answers with [topic, partition, offset, value] of each record.
     */
    private void readGroup(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        int take = request.get("take").asInt();
        String metadata = request.get("metadata").asText();
        ArrayNode read = Wire.JSON.createArrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer = open(request)) {
            List<String> topics = topicsOf(request);
            consumer.subscribe(topics);
            Set<TopicPartition> all = partitionsOf(consumer, topics);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            Map<TopicPartition, Integer> counts = new HashMap<>();
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            long giveUpAt = System.currentTimeMillis() + STALL_MS;
            while (!isDone(consumer, all, ends, positions)) {
                if (System.currentTimeMillis() > giveUpAt) throw new IllegalStateException("no progress to " + ends);
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    TopicPartition at = new TopicPartition(record.topic(), record.partition());
                    int count = counts.getOrDefault(at, 0);
                    if (take >= 0 && count >= take) continue;
                    counts.put(at, count + 1);
                    read.addArray().add(record.topic()).add(record.partition()).add(Long.toString(record.offset()))
                            .add(record.value() == null ? null : new String(record.value(), StandardCharsets.UTF_8));
                    if (count + 1 == take) positions.put(at, new OffsetAndMetadata(record.offset() + 1, metadata));
                }
            }
            for (TopicPartition at : all) {
                if (take != 0 && !positions.containsKey(at)) {
                    positions.put(at, new OffsetAndMetadata(consumer.position(at), metadata));
                }
            }
            if (!positions.isEmpty()) consumer.commitSync(positions);
        }
        reply.result(read);
    }

    /** All partitions are ours, and each is read as far as it should be. */
    private static boolean isDone(KafkaConsumer<byte[], byte[]> consumer, Set<TopicPartition> all,
            Map<TopicPartition, Long> ends, Map<TopicPartition, OffsetAndMetadata> positions) {
        if (!consumer.assignment().equals(all)) return false;
        for (TopicPartition at : all) {
            if (!positions.containsKey(at) && consumer.position(at) < ends.get(at)) return false;
        }
        return true;
    }

    /** Returns when the consumer is a member that has partitions; it stays one until it is released. */
    private void holdGroup(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        Member member = new Member(open(request), topicsOf(request));
        held.put(request.get("group").asText(), member);
        member.start();
        member.joined.await();
        reply.done();
    }

    private void releaseGroup(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        release(request.get("group").asText());
        reply.done();
    }

    /** Releases every group that is still held. */
    @Override
    public void close() throws Exception {
        for (String group : held.keySet()) release(group);
    }

    private void release(String group) throws InterruptedException {
        Member member = held.remove(group);
        member.stopped = true;
        member.join();
    }

    private static List<String> topicsOf(JsonNode request) {
        List<String> topics = new ArrayList<>();
        request.get("topics").forEach(topic -> topics.add(topic.asText()));
        return topics;
    }

    private static Set<TopicPartition> partitionsOf(KafkaConsumer<byte[], byte[]> consumer, List<String> topics) {
        Set<TopicPartition> all = new HashSet<>();
        for (String topic : topics) {
            consumer.partitionsFor(topic).forEach(info -> all.add(new TopicPartition(topic, info.partition())));
        }
        return all;
    }

    private KafkaConsumer<byte[], byte[]> open(JsonNode request) {
        Properties properties = new Properties();
        properties.put("group.id", request.get("group").asText());
        properties.put("isolation.level", request.get("isolation").asText());
        properties.put("auto.offset.reset", request.get("reset").asText());
        if (request.has("protocol")) properties.put("group.protocol", request.get("protocol").asText());
        properties.put("enable.auto.commit", "false");
        properties.put("allow.auto.create.topics", "false");
        properties.put("fetch.max.wait.ms", "50");
        properties.putAll(clients);
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static final class Member extends Thread {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final CountDownLatch joined = new CountDownLatch(1);
        private volatile boolean stopped;

        Member(KafkaConsumer<byte[], byte[]> consumer, List<String> topics) {
            this.consumer = consumer;
            consumer.subscribe(topics);
        }

        @Override
        public void run() {
            try (consumer) {
                while (!stopped) {
                    consumer.poll(Duration.ofMillis(100));
                    if (!consumer.assignment().isEmpty()) joined.countDown();
                }
            }
        }
    }
}
