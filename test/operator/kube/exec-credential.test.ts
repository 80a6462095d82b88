import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCredential, runExecCommand } from '../../../src/operator/kube/exec-credential.ts'

const exec = (script: string) => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: process.execPath,
  args: ['-e', script],
  env: { REGION: 'eu' },
})

test('runs the program of a kubeconfig with its variables and takes the token that it prints', async () => {
  const script = `const { apiVersion, kind } = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
    const status = { token: [apiVersion, kind, process.env.REGION].join(), expirationTimestamp: '2026-11-16T02:00:00Z' }
    console.log(JSON.stringify({ apiVersion, kind, status }))`
  assert.deepEqual(await runExecCommand(exec(script)), {
    token: 'client.authentication.k8s.io/v1,ExecCredential,eu',
    expiresMs: Date.parse('2026-11-16T02:00:00Z'),
  })
})

test('names the program where it fails or prints no login', async () => {
  const rejected = (error: Error & { code?: string }) => error.code === 'KUBE_CONFIG'
  await assert.rejects(runExecCommand(exec('process.exit(3)')), error => {
    assert.match((error as Error).message, /failed with exit code 3/)
    return rejected(error as Error)
  })
  await assert.rejects(
    runExecCommand({ ...exec(''), command: '/does/not/exist' }),
    /\/does\/not\/exist.*cannot be started/,
  )
  assert.throws(
    () => parseCredential('eyJhbGciOiJSUzI1NiJ9', 'aws'),
    (error: Error) => {
      assert.match(error.message, /the program aws.*did not print JSON/)
      return !`${error.message} ${error.cause}`.includes('eyJ')
    },
  )
  assert.throws(() => parseCredential('{"status":{"clientCertificateData":"c"}}', 'aws'), /neither a token nor/)
  assert.deepEqual(parseCredential('{"status":{"clientCertificateData":"c","clientKeyData":"k"}}', 'aws'), {
    ...{ clientCert: 'c', clientKey: 'k' },
  })
})
