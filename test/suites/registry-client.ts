import assert from 'node:assert/strict'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Plain requests to a registry: nothing is retried, and nothing read into the answers. */
export class RegistryClient {
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url
    this.#headers = headers
  }

  async send(method: string, path: string, body?: Json): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json', ...this.#headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }

  /** The answer of a request that succeeds. */
  async ok<T = Json>(method: string, path: string, body?: Json): Promise<T> {
    const { status, text } = await this.send(method, path, body)
    assert.equal(status, 200, `${method} ${path}: ${status} ${text}`)
    return JSON.parse(text)
  }

  get<T = Json>(path: string): Promise<T> {
    return this.ok('GET', path)
  }

  /** That a request is refused with this code, which it says in its body too. */
  async refused(code: number, method: string, path: string, body?: Json): Promise<string> {
    const { status, text } = await this.send(method, path, body)
    const answer: { error_code: number; message: string } = JSON.parse(text)
    assert.equal(answer.error_code, code, `${method} ${path}: ${status} ${text}`)
    assert.equal(status, code < 1000 ? code : Math.floor(code / 100))
    return answer.message
  }

  async register(subject: string, body: Json | string): Promise<number> {
    const request = typeof body === 'string' ? { schema: body } : body
    const { id } = await this.ok<{ id: number }>('POST', `/subjects/${encodeURIComponent(subject)}/versions`, request)
    return id
  }
}

/** An Avro record with a field for each name; all differ unless names and fields are the same. */
export function avroRecord(name: string, fields: Record<string, Json> = {}): string {
  return JSON.stringify({
    type: 'record',
    name,
    fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
  })
}
