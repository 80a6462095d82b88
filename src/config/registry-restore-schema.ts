import { compatibilityLevels } from '../registry/avro/compatibility.ts'
import { type LossKind, lossKindNames } from '../registry/loss-kinds.ts'
import { camelKeys } from './camel-keys.ts'
import { distinctList, fields, type Item, leaf, mapOf, type TextRule } from './leaf.ts'
import { choice, flag } from './scalar-leaves.ts'
import { anyText, file, jsonOfText, readText, text, textList, topicPattern } from './text-leaves.ts'

const recordParts = ['key', 'value'] as const

type RecordPart = (typeof recordParts)[number]

const schemaFields = {
  enabled: flag({ description: 'Restore schemas, before any data.' }).prefault(true),
  strategy: choice(['preserve', 'overwrite', 'skip'], {
    description:
      '`preserve` keeps what the target has and adds what is missing; `overwrite` replaces it; ' +
      '`skip` restores only into empty subjects.',
  }).prefault('preserve'),
  ...subjectFields(
    'Subjects to restore, by their names in the backup; `*` is all. A subject that one of them refers to is restored too, with ' +
      'all its versions. Schema IDs of the others count as unknown in records (`unknown_ids`).',
  ),
  subject_mapping: mapOf(anyText, item(anyText), {
    description: 'Other names for subjects on the target: source subject to target subject. References follow.',
    type: 'map of text to text',
    allowed: 'a map of subject names to subject names, no two to the same',
  }).prefault({}),
  set_compatibility: choice(compatibilityLevels, {
    description:
      'The compatibility level under which schemas are registered; afterwards each subject has its own again. Without it: ' +
      'that of the target, and NONE for subjects that have nothing there.',
  }).exactOptional(),
  force_register: flag({
    description: 'Register a schema even where it is incompatible. Dangerous.',
  }).prefault(false),
  accept_loss: leaf<LossKind[], readonly LossKind[]>({
    description:
      'Kinds of loss to accept. Where the target registry cannot keep all of the schemas and their settings, a restore ends with ' +
      'exit code 4 unless every such kind is listed here. `kafka-backup schemas plan` shows them before the restore.',
    type: 'list of text',
    ...distinctList(oneOf(lossKindNames), `a list of ${lossKindNames.join(', ')}`),
  }).exactOptional(),
}

const registryContext: TextRule = {
  type: 'text',
  allowed: 'the name of a context, which begins with a dot, such as .prod; . alone is the default one',
  pattern: '^\\.[^:]*$',
  wrong: text => {
    if (/^:\..*:$/.test(text)) return 'has colons around it: write the name alone'
    if (!text.startsWith('.')) return 'does not begin with a dot'
    return text.includes(':') ? 'has a colon in it' : undefined
  },
}

const idFields = {
  id_mapping: flag({ description: 'Keep the schema IDs in messages consistent with the target registry.' }).prefault(
    true,
  ),
  rewrite_ids: flag({
    description:
      'Write the IDs of the target registry into restored messages. Not together with `force_ids`. Without it: true, ' +
      'or false with `force_ids: true` or `id_mapping: false`.',
  }).exactOptional(),
  force_ids: flag({
    description: 'Register schemas under their old IDs; needs an empty target registry.',
  }).prefault(false),
  id_mapping_file: text(file, {
    description: 'A JSON object of source schema IDs to target schema IDs, such as `{"5": 12}`.',
  }).exactOptional(),
  unknown_ids: choice(['fail', 'pass'], {
    description:
      'What happens to a message with a schema ID that the target registry does not have: `fail` ends the restore, ' +
      '`pass` leaves the message as it is and counts it.',
  }).prefault('fail'),
  check_ids: choice(['sample', 'all'], {
    description:
      'Which messages are checked for such IDs where no ID has to be rewritten, as with `force_ids`: `sample` checks some of each ' +
      'topic before the first write; `all` checks every message, which opens every batch.',
  }).prefault('sample'),
  rewrite_topics: fields({
    include: topicList('Topics whose messages carry schema IDs, by their names in the backup.', 1).prefault(['*']),
    exclude: topicList('Topics whose messages are left as they are, even where `include` matches them.', 0).prefault(
      [],
    ),
  })
    .meta({ description: 'Where schema IDs are rewritten.' })
    .prefault({}),
  rewrite_parts: leaf<RecordPart[], readonly RecordPart[]>({
    description: 'The parts of a message that carry schema IDs.',
    type: 'list of text',
    ...distinctList(oneOf(recordParts), 'a list of key, value or both'),
  }).prefault([...recordParts]),
  topic_contexts: mapOf(topicPattern, item(registryContext), {
    description:
      "The registry context of a topic's schema IDs, by its name in the backup or a pattern; the first that matches " +
      'counts. Other topics are of the default context.',
    type: 'map of text to text',
    allowed: 'a map of topic names or patterns to contexts, such as {orders: .prod}',
  }).prefault({}),
}

const journal = text(anyText, {
  description:
    'Where the journal of a restore of schemas is kept: a folder, `s3://bucket/prefix`, `az://container/prefix` or `gs://bucket/prefix`. Default: next to the backup.',
}).exactOptional()

export const registryRestoreSchema = fields({ ...schemaFields, ...idFields, journal })
  .transform(({ rewrite_ids, accept_loss = [], ...restore }) => ({
    ...camelKeys({ ...restore, accept_loss }),
    rewriteIds: rewrite_ids ?? (restore.id_mapping && !restore.force_ids),
  }))
  .meta({ description: 'How schemas are put back, and what becomes of their IDs in messages.' })
  .prefault({})

/** Which subjects are backed up or restored. */
export function subjectFields(description: string) {
  return {
    subjects: textList(anyText, {
      description,
      allowed: 'at least one subject name or pattern with * and ?',
      min: 1,
      shorthand: 'one',
    }).prefault(['*']),
    exclude: textList(anyText, {
      description: 'Subjects to leave out, even where `subjects` matches them.',
      allowed: 'subject names or patterns with * and ?',
      min: 0,
    }).prefault([]),
  }
}

function topicList(description: string, min: number) {
  return textList(topicPattern, { description, allowed: 'topic names or patterns with * and ?', min })
}

function oneOf<T extends string>(values: readonly T[]): Item<T, T> {
  return {
    allowed: values.join(', '),
    json: { enum: [...values] },
    read: (value, complain) => {
      const found = values.find(one => one === value)
      if (found === undefined) complain({ wrong: 'is not known' })
      return found
    },
  }
}

function item(rule: TextRule): Item<string, string> {
  return {
    allowed: rule.allowed,
    json: jsonOfText(rule),
    read: (value, complain) => readText(rule, value, complain),
  }
}
