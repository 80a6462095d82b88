import { storeAcl } from '../../src/access/model.ts'
import type { Acl } from '../../src/kafka/acls.ts'

/** `ALLOW User:a READ on topic orders`, but for the changes. */
export function rule(changes: Partial<Acl>): Acl {
  return {
    resourceType: 'TOPIC',
    resourceName: 'orders',
    patternType: 'LITERAL',
    principal: 'User:a',
    host: '*',
    operation: 'READ',
    permission: 'ALLOW',
    ...changes,
  }
}

export const stored = (changes: Partial<Acl>) => storeAcl(rule(changes))
