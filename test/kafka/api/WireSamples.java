import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Has the classes of Kafka's own client write requests and answers in given versions:
 *   { "Fetch": { "4": { "request": { … }, "response": { … } }, … }, … }  becomes
 *   { "Fetch": { "4": { "request": "hex", "response": "hex" }, … }, … }
 * Fields that a version does not have are left out of it.
 */
public class WireSamples {
    static final ObjectMapper mapper = new ObjectMapper();
    /** Which field a version does not have. */
    static final Pattern UNKNOWN = Pattern.compile("non-default (\\w+) at version");

    public static void main(String[] args) throws Exception {
        JsonNode all = mapper.readTree(new File(args[0]));
        ObjectNode out = mapper.createObjectNode();
        for (Iterator<Map.Entry<String, JsonNode>> it = all.fields(); it.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = it.next();
            ObjectNode versions = out.putObject(entry.getKey());
            for (Iterator<Map.Entry<String, JsonNode>> each = entry.getValue().fields(); each.hasNext(); ) {
                Map.Entry<String, JsonNode> sample = each.next();
                short version = Short.parseShort(sample.getKey());
                ObjectNode one = versions.putObject(sample.getKey());
                one.put("request", encode(entry.getKey() + "RequestData", sample.getValue().get("request"), version));
                one.put("response", encode(entry.getKey() + "ResponseData", sample.getValue().get("response"), version));
            }
        }
        System.out.println(mapper.writerWithDefaultPrettyPrinter().writeValueAsString(out));
    }

    static String encode(String name, JsonNode fields, short version) throws Exception {
        JsonNode known = fields.deepCopy();
        while (true) {
            try {
                return encodeKnown(name, known, version);
            } catch (UnsupportedVersionException e) {
                Matcher field = UNKNOWN.matcher(e.getMessage());
                if (!field.find()) throw e;
                remove(known, field.group(1));
            }
        }
    }

    static void remove(JsonNode node, String field) {
        if (node instanceof ObjectNode) ((ObjectNode) node).remove(field);
        for (JsonNode child : node) remove(child, field);
    }

    static String encodeKnown(String name, JsonNode fields, short version) throws Exception {
        Class<?> converter = Class.forName("org.apache.kafka.common.message." + name + "JsonConverter");
        Method read = converter.getMethod("read", JsonNode.class, short.class);
        Message message;
        try {
            message = (Message) read.invoke(null, fields, version);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof UnsupportedVersionException) throw (UnsupportedVersionException) e.getCause();
            throw new RuntimeException(name + " v" + version + ": " + e.getCause().getMessage(), e.getCause());
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return HexFormat.of().formatHex(buffer.array());
    }
}
