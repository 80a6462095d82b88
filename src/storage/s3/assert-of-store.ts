import { Readable } from 'node:stream'
import { ForeignAnswer } from '../request-error.ts'
import { hasOwnHeader } from './error.ts'

interface Answer {
  statusCode: number
  headers: Record<string, string>
  body: unknown
}

type Step = (args: unknown) => Promise<{ response: Answer }>

/** The document that a response with this status 2xx consists of. An error in it is for the SDK. */
const documents: Record<string, string> = {
  ListObjectsV2Command: 'ListBucketResult',
  CreateMultipartUploadCommand: 'InitiateMultipartUploadResult',
  CompleteMultipartUploadCommand: 'CompleteMultipartUploadResult',
}

/** Every store tells the ETag of what it has stored; later requests name parts by it. */
const storing = ['PutObjectCommand', 'UploadPartCommand']

const reading = ['HeadObjectCommand', 'GetObjectCommand']

/**
 * Rejects responses that lack what all servers of S3 give: the ETag of what was stored, the document of a listing, the code of an
 * error. Headers such as `x-amz-request-id` are not demanded, because some servers send none.
 */
export function assertOfStore(next: unknown, { commandName = '' }: { commandName?: string }) {
  return async (args: unknown): Promise<never> => {
    const result = await (next as Step)(args)
    const { response } = result
    const { statusCode: status } = response
    try {
      // The response to HEAD has no body.
      if (status === 404 && commandName !== 'HeadObjectCommand') await assertNamed(response)
      if (status >= 200 && status < 300) await assertSuccess(response, commandName)
    } catch (error) {
      // A body that is not read would keep its connection.
      if (response.body instanceof Readable) response.body.destroy()
      throw error
    }
    return result as never
  }
}

async function assertNamed(answer: Answer): Promise<void> {
  if (/<Code>\s*\w/.test(await textOf(answer))) return
  throw new ForeignAnswer(404, 'it has no error code')
}

async function assertSuccess(answer: Answer, commandName: string): Promise<void> {
  const { statusCode: status, headers } = answer
  if (isPage(answer)) throw new ForeignAnswer(status, 'it is an HTML page')
  if (storing.includes(commandName) && !headers.etag) throw new ForeignAnswer(status, 'it has no ETag')
  if (reading.includes(commandName) && !isOfObject(headers)) {
    throw new ForeignAnswer(status, 'it has no ETag, no header of S3 and no time of change')
  }
  const document = documents[commandName]
  if (document === undefined) return
  const [, root] =
    /^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:[\w.-]+:)?([\w.-]+)/s.exec(await textOf(answer)) ?? []
  if (root !== document && root !== 'Error') throw new ForeignAnswer(status, `it is not a ${document}`)
}

/** Some servers have no ETag of objects that they did not write themselves, or of empty ones. */
function isOfObject(headers: Answer['headers']): boolean {
  return Boolean(headers.etag || headers['last-modified']) || hasOwnHeader(headers)
}

function isPage({ headers }: Answer): boolean {
  return /^text\/html\b/i.test(headers['content-type'] ?? '') && !hasOwnHeader(headers)
}

/** Reads the body, and leaves it for the SDK. */
async function textOf(answer: Answer): Promise<string> {
  const { body } = answer
  const chunks: Buffer[] = []
  for await (const chunk of (body ?? []) as AsyncIterable<Buffer>) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  answer.body = bytes
  return bytes.toString('utf8')
}
