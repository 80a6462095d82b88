export interface BrokerPlan {
  /** Also the index of the broker plus one. */
  nodeId: number
  clientPort: number
  controllerPort: number
  /** By the name of the listener. */
  securePorts: Record<string, number>
  /** A listener whose advertised port is another one, where a proxy listens. */
  proxied?: ProxiedPort
  dataDir: string
}

export interface ProxiedPort {
  /** Where the broker listens. */
  port: number
  /** Where it tells clients to come to. */
  advertisedPort: number
}

export type SecureProtocol = 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'

/**
 * The settings of one broker of a test cluster in combined KRaft mode. They favour a quick start, quick failover, quick
 * log maintenance and little memory; `overrides` win over all of them.
 */
export function planBrokerProperties(
  broker: BrokerPlan,
  cluster: readonly BrokerPlan[],
  listeners: Readonly<Record<string, SecureProtocol>>,
  overrides: Readonly<Record<string, string>>,
): Record<string, string> {
  const copies = String(cluster.length)
  const minCopies = cluster.length > 1 ? '2' : '1'
  return {
    ...planListeners(broker, cluster, listeners),
    'node.id': String(broker.nodeId),
    // A client that names a rack is sent to the replica there; others do not notice.
    'broker.rack': `rack-${broker.nodeId}`,
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    'log.dirs': broker.dataDir,
    'default.replication.factor': copies,
    'min.insync.replicas': minCopies,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.replication.factor': copies,
    // Of share groups, from Kafka 4.1 on; older brokers ignore them.
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': '1',
    'share.coordinator.state.topic.num.partitions': '1',
    'transaction.state.log.min.isr': minCopies,
    ...smallSettings,
    ...overrides,
  }
}

/** The same for a broker of the time before KRaft, whose ZooKeeper has the port of the controller. */
export function planZooKeeperProperties(
  broker: BrokerPlan,
  listeners: Readonly<Record<string, SecureProtocol>>,
  overrides: Readonly<Record<string, string>>,
): Record<string, string> {
  const planned = planBrokerProperties(broker, [broker], listeners, {})
  const ofKraft = ['process.roles', 'node.id', 'controller.quorum.voters', 'controller.listener.names']
  const kept = Object.entries(planned).filter(([name]) => !ofKraft.includes(name))
  return {
    ...Object.fromEntries(kept),
    listeners: planned.listeners?.replace(/,CONTROLLER:[^,]*/, '') ?? '',
    'broker.id': String(broker.nodeId),
    'zookeeper.connect': `127.0.0.1:${broker.controllerPort}`,
    'zookeeper.session.timeout.ms': '60000',
    ...overrides,
  }
}

export function formatProperties(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`)
    .join('')
}

function planListeners(
  broker: BrokerPlan,
  cluster: readonly BrokerPlan[],
  secure: Readonly<Record<string, SecureProtocol>>,
): Record<string, string> {
  const ports = { PLAINTEXT: broker.clientPort, ...broker.securePorts }
  const client = Object.entries(ports)
    .map(([name, port]) => `${name}://127.0.0.1:${port}`)
    .join()
  const proxied = (port: 'port' | 'advertisedPort') =>
    broker.proxied ? `,PROXIED://127.0.0.1:${broker.proxied[port]}` : ''
  const protocols = { PLAINTEXT: 'PLAINTEXT', PROXIED: 'PLAINTEXT', CONTROLLER: 'PLAINTEXT', ...secure }
  return {
    'process.roles': 'broker,controller',
    'controller.quorum.voters': cluster
      .map(({ nodeId, controllerPort }) => `${nodeId}@127.0.0.1:${controllerPort}`)
      .join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    listeners: `${client}${proxied('port')},CONTROLLER://127.0.0.1:${broker.controllerPort}`,
    'advertised.listeners': `${client}${proxied('advertisedPort')}`,
    'listener.security.protocol.map': Object.entries(protocols)
      .map(([name, protocol]) => `${name}:${protocol}`)
      .join(),
  }
}

const largestMessageBytes = String(40 * 2 ** 20)

const smallSettings = {
  'auto.create.topics.enable': 'false',
  'message.max.bytes': largestMessageBytes,
  'replica.fetch.max.bytes': largestMessageBytes,
  'offsets.topic.num.partitions': '3',
  'transaction.state.log.num.partitions': '3',
  'group.initial.rebalance.delay.ms': '0',
  'broker.heartbeat.interval.ms': '1000',
  'broker.session.timeout.ms': '5000',
  'log.cleaner.backoff.ms': '400',
  'log.cleaner.dedupe.buffer.size': String(8 * 2 ** 20),
  // Tests write old timestamps; a topic that wants retention says so.
  'log.retention.ms': '-1',
  'log.retention.check.interval.ms': '500',
  // Each thread looks for work several times a second.
  'num.network.threads': '1',
  'num.io.threads': '4',
  'background.threads': '2',
  'log.initial.task.delay.ms': '500',
  'log.segment.delete.delay.ms': '1000',
  // Records without content twice a second, for observers of idle controllers: a third of the CPU time of an idle broker.
  'metadata.max.idle.interval.ms': '0',
}
