import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { shownLocations } from './location-options.ts'
import { locationsOperand } from './operands.ts'
import { listen, type OptionSpec } from './option-specs.ts'

export const TOKEN_VARIABLE = 'KAFKA_BACKUP_CONSOLE_TOKEN'

const options: readonly OptionSpec[] = [
  ...shownLocations,
  { ...listen, fallback: '127.0.0.1:8088' },
  {
    name: 'token-env',
    value: { kind: 'text', label: 'variable' },
    description:
      'environment variable with the token that every request needs, of 16 characters or more; without it, the console is open to users of this machine',
    fallback: TOKEN_VARIABLE,
  },
  {
    name: 'tls-cert',
    value: { kind: 'file', label: 'file' },
    description: 'serve over TLS with this certificate (PEM); a renewed file is used without a restart',
  },
  { name: 'tls-key', value: { kind: 'file', label: 'file' }, description: 'private key of the certificate (PEM)' },
  {
    name: 'allowed-host',
    value: { kind: 'text', label: 'name' },
    description:
      'a host name under which the console is reached, such as that of a proxy, for all ports or as `name:port` for one; repeatable',
    isRepeatable: true,
  },
]

export const consoleCommand: CommandSpec = {
  name: 'console',
  summary: 'show backups in the browser',
  description:
    'Serve a read-only web page over the backups of one or more locations until it is stopped: backups and generations, topics and gaps, records with a search, schemas, consumer groups, and job files for a restore. It connects to neither Kafka nor a schema registry, and writes nothing. By default it listens on this machine only; another address needs a token and TLS.',
  operands: [locationsOperand],
  options,
  examples: [
    { command: 'kafka-backup console --path /backups', meaning: 'show the backups at http://127.0.0.1:8088' },
    {
      command: 'kafka-backup console --path s3://backups/prod --path s3://backups-eu/prod --key-file key',
      meaning: 'show two locations, and decrypt their backups',
    },
    {
      command: 'kafka-backup console --config job.yaml --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key',
      meaning: 'serve other machines, with the token in KAFKA_BACKUP_CONSOLE_TOKEN',
    },
  ],
  exits: '0 also if it is stopped by a signal',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}
