import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { awsCredentials } from '../../../src/aws-credentials.ts'
import { mskIam, regionOf, signConnect } from '../../../src/kafka/security/msk-iam.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'

const never = new AbortController().signal
const host = 'b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com'
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'session/token+with=signs',
}

describe('AWS_MSK_IAM', () => {
  test("signs as AWS's own client (aws-msk-iam-auth 2.3.2) did at that second", () => {
    const nowMs = Date.parse('2026-11-15T12:59:18Z')
    assert.deepEqual(signConnect({ host, region: 'eu-central-1', credentials, nowMs }), {
      version: '2020_10_22',
      host,
      'user-agent': 'kafka-backup',
      action: 'kafka-cluster:Connect',
      'x-amz-algorithm': 'AWS4-HMAC-SHA256',
      'x-amz-credential': 'AKIDEXAMPLE/20261115/eu-central-1/kafka-cluster/aws4_request',
      'x-amz-date': '20261115T125918Z',
      'x-amz-expires': '900',
      'x-amz-security-token': 'session/token+with=signs',
      'x-amz-signedheaders': 'host',
      'x-amz-signature': '69f3b4847c8cc407c11a2c0ee9f69f9139e86040c4ef36b2df740c9fcb228e01',
    })
  })

  test('has no session token where the credentials have none', () => {
    const { accessKeyId, secretAccessKey } = credentials
    const payload = signConnect({ host, region: 'r', credentials: { accessKeyId, secretAccessKey }, nowMs: 0 })
    assert.ok(!Object.keys(payload).includes('x-amz-security-token'))
  })

  test('finds the region in the names of MSK brokers, and nowhere else', () => {
    assert.equal(regionOf(host), 'eu-central-1')
    assert.equal(regionOf('boot-x.c1.kafka-serverless.us-east-1.amazonaws.com'), 'us-east-1')
    assert.equal(regionOf('b-2.x.kafka.cn-north-1.amazonaws.com.cn'), 'cn-north-1')
    for (const other of ['kafka-1', 'kafka.eu-central-1.amazonaws.com.example', '10.0.0.1']) {
      assert.throws(() => regionOf(other), { code: 'CONFIG_INVALID', help: /sasl\.aws\.region/ })
    }
  })

  test('wants the confirmation of the broker', async () => {
    const begin = async () => {
      const conversation = mskIam({}, new JumpingClock(), async () => credentials).converse({ host, port: 9098 }, never)
      const { value } = await conversation.next()
      assert.equal(JSON.parse(String(value)).host, host)
      return conversation
    }
    assert.equal((await (await begin()).next(Buffer.from('{"version":"2020_10_22","request-id":"1"}'))).done, true)
    await assert.rejects((await begin()).next(Buffer.from('')), { code: 'KAFKA_AUTH', message: /did not confirm/ })
  })

  test('says that there are no credentials', async () => {
    const failing = () => Promise.reject(new Error('Could not load credentials from any providers'))
    const conversation = mskIam({ profile: 'p' }, new JumpingClock(), failing).converse({ host, port: 9098 }, never)
    await assert.rejects(conversation.next(), { code: 'KAFKA_AUTH', message: /no AWS credentials were found/ })
  })
  test('waits for credentials for a limited time', async () => {
    const rung: (() => void)[] = []
    const after = (_: number, ring: () => void) => {
      rung.push(ring)
      return () => undefined
    }
    const clock = { ...new JumpingClock(), after }
    const silent = awsCredentials({ clock, open: async () => () => new Promise(() => undefined) })
    const conversation = mskIam({}, new JumpingClock(), silent).converse({ host, port: 9098 }, never)
    const begun = assert.rejects(conversation.next(), { code: 'CREDENTIALS_UNREACHABLE', message: /within 120 s/ })
    await new Promise(resolve => setImmediate(resolve))
    for (const ring of rung) ring()
    await begun
  })
})
