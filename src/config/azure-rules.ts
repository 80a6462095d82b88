import { isMap, type Problem, valueAt } from './problem.ts'

/** The rules of an Azure storage that span fields; see `registry-rules.ts` for why they look at plain data. */
export function checkAzureRules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  if (!isMap(storage) || storage.backend !== 'azure') return []
  const about = (name: string, wrong: string): Problem => ({ path: ['storage', name], about: 'field', wrong })
  const has = (name: string) => storage[name] !== undefined
  const logins = ['account_key', 'sas_token', 'client_secret', 'federated_token_file'].filter(has)
  const problems = logins
    .slice(1)
    .map(name => about(name, `is given together with ${logins[0]}; keep one way to log in`))
  for (const name of ['client_secret', 'federated_token_file'].filter(has)) {
    for (const needed of ['tenant_id', 'client_id']) {
      if (!has(needed)) problems.push(about(needed, `is required with ${name}`))
    }
  }
  if (has('tenant_id') && !has('client_secret') && !has('federated_token_file')) {
    problems.push(about('tenant_id', 'has no effect without client_secret or federated_token_file'))
  }
  if (has('client_id') && (has('account_key') || has('sas_token'))) {
    problems.push(about('client_id', `has no effect together with ${logins[0]}`))
  }
  if (has('endpoint_suffix') && has('endpoint')) {
    problems.push(about('endpoint_suffix', 'has no effect together with endpoint'))
  }
  return problems
}
