import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDriver } from '../test/servers/driver.ts'
import { startKafka } from '../test/servers/kafka.ts'
import { formatSame, takeFingerprints } from './fingerprints.ts'
import { seedShop, shopTopics, takeMoreOrders } from './seed-shop.ts'
import { Stage } from './stage.ts'

/** Shows the product in a minute: a real Kafka, a backup of it, its loss, its return, and the proof that nothing is missing. */
const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-demo-'))
const stage = new Stage(folder)
try {
  await play()
} finally {
  await rm(folder, { recursive: true })
}

async function play(): Promise<void> {
  stage.say('Starting a real Kafka on this machine (the first time, Maven downloads it) …')
  await using server = await startKafka()
  await using driver = await openDriver(server)
  const [address = ''] = server.bootstrapServers
  stage.say(`Kafka ${server.version} listens on ${address}. Filling it with the topics of a small shop …`)
  await seedShop(driver)

  stage.act('Back it up')
  await writeJob('backup.yaml', backupFile(address))
  await stage.run('backup --config backup.yaml')
  stage.say('\nNew orders come in. The same command copies only them.')
  await takeMoreOrders(driver)
  await stage.run('backup --config backup.yaml')
  await stage.run('describe --path backups --backup-id shop')

  stage.act('Is every byte as Kafka sent it?')
  await stage.run('verify --path backups --backup-id shop --deep')

  stage.act('The disaster')
  const before = await takeFingerprints(driver, shopTopics)
  for (const topic of shopTopics) await driver.deleteTopic(topic)
  stage.say(`Somebody has deleted all topics: ${shopTopics.join(', ')}.`)

  stage.act('Put it back')
  await writeJob('restore.yaml', restoreFile(address))
  await stage.run('restore --config restore.yaml')

  stage.act('Is everything there again?')
  await stage.run('compare --config restore.yaml')
  const after = await takeFingerprints(driver, shopTopics)
  stage.say('\nThe official Java client, which knows nothing of all this, reads (SHA-256):')
  stage.write(formatSame(before, after))

  stage.act('Where did a record go?')
  stage.say('Markers and rolled-back records are not written again, so offsets can move. Nobody has to guess where to:')
  await stage.run('offset-map --config restore.yaml --topic payments --partition 0 --offset 300')

  stage.act('And if a disk flips a single bit of the backup?')
  await flipOneBit(join(folder, 'backups/shop/kafka/payments/0'))
  await stage.run('verify --path backups --backup-id shop --deep', 3)

  const records = before.reduce((sum, one) => sum + one.records, 0)
  stage.sumUp([
    `${shopTopics.length} topics with ${records.toLocaleString('en-US')} records were copied to a folder, byte for byte.`,
    'The second run copied only what was new.',
    'All topics were deleted, and put back from the folder.',
    'Keys, values, headers, times and order are what they were: `compare` and the Java client agree.',
    'Every old offset can be found again.',
    'One flipped bit in the backup was found, and named.',
  ])
  stage.write('\nREADME.md says how to use it on your own cluster. `make test` proves what it promises.')
}

async function writeJob(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text)
  stage.showFile(name, text)
}

function backupFile(address: string): string {
  return `mode: backup
backup_id: shop
source:
  bootstrap_servers: [${address}]
  topics:
    include: ["*"]
storage:
  backend: filesystem
  path: backups
`
}

function restoreFile(address: string): string {
  return `mode: restore
backup_id: shop
target:
  bootstrap_servers: [${address}]
storage:
  backend: filesystem
  path: backups
`
}

async function flipOneBit(partitionFolder: string): Promise<void> {
  const segment = (await readdir(partitionFolder)).find(name => name.includes('.log'))
  await using file = await open(join(partitionFolder, segment ?? ''), 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, 100)
  byte.writeUInt8(byte.readUInt8(0) ^ 1)
  await file.write(byte, 0, 1, 100)
}
