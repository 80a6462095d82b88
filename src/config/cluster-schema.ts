import { duration } from './scalar-leaves.ts'
import { securitySchema } from './security-schema.ts'
import { text, textList } from './text-leaves.ts'
import { clientId, hostAndPort } from './text-rules.ts'

/** How a cluster is reached: the same for one that is read from and one that is written to. */
export const clusterFields = {
  bootstrap_servers: textList(hostAndPort, {
    description: 'Brokers to ask for the rest of the cluster. A text is split at its commas.',
    allowed: 'at least one host:port, such as kafka-1:9092 or [::1]:9092',
    min: 1,
    shorthand: 'commas',
  }),
  client_id: text(clientId, { description: 'The name under which the brokers log and meter this client.' }).prefault(
    'kafka-backup',
  ),
  request_timeout: duration({
    description: 'How long a broker may take to answer a request.',
    min: '1s',
    max: '1h',
  }).prefault('30s'),
  security: securitySchema.exactOptional(),
}

/** The typed names of those whose unit the file leaves to the value. */
export const clusterNames = { request_timeout: 'requestTimeoutMs' } as const
