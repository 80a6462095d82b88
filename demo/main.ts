import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApicurio } from '../test/servers/apicurio.ts'
import { openDriver } from '../test/servers/driver.ts'
import { startKafka } from '../test/servers/kafka.ts'
import { findFreePorts } from '../test/servers/ports.ts'
import { backupFile, restoreFile } from './job-files.ts'
import { formatSame, readShop } from './readings.ts'
import { Shop, shopTopics } from './seed-shop.ts'
import { Stage } from './stage.ts'

/**
 * Shows the product in a minute: a backup of a real Kafka and a real schema registry, their loss, a restore to a registry
 * that assigns other IDs, and the proof that nothing is missing.
 */
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-demo-'))
const stage = new Stage(folder)
try {
  await demonstrate()
} finally {
  await stage.close()
  await rm(folder, { recursive: true })
}

async function demonstrate(): Promise<void> {
  stage.say('Starting a real Kafka and a real schema registry …')
  const [kafka, apicurio] = await Promise.all([startKafka(), startApicurio()])
  await using server = kafka
  await using registry = apicurio
  await using driver = await openDriver(server)
  const [address = ''] = server.bootstrapServers
  stage.say(
    `Kafka ${server.version} listens on ${address}, Apicurio Registry ${registry.version} on ${registry.origin}.`,
  )
  stage.say('Filling both with a small shop: Avro, JSON Schema and Protobuf messages, and some without a schema …')
  const shop = new Shop(driver, registry.url)
  await shop.open()

  stage.act('Back up topics and schemas')
  await writeJob('backup.yaml', backupFile(address, registry.url))
  await stage.run('backup --config backup.yaml')
  stage.say('\nNew orders arrive. The same command copies only them.')
  await shop.takeMoreOrders()
  await stage.run('backup --config backup.yaml')
  await stage.run('describe --path backups --backup-id shop')

  stage.act('Verify every byte')
  await stage.run('verify --path backups --backup-id shop --deep')

  stage.act('Disaster')
  const before = await readShop(driver, registry.url)
  for (const topic of shopTopics) await driver.deleteTopic(topic)
  await registry.stop()
  stage.say(`All topics are deleted: ${shopTopics.join(', ')}. The schema registry is gone, too.`)

  stage.act('Restore, with a registry that assigns other IDs')
  const [port = 0] = await findFreePorts(1)
  await stage.serve(`registry serve --listen 127.0.0.1:${port} --first-id 1001`)
  const target = `http://127.0.0.1:${port}`
  await writeJob('restore.yaml', restoreFile(address, target))
  await stage.run('restore --config restore.yaml')

  stage.act('Compare every record')
  await stage.run('compare --config restore.yaml')
  const after = await readShop(driver, target)
  stage.say('\nThe official Java client and a stock deserializer read the same as before:')
  stage.write(formatSame(before, after))

  stage.act('Find a record again')
  stage.say('A restore writes no transaction markers and no aborted records, so offsets can change. The map is exact:')
  await stage.run('offset-map --config restore.yaml --topic payments --partition 0 --offset 300')

  stage.act('Flip one bit of the backup')
  await flipOneBit(join(folder, 'backups/shop/kafka/payments/0'))
  await stage.run('verify --path backups --backup-id shop --deep', 3)

  const messages = before.reduce((sum, one) => sum + one.messages, 0)
  stage.sumUp([
    `${shopTopics.length} topics with ${messages.toLocaleString('en-US')} records and their schemas were backed up to a folder, byte for byte.`,
    'The second run copied only what was new.',
    'All topics were deleted, and restored from the folder.',
    'Schemas were restored first, to a registry that assigned other IDs. Only the IDs in the messages were changed.',
    'Keys, values, headers, timestamps and order are unchanged: `compare` and a stock client agree.',
    'Every source offset has a known target offset.',
    'One flipped bit in the backup was found, with the object and the offset.',
  ])
  stage.write('\nREADME.md says how to use it on your own cluster. `make test` proves its promises.')
}

async function writeJob(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text)
  stage.showFile(name, text)
}

async function flipOneBit(partitionFolder: string): Promise<void> {
  const segment = (await readdir(partitionFolder)).find(name => name.includes('.log'))
  await using file = await open(join(partitionFolder, segment ?? ''), 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, 100)
  byte.writeUInt8(byte.readUInt8(0) ^ 1)
  await file.write(byte, 0, 1, 100)
}
