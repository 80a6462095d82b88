import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/** Rules of access as the official client sets and sees them. */
final class AccessOperations {
    private final Properties clients;

    AccessOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("setQuotas", this::setQuotas);
        operations.put("listAcls", this::listAcls);
        operations.put("listQuotas", this::listQuotas);
    }

    private void setQuotas(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        List<ClientQuotaAlteration> alterations = new ArrayList<>();
        for (JsonNode quota : request.get("quotas")) {
            Map<String, String> entity = new HashMap<>();
            quota.get("entity").fields().forEachRemaining(one ->
                    entity.put(one.getKey(), one.getValue().isNull() ? null : one.getValue().asText()));
            List<ClientQuotaAlteration.Op> ops = new ArrayList<>();
            quota.get("values").fields().forEachRemaining(one ->
                    ops.add(new ClientQuotaAlteration.Op(one.getKey(), one.getValue().asDouble())));
            alterations.add(new ClientQuotaAlteration(new ClientQuotaEntity(entity), ops));
        }
        try (Admin admin = Admin.create(clients)) {
            admin.alterClientQuotas(alterations).all().get();
        }
        reply.done();
    }

    /** One text a rule, sorted. */
    private void listAcls(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        TreeSet<String> rules = new TreeSet<>();
        try (Admin admin = Admin.create(clients)) {
            for (AclBinding binding : admin.describeAcls(AclBindingFilter.ANY).values().get()) {
                rules.add(binding.toString());
            }
        }
        reply.result(toJson(rules));
    }

    /** One text an entity with its limits, sorted. */
    private void listQuotas(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        TreeSet<String> quotas = new TreeSet<>();
        try (Admin admin = Admin.create(clients)) {
            admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, values) ->
                    quotas.add(new TreeMap<>(entity.entries()) + " " + new TreeMap<>(values)));
        }
        reply.result(toJson(quotas));
    }

    private static ArrayNode toJson(Iterable<String> texts) {
        ArrayNode array = Wire.JSON.createArrayNode();
        for (String text : texts) array.add(text);
        return array;
    }
}
