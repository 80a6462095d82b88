import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorsOf, minimalJob, parse } from './job-texts.ts'

const job = (registry: string) => `${minimalJob}enterprise: {schema_registry: {${registry}}}\n`
const tls = 'tls: {ca_cert: ca.pem, client_cert: c.pem, client_key: k.pem}'

describe('a schema registry', () => {
  test('that is enabled is refused, not ignored', () => {
    const expected =
      'enterprise.schema_registry.enabled: schema registries are not available in this version; set it to false'
    assert.deepEqual(errorsOf(job('enabled: true')), [`${expected} [line 10]`])
    assert.deepEqual(errorsOf(job(`enabled: '\${ON}'`), { env: { ON: 'true' } }), [`${expected} [line 10]`])
  })

  test('must say whether it is enabled', () => {
    const errors = errorsOf(job('url: https://registry:8081'))
    assert.deepEqual(errors, ['enterprise.schema_registry.enabled: is required; allowed: false [line 10]'])
  })

  test('takes every field of its own', () => {
    const text = `${minimalJob}enterprise:
  schema_registry:
    enabled: false
    url: https://registry:8081
    auth: {type: oauth, token_url: https://auth/token, client_id: me, client_secret: s, scope: all}
    ${tls}
    backup:
      subjects: ['orders-*']
      exclude: ['*-tmp']
      include_soft_deleted: false
      include_versions: latest
      include_references: true
    restore:
      enabled: true
      strategy: skip
      id_mapping: true
      rewrite_ids: true
      force_ids: false
      id_mapping_file: ids.json
      subject_mapping: {orders.v1-value: orders-value}
      set_compatibility: NONE
      force_register: false
    schema_types: [AVRO, JSON, PROTOBUF]
    protobuf: {include_dependencies: true}
`
    assert.deepEqual(parse(text).enterprise?.schemaRegistry, {
      enabled: false,
      url: 'https://registry:8081',
      auth: { type: 'oauth', tokenUrl: 'https://auth/token', clientId: 'me', clientSecret: 's', scope: 'all' },
      tls: { caCert: 'ca.pem', clientCert: 'c.pem', clientKey: 'k.pem' },
      backup: {
        subjects: ['orders-*'],
        exclude: ['*-tmp'],
        includeSoftDeleted: false,
        includeVersions: 'latest',
        includeReferences: true,
      },
      restore: {
        enabled: true,
        strategy: 'skip',
        idMapping: true,
        rewriteIds: true,
        forceIds: false,
        idMappingFile: 'ids.json',
        subjectMapping: { 'orders.v1-value': 'orders-value' },
        setCompatibility: 'NONE',
        forceRegister: false,
      },
      schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
      protobuf: { includeDependencies: true },
    })
  })

  test('has the defaults of the specification', () => {
    const registry = parse(job('enabled: false, restore: {}, backup: {subjects: "*"}')).enterprise?.schemaRegistry
    assert.deepEqual(registry, {
      enabled: false,
      restore: { strategy: 'preserve' },
      backup: { subjects: ['*'] },
      schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
    })
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
      ['auth.tls: is given a second time: there is a tls beside auth; keep one of the two'],
    ],
    'an unknown type of auth': [
      'auth: {type: basik}',
      ['auth.type: "basik" is not known; allowed: basic, mtls, oauth (did'],
    ],
    'a type of auth that is no text': ['auth: {type: 5}', ['auth.type: 5 is not a text; allowed: basic, mtls, oauth']],
    'auth without a type': ['auth: {username: u}', ['auth.type: is required; allowed: basic, mtls, oauth']],
    'a field of another type of auth': [
      'auth: {type: basic, username: u, password: p, scope: s}',
      ['auth.scope: is not a known key; allowed: type, username, password, tls'],
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
