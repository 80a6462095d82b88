/**
 * The words of `kafka-acls.sh` for the numbers of the protocol. A number that nobody here knows is `CODE_<number>`, so that
 * what a newer Kafka has comes back as it was.
 */
const resourceTypes = names(
  { 2: 'TOPIC', 3: 'GROUP', 4: 'CLUSTER', 5: 'TRANSACTIONAL_ID' },
  { 6: 'DELEGATION_TOKEN', 7: 'USER' },
)
const patternTypes = names({ 3: 'LITERAL', 4: 'PREFIXED' })
const permissions = names({ 2: 'DENY', 3: 'ALLOW' })
const operations = names(
  { 2: 'ALL', 3: 'READ', 4: 'WRITE', 5: 'CREATE', 6: 'DELETE', 7: 'ALTER', 8: 'DESCRIBE', 9: 'CLUSTER_ACTION' },
  { 10: 'DESCRIBE_CONFIGS', 11: 'ALTER_CONFIGS', 12: 'IDEMPOTENT_WRITE', 13: 'CREATE_TOKENS', 14: 'DESCRIBE_TOKENS' },
  { 15: 'TWO_PHASE_COMMIT' },
)
const scramMechanisms = names({ 1: 'SCRAM-SHA-256', 2: 'SCRAM-SHA-512' })

export const aclNames = { resourceTypes, patternTypes, permissions, operations }
export { scramMechanisms }

export interface CodeNames {
  nameOf(code: number): string
  codeOf(name: string): number
}

/** What is no name of this table and no `CODE_<number>` becomes 0, which is not to be sent. */
function names(...tables: Readonly<Record<number, string>>[]): CodeNames {
  const byCode = new Map(tables.flatMap(table => Object.entries(table)).map(([code, name]) => [Number(code), name]))
  const byName = new Map([...byCode].map(([code, name]) => [name, code]))
  return {
    nameOf: code => byCode.get(code) ?? `CODE_${code}`,
    codeOf: name => byName.get(name) ?? Number(/^CODE_(-?\d{1,3})$/.exec(name)?.[1] ?? 0),
  }
}
