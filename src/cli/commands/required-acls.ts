import { stringify } from 'yaml'
import { kafkaAclsCommands, strimziAuthorization } from '../../access/format-acls.ts'
import type { RequiredRule } from '../../access/required-acls.ts'
import { type JobAcls, requiredAclsOf } from '../../jobs/required-acls.ts'
import type { Session } from '../session.ts'
import { printable } from '../text.ts'

/** `check --acls`: prints the rules that the user of the job needs, ready for the tool. Contacts neither cluster nor storage. */
export async function printRequiredAcls(session: Session): Promise<number> {
  const job = await session.loadJob(session.options.config ?? '')
  const acls = requiredAclsOf(job)
  const isStrimzi = session.options.acls === 'strimzi'
  session.print(
    () => (isStrimzi ? strimziLines(acls) : commandLines(acls)),
    () => documentOf(acls, isStrimzi),
  )
  return 0
}

/** Comments of a shell script, and of YAML. */
function commentLines({ rules, notes }: JobAcls): string[] {
  const writes = rules.some(({ operations }) => operations.some(({ operation }) => !READING.has(operation)))
  const lines = [
    writes ? 'The job writes to the cluster.' : 'The job only reads from the cluster.',
    ...notes.map(note => `Note: ${note}.`),
  ]
  return lines.map(line => `# ${printable(line)}`)
}

const READING = new Set(['Read', 'Describe', 'DescribeConfigs'])

function commandLines(acls: JobAcls): string[] {
  const commands = kafkaAclsCommands(acls, acls.place)
  const rules = acls.rules.flatMap((rule, at) => ['', ...reasonLines(rule), printable(commands[at] ?? '')])
  const admin = '# admin.properties holds the login of a user who may create ACLs.'
  return [...commentLines(acls), ...(acls.place.isSecure ? [admin] : []), ...rules]
}

function reasonLines({ operations }: RequiredRule): string[] {
  return operations.map(({ operation, requests }) => `# ${operation}: ${requests.join(', ')}`)
}

/** YAML 1.1 parsers, such as that of kubectl, read some plain texts as other types: `compat` quotes these. */
function strimziLines(acls: JobAcls): string[] {
  const yaml = stringify(strimziAuthorization(acls), { lineWidth: 0, compat: 'yaml-1.1' }).trimEnd()
  return [...commentLines(acls), ...yaml.split('\n')]
}

function documentOf(acls: JobAcls, isStrimzi: boolean) {
  const { rules, notes, place } = acls
  return {
    principal: place.principal ?? null,
    rules,
    notes,
    ...(isStrimzi ? { strimzi: strimziAuthorization(acls) } : { kafka_acls: kafkaAclsCommands(acls, place) }),
  }
}
