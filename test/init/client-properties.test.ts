import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConnection } from '../../src/init/read-connection.ts'

const read = (text: string, listener?: string) => readConnection(text, 'client.properties', listener)

describe('a client.properties file', () => {
  test('of SCRAM becomes a section without its password', () => {
    const text = `# a comment
bootstrap.servers = kafka-1:9093, kafka-2:9093
security.protocol=SASL_SSL
sasl.mechanism: SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="backup" \\
  password="pa\\\\"ss=word";
ssl.truststore.location=/etc/ca.pem
ssl.truststore.type=PEM
key.deserializer=org.example.Any
`
    assert.deepEqual(read(text), {
      bootstrapServers: ['kafka-1:9093', 'kafka-2:9093'],
      security: {
        protocol: 'SASL_SSL',
        tls: { ca_cert: '/etc/ca.pem' },
        sasl: { mechanism: 'SCRAM-SHA-512', username: 'backup', password: `\${KAFKA_PASSWORD}` },
      },
      secrets: [
        {
          variable: 'KAFKA_PASSWORD',
          origin: 'password of sasl.jaas.config in client.properties',
          value: 'pa"ss=word',
        },
      ],
      notes: [],
    })
  })

  test('that refers to a variable keeps its name', () => {
    const login = 'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=u\n'
    const { security, secrets } = read(`bootstrap.servers=k:9092\n${login}sasl.password=\${env:MY_PASSWORD}\n`)
    assert.equal(security?.sasl?.password, `\${MY_PASSWORD}`)
    assert.deepEqual(secrets, [{ variable: 'MY_PASSWORD', origin: 'sasl.password in client.properties' }])
  })

  test('of OAUTHBEARER keeps endpoint, client, scope and extensions', () => {
    const { security, secrets } = read(`bootstrap.servers=k:9092
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=https://idp/token
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.jaas.config=m.OAuthBearerLoginModule required clientId='c' clientSecret='s3cret' scope='kafka' extension_logicalCluster='lkc-1';
`)
    assert.deepEqual(security?.sasl, {
      mechanism: 'OAUTHBEARER',
      oauth: {
        token_url: 'https://idp/token',
        client_id: 'c',
        client_secret: `\${KAFKA_CLIENT_SECRET}`,
        scope: 'kafka',
        extensions: { logicalCluster: 'lkc-1' },
      },
    })
    assert.deepEqual(
      secrets.map(({ value }) => value),
      ['s3cret'],
    )
  })

  test('with a key store of Java is refused with what to do', () => {
    const text = 'bootstrap.servers=k:9093\nsecurity.protocol=SSL\nssl.truststore.location=/etc/trust.jks\n'
    assert.throws(() => read(text), {
      code: 'CONFIG_INVALID',
      message: /ssl\.truststore\.location is a key store of type JKS/,
    })
    const inline = 'bootstrap.servers=k:9093\nsecurity.protocol=SSL\nssl.keystore.key=-----BEGIN PRIVATE KEY-----\n'
    assert.throws(() => read(inline), { message: /ssl\.keystore\.key holds a certificate or key as text/ })
  })

  test('names what is not translated, and that verification cannot be turned off', () => {
    const text =
      'bootstrap.servers=k:9093\nsecurity.protocol=SSL\nssl.endpoint.identification.algorithm=\nssl.engine.factory.class=x\n'
    assert.deepEqual(read(text).notes, [
      'certificates and host names of brokers are always verified, although this file turns it off',
      'ssl.engine.factory.class has no counterpart and is not translated',
    ])
  })

  test('doubles a ${ that is meant literally', () => {
    const login = 'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.password=x\n'
    const { security } = read(`bootstrap.servers=k:9092\n${login}sasl.username=a\${b\n`)
    assert.equal(security?.sasl?.username, `a$\${b`)
  })
})

test('a configuration of kcat is read with the names of librdkafka', () => {
  const { security, secrets, bootstrapServers } = read(`metadata.broker.list=k:9093
security.protocol=sasl_ssl
sasl.mechanisms=PLAIN
sasl.username=key
sasl.password=secret
ssl.ca.location=/ca.pem
ssl.certificate.location=/c.pem
ssl.key.location=/k.pem
ssl.key.password=kp
`)
  assert.deepEqual(bootstrapServers, ['k:9093'])
  assert.deepEqual(security?.tls, {
    ca_cert: '/ca.pem',
    client_cert: '/c.pem',
    client_key: '/k.pem',
    client_key_password: `\${KAFKA_KEY_PASSWORD}`,
  })
  assert.deepEqual(
    secrets.map(({ variable, value }) => [variable, value]),
    [
      ['KAFKA_KEY_PASSWORD', 'kp'],
      ['KAFKA_PASSWORD', 'secret'],
    ],
  )
})

describe('resources of Strimzi', () => {
  const kafka = `apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: { name: prod, namespace: kafka }
spec:
  kafka:
    listeners:
      - { name: plain, port: 9092, type: internal, tls: false }
      - { name: tls, port: 9093, type: internal, tls: true, authentication: { type: scram-sha-512 } }
      - { name: external, port: 9094, type: loadbalancer, tls: true, authentication: { type: tls } }
`
  const user = '---\napiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: { name: backup }\n'
  const status = 'status:\n  listeners:\n    - { name: external, bootstrapServers: "lb.example.com:9094" }\n'

  test('give the address, the CA and the user of a listener', () => {
    const { bootstrapServers, security, secrets, notes } = read(`${kafka}${user}`, 'tls')
    assert.deepEqual(bootstrapServers, ['prod-kafka-bootstrap.kafka.svc:9093'])
    assert.deepEqual(security, {
      protocol: 'SASL_SSL',
      tls: { ca_cert: './ca.crt' },
      sasl: { mechanism: 'SCRAM-SHA-512', username: 'backup', password: `\${KAFKA_PASSWORD}` },
    })
    assert.deepEqual(secrets, [{ variable: 'KAFKA_PASSWORD', origin: 'the key password of the secret backup' }])
    assert.deepEqual(notes, [
      "write ca.crt first: kubectl get secret prod-cluster-ca-cert -n kafka -o jsonpath='{.data.ca\\.crt}' | base64 -d > ca.crt",
    ])
  })

  test('give the address of an external listener from their status only', () => {
    assert.throws(() => read(kafka, 'external'), { message: /address of the listener external .* is not in status/ })
    const { bootstrapServers, security } = read(`${kafka}${status}`, 'external')
    assert.deepEqual(bootstrapServers, ['lb.example.com:9094'])
    assert.equal(security?.tls?.client_key, './user.key')
  })

  test('need the name of a listener where there are several, and refuse an unknown one', () => {
    assert.throws(() => read(kafka), { message: /several listeners: plain, tls, external/, help: /--listener/ })
    assert.throws(() => read(kafka, 'other'), { message: /no listener other, but: plain, tls, external/ })
  })
})

test('options of a login that have no counterpart are noted, without their values', () => {
  const login = 'software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::1:role/r"'
  const { notes } = read(
    `bootstrap.servers=k:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config=${login};\n`,
  )
  assert.deepEqual(notes, ['awsRoleArn of sasl.jaas.config has no counterpart and is not translated'])
})

test('another file is refused', () => {
  assert.throws(() => read('mode: backup\nsource: {}\n'), { code: 'CONFIG_INVALID' })
  assert.throws(() => read('bootstrap.servers=k:9092\n', 'tls'), { message: /it has no listeners/ })
})
