import { storeAcl } from '../../src/access/model.ts'
import type { NewNames } from '../../src/access/plan-acls.ts'
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

/** Topics of the restore as `source>target`, or `label>target` for an older incarnation. */
export function renamed(topics: string[] = [], changes: Partial<NewNames> = {}): NewNames {
  const restored = topics.map(one => {
    const [label = '', target = ''] = one.split('>')
    return { source: label.split('@')[0] ?? '', label, target }
  })
  return { topics: restored, topicMapping: new Map(), groupMapping: new Map(), ...changes }
}
