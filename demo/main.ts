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
 * Shows the product in a minute: a real Kafka and a real schema registry, a backup of both, their loss, their return to a
 * registry that gives other IDs, and the proof that nothing is missing.
 */
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-demo-'))
const stage = new Stage(folder)
try {
  await play()
} finally {
  await stage.close()
  await rm(folder, { recursive: true })
}

async function play(): Promise<void> {
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
  stage.say('\nNew orders come in. The same command copies only them.')
  await shop.takeMoreOrders()
  await stage.run('backup --config backup.yaml')
  await stage.run('describe --path backups --backup-id shop')

  stage.act('Is every byte as Kafka sent it?')
  await stage.run('verify --path backups --backup-id shop --deep')

  stage.act('The disaster')
  const before = await readShop(driver, registry.url)
  for (const topic of shopTopics) await driver.deleteTopic(topic)
  await registry.stop()
  stage.say(`Somebody has deleted all topics: ${shopTopics.join(', ')}. The schema registry is gone, too.`)

  stage.act('Put it back, with another registry that gives other IDs')
  const [port = 0] = await findFreePorts(1)
  await stage.serve(`registry serve --listen 127.0.0.1:${port} --first-id 1001`)
  const target = `http://127.0.0.1:${port}`
  await writeJob('restore.yaml', restoreFile(address, target))
  await stage.run('restore --config restore.yaml')

  stage.act('Is everything there again?')
  await stage.run('compare --config restore.yaml')
  const after = await readShop(driver, target)
  stage.say(
    '\nThe official Java client and a stock deserializer, which know nothing of all this, read the same as before:',
  )
  stage.write(formatSame(before, after))

  stage.act('Where did a record go?')
  stage.say('Markers and rolled-back records are not written again, so offsets can move. Nobody has to guess where to:')
  await stage.run('offset-map --config restore.yaml --topic payments --partition 0 --offset 300')

  stage.act('And if a disk flips a single bit of the backup?')
  await flipOneBit(join(folder, 'backups/shop/kafka/payments/0'))
  await stage.run('verify --path backups --backup-id shop --deep', 3)

  const messages = before.reduce((sum, one) => sum + one.messages, 0)
  stage.sumUp([
    `${shopTopics.length} topics with ${messages.toLocaleString('en-US')} records and their schemas were copied to a folder, byte for byte.`,
    'The second run copied only what was new.',
    'All topics were deleted, and put back from the folder.',
    'The schemas went first, to a registry that gives other IDs; those in the messages were changed, and nothing else.',
    'Keys, values, headers, times and order are what they were: `compare` and a stock client agree.',
    'Every old offset can be found again.',
    'One flipped bit in the backup was found, and named.',
  ])
  stage.write('\nREADME.md says how to use it on your own cluster. `make test` proves what it promises.')
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
