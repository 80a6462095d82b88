import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Changes to the cluster. Each returns when its effect can be seen by clients, not when it was accepted. */
final class AdminOperations {
    private static final long VISIBLE_MS = 30_000;

    interface Check {
        boolean holds() throws Exception;
    }

    private final Properties clients;
    private Admin opened;

    AdminOperations(Properties clients) {
        this.clients = clients;
    }

    void register(Map<String, KafkaDriver.Operation> operations) {
        operations.put("createTopic", this::createTopic);
        operations.put("deleteTopic", this::deleteTopic);
        operations.put("describeTopic", this::describeTopic);
        operations.put("alterTopicConfig", this::alterTopicConfig);
        operations.put("createPartitions", this::createPartitions);
        operations.put("deleteRecords", this::deleteRecords);
        operations.put("listOffsets", this::listOffsets);
        operations.put("moveLeader", this::moveLeader);
        operations.put("createAcls", this::createAcls);
        operations.put("createScramUser", this::createScramUser);
    }

    private void createTopic(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        Optional<Integer> partitions = Optional.of(request.path("partitions").asInt(1));
        Optional<Short> copies = request.hasNonNull("replicationFactor")
                ? Optional.of((short) request.get("replicationFactor").asInt()) : Optional.empty();
        NewTopic topic = new NewTopic(name(request), partitions, copies).configs(toMap(request.path("configs")));
        admin().createTopics(List.of(topic)).all().get();
        waitForLeaders(name(request), partitions.get());
        reply.done();
    }

    private void deleteTopic(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        admin().deleteTopics(List.of(name(request))).all().get();
        waitUntil(() -> !admin().listTopics().names().get().contains(name(request)));
        reply.done();
    }

    private void describeTopic(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        TopicDescription topic = describe(name(request));
        ObjectNode result = Wire.JSON.createObjectNode().put("topicId", topic.topicId().toString());
        ArrayNode partitions = result.putArray("partitions");
        for (TopicPartitionInfo info : topic.partitions()) {
            ObjectNode partition = partitions.addObject();
            partition.put("leader", info.leader() == null ? -1 : info.leader().id());
            ArrayNode replicas = partition.putArray("replicas");
            info.replicas().forEach(node -> replicas.add(node.id()));
            ArrayNode inSync = partition.putArray("inSync");
            info.isr().forEach(node -> inSync.add(node.id()));
        }
        reply.result(result);
    }

