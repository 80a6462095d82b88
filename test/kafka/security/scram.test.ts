import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scram } from '../../../src/kafka/security/password-login.ts'

const endpoint = { host: 'k1', port: 9092 }
const never = new AbortController().signal

/** The example of RFC 7677. */
const rfc = {
  nonce: 'rOprNGfwEbeRWgbNEkqO',
  first: 'n,,n=user,r=rOprNGfwEbeRWgbNEkqO',
  serverFirst: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  final: 'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  serverFinal: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
}

/** Talks with the mechanism as a server that says these things; returns what it was told. */
async function talk(answers: readonly string[], login = { username: 'user', password: 'pencil' }): Promise<string[]> {
  const conversation = scram('SCRAM-SHA-256', login, () => rfc.nonce).converse(endpoint, never)
  const told: string[] = []
  let step = await conversation.next()
  for (const answer of answers) {
    if (!step.done) told.push(step.value.toString())
    step = await conversation.next(Buffer.from(answer))
  }
  assert.equal(step.done, true)
  return told
}

describe('SCRAM', () => {
  test('speaks the example of RFC 7677', async () => {
    assert.deepEqual(await talk([rfc.serverFirst, rfc.serverFinal]), [rfc.first, rfc.final])
  })

  test('escapes the signs of a user name that have a meaning', async () => {
    const conversation = scram('SCRAM-SHA-512', { username: 'a=b,c', password: 'x' }, () => 'n').converse(
      endpoint,
      never,
    )
    assert.equal((await conversation.next()).value?.toString(), 'n,,n=a=3Db=2Cc,r=n')
  })

  test('has a nonce of its own each time', async () => {
    const mechanism = scram('SCRAM-SHA-256', { username: 'u', password: 'x' })
    const first = async () => (await mechanism.converse(endpoint, never).next()).value?.toString()
    assert.notEqual(await first(), await first())
  })

  const impostors: Record<string, [answers: string[], message: RegExp]> = {
    'a nonce that is not ours': [['r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096'], /does not belong to our request/],
    'only our own nonce': [[`r=${rfc.nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`], /does not belong to our request/],
    'too few iterations': [[rfc.serverFirst.replace('4096', '4095')], /asks for 4095 iterations/],
    'too many iterations': [[rfc.serverFirst.replace('4096', '1000001')], /asks for 1000001 iterations/],
    'something else altogether': [['hello'], /its first answer cannot be read/],
    'an extension that must be understood': [[`m=x,${rfc.serverFirst}`], /its first answer cannot be read/],
    'a wrong signature': [[rfc.serverFirst, `v=${Buffer.alloc(32).toString('base64')}`], /does not know the password/],
    'no signature': [[rfc.serverFirst, ''], /does not know the password/],
  }
  for (const [name, [answers, message]] of Object.entries(impostors)) {
    test(`a server that answers with ${name} is refused`, () =>
      assert.rejects(talk(answers), { code: 'KAFKA_AUTH', message }))
  }

  test("a server's own error is told", () =>
    assert.rejects(talk([rfc.serverFirst, 'e=unknown-user']), { code: 'KAFKA_AUTH', message: /unknown-user/ }))
})
