import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** A message is one line of JSON, followed by as many bytes as its field payloadBytes says (none if absent). */
final class Wire {
    record Message(JsonNode json, byte[] payload) {}

    static final ObjectMapper JSON = new ObjectMapper();
    static final byte[] NOTHING = new byte[0];

    private final DataInputStream in;
    private final OutputStream out;

    Wire(InputStream in, OutputStream out) {
        this.in = new DataInputStream(new BufferedInputStream(in, 1 << 16));
        this.out = new BufferedOutputStream(out, 1 << 16);
    }

    /** The next message; null at the end of the input. */
    Message read() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) return null;
            line.write(next);
        }
        JsonNode json = JSON.readTree(line.toByteArray());
        byte[] payload = new byte[json.path("payloadBytes").asInt(0)];
        in.readFully(payload);
        return new Message(json, payload);
    }

    synchronized void write(JsonNode json, byte[] payload) {
        try {
            if (payload.length > 0) ((ObjectNode) json).put("payloadBytes", payload.length);
            out.write(JSON.writeValueAsBytes(json));
            out.write('\n');
            out.write(payload);
            out.flush();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
