import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Apicurio } from './apicurio.ts'
import { type ApicurioLender, borrowApicurio, openApicurioLender } from './shared-apicurio.ts'

let lender: ApicurioLender

before(async () => {
  lender = await openApicurioLender()
})
after(() => lender?.close())

test('lends the same registry again, without what the last borrower left', async () => {
  const first = await borrowApicurio(lender.socket)
  assert.deepEqual(await call(first, 'GET', '/config'), { compatibilityLevel: 'NONE' })
  for (const subject of ['kept', 'deleted'])
    await call(first, 'POST', `/subjects/${subject}/versions`, { schema: '"int"' })
  await call(first, 'DELETE', '/subjects/deleted')
  await call(first, 'PUT', '/config/kept', { compatibility: 'FULL' })
  await call(first, 'PUT', '/config', { compatibility: 'FORWARD' })
  await first.stop()

  await using second = await borrowApicurio(lender.socket)
  assert.equal(second.url, first.url)
  assert.deepEqual(await call(second, 'GET', '/subjects?deleted=true'), [])
  assert.deepEqual(await call(second, 'GET', '/config'), { compatibilityLevel: 'NONE' })
  await call(second, 'POST', '/subjects/kept/versions', { schema: '"string"' })
  assert.deepEqual(await call(second, 'GET', '/subjects/kept/versions'), [1])
  assert.deepEqual(await call(second, 'GET', '/config/kept?defaultToGlobal=true'), { compatibilityLevel: 'NONE' })
})

test('gives each of two borrowers a registry of its own', async () => {
  const [first, second] = await Promise.all([borrowApicurio(lender.socket), borrowApicurio(lender.socket)])
  assert.notEqual(first.url, second.url)
  await Promise.all([first.stop(), second.stop()])
})

async function call({ url }: Apicurio, method: string, path: string, body?: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
