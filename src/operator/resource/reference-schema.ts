import { textRule } from './cel-words.ts'
import type { OpenApi } from './open-api.ts'

/** The name of an object of the namespace. */
export const refName: OpenApi = {
  type: 'string',
  minLength: 1,
  maxLength: 253,
  'x-kubernetes-validations': [textRule('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', 'a name of a-z 0-9 - and .')],
}

/** A key of a Secret or a ConfigMap. */
export const secretKey: OpenApi = {
  type: 'string',
  minLength: 1,
  maxLength: 253,
  'x-kubernetes-validations': [textRule('^[-._a-zA-Z0-9]+$', 'a key of A-Z a-z 0-9 . _ -')],
}

export const nameRef: OpenApi = { type: 'object', required: ['name'], properties: { name: refName } }

/** One key of a Secret or a ConfigMap of the namespace. */
export function keyRef(description: string): OpenApi {
  return { type: 'object', description, required: ['name', 'key'], properties: { name: refName, key: secretKey } }
}
