import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDriver } from './driver.ts'
import { startKafka } from './kafka.ts'
import { defaultKafkaVersion } from './kafka-dist.ts'
import { kafkaToolClasses, runKafkaTool } from './kafka-tools.ts'

test('the performance tools run against a server that is set up for measurements', async () => {
  await using server = await startKafka({ jvm: 'steady', heapMb: 1024 })
  await using driver = await openDriver(server)
  await driver.createTopic('measured')
  const [broker = ''] = server.bootstrapServers
  const load = ['--topic', 'measured', '--num-records', '5000', '--record-size', '100', '--throughput', '-1']
  const properties = ['--producer-props', `bootstrap.servers=${broker}`]
  const produced = await runKafkaTool(server, kafkaToolClasses.producerPerformance, [...load, ...properties])
  assert.match(produced.stdout, /5000 records sent/, produced.stderr)

  const read = ['--bootstrap-server', broker, '--topic', 'measured', '--messages', '5000']
  const consumed = await runKafkaTool(server, kafkaToolClasses.consumerPerformance, read, { jvm: 'steady' })
  assert.match(consumed.stdout, /, 5000, /, consumed.stderr)
})

test('a tool that fails gives its exit code and what it said', async () => {
  const failed = await runKafkaTool(defaultKafkaVersion, kafkaToolClasses.dumpLogSegments, ['--no-such-option'])
  assert.notEqual(failed.exitCode, 0)
  assert.match(failed.stderr + failed.stdout, /no-such-option/)
})
