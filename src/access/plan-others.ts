import type { KindPlan } from './access-plan.ts'
import { type Quota, quotaKey, type ScramUser, userKey } from './model.ts'

/** Pure. A limit of the target is never changed: somebody has set it there. */
export function planQuotas(backed: readonly Quota[], existing: readonly Quota[]): KindPlan<Quota> {
  const there = new Map(existing.map(quota => [quotaKey(quota), quota.value]))
  return {
    items: backed.map(item => {
      const value = there.get(quotaKey(item))
      if (value === undefined) return { item, decision: 'create', notes: [] }
      if (value === item.value) return { item, decision: 'kept', notes: [] }
      return { item, decision: 'differs', notes: [`the target has ${value}, which stays`] }
    }),
  }
}

/** Pure. Kafka tells no passwords, so that a user whom the target lacks has to be made by hand. */
export function planUsers(backed: readonly ScramUser[], existing: readonly ScramUser[]): KindPlan<ScramUser> {
  const there = new Map(existing.map(user => [userKey(user), user.iterations]))
  return {
    items: backed.map(item => {
      const iterations = there.get(userKey(item))
      if (iterations === undefined) return { item, decision: 'cannot', notes: [commandFor(item)] }
      if (iterations === item.iterations) return { item, decision: 'kept', notes: [] }
      return { item, decision: 'differs', notes: [`the target has ${iterations} iterations, which stay`] }
    }),
  }
}

/** What makes the user, with a password of one's own choice. */
export function commandFor({ user, mechanism, iterations }: ScramUser): string {
  const config = `${mechanism}=[iterations=${iterations},password=<password>]`
  const entity = `--entity-type users --entity-name ${quote(user)}`
  return `kafka-configs.sh --bootstrap-server <target> --alter ${entity} --add-config '${config}'`
}

/** An argument as a POSIX shell reads it back. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
