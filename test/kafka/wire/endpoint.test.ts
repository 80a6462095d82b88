import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEndpoint } from '../../../src/kafka/wire/endpoint.ts'

test('an address is a host and a port, with IPv6 in brackets', () => {
  assert.deepEqual(parseEndpoint('kafka-1.example:9092'), { host: 'kafka-1.example', port: 9092 })
  assert.deepEqual(parseEndpoint('[::1]:1'), { host: '::1', port: 1 })
  assert.deepEqual(parseEndpoint('10.0.0.1:65535'), { host: '10.0.0.1', port: 65535 })
})

for (const text of [
  '',
  'host',
  'host:',
  ':9092',
  'host:0',
  'host:65536',
  'host:-1',
  '::1:9092',
  'PLAINTEXT://h:1',
  '[]:1',
  'h:1:2',
]) {
  test(`${JSON.stringify(text)} is no address`, () => {
    assert.throws(() => parseEndpoint(text), { code: 'CONFIG_INVALID' })
  })
}
