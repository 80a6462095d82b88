import { after, before } from 'node:test'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaOptions, type KafkaServer, startKafka } from '../servers/kafka.ts'
import { borrowKafka, type SharedKafkaServer } from '../servers/shared-kafka.ts'

export interface UsedKafka<Server> {
  server: Server
  driver: KafkaDriver
}

/**
 * An empty Kafka of one broker with a driver for the tests of one `describe`; both are ready when the first test begins.
 * `make e2e` lends one that other files use before and after; a file that runs alone starts its own.
 */
export function useKafka(): UsedKafka<SharedKafkaServer> {
  const lender = process.env.KAFKA_LENDER
  return lender === undefined ? useOwnKafka() : use(() => borrowKafka(lender))
}

/** The same for a part of a test, which empties or stops it in the end. */
export async function openKafka(): Promise<UsedKafka<SharedKafkaServer> & AsyncDisposable> {
  const lender = process.env.KAFKA_LENDER
  if (lender !== undefined) {
    const kafka = await borrowKafka(lender)
    return { ...kafka, [Symbol.asyncDispose]: () => kafka.driver.close() }
  }
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startKafka())
  const driver = stack.use(await openDriver(server))
  const opened = stack.move()
  return { server, driver, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The same with settings of its own, or with brokers that the tests stop and start. */
export function useOwnKafka(options: KafkaOptions = {}): UsedKafka<KafkaServer> {
  const kafka = use<KafkaServer>(async () => {
    const server = await startKafka(options)
    return { server, driver: await openDriver(server) }
  })
  after(() => kafka.server?.stop())
  return kafka
}

function use<Server>(open: () => Promise<UsedKafka<Server>>): UsedKafka<Server> {
  const kafka = {} as UsedKafka<Server>
  before(async () => {
    Object.assign(kafka, await open())
  })
  after(() => kafka.driver?.close())
  return kafka
}
