import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findCredentials, parseKubeconfig, readServiceAccount } from '../../../src/operator/kube/credentials.ts'

const file = '/home/jane/.kube/config'

test('takes server and user from the current context', () => {
  const text = `
apiVersion: v1
kind: Config
current-context: second
contexts:
  - { name: first, context: { cluster: one, user: john } }
  - { name: second, context: { cluster: two, user: jane, namespace: backups } }
clusters:
  - { name: one, cluster: { server: 'https://one:6443' } }
  - name: two
    cluster:
      server: https://two:6443/clusters/c-1/
      certificate-authority-data: ${encode('CA')}
      tls-server-name: kubernetes
users:
  - { name: john, user: { token: johns } }
  - name: jane
    user: { client-certificate: jane.crt, client-key-data: ${encode('KEY')} }
`
  assert.deepEqual(parseKubeconfig(text, file), {
    server: 'https://two:6443/clusters/c-1',
    serverName: 'kubernetes',
    ca: { text: 'CA' },
    clientCert: { file: '/home/jane/.kube/jane.crt' },
    clientKey: { text: 'KEY' },
    namespace: 'backups',
  })
})

test('takes another context and the program for its login where a person chose them', () => {
  const exec = { command: 'bin/login', args: ['token'], env: [{ name: 'REGION', value: 'eu' }], apiVersion: 'a/v1' }
  const text = JSON.stringify({
    ...JSON.parse(formatConfig({}, { exec })),
    'current-context': 'gone',
  })
  const { name } = JSON.parse(text).contexts[0]
  assert.deepEqual(parseKubeconfig(text, file, { context: name, mayExec: true }).exec, {
    ...{ apiVersion: 'a/v1', command: '/home/jane/.kube/bin/login', args: ['token'], env: { REGION: 'eu' } },
  })
  assert.throws(() => parseKubeconfig(text, file, { context: 'none' }), /contexts has no entry none/)
})

test('prefers a token file to a token, with a path relative to the kubeconfig', () => {
  const { token } = parseKubeconfig(formatConfig({}, { token: 'text', tokenFile: '../token' }), file)
  assert.deepEqual(token, { file: '/home/jane/token' })
})

const refused: [string, Record<string, unknown>, Record<string, unknown>, RegExp][] = [
  ['a login by another program', {}, { exec: { command: 'aws-iam-authenticator' } }, /exec \(aws-iam-authenticator\)/],
  ['a login by a provider', {}, { 'auth-provider': { name: 'gcp' } }, /auth-provider/],
  ['a password', {}, { username: 'jane', password: 'secret-word' }, /username/],
  ['acting as somebody else', {}, { token: 't', as: 'root' }, /: as is not supported/],
  ['a proxy', { 'proxy-url': 'http://proxy' }, {}, /proxy-url/],
  ['certificates that are not verified', { 'insecure-skip-tls-verify': true }, {}, /insecure-skip-tls-verify/],
  ['a server without TLS', { server: 'http://one' }, {}, /https:\/\//],
]
for (const [what, cluster, user, message] of refused) {
  test(`refuses a kubeconfig with ${what} by name`, () => {
    assert.throws(
      () => parseKubeconfig(formatConfig(cluster, user), file),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'KUBE_CONFIG')
        assert.match(error.message, message)
        assert.ok(error.message.includes(file))
        return !error.message.includes('secret-word')
      },
    )
  })
}

test('names the missing part of a kubeconfig', () => {
  assert.throws(() => parseKubeconfig('kind: Config', file), /current-context is not set/)
  assert.throws(() => parseKubeconfig('current-context: a', file), /contexts has no entry a/)
  assert.throws(() => parseKubeconfig('a: [', file), /line 1/)
})

test('a pod finds its service account, also with an IPv6 address', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'account-'))
  await writeFile(join(folder, 'namespace'), 'backups\n')
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  assert.deepEqual(await readServiceAccount(env, folder), {
    server: 'https://[fd00::1]:443',
    ca: { file: join(folder, 'ca.crt') },
    token: { file: join(folder, 'token') },
    namespace: 'backups',
  })
  await rm(folder, { recursive: true })
})

test('names what to set in a pod without a service account', async () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
  await assert.rejects(readServiceAccount(env, '/nowhere'), {
    code: 'KUBE_CONFIG',
    help: /automountServiceAccountToken/,
  })
})

test('prefers an explicit file to the pod and the environment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
  const [asked, listed] = [join(folder, 'asked'), join(folder, 'listed')]
  await writeFile(asked, formatConfig({ server: 'https://asked' }, {}))
  await writeFile(listed, formatConfig({ server: 'https://listed' }, {}))
  const inCluster = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
  assert.equal((await findCredentials(asked, { ...inCluster, KUBECONFIG: listed })).server, 'https://asked')
  assert.equal((await findCredentials(undefined, { KUBECONFIG: listed })).server, 'https://listed')
  const person = await findCredentials(undefined, { ...inCluster, KUBECONFIG: listed }, { mayExec: true })
  assert.equal(person.server, 'https://listed', 'the plugin acts on the cluster that kubectl acts on')
  await assert.rejects(findCredentials(undefined, { KUBECONFIG: `${asked}:${listed}` }), { code: 'KUBE_CONFIG' })
  await assert.rejects(findCredentials(join(folder, 'none'), {}), { code: 'KUBE_CONFIG', message: /cannot read/ })
  await rm(folder, { recursive: true })
})

function formatConfig(cluster: Record<string, unknown>, user: Record<string, unknown>): string {
  return JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://one', ...cluster } }],
    users: [{ name: 'u', user }],
  })
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}
