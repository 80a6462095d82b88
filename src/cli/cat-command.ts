import { exportFormats } from '../export/export-format.ts'
import { showings } from '../inspect/show-record.ts'
import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { chosenState } from './location-options.ts'
import { backupIdOperand, topicOperand } from './operands.ts'
import { backupId, config, type OptionSpec, partition, topic, usualPath } from './option-specs.ts'

const showing = { kind: 'choice', label: 'form', choices: showings } as const

const topicName = {
  ...topic,
  description: 'the topic, or a pattern such as `orders.*`; `name@id` selects an older incarnation',
}

/** Which records of a partition are read. */
const extentOptions: readonly OptionSpec[] = [
  partition,
  {
    name: 'from-offset',
    value: { kind: 'text', label: 'number' },
    description: 'records at this source offset or later',
  },
  { name: 'to-offset', value: { kind: 'text', label: 'number' }, description: 'records before this source offset' },
  {
    name: 'since',
    value: { kind: 'text', label: 'time' },
    description: 'records with this timestamp or a later one: ISO 8601 with a time zone, or milliseconds since 1970',
  },
  { name: 'until', value: { kind: 'text', label: 'time' }, description: 'records with an earlier timestamp than this' },
  {
    name: 'key',
    value: { kind: 'text', label: 'key' },
    description: 'records with this key, as text or as it is shown',
  },
  {
    name: 'header',
    value: { kind: 'text', label: 'name[=value]' },
    description: 'records with this header; repeatable, and all must be present',
    isRepeatable: true,
  },
]

/** What is asked of keys and values. */
const conditionOptions: readonly OptionSpec[] = [
  {
    name: 'key-prefix',
    value: { kind: 'text', label: 'text' },
    description: 'records whose key begins with this, as text or as it is shown',
  },
  {
    name: 'text',
    value: { kind: 'text', label: 'text' },
    description: 'records with this text in the value, decoded or as it is stored',
  },
  {
    name: 'where',
    value: { kind: 'text', label: 'condition' },
    description:
      'records whose value, as JSON, meets a condition, such as `customer.id=42`, `items[*].price>100`, `status!=done`, or `error` for a field that exists; repeatable, and all must hold',
    isRepeatable: true,
  },
]

const limit: OptionSpec = {
  name: 'limit',
  value: { kind: 'text', label: 'count' },
  description: 'stop after this many records',
}
const withAborted: OptionSpec = {
  name: 'with-aborted',
  description: 'include records of aborted transactions, and transaction markers',
}

const placeOptions: readonly OptionSpec[] = [
  usualPath,
  backupId,
  { ...config, description: 'the job file (YAML), instead of `--path` and `--backup-id`' },
  ...chosenState,
]

const print: OptionSpec = {
  name: 'print',
  value: { kind: 'text', label: 'format' },
  description:
    "the format of a record, with the letters of kcat, such as '%k %s\\n'; as with kcat, `-f` takes it, too: `%k` key, `%s` value, `%h` headers, `%t` topic, `%p` partition, `%o` offset, `%T` timestamp, `%K` and `%S` lengths",
}

const showingOptions: readonly OptionSpec[] = [
  {
    name: 'key-as',
    value: showing,
    description: 'form of keys; `auto` decodes with a schema, and shows the rest as text, or as hex if it is not text',
    fallback: 'auto',
  },
  { name: 'value-as', value: showing, description: 'form of values, likewise', fallback: 'auto' },
  {
    name: 'context',
    value: { kind: 'text', label: 'name' },
    description: 'context of the schema registry whose IDs the topic uses, such as `.eu`; default: the default context',
  },
]

export const catCommand: CommandSpec = {
  name: 'cat',
  summary: 'print records of a backup',
  description:
    'Print records of a topic, partition by partition, decoded with the schemas in the backup (Avro, JSON Schema, Protobuf). It connects to neither Kafka nor a schema registry, and reads only the segments that it needs. What cannot be decoded is shown as it is, with the reason.',
  operands: [backupIdOperand, topicOperand],
  options: [
    ...placeOptions,
    { ...topicName, isRequired: true },
    ...extentOptions,
    { name: 'newest', value: { kind: 'text', label: 'count' }, description: 'the last records of each partition' },
    limit,
    withAborted,
    print,
    ...showingOptions,
  ],
  examples: [
    {
      command: 'kafka-backup cat --path /backups --backup-id orders --topic orders --newest 5',
      meaning: 'print the last five records of each partition',
    },
    {
      command: 'kafka-backup cat --path /backups --backup-id orders --topic orders --key customer-42 --format json',
      meaning: 'print all records of a key, as one line of JSON each',
    },
    {
      command: "kafka-backup cat --path /backups --backup-id orders --topic orders --print '%o:%k:%s\\n'",
      meaning: 'print offset, key and value as kcat does',
    },
    {
      command:
        'kafka-backup cat --path /backups --backup-id orders --topic orders --since 2026-11-16T09:00:00Z --until 2026-11-16T09:05:00Z',
      meaning: 'print the records of five minutes',
    },
  ],
  exits: '3 if the backup is damaged',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}

