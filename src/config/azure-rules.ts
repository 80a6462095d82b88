import { any, checkRules, type FieldRule, forbidden, has, not, required } from './field-rules.ts'
import { isMap, type Problem, valueAt } from './problem.ts'

/** Ways to log in, of which a job has at most one. */
export const azureLogins = ['account_key', 'sas_token', 'client_secret', 'federated_token_file']

const hasPrincipal = any(has('client_secret'), has('federated_token_file'))

export const azureRules: readonly FieldRule[] = [
  ...['tenant_id', 'client_id'].map(name =>
    required(name, not(hasPrincipal), 'is required with {client_secret} or {federated_token_file}'),
  ),
  forbidden('tenant_id', hasPrincipal, 'has no effect without {client_secret} or {federated_token_file}'),
  forbidden(
    'client_id',
    not(any(has('account_key'), has('sas_token'))),
    'has no effect together with {account_key} or {sas_token}',
  ),
  forbidden('endpoint_suffix', not(has('endpoint')), 'has no effect together with {endpoint}'),
]

export function checkAzureRules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  if (!isMap(storage) || storage.backend !== 'azure') return []
  const [first, ...others] = azureLogins.filter(name => storage[name] !== undefined)
  return [
    ...others.map((name): Problem => {
      return {
        path: ['storage', name],
        about: 'field',
        wrong: `is given together with ${first}; keep one way to log in`,
      }
    }),
    ...checkRules(azureRules, storage, ['storage']),
  ]
}
