import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Many records from a seed: the same request gives the same records. Values look and compress like JSON events. */
final class BulkSeeder {
    private static final String[] WORDS = ("order payment invoice customer shipped pending refund basket checkout "
            + "login session mobile desktop berlin madrid toronto nairobi osaka premium standard express fragile "
            + "returned confirmed rejected timeout retry gateway voucher discount quantity warehouse").split(" ");

    private final String topic;
    private final long count;
    private final int partitions;
    private final int valueBytes;
    private final long keySpace;
    private final long startTimestamp;
    private final SplittableRandom random;
    /** Text that the values take their notes from. */
    private final byte[] notes;

    BulkSeeder(JsonNode request) {
        topic = request.get("topic").asText();
        count = request.get("count").asLong();
        partitions = request.get("partitions").asInt();
        valueBytes = request.get("valueBytes").asInt();
        keySpace = request.path("keySpace").asLong(0);
        startTimestamp = request.get("startTimestamp").asLong();
        random = new SplittableRandom(request.path("seed").asLong(1));
        StringBuilder text = new StringBuilder();
        while (text.length() < (1 << 20) + valueBytes) text.append(WORDS[random.nextInt(WORDS.length)]).append(' ');
        notes = text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    JsonNode run(KafkaProducer<byte[], byte[]> producer) throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>();
        long bytes = 0;
        for (long index = 0; index < count && failure.get() == null; index++) {
            byte[] key = ("key-" + (keySpace > 0 ? random.nextLong(keySpace) : index)).getBytes(StandardCharsets.UTF_8);
            byte[] value = nextValue(index);
            bytes += key.length + value.length;
            int partition = (int) (index % partitions);
            var record = new ProducerRecord<>(topic, partition, startTimestamp + index, key, value);
            producer.send(record, (place, error) -> {
                if (error != null) failure.compareAndSet(null, error);
            });
        }
        producer.flush();
        if (failure.get() != null) throw failure.get();
        return Wire.JSON.createObjectNode().put("records", count).put("bytes", bytes);
    }

    private byte[] nextValue(long index) {
        String head = "{\"id\":" + index + ",\"account\":\"" + Long.toHexString(random.nextLong()) + "\",\"amount\":"
                + random.nextInt(1_000_000) + ",\"note\":\"";
        byte[] value = Arrays.copyOf(head.getBytes(StandardCharsets.US_ASCII), valueBytes);
        int room = valueBytes - head.length() - 2;
        if (room < 0) return value;
        System.arraycopy(notes, random.nextInt(1 << 20), value, head.length(), room);
        value[valueBytes - 2] = '"';
        value[valueBytes - 1] = '}';
        return value;
    }
}
