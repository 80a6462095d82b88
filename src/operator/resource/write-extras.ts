import { isMap } from '../../config/problem.ts'
import type { JobNeeds } from './job-needs.ts'
import type { Place } from './write-section.ts'

type Write = (value: unknown, place: Place, needs: JobNeeds) => Record<string, unknown>

/** What the fields of `extra-fields.ts` are in a job file. The license is looked for by the operator and goes nowhere. */
const writers: Readonly<Record<string, Readonly<Record<string, Write>>>> = {
  storage: { pvc: (claim, { spec }, needs) => ({ path: needs.addClaim(claim, spec) }) },
  'enterprise.schema_registry': { credentialsSecret: writeCredentials },
}

export function writeExtras(
  path: string,
  section: Record<string, unknown>,
  place: Place,
  needs: JobNeeds,
): Record<string, unknown> {
  const written = Object.entries(writers[path] ?? {}).map(([name, write]) => {
    if (section[name] === undefined) return {}
    return write(section[name], { job: place.job, spec: [...place.spec, name] }, needs)
  })
  return Object.assign({}, ...written)
}

function writeCredentials(value: unknown, { job, spec }: Place, needs: JobNeeds): Record<string, unknown> {
  const { name, usernameKey = 'username', passwordKey = 'password' } = isMap(value) ? value : {}
  const variable = (field: string, key: unknown) => needs.addVariable([...job, 'auth', field], { name, key }, spec)
  const [username, password] = [variable('username', usernameKey), variable('password', passwordKey)]
  return { auth: { type: 'basic', username, password } }
}
