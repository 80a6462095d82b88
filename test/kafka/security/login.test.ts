import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { metadata } from '../../../src/kafka/api/metadata.ts'
import { BrokerLink } from '../../../src/kafka/broker-link.ts'
import { openSecurity } from '../../../src/kafka/security/security.ts'
import type { SecurityOptions } from '../../../src/kafka/security/security-options.ts'
import { Writer } from '../../../src/kafka/wire/writer.ts'
import { API, type FakeBroker, type Handler, startFakeBroker } from '../../fakes/fake-broker.ts'
import { encodeMetadata } from '../../fakes/fake-cluster.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

const never = new AbortController().signal
const login: SecurityOptions = {
  protocol: 'SASL_PLAINTEXT',
  sasl: { mechanism: 'PLAIN', username: 'alice', password: 'secret' },
}

const handshake =
  (errorCode: number): Handler =>
  () =>
    Buffer.from([...new Writer({ isFlexible: false }).int16(errorCode).int32(1).string('GSSAPI').finish()])
const authenticated = (lifetimeMs: bigint, errorCode = 0, message: string | null = null) =>
  new Writer().int16(errorCode).string(message).uvarint(1).int64(lifetimeMs).noTags()

describe('a login', () => {
  test('follows the greeting, and what it says is user and password', () =>
    withBroker({}, async (broker, open) => {
      const link = await open(login)
      assert.deepEqual(namesOf(broker), ['ApiVersions', 'SaslHandshake', 'SaslAuthenticate'])
      const { body } = broker.requests[2] ?? assert.fail()
      const { start, end } = body.bytesRange()
      assert.equal(body.buffer.toString('utf8', start, end), '\0alice\0secret')
      assert.equal(link.description, `${broker.address} (SASL_PLAINTEXT, PLAIN as alice)`)
      link.close()
    }))

  test('that does not end is not made again', () =>
    withBroker({}, async (broker, open, clock) => {
      const link = await open(login)
      clock.pass(86_400_000)
      await link.call(metadata, { topics: null }, never)
      assert.deepEqual(namesOf(broker).slice(3), ['Metadata'])
      link.close()
    }))

  test('that ends is renewed before the next request, once for all requests that wait', () =>
    withBroker({ [API.saslAuthenticate]: () => authenticated(10_000n) }, async (broker, open, clock) => {
      const link = await open(login)
      clock.pass(7999)
      await link.call(metadata, { topics: null }, never)
      clock.pass(1)
      await Promise.all([1, 2, 3].map(() => link.call(metadata, { topics: null }, never)))
      const renewal = ['SaslHandshake', 'SaslAuthenticate']
      assert.deepEqual(namesOf(broker).slice(3), ['Metadata', ...renewal, 'Metadata', 'Metadata', 'Metadata'])
      link.close()
    }))

  test('whose renewal is refused ends the connection', () =>
    withBroker(
      { [API.saslAuthenticate]: ({ nth }) => (nth === 0 ? authenticated(10_000n) : authenticated(0n, 58, 'expired')) },
      async (_, open, clock) => {
        const link = await open(login)
        clock.pass(10_000)
        const calls = await Promise.allSettled([1, 2].map(() => link.call(metadata, { topics: null }, never)))
        for (const call of calls) {
          assert.match(String(call.status === 'rejected' && call.reason), /refused the PLAIN login as alice: expired/)
        }
        assert.equal(link.isOpen, false)
      },
    ))

  test('is not renewed twice within a second, which brokers refuse, however short it is', () =>
    withBroker({ [API.saslAuthenticate]: () => authenticated(1000n) }, async (broker, open, clock) => {
      const link = await open(login)
      const ask = (afterMs: number) => {
        clock.pass(afterMs)
        return link.call(metadata, { topics: null }, never)
      }
      for (const afterMs of [500, 900, 99, 1]) await ask(afterMs)
      const renewal = ['SaslHandshake', 'SaslAuthenticate']
      assert.deepEqual(namesOf(broker).slice(3), [
        ...renewal,
        'Metadata',
        'Metadata',
        'Metadata',
        ...renewal,
        'Metadata',
      ])
      link.close()
    }))

  test('whose renewal comes too soon for the broker costs the connection, and is no refusal of the login', () =>
    withBroker(
      {
        [API.saslHandshake]: request => handshake(request.nth === 0 ? 0 : 34)(request),
        [API.saslAuthenticate]: () => authenticated(10_000n),
      },
      async (_, open, clock) => {
        const link = await open(login)
        clock.pass(10_000)
        await assert.rejects(link.call(metadata, { topics: null }, never), { code: 'KAFKA_DISCONNECTED' })
        assert.equal(link.isOpen, false)
      },
    ))

  const refusals: Record<string, [Record<number, Handler>, message: RegExp]> = {
    'whose mechanism is not taken': [
      { [API.saslHandshake]: handshake(33) },
      /does not accept PLAIN; it accepts GSSAPI/,
    ],
    'where none is taken': [{ [API.saslHandshake]: handshake(34) }, /accepts no login, and the job has one \(PLAIN\)/],
    'that cannot begin for another reason': [
      { [API.saslHandshake]: handshake(35) },
      /refused to begin .* \(error 35\)/,
    ],
    'that is refused': [
      { [API.saslAuthenticate]: () => authenticated(0n, 58, 'Invalid username or password') },
      /refused the PLAIN login as alice: Invalid username or password$/,
    ],
    'that is refused without a word': [
      { [API.saslAuthenticate]: () => authenticated(0n, 58) },
      /refused the PLAIN login as alice$/,
    ],
  }
  for (const [name, [handlers, message]] of Object.entries(refusals)) {
    test(`${name} is KAFKA_AUTH, and the connection is closed`, () =>
      withBroker(handlers, async (broker, open) => {
        await assert.rejects(open(login), (error: Error & { code: string; exitCode: number }) => {
          assert.deepEqual([error.code, error.exitCode], ['KAFKA_AUTH', 1])
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /secret/)
          return true
        })
        while (broker.openConnections > 0) await new Promise(resolve => setImmediate(resolve))
      }))
  }

  test('that is missing is found out when the listener hangs up', () =>
    withBroker({ [API.metadata]: () => 'hang-up', [API.saslHandshake]: handshake(33) }, async (_, open) => {
      const link = await open({ protocol: 'PLAINTEXT' })
      await assert.rejects(link.call(metadata, { topics: null }, never), {
        code: 'KAFKA_AUTH',
        message: /requires a login, and the job has none; it accepts GSSAPI/,
      })
    }))

  test('is not blamed when a listener without logins hangs up', () =>
    withBroker({ [API.metadata]: () => 'hang-up', [API.saslHandshake]: handshake(34) }, async (_, open) => {
      const link = await open({ protocol: 'PLAINTEXT' })
      await assert.rejects(link.call(metadata, { topics: null }, never), { code: 'KAFKA_DISCONNECTED' })
    }))

  test('and its protocol have to agree', () => {
    const parts = { clock: new JumpingClock(), timeoutMs: 1000 }
    assert.throws(() => openSecurity({ protocol: 'SASL_SSL' }, parts), { code: 'CONFIG_INVALID' })
    assert.throws(() => openSecurity({ ...login, protocol: 'SSL' }, parts), { code: 'CONFIG_INVALID' })
  })
})

async function withBroker(
  handlers: Record<number, Handler>,
  work: (
    broker: FakeBroker,
    open: (security: SecurityOptions) => Promise<BrokerLink>,
    clock: JumpingClock,
  ) => Promise<void>,
): Promise<void> {
  const clock = new JumpingClock()
  const broker = await startFakeBroker({
    [API.saslHandshake]: handshake(0),
    [API.saslAuthenticate]: () => authenticated(0n),
    [API.metadata]: () => encodeMetadata({ clusterId: 'c', topics: [] }, [], []),
    ...handlers,
  })
  const open = (options: SecurityOptions) => {
    const security = openSecurity(options, { clock, timeoutMs: 1000 })
    return BrokerLink.open(broker, { clientId: 'c', softwareVersion: '1', timeoutMs: 1000, clock, security }, never)
  }
  try {
    await work(broker, open, clock)
  } finally {
    await broker.close()
  }
}

function namesOf(broker: FakeBroker): string[] {
  const names: Record<number, string> = {
    3: 'Metadata',
    17: 'SaslHandshake',
    18: 'ApiVersions',
    36: 'SaslAuthenticate',
  }
  return broker.requests.map(({ key }) => names[key] ?? String(key))
}
