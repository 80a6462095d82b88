import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { duration } from './scalar-leaves.ts'
import { securitySchema } from './security-schema.ts'
import { anyText, clientId, hostAndPort, text, textList, topicPattern } from './text-leaves.ts'

/** How a cluster is reached: the same for one that is read from and one that is written to. */
const clusterFields = {
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
const clusterNames = { request_timeout: 'requestTimeoutMs' } as const

const topicsSchema = fields({
  include: textList(topicPattern, {
    description:
      'Topics to back up. A topic that matches any of the patterns is taken; `*` alone takes all. Internal topics and those in ' +
      'which a schema registry stores its schemas (`_schemas`) are taken only by their full names.',
    allowed: 'at least one topic name or pattern with * and ?',
    min: 1,
  }),
  exclude: textList(topicPattern, {
    description: 'Topics to leave out, even where `include` matches them.',
    allowed: 'topic names or patterns with * and ?',
    min: 0,
  }).prefault([]),
}).meta({ description: 'Which topics are backed up.' })

export const sourceSchema = fields({
  ...clusterFields,
  client_rack: text(anyText, {
    description: 'Where this client runs, as `broker.rack` names it: brokers may then let it read from a near replica.',
  }).exactOptional(),
  topics: topicsSchema,
})
  .transform(source => camelKeys(source, clusterNames))
  .meta({ description: 'The cluster that is backed up.' })

export const targetSchema = fields(clusterFields)
  .transform(target => camelKeys(target, clusterNames))
  .meta({ description: 'The cluster that is restored to.' })
