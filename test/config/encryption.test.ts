import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secretsIn } from '../../src/observe/redact.ts'
import { errorsOf, minimalJob, minimalRestore, parse, parseRestore } from './job-texts.ts'

const section = (recipients: string) => `encryption:\n  recipients:\n${recipients}`

describe('the encryption of a job', () => {
  test('takes every kind of recipient', () => {
    const text = section(
      '    - {key_file: /etc/a.key, name: ops}\n    - {key_env: A_KEY}\n    - {passphrase_file: /etc/words}\n' +
        '    - {passphrase_env: WORDS}\n    - aws_kms: {key_id: alias/b, region: eu-central-1, endpoint: "https://kms:1"}\n',
    )
    const { encryption } = parse(`${minimalJob}${text}  hide_names: true\n`)
    assert.deepEqual(encryption, {
      recipients: [
        { keyFile: '/etc/a.key', name: 'ops' },
        { keyEnv: 'A_KEY' },
        { passphraseFile: '/etc/words' },
        { passphraseEnv: 'WORDS' },
        { awsKms: { keyId: 'alias/b', region: 'eu-central-1', endpoint: 'https://kms:1' } },
      ],
      hideNames: true,
    })
    assert.deepEqual(secretsIn(encryption), [])
  })

  test('is off without the section, and the same in both modes', () => {
    assert.equal(parse(minimalJob).encryption, undefined)
    const text = section('    - {key_file: a.key}\n')
    assert.deepEqual(parseRestore(`${minimalRestore}${text}`).encryption, parse(`${minimalJob}${text}`).encryption)
  })

  test('is refused where a recipient names no key, several, or something unknown', () => {
    const wrong = (recipients: string) => errorsOf(`${minimalJob}${section(recipients)}`).join('\n')
    assert.match(wrong('    - {name: ops}\n'), /encryption\.recipients\.0: names no key; allowed: one of key_file/)
    assert.match(wrong('    - {key_file: a, key_env: B}\n'), /names several keys \(key_file, key_env\)/)
    assert.match(wrong('    - {key: abc}\n'), /is not a known key/)
    assert.match(wrong('    - {key_env: "not a name"}\n'), /is not the name of a variable/)
    assert.match(wrong('    []\n'), /encryption\.recipients: is an empty list/)
  })
})
