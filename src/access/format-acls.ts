import { shellQuote } from '../lib/shell.ts'
import type { RequiredAcls, RequiredRule } from './required-acls.ts'

/** For whom rules are created, and where. */
export interface AclPlace {
  /** `User:backup`; undefined where the job does not name its user. */
  principal: string | undefined
  bootstrapServers: readonly string[]
  /** The cluster asks for a login, so the tool needs that of an administrator. */
  isSecure: boolean
}

const UNKNOWN_PRINCIPAL = 'User:<name>'

/** Pure. One command for each resource. */
export function kafkaAclsCommands({ rules }: RequiredAcls, place: AclPlace): string[] {
  const { principal = UNKNOWN_PRINCIPAL, bootstrapServers, isSecure } = place
  const tool = [
    ...['kafka-acls.sh', '--bootstrap-server', shellQuote(bootstrapServers.join())],
    ...(isSecure ? ['--command-config', 'admin.properties'] : []),
    ...['--add', '--allow-principal', shellQuote(principal)],
  ]
  return rules.map(rule => [...tool, ...resourceOptions(rule), ...operationOptions(rule)].join(' '))
}

function resourceOptions({ resource, name, pattern }: RequiredRule): string[] {
  if (resource === 'cluster') return ['--cluster']
  const named = [`--${resource}`, shellQuote(name)]
  return pattern === 'prefixed' ? [...named, '--resource-pattern-type', 'prefixed'] : named
}

function operationOptions({ operations }: RequiredRule): string[] {
  return operations.flatMap(({ operation }) => ['--operation', operation])
}

/** The part of a KafkaUser that Strimzi creates ACLs from. */
export interface StrimziAuthorization {
  spec: { authorization: { type: 'simple'; acls: StrimziAcl[] } }
}

interface StrimziAcl {
  resource: { type: string; name?: string; patternType?: string }
  operations: string[]
  host: '*'
}

/** Pure. To be merged into the KafkaUser of the job. */
export function strimziAuthorization({ rules }: RequiredAcls): StrimziAuthorization {
  const acls = rules.map(({ resource: type, name, pattern, operations }): StrimziAcl => {
    const resource =
      type === 'cluster' ? { type } : { type, name, patternType: pattern === 'prefixed' ? 'prefix' : pattern }
    return { resource, operations: operations.map(({ operation }) => operation), host: '*' }
  })
  return { spec: { authorization: { type: 'simple', acls } } }
}
