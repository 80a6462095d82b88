import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AzureOptions, accountOf, endpointOf, resolveAzureOptions } from '../../src/storage/azure/azure-options.ts'
import { planLogin } from '../../src/storage/azure/credential.ts'

const box = { container: 'box' }
const connection =
  'DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5PT0=;EndpointSuffix=core.chinacloudapi.cn'

describe('account and key', () => {
  test('come from the variables of the Azure CLI where they are not given', () => {
    const env = { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_KEY: 'k' }
    assert.deepEqual(resolveAzureOptions(box, env), { ...box, account: 'acme', accountKey: 'k' })
    const sas = { AZURE_STORAGE_ACCOUNT: 'acme', AZURE_STORAGE_SAS_TOKEN: 'sig=x', AZURE_STORAGE_KEY: '' }
    assert.deepEqual(resolveAzureOptions(box, sas), { ...box, account: 'acme', sasToken: 'sig=x' })
  })

  test('come from a connection string, with the endpoint that it names', () => {
    const env = { AZURE_STORAGE_CONNECTION_STRING: connection }
    const cloud = { endpointSuffix: 'core.chinacloudapi.cn' }
    assert.deepEqual(resolveAzureOptions(box, env), { ...box, account: 'acme', accountKey: 'a2V5PT0=', ...cloud })
    const sas = 'BlobEndpoint=https://acme.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=a=='
    assert.deepEqual(resolveAzureOptions(box, { AZURE_STORAGE_CONNECTION_STRING: sas }), {
      ...box,
      account: 'acme',
      endpoint: 'https://acme.blob.core.windows.net',
      sasToken: 'sv=1&sig=a==',
    })
  })

  test('in the endpoint of a connection string are refused, and not shown', () => {
    for (const endpoint of ['https://h/acme?sv=1&sig=topsecret', 'https://u:topsecret@h/acme', 'topsecret']) {
      const env = { AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=${endpoint};AccountKey=a2V5` }
      assert.throws(
        () => resolveAzureOptions(box, env),
        (error: Error) => /BlobEndpoint/.test(error.message) && !error.message.includes('topsecret'),
      )
    }
  })

  test('of the environment are not used for another account, nor beside what was given', () => {
    const env = { AZURE_STORAGE_CONNECTION_STRING: connection }
    assert.deepEqual(resolveAzureOptions({ ...box, account: 'other' }, env), { ...box, account: 'other' })
    const at = { ...box, endpoint: 'https://other.blob.core.windows.net' }
    assert.deepEqual(resolveAzureOptions(at, env), { ...at, account: 'other' })
    const given: AzureOptions = { ...box, account: 'acme', sasToken: 'sig=x', endpointSuffix: 'core.windows.net' }
    assert.deepEqual(resolveAzureOptions(given, env), given)
    const managed = { ...box, account: 'acme', clientId: 'c', endpointSuffix: 'core.windows.net' }
    assert.deepEqual(resolveAzureOptions(managed, env), managed)
  })

  test('are named in the endpoint, as its host or its path', () => {
    assert.equal(accountOf({ endpoint: 'https://acme.blob.core.windows.net' }), 'acme')
    assert.equal(accountOf({ endpoint: 'http://127.0.0.1:10000/dev' }), 'dev')
    assert.equal(accountOf({ endpoint: 'https://blobs.example' }), undefined)
    assert.equal(accountOf({ endpoint: 'https://blobs.example', account: 'acme' }), 'acme')
  })

  test('a connection string that names no account is refused, and not shown', () => {
    for (const text of ['AccountKey=topsecret', 'UseDevelopmentStorage=true', 'topsecret']) {
      const refusal = { code: 'LOCATION_INVALID', message: /^(?!.*topsecret)AZURE_STORAGE_CONNECTION_STRING / }
      assert.throws(() => resolveAzureOptions(box, { AZURE_STORAGE_CONNECTION_STRING: text }), refusal)
    }
  })
})

test('the endpoint follows from the account and the cloud', () => {
  assert.equal(endpointOf({ ...box, account: 'acme' }), 'https://acme.blob.core.windows.net')
  const gov = { ...box, account: 'acme', endpointSuffix: 'core.usgovcloudapi.net' }
  assert.equal(endpointOf(gov), 'https://acme.blob.core.usgovcloudapi.net')
  assert.equal(endpointOf({ ...gov, endpoint: 'http://h:1/acme/' }), 'http://h:1/acme')
  assert.equal(endpointOf(box), undefined)
})

describe('an identity', () => {
  const pod = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_FEDERATED_TOKEN_FILE: '/token' }
  const at = { ...box, account: 'acme' }

  test('of a pod comes from its variables, with the client of the job where it names one', () => {
    assert.deepEqual(planLogin(resolveAzureOptions(at, pod)), {
      kind: 'federated',
      tenantId: 't',
      clientId: 'c',
      tokenFile: '/token',
    })
    const { clientId } = planLogin(resolveAzureOptions({ ...at, clientId: 'mine' }, pod)) as { clientId?: string }
    assert.equal(clientId, 'mine')
  })

  test('with a secret comes first, and a key before both', () => {
    const env = { ...pod, AZURE_CLIENT_SECRET: 's' }
    assert.equal(planLogin(resolveAzureOptions(at, env)).kind, 'secret')
    assert.equal(planLogin(resolveAzureOptions(at, { ...env, AZURE_STORAGE_KEY: 'k' })).kind, 'key')
    assert.equal(planLogin(resolveAzureOptions({ ...at, sasToken: 'sig=x' }, env)).kind, 'sas')
  })

  test('is left to the platform where nothing is said, or where the environment says how', () => {
    assert.deepEqual(planLogin(resolveAzureOptions(at, {})), { kind: 'platform' })
    assert.deepEqual(planLogin(resolveAzureOptions({ ...at, clientId: 'c' }, {})), { kind: 'platform', clientId: 'c' })
    assert.deepEqual(planLogin(resolveAzureOptions(at, { ...pod, AZURE_TOKEN_CREDENTIALS: 'prod' })), {
      kind: 'platform',
    })
  })

  test('that is a SAS token is not sent without TLS to another machine', () => {
    const sas = { ...box, sasToken: 'sv=1&sig=x' }
    for (const endpoint of ['http://blobs.example/acme', 'HTTP://10.0.0.1:10000/acme', 'http://127.0.0.1.example/a']) {
      assert.throws(() => planLogin({ ...sas, endpoint }), { code: 'LOCATION_INVALID', message: /SAS token .* https/ })
    }
    for (const endpoint of ['http://127.0.0.1:10000/acme', 'http://localhost/acme', 'https://blobs.example/acme']) {
      assert.equal(planLogin({ ...sas, endpoint }).kind, 'sas')
    }
  })

  test('is not sent without TLS, and a key needs an account', () => {
    const plain = { ...box, endpoint: 'http://127.0.0.1:10000/acme' }
    assert.throws(() => planLogin(plain), { code: 'LOCATION_INVALID', message: /needs an https endpoint/ })
    assert.equal(planLogin({ ...plain, accountKey: 'k' }).kind, 'key')
    const nameless = { ...box, endpoint: 'https://blobs.example', accountKey: 'k' }
    assert.throws(() => planLogin(nameless), { code: 'LOCATION_INVALID', message: /account is unknown/ })
  })
})
