import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The canonical bytes of a record, the same as in test/oracle/records.ts:
 *
 *   record => timestamp INT64, key BYTES, value BYTES, header count INT32, then per header: name BYTES, value BYTES
 *   BYTES  => length INT32 (-1 is null), the bytes
 */
final class RecordCodec {
    private RecordCodec() {}

    static void encode(ConsumerRecord<byte[], byte[]> record, DataOutputStream out) throws IOException {
        out.writeLong(record.timestamp());
        writeBytes(record.key(), out);
        writeBytes(record.value(), out);
        Header[] headers = record.headers().toArray();
        out.writeInt(headers.length);
        for (Header header : headers) {
            writeBytes(header.key().getBytes(StandardCharsets.UTF_8), out);
            writeBytes(header.value(), out);
        }
    }

    static byte[] encode(ConsumerRecord<byte[], byte[]> record) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(256 + Math.max(0, record.serializedValueSize()));
        encode(record, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    /** A partition (INT32) and a record; the timestamp -1 leaves the time to the producer. */
    static ProducerRecord<byte[], byte[]> decode(String topic, DataInputStream in) throws IOException {
        int partition = in.readInt();
        long timestamp = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        RecordHeaders headers = new RecordHeaders();
        for (int left = in.readInt(); left > 0; left--) {
            String name = new String(readBytes(in), StandardCharsets.UTF_8);
            headers.add(name, readBytes(in));
        }
        Integer place = partition == -1 ? null : Integer.valueOf(partition);
        return new ProducerRecord<>(topic, place, timestamp == -1 ? null : timestamp, key, value, headers);
    }

    private static void writeBytes(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) out.write(bytes);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0) return null;
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }
}
