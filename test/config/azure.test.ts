// biome-ignore-all lint/suspicious/noTemplateCurlyInString: `${VAR}` is what job files contain
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { secretsIn } from '../../src/observe/redact.ts'
import { azureFields, azureJob, errorOf, errorsOf, parse } from './job-texts.ts'

const env = { SECRET: 'topsecret', SAS: 'sv=2025-01-01&sp=rwl&sig=topsecret' }

describe('an Azure storage', () => {
  const defaults = { partSizeBytes: 5 * 2 ** 20, uploads: 9, connectTimeoutMs: 10_000, idleTimeoutMs: 60_000 }

  test('has defaults for all but its container', () => {
    assert.deepEqual(parse(azureJob).storage, { backend: 'azure', container: 'my-container', ...defaults })
  })

  test('takes every field, in the units of the program', () => {
    assert.deepEqual(parse(`${azureJob}${azureFields}  account_key: \${SECRET}\n`, { env }).storage, {
      backend: 'azure',
      container: 'my-container',
      prefix: 'prod/eu',
      account: 'acme',
      endpoint: 'https://acme.blob.core.windows.net',
      authorityHost: 'https://login.microsoftonline.us',
      accountKey: 'topsecret',
      caCert: '/etc/ca.pem',
      proxy: 'http://user:pass@proxy:3128',
      partSizeBytes: 16 * 2 ** 20,
      uploads: 9,
      connectTimeoutMs: 5_000,
      idleTimeoutMs: 120_000,
    })
  })

  const logins: Record<string, Record<string, string>> = {
    'sas_token: ${SAS}': { sasToken: env.SAS },
    'client_id: c': { clientId: 'c' },
    'tenant_id: t\n  client_id: c\n  client_secret: ${SECRET}': {
      tenantId: 't',
      clientId: 'c',
      clientSecret: 'topsecret',
    },
    'tenant_id: t\n  client_id: c\n  federated_token_file: /token': {
      tenantId: 't',
      clientId: 'c',
      federatedTokenFile: '/token',
    },
    'endpoint_suffix: core.chinacloudapi.cn': { endpointSuffix: 'core.chinacloudapi.cn' },
  }
  for (const [text, options] of Object.entries(logins)) {
    test(`takes ${text.replaceAll(/\s+/g, ' ')}`, () => {
      const { storage } = parse(`${azureJob}  ${text}\n`, { env })
      assert.deepEqual(storage, { backend: 'azure', container: 'my-container', ...options, ...defaults })
    })
  }

  test('keeps its credentials out of what is shown', () => {
    const secret = 'tenant_id: t\n  client_id: c\n  client_secret: ${SECRET}'
    for (const text of ['account_key: ${SECRET}', secret]) {
      assert.deepEqual(secretsIn(parse(`${azureJob}  ${text}\n`, { env })), ['topsecret'])
    }
    assert.deepEqual(secretsIn(parse(`${azureJob}  sas_token: \${SAS}\n`, { env })), [env.SAS])
    const wrong = errorOf(`${azureJob}  sas_token: https://x?sig=topsecret\n  account_key: 5\n`).message
    assert.doesNotMatch(wrong, /topsecret|5;/)
  })

  const refused: Record<string, [text: string, message: RegExp]> = {
    'an address as container': ['container: az://x', /^storage\.container: "az:\/\/x" is an address; /],
    'a folder in the container': ['container: abc/b', /^storage\.container: "abc\/b" has a slash \(folders go to/],
    'a container that is too long': [`container: ${'a'.repeat(64)}`, /^storage\.container: .* is too long/],
    'a host as account': ['account: acme.blob.core.windows.net', /^storage\.account: .* is a host \(that goes to `end/],
    'an endpoint without a scheme': ['endpoint: acme', /^storage\.endpoint: .* is not a URL of http or https/],
    'an endpoint with a SAS': ['endpoint: https://h/?sig=x', /^storage\.endpoint: .* has more than a path/],
    'an authority without TLS': ['authority_host: http://login', /^storage\.authority_host: .* is not https/],
    'a SAS that is an address': ['sas_token: https://h/?sig=x', /^storage\.sas_token: the value is an address/],
    'a SAS without a signature': ['sas_token: sv=1', /^storage\.sas_token: the value has no signature/],
    'two ways to log in': [
      'account_key: a\n  sas_token: sig=x',
      /^storage\.sas_token: is given together with account_key/,
    ],
    'a secret without its principal': ['client_secret: a', /^storage\.tenant_id: is required with client_secret/],
    'a token without its principal': [
      'federated_token_file: /t',
      /^storage\.client_id: is required with client_secret or federated/m,
    ],
    'a tenant alone': ['tenant_id: t', /^storage\.tenant_id: has no effect without client_secret or/],
    'a principal beside a key': [
      'account_key: a\n  client_id: c',
      /^storage\.client_id: has no effect together with account_/,
    ],
    'a suffix beside an endpoint': [
      'endpoint: https://h\n  endpoint_suffix: a.b',
      /^storage\.endpoint_suffix: has no effect together with endpoint/,
    ],
    'an encryption of S3': ['sse: AES256', /^storage\.sse: /],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    test(`refuses ${name}`, () => {
      const job = text.startsWith('container:') ? azureJob.replace(/container: .*/, text) : `${azureJob}  ${text}\n`
      assert.match(errorsOf(job).join('\n'), message)
    })
  }
})
