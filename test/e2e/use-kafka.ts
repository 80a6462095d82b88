import { after, before } from 'node:test'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaOptions, type KafkaServer, startKafka } from '../servers/kafka.ts'

/** A Kafka with a driver for the tests of one `describe`; both are there when the first test begins. */
export function useKafka(options: KafkaOptions = {}): { server: KafkaServer; driver: KafkaDriver } {
  const kafka = {} as { server: KafkaServer; driver: KafkaDriver }
  before(async () => {
    kafka.server = await startKafka(options)
    kafka.driver = await openDriver(kafka.server)
  })
  after(async () => {
    await kafka.driver?.close()
    await kafka.server?.stop()
  })
  return kafka
}
