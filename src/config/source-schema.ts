import { camelKeys } from './camel-keys.ts'
import { clusterFields, clusterNames } from './cluster-schema.ts'
import { fields } from './leaf.ts'
import { text, textList } from './text-leaves.ts'
import { anyText, topicPattern } from './text-rules.ts'

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
