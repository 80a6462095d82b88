import type { KafkaDriver, SeedRecord } from '../test/servers/driver.ts'
import { openStock, registerShop, withMessageIndex } from './shop-schemas.ts'

/** Those whose messages have schemas, and those that have none. */
export const framedTopics = ['customers', 'orders', 'payments'] as const
export const plainTopics = ['clicks', 'refunds'] as const
export const shopTopics = [...framedTopics, ...plainTopics].sort()

const ORDERS = 20_000
const MORE_ORDERS = 5_000

/** Topics such as a small shop has: Avro, JSON Schema, Protobuf and none; compacted, transactional, and an empty one. */
export class Shop {
  readonly #driver: KafkaDriver
  readonly #registry: string
  #ids = new Map<string, number>()

  constructor(driver: KafkaDriver, registry: string) {
    this.#driver = driver
    this.#registry = registry
  }

  async open(): Promise<void> {
    this.#ids = await registerShop(this.#registry)
    const driver = this.#driver
    await driver.createTopic('orders', { partitions: 4, configs: { 'retention.ms': '2419200000' } })
    await driver.produce('orders', await this.#orders(0, ORDERS), { compression: 'zstd', lingerMs: 50 })
    await driver.createTopic('clicks', { partitions: 2 })
    await driver.seedBulk('clicks', { count: 60_000, partitions: 2, valueBytes: 200, startTimestamp: recently() })
    await driver.createTopic('customers', { partitions: 2, configs: { 'cleanup.policy': 'compact' } })
    await driver.produce('customers', await this.#customers(2_000), { compression: 'lz4', lingerMs: 50 })
    await driver.produce('customers', [{ partition: 0, key: Buffer.from('customer-13'), value: null }])
    await driver.createTopic('payments', { partitions: 1 })
    const till = { transactionalId: 'till-1', outcome: 'commit' } as const
    await driver.transaction('payments', await this.#payments(200), till)
    await driver.transaction('payments', await this.#payments(50), { transactionalId: 'till-2', outcome: 'abort' })
    await driver.transaction('payments', await this.#payments(100), till)
    await driver.createTopic('refunds', { partitions: 3 })
  }

  async takeMoreOrders(): Promise<void> {
    const more = await this.#orders(ORDERS, ORDERS + MORE_ORDERS)
    await this.#driver.produce('orders', more, { compression: 'zstd', lingerMs: 50 })
  }

  /** Older orders have no price. */
  async #orders(from: number, to: number): Promise<SeedRecord[]> {
    const stock = openStock(this.#registry)
    const records: SeedRecord[] = []
    for (let number = from; number < to; number++) {
      const hasPrice = number % 2 === 1
      const order = { item: `item ${number % 97}`, ...(hasPrice && { price: { cents: number * 10 } }) }
      records.push({
        partition: number % 4,
        key: await stock.encode(this.#id('orders-key/1'), { number }),
        value: await stock.encode(this.#id(hasPrice ? 'orders-value/2' : 'orders-value/1'), order),
        headers: [['channel', Buffer.from(number % 3 === 0 ? 'app' : 'web')]],
      })
    }
    return records
  }

  async #customers(count: number): Promise<SeedRecord[]> {
    const stock = openStock(this.#registry)
    const records: SeedRecord[] = []
    for (let at = 0; at < count; at++) {
      const customer = { name: `Customer ${at % 800}`, city: `City ${at % 31}` }
      const value = await stock.encode(this.#id('customers-value/1'), customer)
      records.push({ partition: at % 2, key: Buffer.from(`customer-${at % 800}`), value })
    }
    return records
  }

  async #payments(count: number): Promise<SeedRecord[]> {
    const stock = openStock(this.#registry)
    const records: SeedRecord[] = []
    for (let order = 1; order <= count; order++) {
      const framed = await stock.encode(this.#id('payments-value/1'), { order, cents: order * 10 })
      records.push({ partition: 0, key: Buffer.from(`payment-${order}`), value: withMessageIndex(framed) })
    }
    return records
  }

  #id(version: string): number {
    const id = this.#ids.get(version)
    if (id === undefined) throw new Error(`${version} is not registered`)
    return id
  }
}

/** The day before yesterday: within the retention of every topic, and not the time of the restore. */
function recently(): number {
  return Date.now() - 2 * 86_400_000
}
