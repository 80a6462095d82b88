import type { KafkaDriver, SeedRecord } from '../test/servers/driver.ts'

export const shopTopics = ['clicks', 'customers', 'orders', 'payments', 'refunds'] as const

/** Topics such as a small shop has: compressed and plain, compacted, transactional, with an empty one. */
export async function seedShop(driver: KafkaDriver): Promise<void> {
  const startTimestamp = recently()
  await driver.createTopic('orders', { partitions: 4, configs: { 'retention.ms': '2419200000' } })
  await driver.seedBulk('orders', {
    count: 40_000,
    partitions: 4,
    valueBytes: 300,
    compression: 'zstd',
    startTimestamp,
  })

  await driver.createTopic('clicks', { partitions: 2 })
  await driver.seedBulk('clicks', { count: 60_000, partitions: 2, valueBytes: 200, startTimestamp })

  await driver.createTopic('customers', { partitions: 2, configs: { 'cleanup.policy': 'compact' } })
  await driver.seedBulk('customers', {
    count: 5_000,
    partitions: 2,
    valueBytes: 150,
    keySpace: 800,
    compression: 'lz4',
    startTimestamp,
  })
  await driver.produce('customers', [{ partition: 0, key: Buffer.from('customer-13'), value: null }])

  await driver.createTopic('payments', { partitions: 1 })
  await driver.transaction('payments', payments(200), { transactionalId: 'till-1', outcome: 'commit' })
  await driver.transaction('payments', payments(50), { transactionalId: 'till-2', outcome: 'abort' })
  await driver.transaction('payments', payments(100), { transactionalId: 'till-1', outcome: 'commit' })

  await driver.createTopic('refunds', { partitions: 3 })
}

export async function takeMoreOrders(driver: KafkaDriver): Promise<void> {
  const bulk = { count: 5_000, partitions: 4, valueBytes: 300, compression: 'zstd', seed: 99 } as const
  await driver.seedBulk('orders', { ...bulk, startTimestamp: recently() })
}

/** Old enough to be history, young enough that no retention takes it away. */
function recently(): number {
  return Date.now() - 3_600_000
}

function payments(count: number): SeedRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    partition: 0,
    key: Buffer.from(`order-${i}`),
    value: Buffer.from(JSON.stringify({ order: i, amount: (i * 37) % 900, currency: 'EUR' })),
    headers: [
      ['source', Buffer.from('till')],
      ['source', Buffer.from('card-reader')],
      ['trace', null],
    ] satisfies [string, Buffer | null][],
  }))
}
