import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areRegistryKeys, isRegistryStoreName, isRegistryTopicName } from '../../src/registry/own-topic.ts'

const keys = (...texts: (string | null)[]) => texts.map(text => (text === null ? null : Buffer.from(text)))

const table: [sentence: string, keys: (Buffer | null)[], expected: boolean][] = [
  ['of Confluent', keys('{"keytype":"SCHEMA","subject":"a-value","version":1,"magic":1}'), true],
  ['of Karapace', keys('{"keytype":"CONFIG","subject":null,"magic":0}', '{"keytype":"NOOP","magic":0}'), true],
  ['of Redpanda', keys('{"keytype":"SCHEMA","subject":"a","version":1,"magic":1,"seq":0,"node":1}'), true],
  ['of Kafka Connect', keys('["connector",{"table":"a"}]'), false],
  ['of an application that has a keytype of its own', keys('{"keytype":"ORDER"}'), false],
  ["of which only some are a registry's", keys('{"keytype":"NOOP","magic":0}', 'a'), false],
  ['that are null', keys(null), false],
  ['that are not JSON', keys('{"keytype":"SCHEMA"'), false],
  ['of an empty topic', [], false],
]

for (const [sentence, some, expected] of table) {
  test(`keys ${sentence} are ${expected ? '' : 'not '}those of a schema registry`, () => {
    assert.equal(areRegistryKeys(some), expected)
  })
}

test('names the topics in which Confluent, Karapace, Redpanda and Apicurio store schemas, and not those of other tools', () => {
  for (const name of ['_schemas', 'kafkasql-journal', 'kafkasql-snapshots']) assert.ok(isRegistryStoreName(name), name)
  for (const name of [
    'connect-configs',
    '_confluent-monitoring',
    '__strimzi_store_topic',
    'registry-events',
    'schemas',
  ]) {
    assert.deepEqual([isRegistryStoreName(name), isRegistryTopicName(name)], [false, false], name)
  }
})

test('knows topics of a registry that its API does not give, which backups take', () => {
  assert.deepEqual(
    [isRegistryStoreName('_dek_registry_keys'), isRegistryTopicName('_dek_registry_keys')],
    [false, true],
  )
})
