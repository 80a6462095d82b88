import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/** Empties a cluster for the next test file: topics, groups, quotas and users. */
final class ResetOperation {
    private static final Set<String> KEPT = Set.of("__consumer_offsets", "__transaction_state");
    private static final long PATIENCE_MS = 20_000;

    private final Properties clients;
    private final List<AutoCloseable> opened;

    /** `opened` hold the clients that earlier operations left open. */
    ResetOperation(Properties clients, List<AutoCloseable> opened) {
        this.clients = clients;
        this.opened = opened;
    }

    void run(JsonNode request, byte[] payload, KafkaDriver.Reply reply) throws Exception {
        for (AutoCloseable one : opened) one.close();
        try (Admin admin = Admin.create(clients)) {
            deleteTopics(admin);
            deleteGroups(admin);
            deleteQuotas(admin);
            deleteUsers(admin);
        }
        reply.done();
    }

    private static void deleteTopics(Admin admin) throws Exception {
        await(() -> {
            Collection<String> topics =
                    new ArrayList<>(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
            topics.removeAll(KEPT);
            if (topics.isEmpty()) return true;
            admin.deleteTopics(topics).all().get();
            return false;
        });
    }

    /** Members of processes that were killed are removed, not awaited. */
    private static void deleteGroups(Admin admin) throws Exception {
        await(() -> {
            List<String> groups = new ArrayList<>();
            admin.listConsumerGroups().all().get().forEach(group -> groups.add(group.groupId()));
            for (String group : groups) {
                try {
                    admin.deleteConsumerGroups(List.of(group)).all().get();
                } catch (ExecutionException failure) {
                    if (failure.getCause() instanceof GroupNotEmptyException) removeMembers(admin, group);
                    else if (!(failure.getCause() instanceof GroupIdNotFoundException)) throw failure;
                }
            }
            return groups.isEmpty();
        });
    }

    private static void removeMembers(Admin admin, String group) throws Exception {
        try {
            admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
        } catch (ExecutionException failure) {
            if (!(failure.getCause() instanceof UnknownMemberIdException)) throw failure;
        }
    }

    private static void deleteQuotas(Admin admin) throws Exception {
        List<ClientQuotaAlteration> alterations = new ArrayList<>();
        admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, values) -> {
            List<ClientQuotaAlteration.Op> ops = new ArrayList<>();
            values.keySet().forEach(key -> ops.add(new ClientQuotaAlteration.Op(key, null)));
            alterations.add(new ClientQuotaAlteration(entity, ops));
        });
        if (!alterations.isEmpty()) admin.alterClientQuotas(alterations).all().get();
    }

    private static void deleteUsers(Admin admin) throws Exception {
        List<UserScramCredentialAlteration> deletions = new ArrayList<>();
        admin.describeUserScramCredentials().all().get().forEach((user, description) -> description.credentialInfos()
                .forEach(info -> deletions.add(new UserScramCredentialDeletion(user, info.mechanism()))));
        if (!deletions.isEmpty()) admin.alterUserScramCredentials(deletions).all().get();
    }

    private static void await(AdminOperations.Check check) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!check.holds()) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("the cluster cannot be emptied");
            Thread.sleep(20);
        }
    }
}