    private void alterTopicConfig(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, name(request));
        Map<String, String> wanted = toMap(request.get("configs"));
        Collection<AlterConfigOp> operations = new ArrayList<>();
        wanted.forEach((key, value) -> operations.add(new AlterConfigOp(new ConfigEntry(key, value),
                value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
        admin().incrementalAlterConfigs(Map.of(resource, operations)).all().get();
        waitUntil(() -> {
            Config config = admin().describeConfigs(List.of(resource)).all().get().get(resource);
            return wanted.entrySet().stream().allMatch(entry -> entry.getValue() == null
                    ? config.get(entry.getKey()).source() != ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG
                    : entry.getValue().equals(config.get(entry.getKey()).value()));
        });
        reply.done();
    }

    private void createPartitions(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        int total = request.get("total").asInt();
        admin().createPartitions(Map.of(name(request), NewPartitions.increaseTo(total))).all().get();
        waitForLeaders(name(request), total);
        reply.done();
    }

    private void deleteRecords(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("beforeOffset").asLong());
        admin().deleteRecords(Map.of(partition(request), before)).all().get();
        reply.done();
    }

    private void listOffsets(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        OffsetSpec spec = request.get("at").asText().equals("start") ? OffsetSpec.earliest() : OffsetSpec.latest();
        Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
        List<TopicPartitionInfo> partitions = describe(name(request)).partitions();
        partitions.forEach(info -> wanted.put(new TopicPartition(name(request), info.partition()), spec));
        IsolationLevel isolation = request.path("isolation").asText().equals("read_committed")
                ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        Map<TopicPartition, ListOffsetsResultInfo> found =
                admin().listOffsets(wanted, new ListOffsetsOptions(isolation)).all().get();
        ArrayNode result = Wire.JSON.createArrayNode();
        for (TopicPartitionInfo info : partitions) {
            result.add(Long.toString(found.get(new TopicPartition(name(request), info.partition())).offset()));
        }
        reply.result(result);
    }

    /** Makes the node the preferred replica of the partition, then elects it. It must hold a replica already. */
    private void moveLeader(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        TopicPartition partition = partition(request);
        int leader = request.get("nodeId").asInt();
        List<Integer> replicas = new ArrayList<>(List.of(leader));
        TopicPartitionInfo info = describe(partition.topic()).partitions().get(partition.partition());
        info.replicas().stream().map(Node::id).filter(id -> id != leader).forEach(replicas::add);
        Optional<NewPartitionReassignment> order = Optional.of(new NewPartitionReassignment(replicas));
        admin().alterPartitionReassignments(Map.of(partition, order)).all().get();
        waitUntil(() -> admin().listPartitionReassignments(Set.of(partition)).reassignments().get().isEmpty());
        waitUntil(() -> {
            admin().electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
            Node now = describe(partition.topic()).partitions().get(partition.partition()).leader();
            return now != null && now.id() == leader;
        });
        reply.done();
    }

    private void createAcls(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        List<AclBinding> bindings = new ArrayList<>();
        for (JsonNode acl : request.get("acls")) {
            ResourcePattern resource = new ResourcePattern(ResourceType.fromString(acl.get("resourceType").asText()),
                    acl.get("resourceName").asText(),
                    PatternType.fromString(acl.path("patternType").asText("LITERAL")));
            AccessControlEntry entry = new AccessControlEntry(
                    acl.get("principal").asText(),
                    acl.path("host").asText("*"),
                    AclOperation.fromString(acl.get("operation").asText()),
                    AclPermissionType.fromString(acl.path("permission").asText("ALLOW")));
            bindings.add(new AclBinding(resource, entry));
        }
        admin().createAcls(bindings).all().get();
        reply.done();
    }

    private void createScramUser(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        String user = request.get("user").asText();
        ScramMechanism mechanism = ScramMechanism.fromMechanismName(request.get("mechanism").asText());
        ScramCredentialInfo info = new ScramCredentialInfo(mechanism, 4096);
        admin().alterUserScramCredentials(List.of(
                new UserScramCredentialUpsertion(user, info, request.get("password").asText()))).all().get();
        waitUntil(() -> admin().describeUserScramCredentials().all().get().containsKey(user));
        reply.done();
    }

    private void waitForLeaders(String topic, int partitions) throws Exception {
        waitUntil(() -> {
            try {
                List<TopicPartitionInfo> found = describe(topic).partitions();
                return found.size() == partitions
                        && found.stream().allMatch(info -> info.leader() != null && !info.leader().isEmpty());
            } catch (java.util.concurrent.ExecutionException failure) {
                if (failure.getCause() instanceof UnknownTopicOrPartitionException) return false;
                throw failure;
            }
        });
    }

    private TopicDescription describe(String topic) throws Exception {
        return admin().describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    private static void waitUntil(Check check) throws Exception {
        long deadline = System.currentTimeMillis() + VISIBLE_MS;
        while (!check.holds()) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("the change is not visible");
            Thread.sleep(20);
        }
    }

    private static String name(JsonNode request) {
        return request.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode request) {
        return new TopicPartition(name(request), request.get("partition").asInt());
    }

    private static Map<String, String> toMap(JsonNode node) {
        Map<String, String> map = new HashMap<>();
        node.fields().forEachRemaining(entry -> map.put(entry.getKey(),
                entry.getValue().isNull() ? null : entry.getValue().asText()));
        return map;
    }

    private synchronized Admin admin() {
        if (opened == null) opened = Admin.create(clients);
        return opened;
    }
}
