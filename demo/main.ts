import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { styleText } from 'node:util'
import { openDriver } from '../test/servers/driver.ts'
import { startKafka } from '../test/servers/kafka.ts'
import { runCommand } from './run-command.ts'
import { recently, seedShop } from './seed-shop.ts'

/** Shows the product in a minute: a real Kafka, a backup of it, and the proof that the backup is good. */
const launcher = resolve(import.meta.dirname, '../kafka-backup')
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-demo-'))
const store = join(folder, 'backups')
const config = join(folder, 'shop.yaml')
const at = ['--path', store, '--backup-id', 'shop']

say('Starting a real Kafka on this machine (the first time, Maven downloads it) …')
await using server = await startKafka()
await using driver = await openDriver(server)
say(
  `Kafka ${server.version} listens on ${server.bootstrapServers.join()}. Filling it with the topics of a small shop …`,
)
await seedShop(driver)
await writeFile(config, jobFile(server.bootstrapServers))

step('The job file', `cat ${config}`)
process.stdout.write(jobFile(server.bootstrapServers))
await show('May we read what we want to back up?', ['check', '--config', config])
await show('What would be copied?', ['backup', '--config', config, '--dry-run'])
await show('Back it up', ['backup', '--config', config])
await show('Which backups are there?', ['list', '--path', store])
await show('What is in it?', ['describe', ...at])
await show('Is every byte as Kafka sent it?', ['verify', ...at, '--deep'])

say('New orders come in. Running the same job again copies only them.')
await driver.seedBulk('orders', {
  count: 5_000,
  partitions: 4,
  valueBytes: 300,
  compression: 'zstd',
  seed: 99,
  startTimestamp: recently(),
})
await show('Back up what is new', ['backup', '--config', config])

await flipOneBit(join(store, 'shop/kafka/payments/0'))
await show('A disk flips a single bit. Is that found?', ['verify', ...at, '--deep'], 3)

await rm(folder, { recursive: true })
say('That is the whole job. README.md says how to use it on your own cluster; `make test` proves what it promises.')

function jobFile(bootstrapServers: readonly string[]): string {
  return `mode: backup
backup_id: shop
source:
  bootstrap_servers: [${bootstrapServers.join(', ')}]
  topics:
    include: ["*"]
storage:
  backend: filesystem
  path: ${store}
`
}

async function show(title: string, args: string[], expectedExit = 0): Promise<void> {
  step(title, `kafka-backup ${args.join(' ')}`)
  const exitCode = await runCommand(launcher, args)
  if (expectedExit !== 0) say(`exit code ${exitCode}`)
  if (exitCode !== expectedExit) throw new Error(`kafka-backup ${args[0]} ended with ${exitCode}, not ${expectedExit}`)
}

function step(title: string, command: string): void {
  process.stdout.write(`\n${styleText(['bold', 'cyan'], title)}\n${styleText('dim', `$ ${command}`)}\n`)
}

function say(text: string): void {
  process.stdout.write(`${styleText('italic', text)}\n`)
}

async function flipOneBit(partitionFolder: string): Promise<void> {
  const segment = (await readdir(partitionFolder)).find(name => name.includes('.log'))
  const file = await open(join(partitionFolder, segment ?? ''), 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, 100)
  byte.writeUInt8(byte.readUInt8(0) ^ 1)
  await file.write(byte, 0, 1, 100)
  await file.close()
}
