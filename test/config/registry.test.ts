import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lossKindNames } from '../../src/registry/loss-kinds.ts'
import { errorsOf, minimalJob, parse } from './job-texts.ts'

const job = (registry: string) => `${minimalJob}enterprise: {schema_registry: {${registry}}}\n`
const tls = 'tls: {ca_cert: ca.pem, client_cert: c.pem, client_key: k.pem}'

describe('a schema registry', () => {
  test('that is enabled needs an address', () => {
    assert.equal(parse(job('enabled: true, url: http://registry:8081')).enterprise?.schemaRegistry?.enabled, true)
    const expected =
      'enterprise.schema_registry.url: is required where enabled is true; allowed: http or https URLs joined by commas'
    assert.deepEqual(errorsOf(job('enabled: true')), [`${expected} [line 10]`])
    assert.deepEqual(errorsOf(job(`enabled: '\${ON}'`), { env: { ON: 'true' } }), [`${expected} [line 10]`])
  })

  test('must say whether it is enabled', () => {
    const errors = errorsOf(job('url: https://registry:8081'))
    assert.deepEqual(errors, ['enterprise.schema_registry.enabled: is required; allowed: true, false [line 10]'])
  })

  test('takes every field of its own', () => {
    const text = `${minimalJob}enterprise:
  schema_registry:
    enabled: true
    url: https://registry-1:8081, https://registry-2:8081/apis/ccompat/v7
    auth: {type: oauth, token_url: https://auth/token, client_id: me, client_secret: s, scope: all}
    ${tls}
    connection: {rate_limit_rps: 25, connect_timeout: 5s, request_timeout: 1m}
    backup:
      subjects: ['orders-*']
      exclude: ['*-tmp']
      include_soft_deleted: true
      include_versions: latest
      include_references: false
    restore:
      enabled: true
      strategy: skip
      subjects: 'orders*'
      exclude: ['*-old']
      id_mapping: true
      rewrite_ids: true
      force_ids: false
      id_mapping_file: ids.json
      subject_mapping: {orders.v1-value: orders-value}
      set_compatibility: NONE
      force_register: true
      unknown_ids: pass
      check_ids: all
      rewrite_topics: {include: ['orders*'], exclude: [orders.raw]}
      rewrite_parts: [value]
      accept_loss: [rule_set, mode]
      topic_contexts: {orders.eu: .eu}
    schema_types: [AVRO, JSON, PROTOBUF]
    protobuf: {include_dependencies: true}
`
    assert.deepEqual(parse(text).enterprise?.schemaRegistry, {
      enabled: true,
      urls: ['https://registry-1:8081', 'https://registry-2:8081/apis/ccompat/v7'],
      auth: { type: 'oauth', tokenUrl: 'https://auth/token', clientId: 'me', clientSecret: 's', scope: 'all' },
      tls: { caCert: 'ca.pem', clientCert: 'c.pem', clientKey: 'k.pem' },
      connection: { rateLimitRps: 25, connectTimeoutMs: 5_000, requestTimeoutMs: 60_000 },
      backup: {
        subjects: ['orders-*'],
        exclude: ['*-tmp'],
        includeSoftDeleted: true,
        includeVersions: 'latest',
        includeReferences: false,
      },
      restore: {
        enabled: true,
        strategy: 'skip',
        subjects: ['orders*'],
        exclude: ['*-old'],
        idMapping: true,
        rewriteIds: true,
        forceIds: false,
        idMappingFile: 'ids.json',
        subjectMapping: new Map([['orders.v1-value', 'orders-value']]),
        setCompatibility: 'NONE',
        forceRegister: true,
        unknownIds: 'pass',
        checkIds: 'all',
        rewriteTopics: { include: ['orders*'], exclude: ['orders.raw'] },
        rewriteParts: ['value'],
        acceptLoss: ['rule_set', 'mode'],
        topicContexts: new Map([['orders.eu', '.eu']]),
      },
      schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
      protobuf: { includeDependencies: true },
    })
  })

  test('has defaults for all but its address', () => {
    assert.deepEqual(parse(job('enabled: false')).enterprise?.schemaRegistry, {
      enabled: false,
      connection: { connectTimeoutMs: 10_000, requestTimeoutMs: 30_000 },
      backup: {
        subjects: ['*'],
        exclude: [],
        includeSoftDeleted: false,
        includeVersions: 'all',
        includeReferences: true,
      },
      restore: {
        enabled: true,
        strategy: 'preserve',
        subjects: ['*'],
        exclude: [],
        idMapping: true,
        rewriteIds: true,
        forceIds: false,
        subjectMapping: new Map(),
        forceRegister: false,
        unknownIds: 'fail',
        checkIds: 'sample',
        rewriteTopics: { include: ['*'], exclude: [] },
        rewriteParts: ['key', 'value'],
        acceptLoss: [],
        topicContexts: new Map(),
      },
      schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
      protobuf: { includeDependencies: true },
    })
  })

  test('does not rewrite IDs by default where they are forced or not mapped', () => {
    const rewritesWith = (restore: string) =>
      parse(job(`enabled: false, restore: {${restore}}`)).enterprise?.schemaRegistry?.restore.rewriteIds
    assert.equal(rewritesWith('force_ids: true'), false)
    assert.equal(rewritesWith('id_mapping: false'), false)
    assert.equal(rewritesWith('enabled: false'), true)
  })

  test('takes .proto files along as it takes references, unless told otherwise', () => {
    const takesWith = (registry: string) =>
      parse(job(`enabled: false, ${registry}`)).enterprise?.schemaRegistry?.protobuf.includeDependencies
    assert.equal(takesWith('backup: {include_references: false}'), false)
    assert.equal(takesWith('backup: {include_references: false}, protobuf: {include_dependencies: true}'), true)
  })

  test('takes the tls files beside auth or inside it', () => {
    parse(job(`enabled: false, url: https://x, auth: {type: mtls}, ${tls}`))
    parse(job(`enabled: false, url: https://x, auth: {type: mtls, ${tls}}`))
  })

  const refused: Record<string, [registry: string, expected: string[]]> = {
    'basic without its fields': ['auth: {type: basic}', ['auth.username: is required', 'auth.password: is required']],
    'oauth without its fields': [
      'auth: {type: oauth}',
      ['auth.token_url: is required', 'auth.client_id: is', 'auth.client_secret: is', 'auth.scope: is required'],
    ],
    'oauth whose token endpoint is not https': [
      'url: https://x, auth: {type: oauth, token_url: http://auth/token, client_id: me, client_secret: s, scope: all}',
      ['auth.token_url: the value is not https, and the secret of the client would be sent in the clear'],
    ],
    'mtls without a url and files': [
      'auth: {type: mtls}',
      [
        'url: is required with auth.type mtls',
        'tls.ca_cert: is required with',
        'tls.client_cert: is required with',
        'tls.client_key: is required with',
      ],
    ],
    'mtls without one file inside auth': [
      'url: https://x, auth: {type: mtls, tls: {ca_cert: a, client_cert: b}}',
      ['auth.tls.client_key: is required with auth.type mtls'],
    ],
    'mtls over http': [`url: http://x, auth: {type: mtls}, ${tls}`, ['url: is not https, which auth.type mtls needs']],
    'tls at both places': [
      `url: https://x, auth: {type: mtls, ${tls}}, ${tls}`,
      ['auth.tls: is given twice: there is also a tls next to auth; keep one of the two'],
    ],
    'an unknown type of auth': [
      'auth: {type: basik}',
      ['auth.type: "basik" is not known; allowed: basic, mtls, oauth (did'],
    ],
    'a type of auth that is no text': ['auth: {type: 5}', ['auth.type: 5 is not a text; allowed: basic, mtls, oauth']],
    'auth without a type': ['auth: {username: u}', ['auth.type: is required; allowed: basic, mtls, oauth']],
    'a field of another type of auth': [
      'auth: {type: basic, username: u, password: p, scope: s}',
      ['auth.scope: is a key of `type: oauth` only; allowed: type, username, password, tls'],
    ],
    'a url that is none': ['url: registry:8081', ['url: the value is not a URL of http or https']],
    'an unknown strategy': [
      'restore: {strategy: overwite}',
      ['restore.strategy: "overwite" is not known; allowed: preserve,'],
    ],
    'a boolean that is none': ['restore: {enabled: yes}', ['restore.enabled: "yes" is neither true nor false']],
    'ids both rewritten and forced': [
      'restore: {rewrite_ids: true, force_ids: true}',
      ['restore.force_ids: contradicts rewrite_ids; set one of the two to false'],
    ],
    'IDs rewritten but not mapped': [
      'restore: {rewrite_ids: true, id_mapping: false}',
      ['restore.rewrite_ids: contradicts id_mapping: false, which leaves schema IDs to themselves; take one of the'],
    ],
    'IDs forced but not mapped': [
      'restore: {force_ids: true, id_mapping: false}',
      ['restore.force_ids: contradicts id_mapping: false'],
    ],
    'a file of IDs that are not mapped': [
      'restore: {id_mapping_file: a.json, id_mapping: false}',
      ['restore.id_mapping_file: contradicts id_mapping: false'],
    ],
    'a file of IDs that are forced': [
      'restore: {id_mapping_file: a.json, force_ids: true}',
      ['restore.id_mapping_file: has no effect without rewrite_ids'],
    ],
    'registrations that are turned off': [
      'restore: {enabled: false, force_ids: true, force_register: true, set_compatibility: NONE}',
      [
        'restore.force_ids: has no effect with restore.enabled: false, which registers nothing; take',
        'restore.force_register: has no effect',
        'restore.set_compatibility: has no effect',
      ],
    ],
    'two subjects that become one': [
      'restore: {subject_mapping: {a: c, b: c}}',
      ['restore.subject_mapping.b: goes to the same subject as a; give it another'],
    ],
    'an unknown policy of unknown IDs': ['restore: {unknown_ids: skip}', ['restore.unknown_ids: "skip" is not known']],
    'an unknown part of messages': [
      'restore: {rewrite_parts: [headers]}',
      ['restore.rewrite_parts.0: "headers" is not known; allowed: key, value'],
    ],
    'an unknown kind of loss': [
      'restore: {accept_loss: [rule_sets]}',
      [`restore.accept_loss.0: "rule_sets" is not known; allowed: ${lossKindNames.join(', ')}`],
    ],
    'a kind of loss twice': [
      'restore: {accept_loss: [mode, mode]}',
      ['restore.accept_loss.1: "mode" is given a second time'],
    ],
    'accepted losses where nothing is registered': [
      'restore: {enabled: false, accept_loss: [mode]}',
      ['restore.accept_loss: has no effect with restore.enabled: false'],
    ],
    'no part of messages': ['restore: {rewrite_parts: []}', ['restore.rewrite_parts: is an empty list']],
    'a context without its dot': [
      'restore: {topic_contexts: {a: prod}}',
      ['restore.topic_contexts.a: "prod" does not begin with a dot'],
    ],
    'a context as a prefix of subjects': [
      "restore: {topic_contexts: {a: ':.prod:'}}",
      ['restore.topic_contexts.a: ":.prod:" has colons around it'],
    ],
    'a limit of no requests': ['connection: {rate_limit_rps: 0}', ['connection.rate_limit_rps: 0 is too small']],
    'a timeout without a unit': ['connection: {request_timeout: 30}', ['connection.request_timeout: 30 has no unit']],
    'one address of several that is none': ['url: "http://a,b:8081"', ['url: the value is not a URL of http or https']],
    'one address of several that is not https': [
      `url: 'https://a,http://b', auth: {type: mtls}, ${tls}`,
      ['url: is not https, which auth.type mtls needs'],
    ],
    'a mapping that is a list': ['restore: {subject_mapping: [a]}', ['restore.subject_mapping: a list is not a map']],
    'a mapping to nothing': ['restore: {subject_mapping: {a.b: }}', ['restore.subject_mapping."a.b": has no value']],
    'an unknown schema type': [
      'schema_types: [AVRO, XML]',
      ['schema_types.1: "XML" is not known; allowed: AVRO, JSON,'],
    ],
    'no schema types': ['schema_types: []', ['schema_types: is an empty list']],
    'schema types as a text': ['schema_types: AVRO', ['schema_types: is a single value; allowed: a list']],
    'no subjects': ['backup: {subjects: []}', ['backup.subjects: is an empty list']],
  }
  for (const [name, [registry, expected]] of Object.entries(refused)) {
    test(`is refused with ${name}`, () => {
      const errors = errorsOf(job(`enabled: false, ${registry}`))
      const starts = expected.map(start => `enterprise.schema_registry.${start}`)
      assert.deepEqual(
        errors.map((error, index) => error.slice(0, starts[index]?.length)),
        starts,
      )
    })
  }
})
