import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeKms {
  endpoint: string
  /** What was asked, in its order. */
  calls: { operation: string; keyId: string; context: Record<string, string> }[]
  /** The next answers, in place of the real ones. */
  faults: { status: number; type: string }[]
  close(): Promise<void>
}

/** Answers Encrypt and Decrypt as AWS KMS does over JSON 1.1, with one key for each id. Signatures are not checked. */
export async function openFakeKms(): Promise<FakeKms> {
  const keys = new Map<string, Buffer>()
  const calls: FakeKms['calls'] = []
  const faults: FakeKms['faults'] = []
  const keyOf = (id: string) => {
    const key = keys.get(id) ?? randomBytes(32)
    keys.set(id, key)
    return key
  }
  const run = (operation: string, input: Record<string, unknown>): object | undefined => {
    const keyId = String(input.KeyId)
    const context = (input.EncryptionContext ?? {}) as Record<string, string>
    calls.push({ operation, keyId, context })
    const bound = Buffer.from(JSON.stringify(Object.entries(context).sort()))
    if (operation === 'Encrypt') {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keyOf(keyId), nonce).setAAD(bound)
      const sealed = [cipher.update(Buffer.from(String(input.Plaintext), 'base64')), cipher.final()]
      const blob = Buffer.concat([nonce, ...sealed, cipher.getAuthTag()])
      return { CiphertextBlob: blob.toString('base64'), KeyId: keyId }
    }
    const blob = Buffer.from(String(input.CiphertextBlob), 'base64')
    const decipher = createDecipheriv('aes-256-gcm', keyOf(keyId), blob.subarray(0, 12)).setAAD(bound)
    decipher.setAuthTag(blob.subarray(-16))
    try {
      const plain = Buffer.concat([decipher.update(blob.subarray(12, -16)), decipher.final()])
      return { Plaintext: plain.toString('base64'), KeyId: keyId }
    } catch {
      return undefined
    }
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const operation = String(request.headers['x-amz-target']).replace('TrentService.', '')
    const fault = faults.shift()
    const answer = fault ? undefined : run(operation, JSON.parse(Buffer.concat(chunks).toString()))
    const { status, type } = fault ?? { status: 400, type: 'InvalidCiphertextException' }
    response.writeHead(answer ? 200 : status, { 'content-type': 'application/x-amz-json-1.1' })
    response.end(JSON.stringify(answer ?? { __type: type, message: 'the fake refuses' }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    calls,
    faults,
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
