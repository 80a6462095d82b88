// biome-ignore-all lint/suspicious/noTemplateCurlyInString: `${VAR}` is what job files contain
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { interpolate } from '../../src/config/interpolate.ts'
import { errorsOf, minimalJob, parse } from './job-texts.ts'

const env = { HOST: 'kafka', PORT: '9092', EMPTY: '', NESTED: '${PORT}' }

describe('a reference to a variable', () => {
  const replaced: Record<string, [text: string, expected: string]> = {
    'is replaced': ['${PORT}', '9092'],
    'may stand anywhere in a text, several times': ['${HOST}:${PORT}/${HOST}', 'kafka:9092/kafka'],
    'takes its default where the variable is not set': ['${NONE:-x}', 'x'],
    'takes its default where the variable is empty': ['${EMPTY:-x}', 'x'],
    'takes the variable before the default': ['${PORT:-x}', '9092'],
    'may have an empty default': ['a${NONE:-}b', 'ab'],
    'may have a default with special characters': ['${NONE:-a:-b c$}', 'a:-b c$'],
    'is literal after a second dollar': ['$${PORT} ${PORT}', '${PORT} 9092'],
    'is not looked for in what a variable holds': ['${NESTED}', '${PORT}'],
    'needs a brace': ['$PORT $$ 5$', '$PORT $$ 5$'],
  }
  for (const [name, [text, expected]] of Object.entries(replaced)) {
    test(name, () => assert.deepEqual(interpolate({ a: [text] }, env), { tree: { a: [expected] }, problems: [] }))
  }

  test('is left alone in a key', () => {
    assert.deepEqual(interpolate({ '${PORT}': 1 }, env).tree, { '${PORT}': 1 })
  })

  test('gives numbers, sizes, booleans, choices and list items', () => {
    const given = { N: '4', SIZE: '2MiB', GAP: 'fail', OFF: 'false', TOPIC: 'orders' }
    const text = `${minimalJob.replace("'*'", "'${TOPIC}'")}backup:
  connections_per_broker: \${N}
  segment_bytes: \${SIZE}
  on_gap: \${GAP}
enterprise:
  schema_registry:
    enabled: \${OFF}
`
    const job = parse(text, { env: given })
    assert.equal(job.backup.connectionsPerBroker, 4)
    assert.equal(job.backup.segmentBytes, 2_097_152)
    assert.equal(job.backup.onGap, 'fail')
    assert.equal(job.enterprise?.schemaRegistry?.enabled, false)
    assert.deepEqual(job.source.topics.include, ['orders'])
  })

  const wrong: Record<string, [text: string, expected: string]> = {
    'to a variable that is not set is an error': [
      '${NONE}',
      'backup_id: the environment variable NONE is not set; set it, or write ${NONE:-default} [line 2]',
    ],
    'to a variable that is empty is an error': [
      'x${EMPTY}',
      'backup_id: the environment variable EMPTY is empty; set it, or write ${EMPTY:-default} [line 2]',
    ],
    'to a name that every object has is an error': [
      '${constructor}',
      'backup_id: the environment variable constructor is not set; set it, or write ${constructor:-default} [line 2]',
    ],
    'without an end is an error': [
      '${PORT',
      'backup_id: has a ${ that begins no variable; write ${NAME} or ${NAME:-default}, or $${ for a literal ${ [line 2]',
    ],
    'without a name is an error': [
      '${a-b}',
      'backup_id: has a ${ that begins no variable; write ${NAME} or ${NAME:-default}, or $${ for a literal ${ [line 2]',
    ],
  }
  for (const [name, [text, expected]] of Object.entries(wrong)) {
    test(name, () => assert.deepEqual(errorsOf(minimalJob.replace('nightly', text), { env }), [expected]))
  }
})

describe('a secret', () => {
  const registry = (auth: string) =>
    `${minimalJob}enterprise:\n  schema_registry:\n    enabled: false\n    auth: ${auth}\n`

  const slips: Record<string, [text: string, set?: string]> = {
    'of the wrong type': [registry('{type: basic, username: u, password: [hunter2]}')],
    'that YAML reads as a number': [registry('{type: basic, username: u, password: 71982}')],
    'in a broken reference': [registry("{type: basic, username: u, password: 'hunter2${'}")],
    'in a line that is not YAML': [registry('{type: basic, username: u, password: "hunter2}')],
    'that YAML takes for an alias': [registry('{type: basic, username: u, password: *hunter2 }')],
    'that YAML takes for a tag': [registry('{type: basic, username: u, password: !hunter2 }')],
    'in a place where it is not known': [registry('{type: mtls, password: hunter2}')],
    'a level too high': [registry('hunter2')],
    'in a URL': [minimalJob.concat('enterprise: {schema_registry: {enabled: false, url: "http://u:hunter2@x"}}')],
    'in a variable that a field refuses': [minimalJob.replace('nightly', '${SECRET}/')],
    'in a variable that a choice refuses': [`${minimalJob}backup: {on_gap: '\${SECRET}'}`],
    'in --set without a path': [minimalJob, 'hunter2'],
    'in --set that is not YAML': [minimalJob, 'enterprise.schema_registry.auth.password="hunter2'],
    'in --set below a text': [minimalJob, 'backup_id.password=hunter2'],
  }
  for (const [name, [text, set]] of Object.entries(slips)) {
    test(`${name} is not in the message`, () => {
      const lines = errorsOf(text, { env: { SECRET: 'hunter2' }, set: set === undefined ? [] : [set] })
      assert.ok(lines.length > 0)
      assert.doesNotMatch(lines.join('\n'), /hunter2|71982/)
    })
  }
})