export const searchCommand: CommandSpec = {
  name: 'search',
  summary: 'find records in a backup',
  description:
    'Find records by key, by text or a JSON path in the value, by header or by time, in all topics or in those that match a pattern. Values are decoded with the schemas in the backup (Avro, JSON Schema, Protobuf); it connects to neither Kafka nor a schema registry. All conditions must hold. Found records go to standard output, how many were searched to standard error.',
  operands: [backupIdOperand],
  options: [
    ...placeOptions,
    { ...topicName, fallback: '*' },
    ...extentOptions,
    ...conditionOptions,
    limit,
    { name: 'count', description: 'print how many records of each topic were found, instead of the records' },
    { name: 'require-match', description: 'end with exit code 6 if no record was found' },
    withAborted,
    print,
    ...showingOptions,
  ],
  examples: [
    {
      command: 'kafka-backup search --path /backups --backup-id orders --text customer-42',
      meaning: 'find a text in all topics',
    },
    {
      command:
        "kafka-backup search --path /backups --backup-id orders --topic 'orders.*' --where customer.id=42 --format json",
      meaning: 'find records by a field of the decoded value, as one line of JSON each',
    },
    {
      command:
        'kafka-backup search --path /backups --backup-id orders --key-prefix eu- --since 2026-11-16T09:00:00Z --count',
      meaning: 'count the records of some keys since a time',
    },
    {
      command: 'kafka-backup search --path /backups --backup-id orders --text 4711 --limit 1 --require-match --quiet',
      meaning: 'check in a script that a record is in the backup',
    },
  ],
  exits: '3 if the backup is damaged; 6 if no record was found and `--require-match` is given',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}

export const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'write records of a backup to files for other programs',
  description:
    'Write the records of topics, or those that meet conditions, to files: JSON lines, CSV, Avro, Parquet or plain Kafka segments. Keys and values are decoded with the schemas in the backup; what cannot be decoded is exported as it is stored, with the reason, and counted. Files appear under their names when they are complete, and existing ones are not replaced. `export.json`, written last, lists the files and all counts. It connects to neither Kafka nor a schema registry.',
  operands: [backupIdOperand, topicOperand],
  options: [
    ...placeOptions,
    { ...topicName, isRequired: true },
    {
      name: 'as',
      value: { kind: 'choice', label: 'format', choices: exportFormats },
      description: 'the format of the files',
      fallback: 'jsonl',
    },
    {
      name: 'out',
      value: { kind: 'folder', label: 'location' },
      description: 'the folder or bucket to write the files to; `-` prints JSON lines or CSV to standard output',
      isRequired: true,
    },
    { name: 'overwrite', description: 'replace existing files' },
    ...extentOptions,
    ...conditionOptions,
    { name: 'newest', value: { kind: 'text', label: 'count' }, description: 'the last records of each partition' },
    limit,
    withAborted,
    { name: 'all-incarnations', description: 'also older incarnations of the topics, each in separate files' },
    ...showingOptions,
    {
      name: 'keep-formulas',
      description: 'in CSV, do not put an apostrophe before texts that a spreadsheet would take for formulas',
    },
  ],
  examples: [
    {
      command: 'kafka-backup export --path /backups --backup-id orders --topic orders --out ./orders',
      meaning: 'write a topic as JSON lines',
    },
    {
      command:
        "kafka-backup export --path /backups --backup-id orders --topic 'orders.*' --where customer.id=42 --as csv --out ./found",
      meaning: 'write the records of a search as CSV, one file for each topic',
    },
    {
      command: 'kafka-backup export --path /backups --backup-id orders --topic orders --as csv --out -',
      meaning: 'print records as CSV',
    },
  ],
  exits: '3 if the backup is damaged, also if only schemas are: then the files are complete, with the stored bytes',
  onInterrupt: 'Files that were complete stay, without `export.json`; run the command again with `--overwrite`.',
  stopsAtOnce: true,
}
